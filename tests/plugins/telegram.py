"""Telegram's Bot API on this machine: messages are polled for, and what the bot sends is kept.

The shapes are those of https://core.telegram.org/bots/api (Update, Message, getUpdates, sendMessage).
"""

import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from tests.plugins.host import GROUP, PEOPLE, Chat

TOKEN = "10001:AAFakeTokenOfTheFakeTelegram0000000000"
BOT: dict[str, Any] = {"id": 10_001, "is_bot": True, "first_name": "Bot", "username": "mem_bot"}
GROUP_CHAT = {"id": -100_000 - GROUP, "title": "Friends", "type": "supergroup"}
ANSWER_SECONDS, AGAIN_SECONDS, MORE_SECONDS, POLL_SECONDS = 120, 12, 1.5, 2


class Telegram(Chat):
    """The platform, and its server."""

    def __init__(self) -> None:
        self._waiting: list[dict[str, Any]] = []  # updates the bot has not confirmed
        self._given: list[dict[str, Any]] = []  # those of them it was given
        self._change = threading.Condition()
        self._numbers = itertools.count(int(time.time()))
        self._written: set[int] = set()
        self._sent: list[tuple[int, str]] = []
        self.is_polled = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("OfThisServer", (Handler,), {"telegram": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()

    def say(self, text: str, sender: str, *, in_group: bool = False, number: int | None = None) -> list[str]:
        before, number = len(self._sent), number or next(self._numbers)
        message = message_of(text, sender, in_group, number)
        is_new = number not in self._written
        self._written.add(number)
        with self._change:
            self._waiting.append({"update_id": number, "message": message})
            self._change.notify_all()
        end = time.monotonic() + (ANSWER_SECONDS if is_new else AGAIN_SECONDS)
        while len(self._sent) == before and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(MORE_SECONDS)
        return [words for chat, words in self._sent[before:] if chat == message["chat"]["id"]]

    def _updates(self, offset: int, seconds: float) -> list[dict[str, Any]]:
        """What waits; a bot confirms what it was given by a higher offset, and is given the rest again."""
        with self._change:
            confirmed = [update for update in self._given if update["update_id"] < offset]
            for update in confirmed:
                self._given.remove(update)
                self._waiting.remove(update)
            self._change.wait_for(lambda: bool(self._waiting), min(POLL_SECONDS, seconds))
            self._given = list(self._waiting)
            return self._given

    def called(self, method: str, parameters: dict[str, Any]) -> Any:
        """The result of a call of the bot."""
        if method == "getMe":
            return {
                **BOT,
                "can_join_groups": True,
                "can_read_all_group_messages": True,
                "supports_inline_queries": False,
            }
        if method == "getUpdates":
            self.is_polled.set()
            return self._updates(int(parameters.get("offset") or 0), float(parameters.get("timeout") or 0.05))
        if method == "getChat":
            return GROUP_CHAT
        if method == "getChatMember":
            return {"status": "member", "user": BOT}
        if method.startswith("send") and "text" in parameters:
            chat = int(parameters["chat_id"])
            self._sent.append((chat, parameters["text"]))
            kind = GROUP_CHAT if chat < 0 else {"id": chat, "type": "private"}
            sent = {"message_id": 900_000 + len(self._sent), "date": int(time.time()), "chat": kind, "from": BOT}
            return {**sent, "text": parameters["text"]}
        return [] if method.startswith("getMy") else True


class Handler(BaseHTTPRequestHandler):
    """Its calls over HTTP."""

    protocol_version = "HTTP/1.1"
    telegram: Telegram

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        is_json = "json" in self.headers.get("Content-Type", "")
        parameters = json.loads(body or "{}") if is_json else dict(parse_qsl(body))
        _root, token, method = self.path.partition("?")[0].split("/")
        assert token == f"bot{TOKEN}", "a wrong token"
        answer = json.dumps({"ok": True, "result": self.telegram.called(method, parameters)}).encode()
        with suppress(BrokenPipeError, ConnectionResetError):  # it stopped polling
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        pass


def message_of(text: str, sender: str, in_group: bool, number: int) -> dict[str, Any]:
    """A message as it is delivered; in the group it begins with a mention of the bot, unless it is a command."""
    person = {"id": PEOPLE[sender], "is_bot": False, "first_name": sender.title(), "username": sender}
    chat = GROUP_CHAT if in_group else {**person, "type": "private"}
    message: dict[str, Any] = {"message_id": number, "date": int(time.time()), "from": person, "chat": chat}
    mention = f"@{BOT['username']}"
    if text.startswith("/"):
        command, _space, rest = text.partition(" ")
        text = f"{command}{mention} {rest}".strip() if in_group else text
        message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text.partition(" ")[0])}]
    elif in_group:
        text = f"{mention} {text}"
        message["entities"] = [{"type": "mention", "offset": 0, "length": len(mention)}]
    return {**message, "text": text}


@contextmanager
def telegram() -> Iterator[Telegram]:
    """The platform, until it is not needed."""
    made = Telegram()
    try:
        yield made
    finally:
        made.close()
