"""QQ as OneBot v11 tells of it: a client that connects to a host, delivers messages and takes what the bot sends.

The shapes are those of the standard's pages on events, messages and the public API.
"""

import itertools
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.clients.environments import Package
from tests.plugins.host import GROUP, PEOPLE, Chat

WEBSOCKETS = Package("websockets", "15.0.1")
BOT = 10_001
ANSWER_SECONDS, MORE_SECONDS = 25, 0.8


class OneBot(Chat):
    """A connection as the bot's account."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._numbers = itertools.count(int(time.time()))
        self._sent: list[tuple[bool, str]] = []  # in the group or not, and the words
        threading.Thread(target=self._listen, daemon=True).start()

    def say(self, text: str, sender: str, *, in_group: bool = False, number: int | None = None) -> list[str]:
        before = len(self._sent)
        self._connection.send(json.dumps(event(text, sender, in_group, number or next(self._numbers))))
        end = time.monotonic() + ANSWER_SECONDS
        while len(self._sent) == before and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(MORE_SECONDS)
        return [words for group, words in self._sent[before:] if group == in_group]

    def _listen(self) -> None:
        for text in self._connection:
            call = json.loads(text)
            action, parameters = call["action"], call.get("params", {})
            if action.startswith("send_"):
                in_group = "group_id" in parameters or parameters.get("message_type") == "group"
                self._sent.append((in_group, words(parameters.get("message", ""))))
            done = {"status": "ok", "retcode": 0, "data": data(action, parameters), "echo": call.get("echo")}
            self._connection.send(json.dumps(done))


def event(text: str, sender: str, in_group: bool, number: int) -> dict[str, Any]:
    """A message as it is delivered."""
    parts: list[dict[str, Any]] = [{"type": "text", "data": {"text": text}}]
    if in_group:
        parts.insert(0, {"type": "at", "data": {"qq": str(BOT)}})
    user = PEOPLE[sender]
    report = {
        "time": int(time.time()),
        "self_id": BOT,
        "post_type": "message",
        "message_type": "group" if in_group else "private",
        "sub_type": "normal" if in_group else "friend",
        "message_id": number,
        "user_id": user,
        "message": parts,
        "raw_message": f"[CQ:at,qq={BOT}]{text}" if in_group else text,
        "font": 0,
        "sender": {"user_id": user, "nickname": sender.title(), "sex": "unknown", "age": 0, "role": "member"},
    }
    return {**report, "group_id": GROUP, "anonymous": None} if in_group else report


def words(message: Any) -> str:
    """The text of what a bot sends."""
    if isinstance(message, str):
        return message
    return "".join(part["data"]["text"] for part in message if part["type"] == "text")


def data(action: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """What a call is answered with."""
    name = next((name for name, number in PEOPLE.items() if number == parameters.get("user_id")), "somebody")
    answers = {
        "get_login_info": {"user_id": BOT, "nickname": "Bot"},
        "get_version_info": {"app_name": "fake", "app_version": "1", "protocol_version": "v11"},
        "get_status": {"online": True, "good": True},
        "get_group_info": {"group_id": GROUP, "group_name": "Friends", "member_count": 4, "max_member_count": 200},
    }
    person = {"user_id": parameters.get("user_id", 0), "nickname": name.title(), "card": "", "role": "member"}
    return answers.get(action, person if "info" in action else {"message_id": 900_000 + int(time.time()) % 90_000})


@contextmanager
def connected(url: str, seconds: float, token: str = "") -> Iterator[OneBot]:
    """The platform, connected to a host as soon as that listens."""
    WEBSOCKETS.install()
    if str(WEBSOCKETS.folder) not in sys.path:
        sys.path.append(str(WEBSOCKETS.folder))
    from websockets.exceptions import ConnectionClosed, InvalidHandshake
    from websockets.sync.client import connect

    headers = {"X-Self-ID": str(BOT), "X-Client-Role": "Universal"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    life = {"self_id": BOT, "post_type": "meta_event", "meta_event_type": "lifecycle", "sub_type": "connect"}
    end = time.monotonic() + seconds
    while True:
        try:
            connection = connect(url, additional_headers=headers, proxy=None)
            connection.send(json.dumps({**life, "time": int(time.time())}))
            break
        except (OSError, InvalidHandshake, ConnectionClosed):  # it does not listen yet, or takes nobody yet
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
    with connection:
        platform = OneBot(connection)
        time.sleep(0.5)
        yield platform
