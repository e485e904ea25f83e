"""Runs of jobs that somebody asks for: beside the nightly ones, told of as they go, dry where wanted."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django_q.models import OrmQ

from memories import entries
from memories.choices import EntryType, JobState, Source
from memories.models import Batch, BatchChange, Entry, JobRun, Policy, Scope, Workspace
from memplatform import tasks
from memplatform.operations.jobs import runs
from memplatform.operations.jobs.registry import JOBS
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
NIGHT = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


def old(scope: Scope, *contents: str) -> None:
    stated = NOW - timedelta(days=400)
    turn = {"type": EntryType.CHAT_TURN, "source": Source.CONVERSATION_CAPTURE, "slots": {"sender_id": "u42"}}
    for content in contents:
        entries.remember(make_draft(scope, content, at=stated, **turn), now=stated, actor="test")


def asked(job: str, workspace: Workspace | None, **kwargs: Any) -> JobRun:
    """As the worker does what the admin has queued."""
    run = runs.enqueue(job, workspace, actor="user:ann", now=NIGHT, **kwargs)
    queued = OrmQ.objects.latest("pk").task
    assert (queued["func"], queued["args"]) == ("memplatform.tasks.perform", (run.pk,))
    tasks.perform(run.pk)
    run.refresh_from_db()
    return run


def test_a_run_for_the_asking_is_done_once_and_leaves_the_night_its_own(workspace: Workspace, scope: Scope) -> None:
    old(scope, "the extraction batch came on Tuesday", "包裹周二到了")
    run = asked("expire", workspace)
    assert (run.state, run.counts, run.actor) == (JobState.DONE, {"scopes": 1, "entries": 2}, "user:ann")
    tasks.perform(run.pk)
    assert Batch.objects.count() == 1
    assert (workspace.pk, NIGHT.date()) in runs.due("expire", now=NIGHT)
    assert runs.claim_next("expire", now=NIGHT) is not None


def test_a_dry_run_counts_and_changes_nothing(workspace: Workspace, scope: Scope) -> None:
    old(scope, "the extraction batch came on Tuesday")
    run = asked("expire", workspace, is_dry=True)
    assert (run.state, run.counts) == (JobState.DONE, {"scopes": 1, "entries": 1})
    assert not Batch.objects.exists() and not Entry.objects.expired().exists()


@pytest.mark.thorough
@pytest.mark.parametrize("job", sorted(JOBS))
def test_every_dry_run_says_what_would_be_done_in_counts(job: str, workspace: Workspace, scope: Scope) -> None:
    old(scope, "the extraction batch came on Tuesday")
    before = list(Entry.objects.values()), BatchChange.objects.exclude(state="planned").count()
    run = asked(job, None if JOBS[job].cron else workspace, is_dry=True)
    assert run.state == JobState.DONE and run.counts
    assert (list(Entry.objects.values()), BatchChange.objects.exclude(state="planned").count()) == before


def test_the_batch_says_by_which_version_of_the_policies_it_acted(workspace: Workspace, scope: Scope) -> None:
    old(scope, "the extraction batch came on Tuesday")
    policy = Policy.objects.create(workspace=workspace, kind="ttl", entry_type="chat_turn", scope_kind="user", value=9)
    Policy.objects.filter(pk=policy.pk).update(value=5)
    asked("expire", workspace)
    assert "chat_turn 5 d (policy version 2)" in Batch.objects.get().reason
    assert "auto_capture 90 d (built in)" in Batch.objects.get().reason


@pytest.fixture
def working(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(JOBS, "expire", replace(JOBS["expire"], run=work))
    monkeypatch.setattr(runs, "REPORTS_EVERY", 0.0)


_seen: list[dict[str, int]] = []


def work(workspace_id: int, *, report: Callable[[dict[str, int]], None]) -> dict[str, int]:
    _seen.clear()
    for done in (1, 2):
        report({"entries": done})
        _seen.append(JobRun.objects.get().counts)
    if workspace_id < 0:
        raise LookupError
    return {"entries": 3}


def test_how_far_a_run_is_can_be_seen_while_it_runs(workspace: Workspace, working: None) -> None:
    run = asked("expire", workspace)
    assert _seen == [{"entries": 1}, {"entries": 2}]
    assert run.counts == {"entries": 3}


def test_a_run_whose_process_died_is_taken_over_twice_and_then_failed(workspace: Workspace) -> None:
    run = runs.enqueue("expire", workspace, actor="user:ann", now=NIGHT)
    claims = [runs.claim(run.pk, now=NIGHT) for _ in range(4)]
    assert [claim and claim.attempts for claim in claims] == [1, 2, 3, None]
    assert len({runs.run_name(claim) for claim in claims if claim}) == 1
    run.refresh_from_db()
    assert (run.state, run.error) == (JobState.FAILED, "its process ended")


def test_what_goes_wrong_is_final_and_told(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_args: Any, **_kwargs: Any) -> None:
        raise LookupError("nothing there")

    monkeypatch.setattr("memories.lifecycle.expiry.expire_due", break_down)
    run = runs.enqueue("expire", workspace, actor="user:ann", now=NIGHT)
    with pytest.raises(LookupError):
        tasks.perform(run.pk)
    run.refresh_from_db()
    assert (run.state, run.error) == (JobState.FAILED, "LookupError: nothing there")


def test_a_run_whose_task_was_lost_fails_after_a_day(workspace: Workspace) -> None:
    run = runs.enqueue("expire", workspace, actor="user:ann", now=NIGHT)
    runs.fail_lost(now=NIGHT + timedelta(hours=23))
    assert JobRun.objects.get().state == JobState.QUEUED
    runs.fail_lost(now=NIGHT + timedelta(hours=25))
    run.refresh_from_db()
    assert run.state == JobState.FAILED


def test_every_job_of_the_platform_runs_for_the_asking_too(workspace: Workspace) -> None:
    run = asked("clean-up", None)
    assert run.state == JobState.DONE and run.workspace is None
    assert set(run.counts) >= {"traces", "job_runs"}


def test_what_jobs_did_is_listed_for_ninety_days(workspace: Workspace) -> None:
    from memories.lifecycle import maintenance

    for days in (89, 91):
        JobRun.objects.create(
            job="expire", workspace=workspace, local_date=(NOW - timedelta(days=days)).date(),
            started_at=NOW - timedelta(days=days), state=JobState.DONE,
        )  # fmt: skip
    assert maintenance.clean_up(now=NOW)["job_runs"] == 1
    assert JobRun.objects.get().started_at == NOW - timedelta(days=89)
