"""A bot connected to a platform that is played on this machine, and a model that answers it."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from channels_app.models import Answerer, Channel, Connection, Receiving
from channels_app.platforms import intake, platform_named, telegram, work
from memories import secrets
from memories.models import Workspace
from tests.memories.llm.conftest import point_to
from tests.memories.llm.fake_server import Asked, FakeModel
from tests.support.fake_telegram import BOT, TOKEN, FakeTelegram, fake_telegram

SECRET = "a-secret-of-the-webhook"  # noqa: S105 (of nobody)


def echoing(request: Asked) -> str:
    """What the model answers: the last message, so that it can be told from the others."""
    return f"You wrote: {request.body['messages'][-1]['content']}"


@pytest.fixture
def model(settings: Any) -> Iterator[FakeModel]:
    with FakeModel(otherwise=echoing) as fake:
        point_to(settings, fake.url)
        yield fake


@pytest.fixture
def bot_api(settings: Any) -> Iterator[FakeTelegram]:
    with fake_telegram() as fake:
        settings.TELEGRAM_API_URL = fake.url
        yield fake
        telegram.close()


@pytest.fixture
def connection(workspace: Workspace, bot_api: FakeTelegram) -> Connection:
    return make_connection(workspace)


def make_connection(workspace: Workspace, **columns: Any) -> Connection:
    """A connection to Telegram that knows its secrets."""
    channel, _made = Channel.objects.get_or_create(workspace=workspace, platform="telegram", account=BOT["username"])
    options = {"bot_name": BOT["username"], "bot_id": str(BOT["id"])}
    defaults = {"receiving": Receiving.WEBHOOK, "answerer": Answerer.MODEL, "noticed_entry": 0}
    row = Connection.objects.create(workspace=workspace, channel=channel, options=options, **{**defaults, **columns})
    secrets.keep(row.secret_name("token"), TOKEN, workspace=workspace)
    secrets.keep(row.secret_name("webhook_secret"), SECRET, workspace=workspace)
    return row


def later(seconds: float) -> Callable[[], datetime]:
    """A clock that is so many seconds ahead."""
    return lambda: timezone.now() + timedelta(seconds=seconds)


def arrive(connection: Connection, *updates: dict[str, Any]) -> int:
    """Updates are reported, as they come; how many were new."""
    account = intake.account_of(connection)
    assert platform_named("telegram")
    return sum(intake.keep(connection, telegram.read(update, account), now=timezone.now()) for update in updates)


def work_through(seconds: float = 1.0, pulled: Collection[int] = ()) -> None:
    """Everything that waits is done, so many seconds later, by a process that receives for these connections."""
    clock = later(seconds)
    while chat := work.claim_chat(now=clock(), pulled=pulled):
        work.work_on(chat, clock)
