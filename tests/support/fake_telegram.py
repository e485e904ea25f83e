"""Telegram's Bot API on this machine: what is written to a bot is scripted, what the bot sends is kept.

Shapes and error codes as core.telegram.org/bots/api describes them (getUpdates, setWebhook, sendMessage, «Making
requests», ResponseParameters).
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any
from urllib.parse import parse_qsl

import httpx

from tests.support.local_server import QuietHandler, local_server

TOKEN = "123456:fake-token"  # noqa: S105 (of nobody)
BOT = {"id": 123456, "is_bot": True, "first_name": "Mem", "username": "mem_bot"}


@dataclass
class FakeTelegram:
    """The server of one bot."""

    url: str = ""
    updates: list[dict[str, Any]] = field(default_factory=list)  # not confirmed yet
    sent: list[dict[str, Any]] = field(default_factory=list)  # messages of the bot, in order
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)  # of the next messages sent
    blocked: set[str] = field(default_factory=set)  # chats that never wrote to the bot
    moved: dict[str, int] = field(default_factory=dict)  # chats with another id, and that
    webhook: dict[str, Any] = field(default_factory=dict)
    is_revoked: bool = False
    confirmed: int = 0
    _update: int = 1000
    _message: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, user: int, text: str | None = None, *, group: int | None = None, **more: Any) -> dict[str, Any]:
        """Somebody writes; the update."""
        with self._lock:
            self._message += 1
            message = {
                "message_id": self._message,
                "date": int(time.time()),
                "chat": chat_of(user, group),
                "from": user_of(user),
                **({"text": text} if text is not None else {}),
                **more,
            }
        return self.push({"message": message})

    def push(self, update: dict[str, Any]) -> dict[str, Any]:
        """Report something to the bot."""
        with self._lock:
            self._update += 1
            update = {"update_id": self._update, **update}
            self.updates.append(update)
        if self.webhook.get("url"):
            self.deliver(update)
        return update

    def deliver(self, update: dict[str, Any], **headers: str) -> int:
        """Call the webhook; the status."""
        secret = {"X-Telegram-Bot-Api-Secret-Token": self.webhook.get("secret_token", ""), **headers}
        return httpx.post(self.webhook["url"], json=update, headers=secret).status_code

    def press(self, user: int, message: dict[str, Any], button: int = 0) -> dict[str, Any]:
        """Somebody presses a button below a message of the bot."""
        data = json.loads(message["reply_markup"])["inline_keyboard"][0][button]["callback_data"]
        shown = {"message_id": message["message_id"], "date": int(time.time()), "chat": chat_of(user, None)}
        query = {"id": "1", "from": user_of(user), "chat_instance": "1", "data": data, "message": shown}
        return self.push({"callback_query": query})

    def texts(self, chat: int | None = None) -> list[str]:
        """What the bot sent."""
        return [row.get("text", row.get("document", "")) for row in self.sent if chat in (None, int(row["chat_id"]))]

    def answer(self, method: str, asked: dict[str, Any]) -> tuple[int, Any]:
        """Status and body of a call."""
        self.calls.append((method, asked))
        if self.is_revoked:
            return 401, failed(401, "Unauthorized")
        if method == "getMe":
            return 200, done(BOT)
        if method in ("setWebhook", "deleteWebhook"):
            self.webhook = asked if method == "setWebhook" else {}
            return 200, done(True)
        if method == "getUpdates":
            return 200, done(self._get_updates(asked))
        if method in ("sendMessage", "sendDocument"):
            if self.failures:
                failure = self.failures.pop(0)
                return failure["error_code"], failure
            if new_id := self.moved.get(asked["chat_id"]):
                return 400, failed(400, "Bad Request: group chat was upgraded", migrate_to_chat_id=new_id)
            if asked["chat_id"] in self.blocked:
                return 403, failed(403, "Forbidden: bot can't initiate conversation with a user")
            with self._lock:
                self._message += 1
                row = {**asked, "message_id": self._message}
                self.sent.append(row)
            chat = {"id": int(asked["chat_id"]), "type": "private"}
            return 200, done({"message_id": row["message_id"], "date": int(time.time()), "chat": chat, "from": BOT})
        return 200, done(True)

    def _get_updates(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        end = time.monotonic() + min(float(data.get("timeout", 0)), 2.0)
        while True:
            offset = int(data.get("offset") or 0)
            with self._lock:
                self.confirmed = max(self.confirmed, offset)
                self.updates = [row for row in self.updates if row["update_id"] >= offset]
                if self.updates or time.monotonic() > end:
                    return self.updates[:100]
            time.sleep(0.02)


def user_of(user: int) -> dict[str, Any]:
    return {"id": user, "is_bot": False, "first_name": f"User {user}", "language_code": "en"}


def chat_of(user: int, group: int | None) -> dict[str, Any]:
    if group is None:
        return {"id": user, "type": "private", "first_name": f"User {user}"}
    return {"id": group, "type": "supergroup", "title": "Walkers"}


def done(result: Any) -> dict[str, Any]:
    return {"ok": True, "result": result}


def failed(code: int, description: str, **parameters: Any) -> dict[str, Any]:
    return {"ok": False, "error_code": code, "description": description, "parameters": parameters}


@contextmanager
def fake_telegram(port: int = 0) -> Iterator[FakeTelegram]:
    """A server, until the block ends."""
    fake = FakeTelegram()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            raw = self.raw_body()
            method = self.path.rpartition("/")[2]
            method = "getUpdates" if method.lower() == "getupdates" else method  # names in any letters
            kind = self.headers.get("Content-Type", "")
            if kind.startswith("multipart/"):
                asked = multipart(raw, kind)
            else:
                asked = dict(parse_qsl(raw.decode(), keep_blank_values=True))
            status, body = fake.answer(method, asked)
            self.answer(status, json.dumps(body).encode(), Content_Type="application/json")

    with local_server(Handler, port) as fake.url:
        yield fake


def multipart(raw: bytes, kind: str) -> dict[str, Any]:
    """The fields of a form with a file."""
    form: Any = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + raw)
    fields: dict[str, Any] = {}
    for part in form.get_payload():
        name = part.get_param("name", header="content-disposition")
        fields[str(name)] = part.get_payload(decode=True).decode()
    document = next((value for name, value in fields.items() if name not in ("chat_id", "document")), "")
    if str(fields.get("document", "")).startswith("attach://"):
        fields["document"] = document
    return fields
