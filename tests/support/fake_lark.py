"""Lark's server API and its long connection on this machine: what people write is scripted, what the bot sends is kept.

Shapes as open.feishu.cn describes them: im-v1/message/events/receive and recalled, im-v1/chat-member/events, «Card
callback», im-v1/message/create and reply, im-v1/file/create, bot-v3/info, «Custom app obtains tenant_access_token»,
«Rate limits», «Configure an Encrypt Key». The frames of the long connection are those of the vendor's own client.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from websockets.sync.server import ServerConnection

from tests.support.fake_api import Answered, Asked, fake_api
from tests.support.fake_socket import fake_socket

APP, SECRET, TOKEN, KEY = "cli_a1", "a-secret", "a-verification-token", "an-encrypt-key"
BOT = {"app_name": "Mem", "open_id": "ou_bot", "activate_status": 2}


@dataclass
class FakeLark:
    """The server of one app."""

    url: str = ""
    socket: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)  # messages of the bot, in order
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: list[Answered] = field(default_factory=list)  # of the next messages sent
    names: dict[str, str] = field(default_factory=dict)  # that the app may read
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    tokens: int = 0
    is_revoked: bool = False
    connections: list[ServerConnection] = field(default_factory=list)
    _next: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def _number(self) -> int:
        with self._lock:
            self._next += 1
            return self._next

    def event(self, event_type: str, event: dict[str, Any]) -> dict[str, Any]:
        """An event as it is reported."""
        header = {
            "event_id": f"ev_{self._number()}",
            "token": TOKEN,
            "create_time": str(int(time.time() * 1000)),
            "event_type": event_type,
            "tenant_key": "t1",
            "app_id": APP,
        }
        return {"schema": "2.0", "header": header, "event": event}

    def write(self, user: str, text: str, *, group: str = "", **message: Any) -> dict[str, Any]:
        """Somebody writes a text; `@bot` names the bot."""
        mentions = []
        if "@bot" in text:
            text = text.replace("@bot", "@_user_1")
            mentions = [{"key": "@_user_1", "id": ids("ou_bot"), "name": "Mem", "tenant_key": "t1"}]
        return self.send("text", {"text": text}, user, group=group, **({"mentions": mentions} | message))

    def send(self, kind: str, content: Any, user: str, *, group: str = "", **message: Any) -> dict[str, Any]:
        """Somebody sends a message of any kind."""
        body = {
            "message_id": f"om_{self._number()}",
            "create_time": str(int(time.time() * 1000)),
            "chat_id": group or f"oc_{user}",
            "chat_type": "group" if group else "p2p",
            "message_type": kind,
            "content": json.dumps(content),
            **message,
        }
        sender = {"sender_id": ids(user), "sender_type": "user", "tenant_key": "t1"}
        return self.event("im.message.receive_v1", {"sender": sender, "message": body})

    def recall(self, event: dict[str, Any]) -> dict[str, Any]:
        """Somebody takes a message back."""
        message = event["event"]["message"]
        body = {"message_id": message["message_id"], "chat_id": message["chat_id"], "recall_type": "message_owner"}
        return self.event("im.message.recalled_v1", {**body, "recall_time": str(int(time.time() * 1000))})

    def member(self, change: str, user: str, group: str) -> dict[str, Any]:
        """Somebody is added to a group, deleted or withdrawn."""
        users = [{"name": f"User {user}", "tenant_key": "t1", "user_id": ids(user)}]
        body = {"chat_id": group, "operator_id": ids("ou_owner"), "users": users, "name": "Walkers", "external": False}
        return self.event(f"im.chat.member.user.{change}_v1", body)

    def press(self, user: str, message: dict[str, Any], button: int = 0) -> dict[str, Any]:
        """Somebody presses a button below a message of the bot."""
        action = json.loads(message["content"])["elements"][1]["actions"][button]
        context = {"open_message_id": message["message_id"], "open_chat_id": f"oc_{user}"}
        operator = {"tenant_key": "t1", **ids(user)}
        body = {"operator": operator, "token": "c-1", "action": {"value": action["value"], "tag": "button"}}
        event = self.event("card.action.trigger", {**body, "host": "im_message", "context": context})
        event["header"]["create_time"] = str(int(time.time() * 1_000_000))
        return event

    def texts(self, to: str = "") -> list[str]:
        """The words the bot sent to a chat, a person, or as replies to a message."""
        rows = [row for row in self.sent if to in ("", row["to"])]
        return [words(row) for row in rows]

    def answer(self, asked: Asked) -> Answered:
        """The answer to a call."""
        path = asked.path.removeprefix("/open-apis")
        if path == "/callback/ws/endpoint":
            if (asked.body["AppID"], asked.body["AppSecret"]) != (APP, SECRET) or self.is_revoked:
                return Answered({"code": 1000040345, "msg": "app_id or app_secret is invalid"})
            config = {"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30, "PingInterval": 120}
            return Answered({"code": 0, "msg": "", "data": {"URL": self.socket, "ClientConfig": config}})
        if path == "/auth/v3/tenant_access_token/internal":
            if (asked.body["app_id"], asked.body["app_secret"]) != (APP, SECRET) or self.is_revoked:
                return Answered({"code": 10014, "msg": "app secret invalid"}, 400)
            self.tokens += 1
            return Answered({"code": 0, "msg": "ok", "tenant_access_token": f"t-{self.tokens}", "expire": 7200})
        if asked.headers.get("authorization") != f"Bearer t-{self.tokens}":
            return Answered({"code": 99991663, "msg": "Invalid access token for authorization"}, 400)
        if path == "/bot/v3/info":
            return Answered({"code": 0, "msg": "ok", "bot": BOT})
        if path.startswith("/contact/v3/users/"):
            name = self.names.get(path.rpartition("/")[2])
            if name is None:
                return Answered({"code": 99991672, "msg": "Access denied. contact:user.base:readonly"}, 400)
            return Answered({"code": 0, "msg": "success", "data": {"user": {"name": name}}})
        if path == "/im/v1/files":
            key = f"file_{self._number()}"
            self.files[key] = asked.body
            return Answered({"code": 0, "msg": "success", "data": {"file_key": key}})
        return self._send(path, asked)

    def _send(self, path: str, asked: Asked) -> Answered:
        if self.failures:
            return self.failures.pop(0)
        to = asked.body["receive_id"] if path == "/im/v1/messages" else path.split("/")[-2]
        row = {**asked.body, "to": to, "id_type": asked.query.get("receive_id_type", "")}
        already = [earlier for earlier in self.sent if row.get("uuid") and earlier.get("uuid") == row["uuid"]]
        if not already:
            row["message_id"] = f"om_{self._number()}"
            self.sent.append(row)
        return Answered({"code": 0, "msg": "success", "data": {"message_id": (already or [row])[0]["message_id"]}})

    def deliver(self, event: dict[str, Any]) -> None:
        """Report an event over the long connection."""
        headers = {"type": "event", "message_id": str(self._number()), "sum": "1", "seq": "0", "trace_id": "t"}
        self.connections[-1].send(frame(headers, json.dumps(event).encode()))

    def _hold(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        for raw in connection:
            if isinstance(raw, bytes) and (payload := fields(raw).get(8)):
                self.acknowledged.append(json.loads(payload))


def words(row: dict[str, Any]) -> str:
    """The words of a message of the bot."""
    content = json.loads(row["content"])
    if row["msg_type"] == "interactive":
        return str(content["elements"][0]["text"]["content"])
    return str(content.get("text") or content.get("file_key"))


def ids(user: str) -> dict[str, str]:
    return {"open_id": user, "union_id": f"on_{user}", "user_id": ""}


def refusal(code: int, words: str, status: int = 400, **headers: str) -> Answered:
    return Answered({"code": code, "msg": words}, status, {name.replace("_", "-"): x for name, x in headers.items()})


def encrypted(body: dict[str, Any], key: str = KEY) -> bytes:
    """A body as it is called with where there is an Encrypt Key."""
    padding = PKCS7(128).padder()
    padded = padding.update(json.dumps(body).encode()) + padding.finalize()
    vector = secrets.token_bytes(16)
    encryptor = Cipher(algorithms.AES256(hashlib.sha256(key.encode()).digest()), modes.CBC(vector)).encryptor()
    return json.dumps({"encrypt": base64.b64encode(vector + encryptor.update(padded)).decode()}).encode()


def signed(raw: bytes, key: str = KEY, *, at: float | None = None) -> dict[str, str]:
    """The headers of a call."""
    stamp, nonce = str(int(time.time() if at is None else at)), "n1"
    signature = hashlib.sha256(f"{stamp}{nonce}{key}".encode() + raw).hexdigest()
    return {"X-Lark-Request-Timestamp": stamp, "X-Lark-Request-Nonce": nonce, "X-Lark-Signature": signature}


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """A frame of data, as protocol buffers have it."""
    numbers = b"".join(bytes([number << 3, value]) for number, value in ((1, 1), (2, 1), (3, 1), (4, 1)))
    pairs = b"".join(
        chunk(5, chunk(1, name.encode()) + chunk(2, value.encode())) for name, value in headers.items()
    )  # fmt: skip
    return numbers + pairs + chunk(8, payload)


def chunk(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(value: int) -> bytes:
    head = b""
    while value > 127:
        head, value = head + bytes([value & 127 | 128]), value >> 7
    return head + bytes([value])


def fields(raw: bytes) -> dict[int, bytes]:
    """The fields of a frame that hold bytes, the last of each."""
    found, at = {}, 0

    def number() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte, at = raw[at], at + 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    while at < len(raw):
        tag = number()
        size = number()
        if tag & 7 == 2:
            found[tag >> 3] = raw[at : at + size]
            at += size
    return found


@contextmanager
def fake_lark() -> Iterator[FakeLark]:
    """A server, until the block ends."""
    fake = FakeLark()
    with fake_api(fake.answer) as fake.url, fake_socket(fake._hold) as address:
        fake.socket = f"{address}/ws?device_id=d1&service_id=1"
        yield fake
