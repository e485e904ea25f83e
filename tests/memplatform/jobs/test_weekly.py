"""A weekly job runs once each Monday of the workspace, and makes up for the newest it missed (D6)."""

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

from memories import tasks
from memories.models import JobRun, Workspace
from memplatform.operations.jobs import registry, runs

FOUR = time(4, 0)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "now", "due"),
    [
        ("UTC", "2026-03-02 03:59", date(2026, 2, 23)),
        ("UTC", "2026-03-02 04:00", date(2026, 3, 2)),
        ("UTC", "2026-03-08 23:59", date(2026, 3, 2)),
        ("Asia/Kathmandu", "2026-03-01 22:14", date(2026, 2, 23)),
        ("Asia/Kathmandu", "2026-03-01 22:15", date(2026, 3, 2)),
        ("America/Sao_Paulo", "2026-03-02 06:59", date(2026, 2, 23)),
        ("America/Sao_Paulo", "2026-03-02 07:00", date(2026, 3, 2)),
        ("Europe/Berlin", "2026-03-30 01:59", date(2026, 3, 23)),  # the day after the clock was put forward
        ("Europe/Berlin", "2026-03-30 02:00", date(2026, 3, 30)),
        ("Europe/Berlin", "2026-10-26 02:59", date(2026, 10, 19)),  # and after it was put back
        ("Europe/Berlin", "2026-10-26 03:00", date(2026, 10, 26)),
    ],
)
def test_a_monday_is_due_when_its_hour_has_come_there(zone: str, now: str, due: date) -> None:
    assert runs.newest_due(FOUR, zone, utc(now), weekday=0) == due
    assert runs.next_run(FOUR, zone, utc(now), weekday=0) > utc(now)


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/Sao_Paulo", "Europe/Berlin", "Australia/Lord_Howe"])
def test_over_a_year_of_ticks_every_monday_is_due_once_and_in_order(zone: str) -> None:
    moment, seen = utc("2017-10-01 00:00"), []
    while moment < utc("2018-12-31 00:00"):
        day = runs.newest_due(FOUR, zone, moment, weekday=0)
        if not seen or seen[-1] != day:
            seen.append(day)
        moment += timedelta(minutes=15)
    assert seen == [seen[0] + timedelta(weeks=n) for n in range(len(seen))] and seen[0].weekday() == 0


@pytest.fixture
def weekly(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    ran: list[str] = []
    monkeypatch.setitem(registry.JOBS, "compress", replace(registry.JOBS["compress"], run=on_trial))
    monkeypatch.setattr(f"{__name__}._ran", ran)
    return ran


_ran: list[str] = []


def on_trial(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    _ran.append(run)
    return {}


def run_all(now: datetime) -> int:
    count = 0
    while claim := runs.claim_next("compress", now=now):
        runs.perform(claim, now=now)
        count += 1
    return count


@pytest.mark.django_db
def test_it_runs_once_a_week_and_of_many_missed_once(workspace: Workspace, weekly: list[str]) -> None:
    assert run_all(utc("2026-03-02 04:10")) == 1
    assert [run_all(utc(f"2026-03-0{day} 04:10")) for day in range(3, 9)] == [0] * 6
    assert run_all(utc("2026-04-01 12:00")) == 1  # off for weeks
    assert [str(run.local_date) for run in JobRun.objects.order_by("pk")] == ["2026-03-02", "2026-03-30"]


def test_it_says_when() -> None:
    assert registry.JOBS["compress"].when == "Monday 04:00"
    assert registry.JOBS["archive"].when == "04:00"
    assert registry.JOBS["tick"].when == "*/15 * * * *"


@pytest.mark.django_db
@pytest.mark.parametrize(("counts", "goes_on"), [
    ({"stopped_time": 1, "planned": 3}, True), ({"stopped_time": 1, "planned": 0}, False), ({"planned": 3}, False),
])  # fmt: skip
def test_what_there_was_no_time_for_is_taken_up_while_there_is_progress(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, counts: dict[str, int], goes_on: bool
) -> None:
    def work(*_args: Any, **_kwargs: Any) -> dict[str, int]:
        return counts

    monkeypatch.setattr("memories.consolidation.compression.compress_facts", work)
    done = tasks.compress(workspace.pk, now=utc("2026-03-02 04:10"), run="r", so_far={"planned": 2})
    assert (tasks.GOES_ON in done, done["planned"]) == (goes_on, counts["planned"] + 2)
    assert ("stopped_time" in done) == ("stopped_time" in counts and not goes_on)
