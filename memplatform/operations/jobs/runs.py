"""Runs of jobs, nightly once a local date in every workspace, and on demand: which are due, claimed, and how they end.

The JobRun row is the claim. A date that was missed is made up for by the newest one, which covers the gap.
"""

import inspect
import logging
import time as clock
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Self
from uuid import uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django_q.tasks import async_task

from memories.choices import JobState
from memories.models import JobRun, Workspace
from memories.models.lease import LeaseQuerySet
from memories.offline import replicas
from memories.tasks import GOES_ON
from memplatform.operations.jobs.registry import JOBS

log = structlog.get_logger(__name__)
ATTEMPTS = 3
REPORTS_EVERY = 1.0  # second; a job may report more often than anybody reads
#: A run on demand that has not ended by then never will.
LOST_AFTER = timedelta(days=1)


class Finding(Exception):
    """What a run was to find out and found wrong: it has failed, and trying again would mend nothing."""


def run_name(run: JobRun) -> str:
    """`job:workspace:date`, as batches of the run are marked; of a run by hand its own id stands for the date.

    It stays the same however often the run is tried: what an attempt began, the next one goes on with.
    """
    return f"{run.job}:{run.workspace_id or 'all'}:{run.asked or run.local_date}"


def nightly() -> dict[str, time]:
    """The jobs with an hour of the day that are switched on, those of one day of the week too."""
    return {name: job.at for name, job in JOBS.items() if job.at and job.is_on}


def newest_due(at: time, zone: str, now: datetime, weekday: int | None = None) -> date:
    """The latest local date whose hour has come; of a weekly job the latest such day of the week.

    An hour the clock skips comes when the clock has jumped; of an hour that comes twice, the first counts.
    """
    today = today_in(zone, now)
    newest = today if _hour(today, at, zone) <= now else today - timedelta(days=1)
    return newest if weekday is None else newest - timedelta(days=(newest.weekday() - weekday) % 7)


def today_in(zone: str, now: datetime) -> date:
    return now.astimezone(_zone(zone)).date()


def next_run(at: time, zone: str, now: datetime, weekday: int | None = None) -> datetime:
    """When the next local date's hour comes."""
    apart = timedelta(days=1 if weekday is None else 7)
    return _hour(newest_due(at, zone, now, weekday) + apart, at, zone)


def _hour(day: date, at: time, zone: str) -> datetime:
    return datetime.combine(day, at, tzinfo=_zone(zone)).astimezone(UTC)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        log.warning("workspace.zone_unknown", zone=name)
        return ZoneInfo("UTC")


def due(job: str, *, now: datetime) -> list[tuple[int, date]]:
    """Workspaces, with their newest date of a job, where no process has begun it or the one that did is gone."""
    dates = _newest_dates(job, now)
    live_runs = JobRun.objects.filter(job=job, asked="", local_date__in=set(dates.values())).exclude(_is_abandoned(now))
    settled = set(live_runs.values_list("workspace_id", "local_date"))
    return [(pk, day) for pk, day in sorted(dates.items()) if (pk, day) not in settled]


def claim_next(job: str, *, now: datetime) -> JobRun | None:
    """The next run that is due, claimed for this process; None when no other is left."""
    fail_abandoned(job, now=now)
    for workspace_id, local_date in due(job, now=now):
        # Of many at once the first writes the row; the others wait for it, and find it taken
        key = {"job": job, "workspace_id": workspace_id, "local_date": local_date, "asked": ""}
        with transaction.atomic():
            row = JobRun(**key, state=JobState.QUEUED, started_at=now, taken_at=now)
            JobRun.objects.bulk_create([row], ignore_conflicts=True)
            runs = JobRun.objects.filter(**key)
            if run := begin(runs, now=now) or take_over(runs.filter(_is_abandoned(now)), now=now):
                return run
    return None


def begin(runs: LeaseQuerySet[JobRun], *, now: datetime) -> JobRun | None:
    """Claim one of these that nobody has begun; None when there is none."""
    queued_runs = runs.filter(state=JobState.QUEUED)
    return next(iter(queued_runs.claim(1, state=JobState.RUNNING, started_at=now, taken_at=now)), None)


def take_over(runs: LeaseQuerySet[JobRun], *, now: datetime) -> JobRun | None:
    """Claim one of these that lost its process, unless it was tried ATTEMPTS times."""
    running = runs.filter(state=JobState.RUNNING, attempts__lt=ATTEMPTS)
    return next(iter(running.claim(1, counting="attempts", taken_at=now)), None)


def claim_again(run_id: int, attempt: int, *, now: datetime) -> JobRun | None:
    """Claim a run that another task handed over; None when it has ended or another process has it."""
    handed_over = JobRun.objects.filter(pk=run_id, attempts=attempt, state=JobState.RUNNING)
    return next(iter(handed_over.claim(1, taken_at=now)), None)


def enqueue(job: str, workspace: Workspace | None, *, actor: str, now: datetime, is_dry: bool = False) -> JobRun:
    """Queue a run that somebody asks for: in a workspace, or of a job that is for the whole platform."""
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


def claim(run_id: int, *, now: datetime) -> JobRun | None:
    """Claim a run on demand; None when it has ended. One under way has lost its process."""
    run = JobRun.objects.exclude(asked="").filter(pk=run_id)
    claimed_run = begin(run, now=now) or take_over(run, now=now)
    if claimed_run is None:
        fail(run.filter(state=JobState.RUNNING, attempts__gte=ATTEMPTS), now=now)
    return claimed_run


def fail_lost(*, now: datetime) -> None:
    """Mark runs on demand as failed whose task was lost."""
    lost_runs = JobRun.objects.exclude(asked="").filter(taken_at__lt=now - LOST_AFTER)
    fail(lost_runs.filter(state__in=(JobState.QUEUED, JobState.RUNNING)), now=now)


def abandoned_after() -> timedelta:
    """The age from which a running run has lost its process: no task lives longer than the cluster's timeout."""
    return timedelta(seconds=settings.TASK_SECONDS + 60)


def _is_abandoned(now: datetime) -> Q:
    return Q(state=JobState.RUNNING, taken_at__lt=now - abandoned_after())


def fail_abandoned(job: str, *, now: datetime) -> None:
    """Mark runs as failed that lost their process ATTEMPTS times, or that a newer date has overtaken."""
    newest, abandoned = _newest_dates(job, now), JobRun.objects.filter(_is_abandoned(now))
    for run in abandoned.filter(job=job, asked=""):
        is_overtaken = run.workspace_id in newest and run.local_date < newest[run.workspace_id]
        if run.attempts >= ATTEMPTS or is_overtaken:
            fail(abandoned.filter(pk=run.pk), "overtaken by a newer date" if is_overtaken else "", now=now)


def fail(runs: QuerySet[JobRun], reason: str = "", *, now: datetime) -> None:
    """Mark runs as failed with their last error, or else with this reason."""
    for run in runs:
        error = run.error or reason or "its process ended"
        if runs.filter(pk=run.pk).update(state=JobState.FAILED, finished_at=now, error=error):
            log.error("job.failed", job=run.job, workspace=run.workspace_id, date=str(run.local_date), error=error)


def _newest_dates(job: str, now: datetime) -> dict[int, date]:
    """The newest date of a nightly job in each workspace; none of a job that is off, or not nightly."""
    if (at := nightly().get(job)) is None:
        return {}
    zones = Workspace.objects.values_list("pk", "time_zone")
    return {pk: newest_due(at, zone, now, JOBS[job].weekday) for pk, zone in zones}


def perform(run: JobRun, *, now: datetime) -> None:
    """Run a job that was claimed. What it raises is kept on its row, and raised again."""
    work = JOBS[run.job].work(is_dry=run.is_dry)
    with _Recorder(run) as recorder:
        arguments: dict[str, Any] = {"workspace_id": run.workspace_id, "now": now, "run": run_name(run)}
        arguments |= {"report": recorder.report, "so_far": run.counts}
        parameters = inspect.signature(work).parameters
        recorder.counts = work(**{name: value for name, value in arguments.items() if name in parameters})


class _Recorder:
    """Writes how a run goes and ends to its row, unless another process has taken it over meanwhile."""

    def __init__(self, run: JobRun) -> None:
        self.run = run
        self.counts: dict[str, int] = {}
        self._reported_at = clock.monotonic()

    def __enter__(self) -> Self:
        return self

    def report(self, counts: dict[str, int]) -> None:
        """Show on the row what has been counted so far, every REPORTS_EVERY seconds at most."""
        self.counts = counts
        if clock.monotonic() - self._reported_at >= REPORTS_EVERY:
            self._reported_at = clock.monotonic()
            self._update(counts=counts)

    def _update(self, **columns: Any) -> bool:
        mine = JobRun.objects.filter(pk=self.run.pk, attempts=self.run.attempts, state=JobState.RUNNING)
        return bool(mine.update(**columns))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        run = self.run
        replicas.note_write_after_commit(run.workspace_id)
        fields = {"job": run.job, "workspace": run.workspace_id, "date": str(run.local_date), "attempt": run.attempts}
        if self.counts.pop(GOES_ON, 0):
            with transaction.atomic():  # another task goes on under the same row, which stays running
                if self._update(counts=self.counts, error=""):
                    arguments = run.pk, run.attempts
                    async_task("memplatform.tasks.go_on", *arguments, group="mem:nightly", ack_failure=True)
            log.info("job.goes_on", **fields, **self.counts)
        elif kind is None:
            self._update(state=JobState.DONE, finished_at=timezone.now(), counts=self.counts, error="")
            log.info("job.done", **fields, **self.counts)
        else:
            # a run on demand is not tried again by itself, nor one that found what it looked for
            is_last = run.attempts >= ATTEMPTS or run.asked or isinstance(error, Finding)
            last = {"state": JobState.FAILED, "finished_at": timezone.now()} if is_last else {}
            last |= {"counts": self.counts} if self.counts else {}  # as far as it came
            self._update(error=f"{kind.__name__}: {error}"[:2_000], **last)
            log.log(logging.ERROR if last else logging.WARNING, "job.interrupted", **fields, error=kind.__name__)
