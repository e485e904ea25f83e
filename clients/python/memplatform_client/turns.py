"""What a bot does around its model, as one object: ask memory before, report after, look something up in between.

For bots and for what is built into their frameworks: memory that is away, or refuses, costs a bot its memory for that
turn and never the turn.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import httpx

from memplatform_client.client import LOCAL, Client
from memplatform_client.errors import Conflict, Invalid, MemplatformError, NoAnswer, NotFound, SessionBusy, TooLarge
from memplatform_client.types import AddressField, NewToolCall, RecalledMemory

T = TypeVar("T")
#: Seconds without a question after one that nobody answered, so that a bot does not wait at every turn.
PAUSE = 5.0
MOST_MESSAGES, MOST_CHARACTERS = 60, 8_000
#: Bytes of each text of a turn, and of its calls of tools together; characters of a text in one of these calls.
MOST_BYTES, MOST_OF_CALLS, MOST_OF_A_TEXT = 65_536, 200_000, 4_000
DEEPEST = 8  # of what a tool is given or answers
_UNSTORABLE = re.compile("[\\0\ud800-\udfff]")
#: What became of the report of a turn: `refused` it would be again, however often it is made, `later` it may be taken.
Reported = Literal["taken", "refused", "later"]
logger = logging.getLogger("memplatform_client")


@dataclass(frozen=True)
class Before:
    """What a model is given before it answers. Empty when memory has nothing to say, or does not answer."""

    text: str = ""
    recall_id: str | None = None
    history: list[dict[str, str]] = field(default_factory=list)


class AboutTurn(TypedDict, total=False):
    """What may be said of a turn beside its words."""

    recall_id: str | None
    tool_calls: list[NewToolCall] | None
    once: str  # the same for a turn that may be reported again, as it was
    at: datetime | None  # when it was, where that is not now


class BotMemory:
    """The memory of one bot, whose key it is, about the people it talks with; may be shared by threads.

    A person is named as the bot knows them (the id of their account), a chat as that person's conversations are told
    apart: the same id of another person is another chat.
    With `strict` what goes wrong is raised as MemplatformError; else it is logged, and the answer is empty.
    """

    def __init__(
        self,
        key: str,
        url: str = LOCAL,
        *,
        platform: str = "web",
        account: str = "",
        timeout: float = 5,
        strict: bool = False,
        http: httpx.Client | None = None,
    ) -> None:
        self.client = Client(key, url, timeout=timeout, retries=0, http=http)
        self._platform, self._account, self._strict = platform, account, strict
        self._channel: dict[str, Any] = {"platform": platform, "account": account or None}
        self._silent_until = 0.0

    def address(self, person: str, chat: str = "") -> AddressField:
        """Where a message of a person comes from."""
        named = {"account": self._account, "peer": person, "chat": f"{person}/{chat}" if chat else ""}
        return {"platform": self._platform, **{name: value for name, value in named.items() if value}}  # type: ignore[typeddict-item]

    def before(
        self, person: str, message: str, chat: str = "", history: Iterable[Mapping[str, Any]] | None = None
    ) -> Before:
        """What is remembered that helps to answer a message.

        `history` are the messages before it (`role`, `content`) where the bot gives them to its model itself; what
        they say is not repeated. Without it the conversation, as memory has it, comes with the answer.
        """
        if not message.strip() or time.monotonic() < self._silent_until:
            return Before()
        asked: dict[str, Any] = {"address": self.address(person, chat), "message": storable(message)[:MOST_CHARACTERS]}
        if history is not None:
            asked["client_history"] = plain(history)

        def ask() -> Before:
            answer = self.client.context(**asked)
            messages = [{"role": row["role"], "content": row["content"]} for row in answer["history"]]
            return Before(answer["text"], answer["recall_id"], messages)

        return self.tried("memory is not asked", ask, Before())

    def after(self, person: str, user: str, assistant: str, chat: str = "", **about: Unpack[AboutTurn]) -> bool:
        """Have a finished turn remembered; whether it was.

        What is longer than memory takes is cut, the calls of tools first: a turn is not refused for its length.
        """
        return self.report(person, user, assistant, chat, **about) == "taken"

    def report(self, person: str, user: str, assistant: str, chat: str = "", **about: Unpack[AboutTurn]) -> Reported:
        """The same, for a bot that reports a turn again which memory could not take: what became of it."""
        if unknown := about.keys() - AboutTurn.__annotations__.keys():
            raise TypeError(f"a turn has no {', '.join(sorted(unknown))}")
        turn: dict[str, Any] = {"user": cut(user or ""), "assistant": cut(assistant or "")}
        turn["recall_id"] = about.get("recall_id")
        calls, once, at = about.get("tool_calls"), about.get("once"), about.get("at")
        turn |= {"tool_calls": cut_calls(calls) if calls else None} | ({"at": at} if at else {})
        turn["idempotency_key"] = hashlib.sha256(once.encode()).hexdigest() if once else None
        address, failure = self.address(person, chat), "a turn is not remembered"

        def take() -> Reported:
            try:
                self.client.take_turn(address=address, **turn)
            except MemplatformError as error:
                if self._strict or not is_refused(error):
                    raise
                logger.warning("memplatform: %s: %s", failure, error)
                return "refused"
            return "taken"

        return self.tried(failure, take, "later")

    def search(self, person: str, words: str, limit: int = 8, chat: str = "") -> list[RecalledMemory]:
        """The memories of a person that bear on some words, the best first."""
        if not words.strip() or time.monotonic() < self._silent_until:
            return []
        message = storable(words)[:MOST_CHARACTERS]
        asked: dict[str, Any] = {"message": message, "limit": limit, "need": "off", "quotas": False}
        address = self.address(person, chat)
        return self.tried(
            "memory is not searched", lambda: self.client.recall(address=address, **asked)["memories"], []
        )

    def save(self, person: str, content: str, chat: str = "", **slots: str) -> str | None:
        """Remember a sentence about a person; the id of the memory, None where it was not kept."""
        address, content = self.address(person, chat), storable(content)[:MOST_CHARACTERS]
        return self.tried(
            "a memory is not saved",
            lambda: self.client.save_entry(address=address, content=content, slots=slots)["id"],
            None,
        )

    def history(self, person: str, chat: str) -> list[dict[str, Any]]:
        """The conversation as it goes to a model: a summary of what is long ago, then `role`, `content`, `data`."""

        def read() -> list[dict[str, Any]]:
            try:
                answer = self.client.replay_session(self._session(person, chat), **self._channel)
            except NotFound:
                return []  # nothing was said in it
            return [dict(message) for message in answer["messages"]]

        return self.tried("the history is not read", read, [])

    def begin_anew(self, person: str, chat: str) -> bool:
        """Close a conversation: the next message has no history. What is remembered stays. Whether it was done."""

        def reset() -> bool:
            with suppress(NotFound):
                self.client.reset_session(self._session(person, chat), **self._channel)
            return True

        return self.tried("no new conversation", reset, False)

    def _session(self, person: str, chat: str) -> str:
        return self.client.resolve_address(address=self.address(person, chat))["session_key"]

    def tried(self, failure: str, call: Callable[[], T], otherwise: T) -> T:
        """What a call of the client answers, or `otherwise`. Raises MemplatformError only if this is strict."""
        try:
            return call()
        except MemplatformError as error:
            if self._strict:
                raise
            if isinstance(error, NoAnswer):
                self._silent_until = time.monotonic() + PAUSE
            logger.warning("memplatform: %s: %s", failure, error)
            return otherwise

    def close(self) -> None:
        """Let the connections go."""
        self.client.close()


def is_refused(error: MemplatformError) -> bool:
    """Whether a turn that ended in it would do so again, however often it is reported."""
    return isinstance(error, (Invalid, TooLarge, Conflict)) and not isinstance(error, SessionBusy)


def storable(text: str) -> str:
    """A text without NUL and halves of characters, which no text of memory holds."""
    return _UNSTORABLE.sub("", text)


def cut(text: str) -> str:
    """As much of a text as a side of a turn takes."""
    return storable(text).encode()[:MOST_BYTES].decode(errors="ignore")


def cut_calls(calls: Iterable[Mapping[str, Any]]) -> list[NewToolCall]:
    """As many calls of tools as a turn takes, the first ones, with long texts in them cut."""
    taken: list[Any] = []
    room = MOST_OF_CALLS
    for call in calls:
        small = {**call, "result": _cut_value(call.get("result"))}
        arguments = _cut_value(call.get("arguments"))
        small["arguments"] = {"arguments": arguments} if isinstance(arguments, str) else arguments
        room -= len(json.dumps(small, ensure_ascii=False).encode())
        if room < 0:
            break
        taken.append(small)
    return taken


def _cut_value(value: Any) -> Any:
    """A value of JSON; of a long one less of each text and list, so that whatever stays has its name.

    Memory does not keep what stands under the name of a secret, and a text that is cut has no names: one that is JSON
    is cut as that.
    """
    short, most = _cut_texts(value), MOST_OF_A_TEXT
    while len(short if isinstance(short, str) else json.dumps(short, ensure_ascii=False)) > MOST_OF_A_TEXT and most:
        most //= 2
        short = _shrunk(short, most)
    return short


def _shrunk(value: Any, most: int) -> Any:
    """A value of JSON with so much of each text and list at most."""
    if isinstance(value, str) and len(value) > most and value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return json.dumps(_shrunk(_cut_texts(json.loads(value)), most), ensure_ascii=False)
    if isinstance(value, dict):
        return {name: _shrunk(item, most) for name, item in list(value.items())[:most]}
    if isinstance(value, list):
        return [_shrunk(item, most) for item in value[:most]]
    return value[:most] if isinstance(value, str) else value


def _cut_texts(value: Any, depth: int = 0) -> Any:
    """A value of JSON with its texts cut, whatever a tool was given or answered."""
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if depth < DEEPEST and isinstance(value, Mapping):
        return {storable(str(name)): _cut_texts(inner, depth + 1) for name, inner in value.items()}
    if depth < DEEPEST and isinstance(value, (list, tuple)):
        return [_cut_texts(inner, depth + 1) for inner in value]
    if depth >= DEEPEST and not isinstance(value, str):
        return "…"
    return _shrunk(storable(str(value)), MOST_OF_A_TEXT)


def plain(history: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Of a model's messages the words of people and of the bot, the newest ones, as the API takes them."""
    messages = []
    for message in history:
        words = storable(words_of(message.get("content")))
        if message.get("role") in ("user", "assistant") and words.strip():
            messages.append({"role": str(message["role"]), "content": words[:MOST_CHARACTERS]})
    return messages[-MOST_MESSAGES:]


def words_of(content: Any) -> str:
    """The text of a message that is a string or a list of parts; pictures and other parts are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, (str, dict))]
    return "\n".join(text for text in texts if isinstance(text, str))
