"""Runs of a job that somebody asks for: beside the nightly ones, once each, for real or dry."""

from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction
from django_q.tasks import async_task

from memories.choices import JobState
from memories.models import JobRun, Workspace
from memplatform.jobs.runs import ATTEMPTS, Claim, today_in

#: A run that was asked for and has not ended by then never will.
LOST_AFTER = timedelta(days=1)


def enqueue(job: str, workspace: Workspace | None, *, actor: str, now: datetime, is_dry: bool = False) -> JobRun:
    """Queue a run of a job: in a workspace, or of a job that is for the whole platform."""
    with transaction.atomic():
        run = JobRun.objects.create(
            job=job,
            workspace=workspace,
            local_date=today_in(workspace.time_zone if workspace else "UTC", now),
            asked=str(uuid4()),
            actor=actor,
            is_dry=is_dry,
            state=JobState.QUEUED,
            started_at=now,
            taken_at=now,
        )
        async_task("memplatform.tasks.perform", run.pk, group="mem:asked", ack_failure=True)
    return run


def claim(run_id: int, *, now: datetime) -> Claim | None:
    """The right to do what was asked for. One that is running has lost its process, or the queue would not bring it."""
    with transaction.atomic():
        run = JobRun.objects.select_for_update(of=("self",)).exclude(asked="").filter(pk=run_id).first()
        if run is None or run.state in (JobState.DONE, JobState.FAILED):
            return None
        if run.state == JobState.RUNNING and run.attempts >= ATTEMPTS:
            _fail(run, now)
            return None
        run.attempts += run.state == JobState.RUNNING
        if run.state == JobState.QUEUED:
            run.started_at = now
        run.state, run.taken_at = JobState.RUNNING, now
        run.save(update_fields=["attempts", "state", "started_at", "taken_at"])
    return Claim(run.pk, run.job, run.workspace_id, run.local_date, run.attempts, run.asked, run.is_dry, run.counts)


def give_up(*, now: datetime) -> None:
    """Runs whose task was lost have failed, for all to see."""
    lost = JobRun.objects.exclude(asked="").filter(taken_at__lt=now - LOST_AFTER)
    for run in lost.filter(state__in=(JobState.QUEUED, JobState.RUNNING)):
        _fail(run, now)


def _fail(run: JobRun, now: datetime) -> None:
    error = run.error or "its process ended"
    JobRun.objects.filter(pk=run.pk).update(state=JobState.FAILED, finished_at=now, error=error)
