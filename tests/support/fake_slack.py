"""Slack on this machine: what is written in it is scripted and signed, what the bot sends is kept.

Shapes and errors as docs.slack.dev describes them: apis/events-api, reference/events/message and its subtypes,
authentication/verifying-requests-from-slack, interactivity/implementing-slash-commands,
reference/interaction-payloads/block_actions-payload, apis/web-api/rate-limits, reference/methods/chat.postMessage,
apis/events-api/using-socket-mode (envelopes), reference/methods/apps.connections.open and bots.info.
"""

import hashlib
import hmac
import itertools
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from websockets.sync.server import ServerConnection

from tests.support.fake_socket import fake_socket
from tests.support.local_server import QuietHandler, local_server

TOKEN, SIGNING_SECRET = "xoxb-fake-token", "8f742231b10e8888abcd99yyyzzz85a5"  # noqa: S105 (of nobody)
APP_TOKEN = "xapp-fake-token"  # noqa: S105 (of nobody)
TEAM, BOT, APP = "T0001", "U0BOT", "A1"
_numbers = itertools.count(1)


@dataclass
class FakeSlack:
    """The server of one app in one workspace."""

    url: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)  # what the bot sent, in order
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failures: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)  # status, error, headers
    outsiders: set[str] = field(default_factory=set)  # people who are not in the channel
    token_error: str = ""
    socket: str = ""
    app: str = APP  # of the app-level token
    app_token_error: str = ""
    may_ask_for_bots: bool = True
    connections: list[ServerConnection] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)  # ids of envelopes
    _upload: dict[str, str] = field(default_factory=dict)

    def texts(self, chat: str | None = None) -> list[str]:
        """What the bot sent."""
        return [row["text"] for row in self.sent if chat in (None, row["channel"])]

    def answer(self, method: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
        """Status, body and headers of the answer to a call."""
        self.calls.append((method, asked))
        if method == "upload":
            self._upload["text"] = asked["raw"]
            return 200, {"ok": True}, {}
        if method == "apps.connections.open":
            error = self.app_token_error or ("" if asked["token"] == APP_TOKEN else "not_allowed_token_type")
            ticket = f"{self.socket}?ticket={next(_numbers)}&app_id={APP}"
            return 200, {"ok": False, "error": error} if error else {"ok": True, "url": ticket}, {}
        if self.token_error:
            return 200, {"ok": False, "error": self.token_error}, {}
        if method == "auth.test":
            return 200, {"ok": True, "user_id": BOT, "user": "mem", "team_id": TEAM, "team": "Acme", "bot_id": "B1"}, {}
        if method == "bots.info":
            if not self.may_ask_for_bots:
                return 200, {"ok": False, "error": "missing_scope", "needed": "users:read"}, {}
            return 200, {"ok": True, "bot": {"id": asked["bot"], "app_id": APP, "user_id": BOT, "name": "mem"}}, {}
        if method == "users.info":
            profile = {"display_name": "", "real_name": f"Person {asked['user']}"}
            return 200, {"ok": True, "user": {"id": asked["user"], "name": "person", "profile": profile}}, {}
        if method == "conversations.open":
            return 200, {"ok": True, "channel": {"id": f"D{asked['users']}"}}, {}
        if method == "files.getUploadURLExternal":
            return 200, {"ok": True, "upload_url": f"{self.url}/upload", "file_id": "F1"}, {}
        if method == "files.completeUploadExternal":
            row = {"channel": asked["channel_id"], "text": self._upload["text"], "file": "F1"}
            self.sent.append(row)
            return 200, {"ok": True, "files": [{"id": "F1"}]}, {}
        if self.failures:
            status, error, headers = self.failures.pop(0)
            return status, {"ok": False, "error": error}, headers
        if method == "chat.postEphemeral" and asked["user"] in self.outsiders:
            return 200, {"ok": False, "error": "user_not_in_channel"}, {}
        own_id, ts = asked.get("client_msg_id"), stamp()
        for earlier in self.sent:
            if own_id and earlier.get("client_msg_id") == own_id:
                ts = earlier["ts"]
                break
        else:
            self.sent.append({**asked, "method": method, "ts": ts})
        return 200, {"ok": True, "ts": ts, "message_ts": ts, "channel": asked["channel"]}, {}

    def deliver(self, kind: str, payload: Any = None, **more: Any) -> str:
        """Send an envelope over the newest connection; its id."""
        envelope_id = f"envelope-{next(_numbers)}" if payload is not None else ""
        envelope = {"type": kind, **({"payload": payload, "envelope_id": envelope_id} if envelope_id else {}), **more}
        self.connections[-1].send(json.dumps({**envelope, "accepts_response_payload": kind != "events_api"}))
        return envelope_id

    def _hold(self, connection: ServerConnection) -> None:
        info = {"num_connections": 1, "connection_info": {"app_id": self.app}, "debug_info": {"host": "applink-1"}}
        connection.send(json.dumps({"type": "hello", **info}))
        self.connections.append(connection)
        for raw in connection:
            self.acknowledged.append(json.loads(raw)["envelope_id"])


def stamp() -> str:
    """A time as Slack writes it; never the same twice."""
    return f"{int(time.time())}.{next(_numbers):06d}"


def message(user: str, text: str, *, group: str = "", **more: Any) -> dict[str, Any]:
    """The event of a message."""
    ts = stamp()
    channel = {"channel": group, "channel_type": "channel"} if group else {"channel": f"D{user}", "channel_type": "im"}
    return {"type": "message", "user": user, "text": text, "ts": ts, "event_ts": ts, "team": TEAM, **channel, **more}


def changed(event: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    """The event of a message that was edited."""
    ts = stamp()
    shown = {name: event[name] for name in ("type", "user", "ts")} | {"text": text}
    edited = {**shown, "edited": {"user": event["user"], "ts": ts}, **more}
    place = {"channel": event["channel"], "channel_type": event["channel_type"]}
    return {"type": "message", "subtype": "message_changed", "hidden": True, "ts": ts, "message": edited, **place}


def deleted(event: dict[str, Any]) -> dict[str, Any]:
    """The event of a message that was deleted."""
    place = {"channel": event["channel"], "channel_type": event["channel_type"]}
    times = {"ts": stamp(), "deleted_ts": event["ts"]}
    return {"type": "message", "subtype": "message_deleted", "hidden": True, **times, **place}


def wrapped(event: dict[str, Any], event_id: str = "") -> dict[str, Any]:
    """An event as the Events API calls with it."""
    return {
        "token": "XXYYZZ", "team_id": TEAM, "api_app_id": APP, "type": "event_callback", "event": event,
        "event_id": event_id or f"Ev{next(_numbers)}", "event_time": int(time.time()),
        "authorizations": [{"team_id": TEAM, "user_id": BOT, "is_bot": True}],
    }  # fmt: skip


def pressed(user: str, shown: dict[str, Any], *, chat: str) -> bytes:
    """The form of a button that was pressed below a message of the bot."""
    button = shown["blocks"][-1]["elements"][0]
    action = {"type": "button", "action_id": button["action_id"], "value": button["value"], "action_ts": stamp()}
    payload = {
        "type": "block_actions", "user": {"id": user, "username": "person"}, "channel": {"id": chat, "name": "walkers"},
        "container": {"type": "message", "message_ts": stamp(), "channel_id": chat, "is_ephemeral": True},
        "trigger_id": f"1.2.{next(_numbers)}", "team": {"id": TEAM}, "api_app_id": APP, "actions": [action],
        "response_url": "https://hooks.slack.com/actions/T0001/1/2",
    }  # fmt: skip
    return urlencode({"payload": json.dumps(payload)}).encode()


def slash(user: str, command: str, text: str, *, channel: str) -> bytes:
    """The form of a slash command."""
    return urlencode({
        "token": "XXYYZZ", "team_id": TEAM, "channel_id": channel, "channel_name": "walkers", "user_id": user,
        "user_name": "person", "command": command, "text": text, "api_app_id": APP,
        "response_url": "https://hooks.slack.com/commands/T0001/1/2", "trigger_id": f"1.2.{next(_numbers)}",
    }).encode()  # fmt: skip


def signed(body: bytes, *, at: float | None = None, secret: str = SIGNING_SECRET) -> dict[str, str]:
    """The headers by which Slack proves that a body is its own."""
    timestamp = str(int(time.time() if at is None else at))
    base = b"v0:" + timestamp.encode() + b":" + body
    signature = "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": signature}


@contextmanager
def fake_slack() -> Iterator[FakeSlack]:
    """A server, until the block ends."""
    fake = FakeSlack()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            raw = self.raw_body()
            method = self.path.rpartition("/")[2]
            if method == "upload":
                asked: dict[str, Any] = {"raw": raw.decode()}
            elif raw.startswith(b"{"):
                asked = json.loads(raw)
            else:
                asked = dict(parse_qsl(raw.decode(), keep_blank_values=True))
            asked.setdefault("token", self.headers.get("Authorization", "").removeprefix("Bearer "))
            status, body, headers = fake.answer(method, asked)
            self.answer(status, json.dumps(body).encode(), **{"Content-Type": "application/json", **headers})

    with local_server(Handler) as fake.url, fake_socket(fake._hold) as address:
        fake.socket = f"{address}/link/"
        yield fake
