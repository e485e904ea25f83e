"""WeChat and WeCom on this machine: calls as they make them, and their API, which keeps what is sent.

Shapes and codes as developers.weixin.qq.com/doc/offiaccount (Message_Management/Receiving_standard_messages,
Service_Center_messages, Getting_Started/Global_Return_Code) and developer.work.weixin.qq.com/document describe them
(path/90239 messages, 90968 encryption, 90236 sending, 90313 codes, 100719 and 101138 smart bots).
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from xml.sax.saxutils import escape

from channels_app.platforms import network, tencent
from tests.support.local_server import QuietHandler, local_server

APP_ID, APP_SECRET, TOKEN = "wx5823bf96d3bd56c7", "fake-secret", "QDG6eK"  # noqa: S105 (of nobody)
AES_KEY = "jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C"


@dataclass
class FakeTencent:
    """The server of one account."""

    url: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)  # what the bot sent, in order
    calls: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)  # of the next messages sent
    spent: set[str] = field(default_factory=set)  # addresses of answers that were used
    uploads: list[bytes] = field(default_factory=list)
    tokens: int = 0  # so many were given; the last is valid
    token_error: int = 0

    def texts(self) -> list[str]:
        """What the bot sent."""
        return [row[row["msgtype"]].get("content", "") for row in self.sent]

    def answer(self, path: str, query: dict[str, str], raw: bytes) -> dict[str, Any]:
        """The answer to a call."""
        body = json.loads(raw) if raw.startswith(b"{") else {}
        self.calls.append((path, query, body))
        if path in ("/cgi-bin/stable_token", "/cgi-bin/gettoken"):
            given = query or body
            if self.token_error or (given.get("secret") or given.get("corpsecret")) != APP_SECRET:
                return failed(self.token_error or 40125, "invalid appsecret")
            self.tokens += not self.tokens or bool(body.get("force_refresh")) or "corpid" in query
            return {"access_token": f"token-{self.tokens}", "expires_in": 7200}
        if path == "/cgi-bin/aibot/response":
            if query["response_code"] in self.spent:
                return failed(60140, "response_url invalid")
            self.spent.add(query["response_code"])
        elif query.get("access_token") != f"token-{self.tokens}":
            return failed(40001, "invalid credential, access_token is invalid or not latest")
        if path == "/cgi-bin/media/upload":
            self.uploads.append(raw)
            return {"errcode": 0, "type": "file", "media_id": f"media-{len(self.uploads)}"}
        if path == "/cgi-bin/user/get":
            return {"errcode": 0, "userid": query["userid"], "name": f"Person {query['userid']}"}
        if path == "/cgi-bin/message/custom/typing":
            return failed(0, "ok")
        if self.failures:
            return self.failures.pop(0)
        assert b"\\u" not in raw.replace(b"\\u00", b"")  # they show such escapes as they are
        self.sent.append(body)
        return {"errcode": 0, "errmsg": "ok", "msgid": f"sent-{len(self.sent)}"}


def failed(code: int, words: str) -> dict[str, Any]:
    return {"errcode": code, "errmsg": words}


_numbers = iter(range(7_000_000_000, 8_000_000_000))


def message(user: str, text: str = "", *, kind: str = "text", **more: str) -> str:
    """A message as XML."""
    elements = {
        "ToUserName": "gh_5a7e1b2c3d4f", "FromUserName": user, "CreateTime": str(int(time.time())), "MsgType": kind,
        **({"Content": text} if kind == "text" else {}),
        **({"MsgId": str(next(_numbers))} if kind != "event" else {}), **more,
    }  # fmt: skip
    return "<xml>" + "".join(f"<{name}>{escape(value)}</{name}>" for name, value in elements.items()) + "</xml>"


def query(*, at: float | None = None, token: str = TOKEN, **more: str) -> str:
    """The parameters of a plain call."""
    timestamp, nonce = str(int(time.time() if at is None else at)), "263014780"
    signature = tencent.signature(token, timestamp, nonce)
    return urlencode({"signature": signature, "timestamp": timestamp, "nonce": nonce, **more})


def sealed(
    plain: str, receiver: str, *, at: float | None = None, token: str = TOKEN, key: str = AES_KEY
) -> tuple[str, str]:
    """The parameters of an encrypted call, and what it holds encrypted."""
    encrypted = tencent.encrypt(key, plain.encode(), receiver)
    timestamp, nonce = str(int(time.time() if at is None else at)), "1372623149"
    signature = tencent.signature(token, timestamp, nonce, encrypted)
    return urlencode({"msg_signature": signature, "timestamp": timestamp, "nonce": nonce}), encrypted


@contextmanager
def fake_tencent() -> Iterator[FakeTencent]:
    """A server, until the block ends."""
    fake = FakeTencent()
    network.close()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            parts = urlsplit(self.path)
            body = fake.answer(parts.path, dict(parse_qsl(parts.query)), self.raw_body())
            self.answer(200, json.dumps(body).encode(), Content_Type="application/json")

        do_GET = do_POST

    with local_server(Handler) as fake.url:
        yield fake
    network.close()
