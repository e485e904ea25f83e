"""DingTalk's API and its Stream mode on this machine: what people write is scripted, what the robot sends is kept.

Shapes as open.dingtalk.com describes them: «Receive messages by a robot», «Protocol of Stream mode», «The robot sends
a group message», «Send one-on-one messages in batches», «Get the access token of an app»; the errors of an address of
a session are those of «Custom robots».
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.sync.server import ServerConnection

from tests.support.fake_api import Answered, Asked, fake_api
from tests.support.fake_socket import fake_socket

APP, SECRET = "dingapp", "a-secret"


@dataclass
class FakeDingTalk:
    """The server of one app."""

    url: str = ""
    socket: str = ""
    sent: list[tuple[str, str, str]] = field(default_factory=list)  # way, to whom, text
    failures: list[Answered] = field(default_factory=list)  # of the next messages sent
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    invalid: set[str] = field(default_factory=set)  # people who are not of the company
    connections: list[ServerConnection] = field(default_factory=list)
    uploads: list[bytes] = field(default_factory=list)
    tokens: int = 0
    is_revoked: bool = False
    is_session_over: bool = False  # the addresses that came with messages are no longer good
    _next: int = 0

    def write(self, user: str, text: str, *, group: str = "", **more: Any) -> dict[str, Any]:
        """Somebody writes to the robot."""
        self._next += 1
        now = int(time.time() * 1000)
        return {
            "msgId": f"msg{self._next}==",
            "conversationId": group or f"cid-direct-{user}",
            "conversationType": "2" if group else "1",
            "conversationTitle": "Walkers" if group else "",
            "senderId": f"$:LWCP_v1:$ {user}",
            "senderStaffId": user,
            "senderNick": f"User {user}",
            "senderCorpId": "corp",
            "chatbotCorpId": "corp",
            "chatbotUserId": "$:LWCP_v1:$ bot",
            "robotCode": APP,
            "isInAtList": bool(group),
            "isAdmin": False,
            "createAt": now,
            "msgtype": "text",
            "text": {"content": f" {text}"},
            "sessionWebhook": f"{self.url}/robot/sendBySession?session={group or user}",
            "sessionWebhookExpiredTime": now + 5_400_000,
            **more,
        }

    def texts(self) -> list[str]:
        return [text for _way, _to, text in self.sent]

    def answer(self, asked: Asked) -> Answered:
        """The answer to a call."""
        if asked.path == "/v1.0/gateway/connections/open":
            if (asked.body["clientId"], asked.body["clientSecret"]) != (APP, SECRET) or self.is_revoked:
                return Answered({"code": "authFailed", "message": "authentication failed"}, 401)
            return Answered({"endpoint": self.socket, "ticket": "a-ticket"})
        if asked.path == "/v1.0/oauth2/accessToken":
            if (asked.body["appKey"], asked.body["appSecret"]) != (APP, SECRET) or self.is_revoked:
                return Answered({"code": "invalidClientIdOrSecret", "message": "invalid"}, 400)
            self.tokens += 1
            return Answered({"accessToken": f"t-{self.tokens}", "expireIn": 7200})
        if asked.path == "/media/upload":
            if self.failures:
                return self.failures.pop(0)
            if (asked.query["access_token"], asked.query["type"]) != (f"t-{self.tokens}", "file"):
                return Answered({"errcode": 40014, "errmsg": "invalid access_token"})
            self.uploads.append(asked.raw)
            return Answered({"errcode": 0, "type": "file", "media_id": f"@media{len(self.uploads)}"})
        is_known = asked.headers.get("x-acs-dingtalk-access-token") == f"t-{self.tokens}"
        if not is_known and asked.path != "/robot/sendBySession":
            return Answered({"code": "InvalidAuthentication", "message": "invalid token"}, 400)
        if self.failures:
            return self.failures.pop(0)
        if asked.path == "/robot/sendBySession":
            if self.is_session_over:
                return Answered({"errcode": 300001, "errmsg": "session is expired"})
            self.sent.append(("session", asked.query["session"], asked.body["text"]["content"]))
            return Answered({"errcode": 0, "errmsg": "ok"})
        param = json.loads(asked.body["msgParam"])
        is_file = asked.body["msgKey"] == "sampleFile"
        text = f"{param['fileName']} {param['mediaId']}" if is_file else param["content"]
        if asked.path == "/v1.0/robot/groupMessages/send":
            self.sent.append(("group", asked.body["openConversationId"], text))
            return Answered({"processQueryKey": "q1"})
        invalid = [user for user in asked.body["userIds"] if user in self.invalid]
        self.sent += [("direct", user, text) for user in asked.body["userIds"] if user not in invalid]
        return Answered({"processQueryKey": "q1", "invalidStaffIdList": invalid, "flowControlledStaffIdList": []})

    def deliver(self, kind: str, topic: str, data: Any) -> None:
        """Send a frame of Stream mode."""
        self._next += 1
        headers = {"topic": topic, "messageId": f"frame{self._next}", "contentType": "application/json"}
        frame = {"specVersion": "1.0", "type": kind, "headers": headers, "data": json.dumps(data)}
        self.connections[-1].send(json.dumps(frame))

    def _hold(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        for raw in connection:
            self.acknowledged.append(json.loads(raw))


def signed(secret: str = SECRET, *, at: float | None = None) -> dict[str, str]:
    """The headers of a call."""
    stamp = str(int((time.time() if at is None else at) * 1000))
    digest = hmac.digest(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256)
    return {"timestamp": stamp, "sign": base64.b64encode(digest).decode()}


@contextmanager
def fake_dingtalk() -> Iterator[FakeDingTalk]:
    """A server, until the block ends."""
    fake = FakeDingTalk()
    with fake_api(fake.answer) as fake.url, fake_socket(fake._hold) as address:
        fake.socket = f"{address}/connect"
        yield fake
