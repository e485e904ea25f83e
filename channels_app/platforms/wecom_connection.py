"""The long connection of a smart bot of WeCom, for who has no public address.

developer.work.weixin.qq.com/document/path/101463: frames are JSON, with a command, the id of a request and a body;
what is answered carries the same id. What is sent goes over the connection as well, so that only the process that has
it can send. A new connection of the same bot ends this one.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any
from uuid import uuid4

import structlog
from django.conf import settings
from websockets.sync.client import ClientConnection

from channels_app.platforms import network, tencent
from channels_app.platforms.wire import (
    Account,
    Conflicting,
    Incoming,
    Keep,
    NotReadable,
    TryLater,
    as_key_refused,
    read_json,
    text_of,
)

log = structlog.get_logger(__name__)
#: Between two signs of life; a connection is dead after two without an answer.
BEAT_SECONDS, ANSWER_SECONDS = 30.0, 10.0
#: Codes that pass: the system is busy, too many calls.
CODES = tencent.Codes("wecom", passing={-1: None, 45009: 60.0, 45033: 1.0})
_EVENT_OF_ANOTHER = "disconnected_event"
Reader = Callable[[Mapping[str, Any], str], Sequence[Incoming]]


class Link:
    """A connection that is open."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._waiting: dict[str, SimpleQueue[Mapping[str, Any]]] = {}
        self._beat_at, self._unanswered = time.monotonic() + BEAT_SECONDS, 0

    def start(self, command: str, body: Mapping[str, Any] | None = None, number: str = "") -> str:
        """Send a request; its id. Raises TryLater."""
        number = number or f"{command}_{uuid4().hex}"
        frame = {"cmd": command, "headers": {"req_id": number}, **({"body": body} if body is not None else {})}
        network.send(self._socket, json.dumps(frame, ensure_ascii=False))
        return number

    def ask(self, command: str, body: Mapping[str, Any]) -> None:
        """Send a request and wait for its answer, which another thread reads. Raises NotDeliverable, TryLater."""
        number, answers = f"{command}_{uuid4().hex}", SimpleQueue[Mapping[str, Any]]()
        self._waiting[number] = answers
        try:
            self.start(command, body, number)
            answer = answers.get(timeout=ANSWER_SECONDS)
        except Empty:
            raise TryLater("no answer", network.AGAIN_SECONDS) from None
        finally:
            del self._waiting[number]
        CODES.check(answer)

    def beat(self) -> None:
        """Give a sign of life when it is due. Raises TryLater where the last two were not answered."""
        if time.monotonic() < self._beat_at:
            return
        if self._unanswered >= 2:
            raise TryLater("silent", network.AGAIN_SECONDS)
        self.start("ping")
        self._unanswered += 1
        self._beat_at = time.monotonic() + BEAT_SECONDS

    def answered(self, number: str, frame: Mapping[str, Any]) -> None:
        """Hand an answer to who waits for it."""
        if number.startswith("ping_"):
            self._unanswered = 0
        elif number in self._waiting:
            self._waiting[number].put(frame)


#: The connections of this process, by bot.
_links: dict[str, Link] = {}
_opening = Lock()


def introduce(account: Account) -> None:
    """Find out whether the bot is let in. Raises KeyRefused, TryLater."""
    with closing(network.open_socket(settings.WECOM_SOCKET_URL)) as socket:
        _subscribe(socket, Link(socket), account, lambda: False)


def send(account: Account, chat: str, text: str) -> None:
    """Send a text to a chat, or to somebody's own. Raises NotDeliverable, TryLater."""
    link = _links.get(account["bot_id"])
    if link is None:
        raise TryLater("no connection", 1.0)
    for part in tencent.parts(text, tencent.BOT_BYTES):
        link.ask("aibot_send_msg", {"chatid": chat, "msgtype": "markdown", "markdown": {"content": part}})


def pull(account: Account, read: Reader, keep: Keep, stop: Callable[[], bool]) -> None:
    """Have what comes over the connection kept until told to stop. Raises KeyRefused, Conflicting, TryLater."""
    with closing(network.open_socket(settings.WECOM_SOCKET_URL)) as socket:
        link = Link(socket)
        _subscribe(socket, link, account, stop)
        keep((), {})

        def is_over() -> bool:
            link.beat()
            return stop()

        with _opening:
            _links[account["bot_id"]] = link
        try:
            for raw in network.frames(socket, is_over):
                # Keep what a frame holds, or hand on what it answers
                frame = _read(raw)
                body, number = frame.get("body"), text_of(frame.get("headers"), "req_id")
                match frame.get("cmd"):
                    case "aibot_msg_callback":
                        try:
                            messages = read(body if isinstance(body, dict) else {}, number)
                        except NotReadable:  # it will not be better next time
                            log.warning("channel.not_readable", platform="wecom")
                        else:
                            keep(messages, {})
                    case "aibot_event_callback":
                        event = body.get("event") if isinstance(body, dict) else None
                        if text_of(event, "eventtype") == _EVENT_OF_ANOTHER:
                            raise Conflicting
                    case _:
                        link.answered(number, frame)
        except Conflicting:
            time.sleep(network.LOOK_SECONDS)
            if not stop():  # else it was saved anew here, and its key tried
                raise
        finally:
            with _opening:
                if _links.get(account["bot_id"]) is link:
                    del _links[account["bot_id"]]


def _subscribe(socket: ClientConnection, link: Link, account: Account, stop: Callable[[], bool]) -> None:
    """Raises KeyRefused, TryLater."""
    end = time.monotonic() + ANSWER_SECONDS
    number = link.start("aibot_subscribe", {"bot_id": account["bot_id"], "secret": account["bot_secret"]})
    for raw in network.frames(socket, lambda: stop() or time.monotonic() > end):
        frame = _read(raw)
        if text_of(frame.get("headers"), "req_id") == number:
            with as_key_refused("bot_secret"):
                CODES.check(frame)
            return
    raise TryLater("no answer", network.AGAIN_SECONDS)


def _read(raw: str | bytes) -> Mapping[str, Any]:
    try:
        return read_json(raw)
    except NotReadable:
        return {}
