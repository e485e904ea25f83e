"""What every platform has in common: what it reports, what is sent to it, what a connection needs, how it may fail."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any, ClassVar, Self

from cachetools import TTLCache, cached
from django.utils.functional import Promise

from channels_app.models import MessageKind, Receiving

#: Bytes of a call by a platform; none of them sends more.
CALL_MAX = 1_000_000
#: Characters of one message, of what it is answered by, and of a name or title: what is longer is cut.
TEXT_MAX, TOKEN_MAX, NAME_MAX = 60_000, 2_000, 200


class PlatformFailure(Exception):
    """A platform did not do what it was asked."""


class NotGenuine(PlatformFailure):
    """A call does not prove that it is the platform's own."""


class NotReadable(PlatformFailure):
    """A call cannot be read."""


class KeyRefused(PlatformFailure):
    """The platform does not let this bot in, or no longer."""

    def __init__(self, reason: str = "", option: str = "") -> None:
        super().__init__(reason)
        self.option = option  # which of what its owner gave; empty: the first secret


@contextmanager
def as_key_refused(option: str = "") -> Iterator[None]:
    """What is refused within is no message, but the one who asks: by this option, else by the first secret."""
    try:
        yield
    except (KeyRefused, NotDeliverable) as refusal:
        raise KeyRefused(str(refusal), option) from None


class Conflicting(PlatformFailure):
    """Another program receives this bot's messages."""


class NotDeliverable(PlatformFailure):
    """This message will never arrive: the person has blocked the bot, never wrote to it, or the chat is gone."""


class OnlyInCall(PlatformFailure):
    """This account sends nothing by itself: a message is handed out in the answer to a call."""


class ChatMoved(PlatformFailure):
    """The chat has another id now."""

    def __init__(self, chat: str) -> None:
        super().__init__("moved")
        self.chat = chat


class TryLater(PlatformFailure):
    """The platform is away or busy."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds  # until it takes the next; None: it did not say


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """Something a platform reports."""

    key: str  # the platform's own key of it: the same for a redelivery
    kind: MessageKind = MessageKind.MESSAGE
    chat: str
    is_group: bool = False
    title: str = ""  # of the chat
    thread: str = ""
    peer: str = ""  # who wrote, joined or left
    name: str = ""  # what people call them
    language: str = ""  # of their program, as en or zh-hans
    message: str = ""  # the message's id
    text: str = ""
    reply_to: str = ""  # the id of the message it answers
    is_for_bot: bool = True  # in a group: it names the bot or answers it
    sent_at: datetime
    sequence: int = 0  # order of those sent in one moment
    target: str = ""  # of a button what it stands for; of a move the chat's new id
    token: str = ""  # by which this alone can be answered for a while

    def as_json(self) -> dict[str, Any]:
        """What is stored of it, but what has a column of its own."""
        columns = {"key", "kind", "sent_at", "sequence"}
        return {name: value for name, value in asdict(self).items() if name not in columns and value not in ("", False)}


@dataclass(frozen=True, kw_only=True)
class Button:
    """A button below a message; what it stands for comes back when it is pressed."""

    label: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """A message to a chat."""

    chat: str
    text: str
    key: str = ""  # of the row it stands in, where a platform takes one against sending twice
    peer: str = ""  # for this person alone; empty: for all of the chat
    thread: str = ""
    reply_to: str = ""
    buttons: tuple[Button, ...] = ()
    file_name: str = ""  # then the text is the contents of a file
    token: str = ""  # of the message it answers

    def as_json(self) -> dict[str, Any]:
        """What is stored of it, but for chat and key."""
        return {name: value for name, value in asdict(self).items() if name not in ("chat", "key") and value}

    @classmethod
    def read(cls, chat: str, key: str, body: Mapping[str, Any]) -> Self:
        """A stored message."""
        buttons = tuple(Button(**button) for button in body.get("buttons", ()))
        return cls(chat=chat, key=key, **{**body, "buttons": buttons})


@dataclass(frozen=True, kw_only=True)
class Option:
    """Something a connection needs of its owner."""

    name: str
    label: str | Promise
    help: str | Promise = ""
    is_secret: bool = False
    is_needed: bool = True
    is_switch: bool = False
    receiving: Receiving | None = None  # the one way of receiving that needs it; None: all do


@dataclass(frozen=True)
class Account:
    """A bot's account at a platform: what its owner gave, and who it is there."""

    options: Mapping[str, str]
    name: str = ""  # by which it is mentioned
    id: str = ""
    channel: str = ""  # the channel's account
    app: str = ""  # the app it belongs to, where a platform has those
    receiving: str = ""  # how its messages get here

    def __getitem__(self, option: str) -> str:
        return self.options.get(option, "")


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call by a platform, as it came."""

    method: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in small letters
    body: bytes
    now: datetime


@dataclass(frozen=True)
class Received:
    """What a call holds, and what its caller is answered."""

    messages: Sequence[Incoming] = ()
    answer: str | dict[str, Any] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(frozen=True)
class Introduced:
    """Who a bot is at its platform."""

    account: str  # the channel's account
    name: str = ""
    id: str = ""
    app: str = ""


def read_json(raw: str | bytes) -> dict[str, Any]:
    """The object a call holds. Raises NotReadable."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise NotReadable from None
    if not isinstance(body, dict):
        raise NotReadable
    return body


def text_of(body: Any, name: str) -> str:
    """A text of an object a call holds; empty where it is none, or the object is none."""
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, str) else ""


Keep = Callable[[Sequence[Incoming], Mapping[str, Any]], None]
Clock = Callable[[], datetime]
#: What people are called, also those without a name: asked for once an hour, by person and whatever the account has.
names: TTLCache[tuple[Any, ...], str] = TTLCache(10_000, ttl=3600)


class Platform(ABC):
    """A platform: its wire, and nothing of what is done with what comes over it."""

    name: ClassVar[str]
    label: ClassVar[str | Promise]
    options: ClassVar[tuple[Option, ...]]
    receiving: ClassVar[tuple[Receiving, ...]]
    #: Characters of one message.
    text_chars: ClassVar[int]
    #: What the platform reports: messages that were changed, taken back, and members who leave.
    reports: ClassVar[frozenset[MessageKind]] = frozenset()
    #: Whether `connect` has the platform call an address; elsewhere its owner enters it at the platform's own pages.
    sets_address: ClassVar[bool] = False
    has_buttons: ClassVar[bool] = False
    has_files: ClassVar[bool] = False
    #: Whether people write on a page of this server: there is no other server to reach.
    has_page: ClassVar[bool] = False

    @abstractmethod
    def introduce(self, account: Account) -> Introduced:
        """Who this account is. Raises KeyRefused, TryLater."""

    @abstractmethod
    def receive(self, call: Call, account: Account) -> Received:
        """What a call by the platform holds. Raises NotGenuine, NotReadable; nothing was stored."""

    @abstractmethod
    def send(self, message: Outgoing, account: Account) -> str:
        """Send a message; its id there. Raises KeyRefused, NotDeliverable, OnlyInCall, TryLater."""

    def is_answered_in_call(self, account: Account) -> bool:
        """Whether this account sends nothing by itself (`OnlyInCall`), and answers calls by `reply`."""
        return False

    def reply(self, text: str, call: Call, account: Account) -> Received:
        """The answer to a call that holds a text for who wrote."""
        raise NotImplementedError

    def chars_of(self, message: Incoming) -> int:
        """Characters of one message that answers this one."""
        return self.text_chars

    def connect(self, account: Account, url: str) -> None:  # noqa: B027 (most are told at their own pages)
        """Have the platform call an address, where that can be set from here; empty: have it call none.

        Raises KeyRefused, TryLater, NotReadable.
        """

    @cached(names, lambda self, peer, account: (self.name, peer, *account.options.items()), Lock())
    def name_of(self, peer: str, account: Account) -> str:
        """What people call somebody, where messages do not say it; empty: nobody knows. Raises TryLater."""
        try:
            return self.ask_name(peer, account)
        except (KeyRefused, NotDeliverable):  # without the right to ask for names everybody stays an id
            return ""

    def ask_name(self, peer: str, account: Account) -> str:
        """Ask the platform what people call somebody. Raises KeyRefused, NotDeliverable, TryLater."""
        return ""

    def show_typing(self, chat: str, account: Account) -> None:  # noqa: B027 (not all can)
        """Show that an answer is being written, where the platform can."""

    def take_press(self, press: Incoming, account: Account) -> None:  # noqa: B027 (most ask for nothing)
        """Tell the platform that a press of a button has arrived, where its button waits for that."""

    def pull(
        self, account: Account, cursor: Mapping[str, Any], keep: Keep, stop: Callable[[], bool], clock: Clock
    ) -> None:
        """Fetch messages until told to stop, and have each lot kept with the cursor behind it.

        Raises KeyRefused, Conflicting, TryLater.
        """
        raise NotImplementedError
