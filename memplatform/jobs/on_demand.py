"""Runs somebody asks for by hand, beside the nightly ones: queued, claimed once, for real or dry."""

from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction
from django_q.tasks import async_task

from memories.choices import JobState
from memories.models import JobRun, Workspace
from memplatform.jobs import runs

#: A run that was asked for and has not ended by then never will.
LOST_AFTER = timedelta(days=1)


def enqueue(job: str, workspace: Workspace | None, *, actor: str, now: datetime, is_dry: bool = False) -> JobRun:
    """Queue a run of a job: in a workspace, or of a job that is for the whole platform."""
    with transaction.atomic():
        run = JobRun.objects.create(
            job=job,
            workspace=workspace,
            local_date=runs.today_in(workspace.time_zone if workspace else "UTC", now),
            asked=str(uuid4()),
            actor=actor,
            is_dry=is_dry,
            state=JobState.QUEUED,
            started_at=now,
            taken_at=now,
        )
        async_task("memplatform.tasks.perform", run.pk, group="mem:asked", ack_failure=True)
    return run


def claim(run_id: int, *, now: datetime) -> JobRun | None:
    """Claim a queued run; None when it has ended. A run under way has lost its process."""
    run = JobRun.objects.exclude(asked="").filter(pk=run_id)
    claimed = runs.begin(run, now=now) or runs.take_over(run, now=now)
    if claimed is None:
        runs.fail(run.filter(state=JobState.RUNNING, attempts__gte=runs.ATTEMPTS), now=now)
    return claimed


def fail_lost(*, now: datetime) -> None:
    """Mark runs as failed whose task was lost."""
    lost = JobRun.objects.exclude(asked="").filter(taken_at__lt=now - LOST_AFTER)
    runs.fail(lost.filter(state__in=(JobState.QUEUED, JobState.RUNNING)), now=now)
