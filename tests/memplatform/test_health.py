"""/readyz says in short words what is wrong; how wrong, only to those who may know."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ, Schedule

from channels_app.models import Channel, Connection
from memories import entries
from memories.choices import Permission
from memories.index import worker
from memories.models import Entry, EntryVector, IndexQueueItem, Scope, Workspace
from memories.tenancy.row_level_security import WEB_ROLE
from memplatform.operations import health, incidents
from memplatform.operations.models import Heartbeat, IncidentKind
from tests.conftest import NOW, acting_as, make_draft, make_key

pytestmark = pytest.mark.django_db
AFAR = {"REMOTE_ADDR": "203.0.113.9"}


def beat(*names: str, seconds_ago: float = 1) -> None:
    at = timezone.now() - timedelta(seconds=seconds_ago)
    for pid, name in enumerate(names, start=1):
        Heartbeat.objects.create(name=name, pid=pid, started_at=at, beat_at=at)


@pytest.fixture
def running(db: None) -> None:
    beat("web", "embedder", "worker")


def ready(**extra: Any) -> tuple[int, dict[str, Any]]:
    answer = Client().get("/readyz", **extra)
    return answer.status_code, answer.json()


def test_when_all_is_well_it_is_ready_and_afar_no_more_is_said(running: None) -> None:
    assert ready(**AFAR) == (200, {"status": "ok"})


@pytest.mark.parametrize("name", ["embedder", "worker"])
def test_a_process_that_was_never_heard_of_or_fell_silent_is_named(name: str) -> None:
    others = {"embedder", "worker"} - {name}
    beat(*others)
    assert ready(**AFAR) == (503, {"status": "unavailable", "not_ready": [name]})
    beat(name, seconds_ago=31)
    assert ready(**AFAR)[1]["not_ready"] == [name]


@pytest.mark.parametrize("name", ["embedder", "worker"])
def test_a_process_of_another_host_that_is_silent_takes_no_host_of_the_web_away(name: str, settings: Any) -> None:
    settings.PARTS = ["web"]
    beat(*({"embedder", "worker"} - {name}))
    assert ready(**AFAR) == (200, {"status": "behind", "behind": [name]})


def test_mcp_that_is_switched_on_and_silent_is_behind_and_nothing_else_stops(running: None, settings: Any) -> None:
    settings.MCP = True
    assert ready(**AFAR) == (200, {"status": "behind", "behind": ["mcp"]})
    beat("mcp", seconds_ago=31)
    assert ready(**AFAR)[1]["behind"] == ["mcp"]
    Heartbeat.objects.filter(name="mcp").update(beat_at=timezone.now())
    assert ready(**AFAR) == (200, {"status": "ok"})


def test_where_a_platform_is_connected_silent_channels_are_behind_though_the_web_sees_no_connection(
    running: None, workspace: Workspace
) -> None:
    with acting_as(WEB_ROLE):
        assert ready(**AFAR) == (200, {"status": "ok"})
    channel = Channel.objects.create(workspace=workspace, platform="wecom", account="小助手")
    row = Connection.objects.create(workspace=workspace, channel=channel)
    with acting_as(WEB_ROLE):
        assert ready(**AFAR) == (200, {"status": "behind", "behind": ["channels"]})
    Connection.objects.filter(pk=row.pk).update(is_enabled=False)
    with acting_as(WEB_ROLE):
        assert ready(**AFAR) == (200, {"status": "ok"})


def test_without_a_database_only_that_is_said(running: None) -> None:
    with patch("memplatform.operations.health.measure", side_effect=OperationalError("connection refused by 10.0.0.1")):
        assert ready() == (503, {"status": "unavailable", "not_ready": ["database"]})


def test_tables_that_are_not_up_to_date_are_told(running: None) -> None:
    recorder = MigrationRecorder(connection)
    newest = max(name for app, name in recorder.applied_migrations() if app == "channels_app")
    recorder.record_unapplied("channels_app", newest)
    assert ready() == (503, {"status": "unavailable", "not_ready": ["migrations"]})


def test_tables_of_a_newer_version_are_told_and_what_is_none_of_ours_is_not(running: None) -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("axes", "9999_of_a_later_version")  # squashed and renamed as its authors like
    assert ready() == (200, {"status": "ok"})
    recorder.record_applied("channels_app", "9999_of_a_later_version")
    assert ready() == (503, {"status": "unavailable", "not_ready": ["version"]})


def test_work_that_is_behind_is_named_and_requests_are_answered_all_the_same(running: None, scope: Scope) -> None:
    long_ago = timezone.now() - timedelta(minutes=10)
    OrmQ.objects.create(key="memplatform", payload="", lock=long_ago)
    Schedule.objects.create(name="late", func="builtins.print", next_run=long_ago, schedule_type="H")
    entry = entries.remember(make_draft(scope, "tea"), now=NOW, actor="test").entry
    IndexQueueItem.objects.filter(entry=entry).update(since=long_ago)
    assert ready(**AFAR) == (200, {"status": "behind", "behind": ["queue", "schedules", "embedding"]})


def test_what_is_only_blended_anew_or_out_of_use_is_not_behind(running: None, scope: Scope) -> None:
    """A quarantine blends what stood beside its memories anew; what is out of use needs no vector."""
    entry = entries.remember(make_draft(scope, "the kettle is red"), now=NOW, actor="test").entry
    worker.drain(now=timezone.now())
    long_ago = timezone.now() - timedelta(minutes=10)
    IndexQueueItem.objects.create(entry=entry, workspace=scope.workspace, since=long_ago)
    assert ready(**AFAR) == (200, {"status": "ok"})
    assert incidents.found_in(health.examine(timezone.now()), now=timezone.now()) == {}
    EntryVector.objects.filter(entry=entry).delete()
    assert ready(**AFAR)[1]["behind"] == ["embedding"]
    result = incidents.found_in(health.examine(timezone.now()), now=timezone.now())
    assert set(result) == {("embedding", IncidentKind.LATE)}
    Entry.objects.filter(pk=entry.pk).update(expired_at=NOW)
    assert ready(**AFAR) == (200, {"status": "ok"})


def test_tasks_in_hand_and_schedules_that_are_off_are_not_behind(running: None) -> None:
    OrmQ.objects.create(key="memplatform", payload="", lock=timezone.now() + timedelta(minutes=10))
    long_ago = timezone.now() - timedelta(days=1)
    Schedule.objects.create(name="off", func="builtins.print", next_run=long_ago, schedule_type="H", repeats=0)
    assert ready(**AFAR) == (200, {"status": "ok"})


def test_staff_who_are_logged_in_are_told_how_things_stand(running: None) -> None:
    client = Client()
    client.force_login(get_user_model().objects.create_user("alice", is_staff=True))
    details = client.get("/readyz").json()["details"]
    assert set(details["silence"]) == {"web", "embedder", "worker"}
    assert details["queue_age"] == details["lag"] == 0


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "203.0.113.9"])
def test_where_a_call_comes_from_opens_nothing_for_a_proxy_speaks_for_everybody(running: None, address: str) -> None:
    assert "details" not in ready(REMOTE_ADDR=address)[1]
    assert Client().get("/metrics", REMOTE_ADDR=address).status_code == 403


def test_afar_a_key_that_may_administer_or_the_metrics_key_opens_the_details(
    running: None, workspace: Workspace, settings: Any
) -> None:
    settings.METRICS_KEY = "for the watchman"
    reader = make_key(workspace, name="reader", permissions=[Permission.READ])
    for token, opens in (
        (make_key(workspace), True),
        ("for the watchman", True),
        (reader, False),
        ("", False),
        ("näher", False),
    ):
        _status, body = ready(**AFAR, HTTP_AUTHORIZATION=f"Bearer {token}")
        assert ("details" in body) == opens, token


def test_it_lives_as_long_as_it_answers() -> None:
    with patch("memplatform.operations.health.examine", None):
        assert Client().get("/livez").json() == {"status": "ok"}
