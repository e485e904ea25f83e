"""A key that calls too often is asked to wait, whichever web process it meets."""

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import connections

from memories.models import BotKey, KeyUsage, Workspace
from tests.conftest import Api, make_key, make_scope

AT = datetime(2026, 3, 1, 9, 0, 42, 500_000, tzinfo=UTC)


@pytest.fixture
def token(workspace: Workspace, settings: Any) -> str:
    make_scope(workspace, "main")
    settings.MEMORY_CALLS_PER_MINUTE = 3
    return make_key(workspace)


@pytest.mark.django_db
def test_the_call_beyond_the_limit_is_told_when_to_come_back(token: str) -> None:
    with time_machine.travel(AT, tick=False):
        codes = [Api(token).get("entries").status_code for _call in range(3)]
        refused = Api(token).get("entries")
    assert codes == [200, 200, 200]
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "18"
    assert refused.json()["errors"][0]["code"] == "throttled"
    assert refused.json()["type"] == "client_error"


@pytest.mark.django_db
def test_the_next_minute_begins_anew(token: str) -> None:
    with time_machine.travel(AT, tick=False):
        for _call in range(4):
            Api(token).get("entries")
    with time_machine.travel(AT.replace(minute=1, second=0), tick=False):
        assert Api(token).get("entries").status_code == 200


@pytest.mark.django_db
def test_each_key_is_counted_for_itself(token: str, workspace: Workspace) -> None:
    with time_machine.travel(AT, tick=False):
        for _call in range(4):
            Api(token).get("entries")
        assert Api(make_key(workspace)).get("entries").status_code == 200


@pytest.mark.django_db
def test_what_is_refused_changes_nothing(token: str) -> None:
    with time_machine.travel(AT, tick=False):
        for _call in range(3):
            Api(token).get("entries")
        assert Api(token).post("entries", {"scope": "main", "content": "tea"}).status_code == 429
    with time_machine.travel(AT.replace(minute=1), tick=False):
        assert Api(token).get("entries").json()["results"] == []


@pytest.mark.django_db
def test_a_stranger_without_a_key_counts_for_nobody(token: str) -> None:
    assert Api("mp_unknown").get("entries").status_code == 401
    assert not KeyUsage.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_workers_that_count_at_once_lose_no_call() -> None:
    token = make_key(Workspace.objects.create(name="Alice's"))
    minute = AT.replace(second=0, microsecond=0)

    def count() -> None:
        for _call in range(20):
            BotKey.objects.admit(token, AT, counted=minute)
        connections.close_all()

    workers = [threading.Thread(target=count) for _worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert KeyUsage.objects.get().calls == 80
