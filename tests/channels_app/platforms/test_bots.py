"""The owner's bot answers: called at an address of its own, or asking for messages. Memory is beside both."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from django.utils import timezone
from standardwebhooks.webhooks import Webhook as StandardWebhook

from channels_app.models import Answerer, Connection, ConnectionProblem, IncomingMessage, NoticeMode
from channels_app.platforms import answering, work
from memories.models import Entry, Workspace
from memories.webhooks.delivery import signed_headers
from sessions_app.models import SessionEvent
from tests import ROOT
from tests.channels_app.platforms.conftest import arrive, later, make_connection, work_through
from tests.conftest import Api, make_key
from tests.support.fake_telegram import FakeTelegram
from tests.support.local_server import QuietHandler, local_server

ANN, BOB, GROUP = 42, 77, -100_1


class Bot:
    """A bot of the owner's: what it was called with, and what it answers."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.answer: Callable[[dict[str, Any]], tuple[int, bytes]] = lambda body: (
            200,
            json.dumps({"text": f"bot: {body['message']}"}).encode(),
        )
        self.url = ""


@pytest.fixture
def bot(settings: Any) -> Iterator[Bot]:
    settings.MEMORY_WEBHOOK_PRIVATE_ADDRESSES = True  # it is on this machine
    mine = Bot()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            raw = self.raw_body()
            mine.calls.append(({name.lower(): value for name, value in self.headers.items()}, raw))
            self.answer(*mine.answer(json.loads(raw)))

    with local_server(Handler) as url:
        mine.url = f"{url}/"
        yield mine


@pytest.fixture
def called(workspace: Workspace, bot_api: FakeTelegram, bot: Bot) -> tuple[Connection, str]:
    """A connection whose bot is called, and the secret of its calls."""
    row = make_connection(
        workspace, answerer=Answerer.CALLBACK, callback_url=bot.url, notices=NoticeMode.OFF, has_commands=False
    )
    return row, answering.new_callback_secret(row)


def test_a_bot_is_called_signed_with_what_memory_knows_and_its_answer_is_sent_and_remembered(
    called: tuple[Connection, str], bot: Bot, bot_api: FakeTelegram
) -> None:
    connection, secret = called
    arrive(connection, bot_api.write(ANN, "The boat is in Lagos harbour."))
    arrive(connection, bot_api.write(BOB, "@mem_bot hello", group=GROUP))
    work_through()
    arrive(connection, bot_api.write(ANN, "In which harbour is the boat?"))
    work_through()
    headers, raw = bot.calls[-1]
    asked = StandardWebhook(secret).verify(raw, headers)
    assert asked["message"] == "In which harbour is the boat?" and asked["sender_name"] == "User 42"
    assert asked["address"] == {"platform": "telegram", "account": "mem_bot", "peer": "42"}
    assert "Lagos" in json.dumps(asked["context"])
    assert bot_api.texts(ANN)[-1] == "bot: In which harbour is the boat?"
    assert SessionEvent.objects.filter(kind="assistant", content="bot: In which harbour is the boat?").exists()
    assert secret not in str(asked)


@pytest.mark.parametrize("answer", [(500, b""), (200, b"not json"), (200, b'{"other": 1}'), (404, b'{"text": "x"}')])
def test_a_bot_that_does_not_answer_is_asked_again_and_what_was_written_is_kept(
    called: tuple[Connection, str], bot: Bot, bot_api: FakeTelegram, answer: tuple[int, bytes]
) -> None:
    connection, _secret = called
    bot.answer = lambda _body: answer
    arrive(connection, bot_api.write(ANN, "I live in Porto."))
    for seconds in (1, 10, 100, 1000):
        work_through(seconds)
    connection.refresh_from_db()
    assert len(bot.calls) == 3 and connection.problem == ConnectionProblem.CALLBACK
    assert Entry.objects.get().content.startswith("User: I live in Porto.")


def test_a_bot_that_says_nothing_is_taken_at_its_word(
    called: tuple[Connection, str], bot: Bot, bot_api: FakeTelegram
) -> None:
    connection, _secret = called
    bot.answer = lambda _body: (204, b"")
    arrive(connection, bot_api.write(ANN, "I live in Porto."))
    work_through()
    assert bot_api.texts() == [] and len(bot.calls) == 1 and Entry.objects.count() == 1


@pytest.fixture
def documented(called: tuple[Connection, str], settings: Any) -> Iterator[str]:
    """The bot of docs/howto/answer-with-your-bot.md as it stands there, at its address."""
    connection, secret = called
    page = (ROOT / "docs" / "howto" / "answer-with-your-bot.md").read_text()
    program = page.partition("```python\n")[2].partition("```")[0]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "BOT_SECRET": secret, "PORT": str(port)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment)  # noqa: S603 (our own docs)
    try:
        for _again in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        connection.callback_url = f"http://127.0.0.1:{port}/"
        connection.save()
        yield connection.callback_url
    finally:
        process.terminate()
        process.wait(10)


def test_the_bot_of_the_docs_answers_with_what_memory_knows_and_refuses_what_is_forged(
    documented: str, called: tuple[Connection, str], bot_api: FakeTelegram
) -> None:
    connection, secret = called
    arrive(connection, bot_api.write(ANN, "The boat is in Lagos harbour."))
    work_through()
    arrive(connection, bot_api.write(ANN, "/reset"), bot_api.write(ANN, "In which harbour is the boat?"))
    work_through()
    assert bot_api.texts()[0] == "You wrote: The boat is in Lagos harbour.\nI know: nothing yet"
    assert bot_api.texts()[-1].startswith("You wrote: In which harbour is the boat?\nI know: ")
    assert "Lagos" in bot_api.texts()[-1]
    body, now = b'{"message": "x", "context": {"text": ""}}', int(timezone.now().timestamp())
    genuine = signed_headers(secret, "1", now, body)
    forged = [
        {}, {**genuine, "webhook-signature": "v1,AAAA"}, {**genuine, "webhook-id": "2"},
        signed_headers(secret, "1", now - 400, body),
    ]  # fmt: skip
    statuses = [httpx.post(documented, content=body, headers=headers).status_code for headers in [genuine, *forged]]
    assert statuses == [200, 401, 401, 401, 401]


@pytest.fixture
def asking(workspace: Workspace, bot_api: FakeTelegram) -> Connection:
    """A connection whose bot asks for messages."""
    return make_connection(workspace, answerer=Answerer.POLL, notices=NoticeMode.OFF)


PLACE = {"platform": "telegram", "account": "mem_bot"}


def test_a_bot_that_asks_gets_messages_in_order_and_its_answers_are_sent(
    asking: Connection, bot_api: FakeTelegram, api: Api
) -> None:
    arrive(asking, bot_api.write(ANN, "first"), bot_api.write(ANN, "second"), bot_api.write(BOB, "other"))
    work_through()
    taken = [api.post("messages/next", PLACE).json()["message"] for _thrice in range(3)]
    assert [row and row["message"] for row in taken] == ["first", "other", None]
    answer = api.post(f"messages/{taken[0]['id']}/answer", {"text": "one"})
    assert answer.status_code == 201 and answer.json()["entries"][0]["scope"] == "telegram:direct_42"
    assert api.post(f"messages/{taken[0]['id']}/answer", {"text": "one"}).status_code == 404
    work_through()
    assert bot_api.texts() == ["one"]
    assert api.post("messages/next", PLACE).json()["message"]["message"] == "second"


def test_a_message_a_bot_took_and_did_not_answer_is_given_out_again(
    asking: Connection, bot_api: FakeTelegram, api: Api
) -> None:
    arrive(asking, bot_api.write(ANN, "hello"))
    work_through()
    first = api.post("messages/next", PLACE).json()["message"]
    assert work.put_back_offered(now=later(299)()) == 0 and work.put_back_offered(now=later(301)()) == 1
    assert api.post("messages/next", PLACE).json()["message"]["id"] == first["id"]


def test_a_bot_sees_no_message_beyond_the_reach_of_its_key(
    asking: Connection, bot_api: FakeTelegram, workspace: Workspace, stranger: Workspace
) -> None:
    arrive(asking, bot_api.write(ANN, "hello"))
    work_through()
    uid = IncomingMessage.objects.get().uid
    narrow = Api(make_key(workspace, name="narrow", scope_patterns=["telegram:direct_77"]))
    other = Api(make_key(stranger))
    for bot in (narrow, other):
        answer = bot.post("messages/next", PLACE)
        assert answer.json() == {"message": None} if bot is narrow else answer.status_code == 400
        assert bot.post(f"messages/{uid}/answer", {"text": "x"}).status_code == 404
    reader = Api(make_key(workspace, name="reader", permissions=["read"]))
    assert reader.post("messages/next", PLACE).status_code == 403


@pytest.mark.parametrize(
    ("columns", "place"),
    [({}, {"account": "nobody"}), ({"answerer": Answerer.MODEL}, {}), ({"is_enabled": False}, {})],
)
def test_a_bot_that_asks_where_no_bot_may_ask_learns_it(
    asking: Connection, api: Api, columns: dict[str, Any], place: dict[str, Any]
) -> None:
    Connection.objects.update(**columns)
    answer = api.post("messages/next", {**PLACE, **place})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "account")
