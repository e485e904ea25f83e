"""A run that is too long for one task is one run still: whole counts, its real duration, however often it is killed."""

import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django_q.models import OrmQ

from memories.choices import JobState
from memories.models import Batch, Entry, JobRun, Scope, Workspace
from memplatform import tasks
from memplatform.operations.jobs import runs
from tests.conftest import make_scope
from tests.memplatform.jobs.test_on_demand import old
from tests.support.nursery import Process, start
from tests.system.killed.test_expiry import EACH, many

NIGHT = datetime(2026, 5, 2, 4, 0, tzinfo=UTC)


def the_next_task() -> None:
    """As the worker takes it from the queue."""
    queued = OrmQ.objects.latest("pk")
    task = queued.task
    queued.delete()
    assert task["func"] == "memplatform.tasks.go_on"
    tasks.go_on(*task["args"])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task has its time for one row."""
    monkeypatch.setattr("memories.batches.apply.CHUNK", 1)
    monkeypatch.setattr("memories.tasks.LONGEST_SECONDS", -1)
    monkeypatch.setattr("memories.tasks.REST_SECONDS", 0.0)


@pytest.mark.django_db
def test_it_is_running_until_the_last_task_ends_it(workspace: Workspace, scope: Scope, short: None) -> None:
    old(scope, "the extraction batch came on Tuesday", "包裹周二到了", "a bicycle stands in the hall")
    claim = runs.claim_next("expire", now=NIGHT)
    assert claim
    runs.perform(claim, now=NIGHT)
    for entries in (1, 2, 3):
        run = JobRun.objects.get()
        assert (run.state, run.counts, run.started_at) == (JobState.RUNNING, {"scopes": 0, "entries": entries}, NIGHT)
        the_next_task()
    run = JobRun.objects.get()
    assert (run.state, run.counts, run.attempts) == (JobState.DONE, {"scopes": 1, "entries": 3}, 1)
    assert run.taken_at and run.finished_at and run.finished_at > run.taken_at > run.started_at == NIGHT
    assert (Batch.objects.get().counts, OrmQ.objects.count()) == ({"expire": 3}, 0)


@pytest.mark.django_db
def test_a_run_for_the_asking_too_and_a_task_that_comes_twice_does_nothing(
    workspace: Workspace, scope: Scope, short: None
) -> None:
    old(scope, "the extraction batch came on Tuesday")
    run = runs.enqueue("expire", workspace, actor="user:ann", now=NIGHT)
    tasks.perform(run.pk)
    OrmQ.objects.earliest("pk").delete()  # the queue has had it
    the_next_task()
    run.refresh_from_db()
    assert (run.state, run.counts) == (JobState.DONE, {"scopes": 1, "entries": 1})
    tasks.go_on(run.pk, 1)
    tasks.perform(run.pk)
    assert Batch.objects.count() == 1


@pytest.mark.django_db
def test_one_whose_next_task_was_lost_is_taken_over(
    workspace: Workspace, scope: Scope, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    old(scope, "the extraction batch came on Tuesday", "包裹周二到了")
    first = runs.claim_next("expire", now=NIGHT)
    assert first
    runs.perform(first, now=NIGHT)
    OrmQ.objects.all().delete()
    assert runs.claim_next("expire", now=NIGHT + timedelta(minutes=5)) is None
    monkeypatch.setattr("memories.tasks.LONGEST_SECONDS", 300)
    later = NIGHT + runs.abandoned_after() + timedelta(seconds=1)
    second = runs.claim_next("expire", now=later)
    assert second and (second.attempts, second.counts) == (2, {"scopes": 0, "entries": 1})
    assert runs.claim_again(second.pk, 1, now=later) is None  # the lost task turns up
    runs.perform(second, now=later)
    run = JobRun.objects.get()
    assert (run.state, run.counts, run.started_at) == (JobState.DONE, {"scopes": 1, "entries": 2}, NIGHT)


@pytest.mark.django_db
def test_days_that_several_tasks_have_made_into_facts_are_added_up(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [{"days": 3, "facts": 2, "waiting": 4, "stopped_time": 1}, {"days": 4, "facts": 1, "waiting": 0}]
    results: list[dict[str, int]] = []

    def work(*_args: Any, report: Any, **_kwargs: Any) -> dict[str, int]:
        report({"days": 1, "facts": 1})
        results.append(JobRun.objects.get().counts)
        return parts.pop(0)

    monkeypatch.setattr("memories.consolidation.compression.compress_days", work)
    monkeypatch.setattr(runs, "REPORTS_EVERY", 0.0)
    claim = runs.claim_next("compress-days", now=NIGHT)
    assert claim
    runs.perform(claim, now=NIGHT)
    assert JobRun.objects.get().counts == {"days": 3, "facts": 2, "waiting": 4}
    the_next_task()
    run = JobRun.objects.get()
    assert (run.state, run.counts) == (JobState.DONE, {"days": 7, "facts": 3, "waiting": 0})
    assert results == [{"days": 1, "facts": 1}, {"days": 4, "facts": 3}]


def worker(at: datetime) -> Process:
    return start("tests.system.worker.night", at.isoformat())


@pytest.mark.django_db(transaction=True)
def test_killed_twice_between_and_within_its_parts_it_tells_all_of_it(workspace: Workspace, scope: Scope) -> None:
    other, pick, at = make_scope(workspace, "telegram:direct_u43"), random.Random(5), NIGHT
    for place in (scope, other):
        many(place)
    for parts in (1, 2):
        with worker(at) as process:
            assert process.stdout is not None
            for _part in range(parts):
                assert process.stdout.readline() == "begun\n"
            time.sleep(pick.uniform(0.02, 0.12))
            process.kill()
        run = JobRun.objects.get()
        assert (run.state, run.finished_at) == (JobState.RUNNING, None)
        assert run.counts.get("entries", 0) <= Entry.objects.expired().count()
        OrmQ.objects.all().delete()
        at += runs.abandoned_after() + timedelta(seconds=1)
    with worker(at) as last:
        assert last.wait(120) == 0
    run = JobRun.objects.get()
    assert (run.state, run.attempts, run.started_at) == (JobState.DONE, 3, NIGHT)
    assert run.counts == {"scopes": 2, "entries": Entry.objects.expired().count()} == {"scopes": 2, "entries": 2 * EACH}
