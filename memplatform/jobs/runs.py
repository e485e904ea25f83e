"""Jobs that run once a local date in every workspace: which are due, who does them, and what became of them.

The JobRun row is the claim. A date that was missed is made up for by the newest one, which covers the gap.
"""

import inspect
import json
import logging
import time as clock
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from types import TracebackType
from typing import Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django_q.tasks import async_task

from memories.choices import JobState
from memories.models import JobRun, Workspace
from memories.tasks import GOES_ON
from memplatform.jobs.registry import JOBS

log = structlog.get_logger(__name__)
ATTEMPTS = 3

REPORTS_EVERY = 1.0  # second; a job may report more often than anybody reads


@dataclass(frozen=True)
class Claim:
    """The right to run a job for a workspace and local date, this time."""

    run_id: int
    job: str
    workspace_id: int | None  # None: the job is for the whole platform
    local_date: date
    attempt: int
    asked: str = ""
    is_dry: bool = False
    so_far: dict[str, int] = field(default_factory=dict)  # what tasks before this one have counted

    @property
    def run(self) -> str:
        """The same however often it is tried: what an attempt began, the next one goes on with."""
        return run_of(self.job, self.workspace_id, self.local_date, self.asked)


def run_of(job: str, workspace_id: int | None, local_date: date, asked: str = "") -> str:
    """The name of a run, as its batches bear it."""
    return f"{job}:{workspace_id or 'all'}:{asked or local_date}"


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
    """Workspaces whose newest date of a job nobody has begun, or somebody began and died."""
    at = nightly().get(job)
    if at is None:
        return []
    dates = _newest_dates(job, at, now)
    ran = JobRun.objects.filter(job=job, asked="", local_date__in=set(dates.values())).exclude(_abandoned(now))
    settled = set(ran.values_list("workspace_id", "local_date"))
    return [(pk, day) for pk, day in sorted(dates.items()) if (pk, day) not in settled]


def claim_next(job: str, *, now: datetime) -> Claim | None:
    """The next workspace's run, if one is due that nobody else takes first."""
    give_up(job, now=now)
    for workspace_id, local_date in due(job, now=now):
        if claimed := _claim(job, workspace_id, local_date, now):
            return claimed
    return None


def _claim(job: str, workspace_id: int, local_date: date, now: datetime) -> Claim | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_jobrun AS run (job, workspace_id, local_date, state, attempts, started_at, taken_at,"
            " counts, error, asked, actor, is_dry)"
            " VALUES (%(job)s, %(workspace)s, %(date)s, 'running', 1, %(now)s, %(now)s, '{}', '', '', '', false)"
            " ON CONFLICT (job, workspace_id, local_date, asked) DO UPDATE"
            " SET attempts = run.attempts + 1, taken_at = excluded.taken_at"
            " WHERE run.state = 'running' AND run.taken_at < %(stale)s AND run.attempts < %(most)s"
            " RETURNING id, attempts, counts::text",
            {
                "job": job,
                "workspace": workspace_id,
                "date": local_date,
                "now": now,
                "stale": now - abandoned_after(),
                "most": ATTEMPTS,
            },
        )
        row = cursor.fetchone()
    return row and Claim(row[0], job, workspace_id, local_date, row[1], so_far=json.loads(row[2]))


def claim_again(run_id: int, attempt: int, *, now: datetime) -> Claim | None:
    """The right to go on with a run that was handed over; None when it has ended, or somebody else has taken it."""
    mine = JobRun.objects.filter(pk=run_id, attempts=attempt, state=JobState.RUNNING)
    if not mine.update(taken_at=now):
        return None
    run = JobRun.objects.get(pk=run_id)
    return Claim(run.pk, run.job, run.workspace_id, run.local_date, attempt, run.asked, run.is_dry, run.counts)


def abandoned_after() -> timedelta:
    """No task lives longer than the cluster's timeout: a run older than that has lost its process."""
    return timedelta(seconds=settings.TASK_SECONDS + 60)


def _abandoned(now: datetime) -> Q:
    return Q(state=JobState.RUNNING, taken_at__lt=now - abandoned_after())


def give_up(job: str, *, now: datetime) -> None:
    """Runs that lost their process three times, or whose date a newer one has overtaken, have failed for all to see."""
    at = nightly().get(job)
    newest = _newest_dates(job, at, now) if at else {}
    for run in JobRun.objects.filter(_abandoned(now), job=job, asked=""):
        overtaken = run.workspace_id in newest and run.local_date < newest[run.workspace_id]
        if run.attempts >= ATTEMPTS or overtaken:
            error = run.error or ("overtaken by a newer date" if overtaken else "its process ended")
            JobRun.objects.filter(_abandoned(now), pk=run.pk).update(
                state=JobState.FAILED, finished_at=now, error=error
            )
            log.error("job.failed", job=job, workspace=run.workspace_id, date=str(run.local_date), error=error)


def _newest_dates(job: str, at: time, now: datetime) -> dict[int, date]:
    weekday = JOBS[job].weekday
    return {pk: newest_due(at, zone, now, weekday) for pk, zone in Workspace.objects.values_list("pk", "time_zone")}


def perform(claim: Claim, *, now: datetime) -> None:
    """Run a job under a claim. What goes wrong is kept on its row, and raised."""
    work = JOBS[claim.job].work(is_dry=claim.is_dry)
    with _Running(claim) as running:
        offered: dict[str, Any] = {"workspace_id": claim.workspace_id, "now": now, "run": claim.run}
        offered |= {"report": running.report, "so_far": claim.so_far}
        named = inspect.signature(work).parameters
        running.counts = work(**{name: value for name, value in offered.items() if name in named})


class _Running:
    """Writes down how a run ends, unless another process has taken it over meanwhile."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.counts: dict[str, int] = {}
        self._told_at = clock.monotonic()

    def __enter__(self) -> Self:
        return self

    def report(self, counts: dict[str, int]) -> None:
        """How far the job is, for whoever looks meanwhile."""
        if clock.monotonic() - self._told_at >= REPORTS_EVERY:
            self._told_at = clock.monotonic()
            self._mine().update(counts=counts)

    def _mine(self) -> QuerySet[JobRun]:
        return JobRun.objects.filter(pk=self.claim.run_id, attempts=self.claim.attempt, state=JobState.RUNNING)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _at: TracebackType | None
    ) -> None:
        mine = self._mine()
        told: dict[str, Any] = {"job": self.claim.job, "workspace": self.claim.workspace_id}
        told |= {"date": str(self.claim.local_date), "attempt": self.claim.attempt}
        if self.counts.pop(GOES_ON, 0):
            self._hand_over()
            log.info("job.goes_on", **told, **self.counts)
            return
        if kind is None:
            mine.update(state=JobState.DONE, finished_at=timezone.now(), counts=self.counts, error="")
            log.info("job.done", **told, **self.counts)
            return
        what = f"{kind.__name__}: {error}"[:2_000]
        is_last = self.claim.attempt >= ATTEMPTS or self.claim.asked  # nobody brings again what was asked for
        last = {"state": JobState.FAILED, "finished_at": timezone.now()} if is_last else {}
        mine.update(error=what, **last)
        log.log(logging.ERROR if last else logging.WARNING, "job.interrupted", **told, error=kind.__name__)

    def _hand_over(self) -> None:
        """Have another task go on, under the same row: it stays running until the last of them ends it."""
        with transaction.atomic():
            if self._mine().update(counts=self.counts, error=""):
                run = self.claim
                async_task("memplatform.tasks.go_on", run.run_id, run.attempt, group="mem:nightly", ack_failure=True)
