"""The long connection of WeCom's smart bots on this machine: what people write is scripted, what the bot sends is kept.

Frames as developer.work.weixin.qq.com/document/path/101463 describes them.
"""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from tests.support.fake_socket import fake_socket

BOT, SECRET = "aibFAKE", "a-secret-of-the-long-connection"  # noqa: S105 (of nobody)
_numbers = itertools.count(1)


@dataclass
class FakeWeCom:
    """The server of one smart bot: a new connection takes the place of the former."""

    url: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)  # bodies of what the bot sent, in order
    failures: list[tuple[int, str]] = field(default_factory=list)  # of the next messages sent
    strangers: set[str] = field(default_factory=set)  # people who never wrote to the bot alone
    connections: list[ServerConnection] = field(default_factory=list)
    beats: int = 0
    is_silent: bool = False  # signs of life are not answered

    def texts(self, chat: str | None = None) -> list[str]:
        """What the bot sent."""
        return [row["markdown"]["content"] for row in self.sent if chat in (None, row["chatid"])]

    def write(self, user: str, text: str, *, group: str = "", **more: Any) -> dict[str, Any]:
        """Somebody writes to the bot; the body of the frame, which is sent."""
        place = {"chatid": group, "chattype": "group"} if group else {"chattype": "single"}
        words = {"msgtype": "text", "text": {"content": f"@小记 {text}" if group else text}}
        body = {"msgid": f"m{next(_numbers)}", "aibotid": BOT, **place, "from": {"userid": user}, **words, **more}
        self.deliver("aibot_msg_callback", body)
        return body

    def deliver(self, command: str, body: Any) -> None:
        """Send a frame over the newest connection."""
        frame = {"cmd": command, "headers": {"req_id": f"callback-{next(_numbers)}"}, "body": body}
        self.connections[-1].send(json.dumps(frame))

    def _hold(self, connection: ServerConnection) -> None:
        for raw in connection:
            frame = json.loads(raw)
            code, words = self._answered(frame["cmd"], frame.get("body") or {}, connection)
            if frame["cmd"] != "ping" or not self.is_silent:
                connection.send(json.dumps({"headers": frame["headers"], "errcode": code, "errmsg": words}))

    def _answered(self, command: str, body: dict[str, Any], connection: ServerConnection) -> tuple[int, str]:
        if command == "aibot_subscribe":
            if (body["bot_id"], body["secret"]) != (BOT, SECRET):
                return 853000, "invalid bot_id or secret"
            if self.connections:
                with suppress(ConnectionClosed):
                    self.deliver(
                        "aibot_event_callback", {"msgtype": "event", "event": {"eventtype": "disconnected_event"}}
                    )
            self.connections.append(connection)
            return 0, "ok"
        if command == "ping":
            self.beats += 1
            return 0, "ok"
        if self.failures:
            return self.failures.pop(0)
        if body["chatid"] in self.strangers:
            return 86008, "no message of this user"
        self.sent.append(body)
        return 0, "ok"


@contextmanager
def fake_wecom() -> Iterator[FakeWeCom]:
    """A server, until the block ends."""
    fake = FakeWeCom()
    with fake_socket(fake._hold) as fake.url:
        yield fake
