"""Incidents: from when to when a part did not do what it should; a clean restart is none."""

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import Error
from django.test import Client
from django.urls import reverse

from memplatform.operations import incidents
from memplatform.operations.health import Condition, Measures
from memplatform.operations.incidents import Downtimes
from memplatform.operations.models import Heartbeat, Incident, IncidentKind
from memplatform.processes.supervisor import Supervisor
from tests.conftest import NOW
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def incident_times() -> list[tuple[str, str, float, float | None]]:
    """Each incident with the seconds from NOW at which it began and ended."""
    rows = Incident.objects.order_by("began_at", "part")
    return [
        (row.part, row.kind, seconds(row.began_at), seconds(row.ended_at) if row.ended_at else None) for row in rows
    ]


def seconds(moment: datetime) -> float:
    return (moment - NOW).total_seconds()


def condition(behind: list[str], missing: list[str], **figures: Any) -> Condition:
    nothing: dict[str, Any] = dict.fromkeys(Measures.__dataclass_fields__, 0)
    return Condition(missing, behind, Measures(**nothing | {"silence": {}} | figures))


def test_what_is_found_every_minute_is_one_incident_from_its_beginning_to_its_end() -> None:
    late = condition(["queue", "model"], ["embedder"], queue_age=150.0, model_failed_ago=30.0, silence={"embedder": 45})
    for minute in range(3):
        result = incidents.found_in(late, now=NOW)
        incidents.observe(result, now=NOW + minute * MINUTE)
    incidents.observe({}, now=NOW + 3 * MINUTE)
    incidents.observe({}, now=NOW + 4 * MINUTE)
    assert incident_times() == [
        ("queue", "late", -150, 180),
        ("embedder", "silent", -45, 180),
        ("model", "away", -30, 180),
    ]


def test_a_process_that_ended_was_gone_until_the_next_one_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Downtimes()
    seen.gone("web", IncidentKind.STOPPED, NOW)
    seen.gone("web", IncidentKind.SILENT, NOW + MINUTE)  # and again, before it was back
    with monkeypatch.context() as away:
        away.setattr(incidents, "begin", lambda *_args, **_more: (_ for _ in ()).throw(Error))
        away.setattr(incidents, "connection", Mock())
        seen.gone("database", IncidentKind.AWAY, NOW + MINUTE)
        seen.write(now=NOW + MINUTE)
    assert incident_times() == []
    seen.back("database", NOW + 2 * MINUTE)
    seen.back("web", NOW + 3 * MINUTE)
    seen.back("web", NOW + 4 * MINUTE)
    seen.write(now=NOW + 4 * MINUTE)
    assert incident_times() == [("web", "stopped", 0, 180), ("database", "away", 60, 120)]


@pytest.mark.parametrize("was_killed", [True, False])
def test_a_platform_that_was_killed_did_not_run_and_one_that_was_stopped_is_no_incident(was_killed: bool) -> None:
    Heartbeat.objects.create(name="web", pid=1, started_at=NOW, beat_at=NOW)
    Supervisor(children=[], data=None, say=print, was_killed=was_killed).start()
    assert [row[:3] for row in incident_times()] == ([("platform", "stopped", 0)] if was_killed else [])


def test_after_a_restart_what_waited_is_no_incident() -> None:
    Heartbeat.objects.create(name="worker", pid=1, started_at=NOW, beat_at=NOW)
    assert not incidents.is_settled(now=NOW + MINUTE) and incidents.is_settled(now=NOW + 7 * MINUTE)


def test_only_the_newest_are_kept() -> None:
    made = [Incident(part=str(n), kind="late", began_at=NOW - n * MINUTE, seen_at=NOW) for n in range(1_003)]
    Incident.objects.bulk_create(
        [*made, Incident(part="old", kind="late", began_at=NOW - 500 * 24 * 60 * MINUTE, seen_at=NOW)]
    )
    incidents.forget_old(now=NOW)
    assert Incident.objects.count() == 1_000 and not Incident.objects.filter(part="1002").exists()


def test_all_pages_show_the_clock_the_reader_chose(alice: Client, mine: House) -> None:
    trace = reverse("admin:memories_recalltrace_changelist")
    mine.trace.created_at = NOW.replace(hour=20)
    mine.trace.save()
    assert "2026-03-01 20:00" in alice.get(trace).content.decode()
    alice.post(reverse("clock"), {"zone": "Asia/Shanghai"})
    page = alice.get(trace).content.decode()
    assert "2026-03-02 04:00" in page and "Asia/Shanghai" in page
    assert "is not a time zone" in alice.post(reverse("clock"), {"zone": "../etc"}, follow=True).content.decode()
    alice.post(reverse("clock"), {"reset": "1", "zone": "Asia/Shanghai"})
    assert "2026-03-01 20:00" in alice.get(trace).content.decode()
