"""The nightly jobs: due by each workspace's own clock, run once a date, taken over when a process died."""

import threading
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.db import connection
from django_q.models import OrmQ

from memories.models import JobRun, Workspace
from memplatform import tasks
from memplatform.operations.jobs import runs
from memplatform.operations.jobs.registry import JOBS

HALF_PAST_THREE = time(3, 30)
NIGHT = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "at", "now", "due"),
    [
        ("UTC", time(3, 30), "2026-03-01 03:29", date(2026, 2, 28)),
        ("UTC", time(3, 30), "2026-03-01 03:30", date(2026, 3, 1)),
        # Kathmandu is 5:45 ahead
        ("Asia/Kathmandu", time(3, 30), "2026-02-28 21:44", date(2026, 2, 28)),
        ("Asia/Kathmandu", time(3, 30), "2026-02-28 21:45", date(2026, 3, 1)),
        # São Paulo is 3 behind, and left midnight out on 2018-11-04
        ("America/Sao_Paulo", time(3, 30), "2026-03-01 06:29", date(2026, 2, 28)),
        ("America/Sao_Paulo", time(3, 30), "2026-03-01 06:30", date(2026, 3, 1)),
        ("America/Sao_Paulo", time(0, 15), "2018-11-04 03:14", date(2018, 11, 3)),
        ("America/Sao_Paulo", time(0, 15), "2018-11-04 03:15", date(2018, 11, 4)),
        # Berlin skips 02:00–03:00 on 2026-03-29: half past two comes when the clock has jumped
        ("Europe/Berlin", time(2, 30), "2026-03-29 01:15", date(2026, 3, 28)),
        ("Europe/Berlin", time(2, 30), "2026-03-29 01:30", date(2026, 3, 29)),
        # and has 02:00–03:00 twice on 2026-10-25: the first counts
        ("Europe/Berlin", time(2, 30), "2026-10-25 00:15", date(2026, 10, 24)),
        ("Europe/Berlin", time(2, 30), "2026-10-25 00:30", date(2026, 10, 25)),
        ("Europe/Berlin", time(2, 30), "2026-10-25 01:30", date(2026, 10, 25)),
        # an hour nobody knows is told in UTC
        ("Mars/Olympus", time(3, 30), "2026-03-01 03:30", date(2026, 3, 1)),
        ("../etc/passwd", time(3, 30), "2026-03-01 03:30", date(2026, 3, 1)),
    ],
)
def test_a_date_is_due_when_its_hour_has_come_there(zone: str, at: time, now: str, due: date) -> None:
    assert runs.newest_due(at, zone, utc(now)) == due


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/Sao_Paulo", "Europe/Berlin", "Australia/Lord_Howe"])
def test_over_a_year_of_ticks_every_date_is_due_once_and_in_order(zone: str) -> None:
    moment, seen = utc("2017-10-01 00:00"), []
    while moment < utc("2018-12-31 00:00"):
        day = runs.newest_due(HALF_PAST_THREE, zone, moment)
        if not seen or seen[-1] != day:
            seen.append(day)
        moment += timedelta(minutes=15)
    assert seen == [seen[0] + timedelta(days=n) for n in range(len(seen))]


@pytest.fixture
def nightly(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """One job at half past three, and how it was called."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(runs, "JOBS", {"expire": replace(JOBS["expire"], run=on_trial)})
    monkeypatch.setattr(f"{__name__}._calls", calls)
    return calls


_calls: list[dict[str, Any]] = []


def on_trial(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    _calls.append({"workspace": workspace_id, "run": run})
    if len(_calls) in _FAILING:
        raise LookupError("nothing there")
    return {"entries": 3}


_FAILING: set[int] = set()


def run_all(now: datetime) -> int:
    """Everything that is due, as the tick's tasks would do it one after the other."""
    count = 0
    while claim := runs.claim_next("expire", now=now):
        runs.perform(claim, now=now)
        count += 1
    return count


@pytest.mark.django_db
def test_each_workspace_runs_once_a_date(workspace: Workspace, stranger: Workspace, nightly: list[Any]) -> None:
    assert run_all(NIGHT) == 2
    assert run_all(NIGHT + timedelta(hours=23)) == 0
    assert run_all(NIGHT + timedelta(days=1)) == 2
    assert {call["run"] for call in nightly} == {
        f"expire:{pk}:2026-03-0{day}" for pk in (workspace.pk, stranger.pk) for day in (2, 3)
    }
    run = JobRun.objects.filter(workspace=workspace).earliest("pk")
    assert (run.state, run.attempts, run.counts) == ("done", 1, {"entries": 3})


#: Days before the clocks change there; Kathmandu has none to change.
EVES = [
    ("Asia/Kathmandu", "2026-03-28"), ("America/Sao_Paulo", "2018-11-03"), ("Europe/Berlin", "2026-03-28"),
    ("Europe/Berlin", "2026-10-24"),
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.django_db
@pytest.mark.parametrize(("zone", "begun"), EVES)
def test_over_a_change_of_the_clocks_every_local_date_runs_once(
    workspace: Workspace, nightly: list[Any], zone: str, begun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(runs.JOBS, "expire", replace(JOBS["expire"], run=on_trial, at=time(2, 30)))
    Workspace.objects.update(time_zone=zone)
    first = utc(f"{begun} 12:00")
    for half_hour in range(3 * 24 * 2):
        run_all(first + half_hour * timedelta(minutes=30))
    dates = list(JobRun.objects.order_by("pk").values_list("local_date", flat=True))
    assert dates == [dates[0] + timedelta(days=n) for n in range(4)]
    assert len(nightly) == len(dates)


@pytest.mark.django_db
def test_a_machine_that_was_off_for_three_days_catches_up_once(workspace: Workspace, nightly: list[Any]) -> None:
    run_all(NIGHT)
    back = NIGHT + timedelta(days=3, hours=5)
    assert [run_all(back + n * timedelta(minutes=15)) for n in range(8)] == [1, 0, 0, 0, 0, 0, 0, 0]
    assert [str(run.local_date) for run in JobRun.objects.order_by("pk")] == ["2026-03-02", "2026-03-05"]


@pytest.mark.django_db
def test_of_many_missed_nights_only_the_newest_is_made_up_for(workspace: Workspace, nightly: list[Any]) -> None:
    run_all(NIGHT)
    assert run_all(NIGHT + timedelta(days=9)) == 1
    assert [str(run.local_date) for run in JobRun.objects.order_by("pk")] == ["2026-03-02", "2026-03-11"]


@pytest.mark.django_db
def test_workspaces_far_apart_run_at_their_own_hour(workspace: Workspace, nightly: list[Any]) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(time_zone="Asia/Kathmandu")
    Workspace.objects.create(name="west", time_zone="America/Sao_Paulo")
    assert [str(day) for _, day in runs.due("expire", now=utc("2026-03-01 21:45"))] == ["2026-03-02", "2026-03-01"]


@pytest.mark.django_db
def test_a_run_whose_process_died_is_taken_over_at_most_twice_and_then_failed(
    workspace: Workspace, nightly: list[Any]
) -> None:
    later = runs.abandoned_after() + timedelta(seconds=1)
    for attempt in (1, 2, 3):
        claim = runs.claim_next("expire", now=NIGHT + (attempt - 1) * later)
        assert claim and claim.attempts == attempt
        assert runs.claim_next("expire", now=NIGHT + (attempt - 1) * later + timedelta(minutes=5)) is None
    assert runs.claim_next("expire", now=NIGHT + 3 * later) is None
    run = JobRun.objects.get()
    assert (run.state, run.attempts, run.error) == ("failed", 3, "its process ended")


@pytest.mark.django_db
def test_a_run_that_was_overtaken_by_the_next_date_is_failed_and_not_run(
    workspace: Workspace, nightly: list[Any]
) -> None:
    runs.claim_next("expire", now=NIGHT)  # and its process dies
    assert run_all(NIGHT + timedelta(days=1)) == 1
    assert [run.state for run in JobRun.objects.order_by("local_date")] == ["failed", "done"]


@pytest.mark.django_db
def test_what_goes_wrong_is_kept_and_tried_again(
    workspace: Workspace, nightly: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}._FAILING", {1})
    claim = runs.claim_next("expire", now=NIGHT)
    assert claim
    with pytest.raises(LookupError):
        runs.perform(claim, now=NIGHT)
    run = JobRun.objects.get()
    assert (run.state, run.error) == ("running", "LookupError: nothing there")
    assert run_all(NIGHT + runs.abandoned_after() + timedelta(seconds=1)) == 1
    run.refresh_from_db()
    assert (run.state, run.attempts, run.error) == ("done", 2, "")


@pytest.mark.django_db
def test_what_a_run_was_to_find_out_is_not_tried_again(
    workspace: Workspace, nightly: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def finds(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
        raise runs.Finding("a leak")

    monkeypatch.setattr(runs, "JOBS", {"expire": replace(JOBS["expire"], run=finds)})
    claim = runs.claim_next("expire", now=NIGHT)
    assert claim
    with pytest.raises(runs.Finding):
        runs.perform(claim, now=NIGHT)
    run = JobRun.objects.get()
    assert (run.state, run.attempts, run.error) == ("failed", 1, "Finding: a leak")
    assert run_all(NIGHT + runs.abandoned_after() + timedelta(seconds=1)) == 0


@pytest.mark.django_db
def test_after_the_third_failure_it_stays_failed(
    workspace: Workspace, nightly: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}._FAILING", {1, 2, 3})
    for attempt in range(3):
        claim = runs.claim_next("expire", now=NIGHT + attempt * timedelta(minutes=15))
        assert claim
        with pytest.raises(LookupError):
            runs.perform(claim, now=NIGHT)
    assert run_all(NIGHT + timedelta(hours=1)) == 0
    assert JobRun.objects.get().state == "failed"


@pytest.mark.django_db
def test_a_late_finish_of_a_run_that_was_taken_over_changes_nothing(workspace: Workspace, nightly: list[Any]) -> None:
    first = runs.claim_next("expire", now=NIGHT)
    second = runs.claim_next("expire", now=NIGHT + runs.abandoned_after() + timedelta(seconds=1))
    assert first and second
    runs.perform(first, now=NIGHT)
    assert JobRun.objects.get().state == "running"
    runs.perform(second, now=NIGHT)
    assert JobRun.objects.get().state == "done"


@pytest.mark.django_db
def test_a_job_that_is_switched_off_is_never_due(workspace: Workspace, nightly: list[Any], settings: Any) -> None:
    settings.MEMORY_JOB_EXPIRE = False
    assert run_all(NIGHT) == 0


@pytest.mark.django_db
def test_the_tick_queues_one_task_a_job_and_each_task_the_next(
    workspace: Workspace, stranger: Workspace, nightly: list[Any]
) -> None:
    assert tasks.tick() == {"expire": 2}
    for queued in (1, 2, 3):
        assert OrmQ.objects.count() == queued
        tasks.work("expire")
    assert OrmQ.objects.count() == 3  # the third found nothing to do
    assert len(nightly) == 2
    assert tasks.tick() == {"expire": 0}


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_gets_the_claim(nightly: list[Any]) -> None:
    Workspace.objects.create(name="wanted by all")
    together, claims = threading.Barrier(6), []

    def grab() -> None:
        together.wait()
        claims.append(runs.claim_next("expire", now=NIGHT))
        connection.close()

    threads = [threading.Thread(target=grab) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [claim for claim in claims if claim] == [claim for claim in claims if claim][:1]
    assert len(claims) == 6 and JobRun.objects.get().attempts == 1
