"""Everything the platform does by itself, in one table, and keeping django-q2's rows equal to it (C10).

A job with a cron cadence (UTC) is a schedule row of its own. One with an hour of the day runs once a local date in
every workspace's own time zone: the tick asks every 15 minutes which are due (memplatform.jobs).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta

import structlog
from croniter import croniter
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils.dates import WEEKDAYS
from django_q.models import Schedule

from memories.conf import conf

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Job:
    """What runs when, and the behaviour it keeps. Its off switch is MEMORY_JOB_<NAME>."""

    task: str
    cadence: str | time
    behaviour: str
    what: str
    weekday: int | None = None  # of a weekly job; 0 is Monday

    @property
    def when(self) -> str:
        """`*/15 * * * *`, `03:30`, or `Monday 04:00`, in the language of whoever reads it."""
        if isinstance(self.cadence, str):
            return self.cadence
        return f"{'' if self.weekday is None else f'{WEEKDAYS[self.weekday]} '}{self.cadence:%H:%M}"


JOBS: dict[str, Job] = {
    "tick": Job("memplatform.tasks.tick", "*/15 * * * *", "D6", "starts the nightly jobs that are due"),
    "count-terms": Job("memories.tasks.count_terms", time(2, 30), "E5", "counts the words of every scope anew"),
    "extract": Job("memories.tasks.extract", "* * * * *", "D5", "extracts conversations that have gone quiet"),
    "extract-day": Job("memories.tasks.extract_day", time(3, 0), "D5", "extracts whatever the buffer still holds"),
    "expire": Job("memories.tasks.expire", time(3, 30), "A9", "takes out of use what has lived its time"),
    "compress-days": Job("memories.tasks.compress_days", time(3, 15), "D6", "makes facts of the days before"),
    "capacity": Job("memories.tasks.keep_within", time(3, 45), "D1", "archives what has faded and what is too much"),
    "compress": Job(
        "memories.tasks.compress", time(4, 0), "D6", "merges and drops facts, refreshes profiles", weekday=0
    ),
    "archive": Job("memories.tasks.archive", time(4, 0), "C10", "condenses the day before into a note"),
    "rehearse": Job("memories.tasks.rehearse", "* * * * *", "D2", "counts what was recalled"),
    "purge": Job("memories.tasks.purge", time(4, 30), "A9", "proposes to remove for good what expired long ago"),
    "resume-batches": Job(
        "memories.tasks.resume_batches", "*/5 * * * *", "F3", "goes on with batches left half applied"
    ),
    "repair-index": Job(
        "memories.tasks.repair_index", "7 * * * *", "C12", "finds entries without search row or vector"
    ),
    "sweep-sessions": Job(
        "sessions_app.tasks.sweep_sessions", "*/10 * * * *", "B4", "closes conversations that were idle for too long"
    ),
    "clean-events": Job("sessions_app.tasks.clean_events", "5-59/10 * * * *", "C6", "removes old session events"),
    "clean-up": Job("memories.tasks.clean_up", "37 * * * *", "F5", "removes records that are no longer needed"),
}

#: What says what a job would do: it plans batches that wait for somebody to decide, or counts.
DRY: dict[str, str] = {
    "tick": "memplatform.tasks.would_tick",
    "count-terms": "memories.previews.count_terms",
    "extract": "memories.previews.extract",
    "extract-day": "memories.previews.extract_day",
    "expire": "memories.previews.expire",
    "compress-days": "memories.previews.compress_days",
    "capacity": "memories.previews.keep_within",
    "compress": "memories.previews.compress",
    "archive": "memories.previews.archive",
    "rehearse": "memories.previews.rehearse",
    "purge": "memories.previews.purge",
    "resume-batches": "memories.previews.resume_batches",
    "repair-index": "memories.previews.repair_index",
    "sweep-sessions": "sessions_app.previews.sweep_sessions",
    "clean-events": "sessions_app.previews.clean_events",
    "clean-up": "memories.previews.clean_up",
}

PREFIX = "mem:"
_LOCK = 7_305_117  # any number nobody else uses
#: What a row of the table may not differ in; the moment of the next run is minded apart.
_FIXED = {
    "schedule_type": Schedule.CRON,
    "repeats": -1,
    "args": None,
    "kwargs": None,
    "hook": None,
    "minutes": None,
    "cluster": None,
    "intended_date_kwarg": None,
}


def is_on(name: str) -> bool:
    return bool(getattr(conf, f"JOB_{name.upper().replace('-', '_')}"))


def ensure(*, now: datetime) -> None:
    """Make the schedule rows what the table says: create, repair, leave one of several, drop what it does not name.

    A row somebody else made is only touched when it cannot be run: one such row would stop all the others.
    """
    wanted = {f"{PREFIX}{name}": job for name, job in JOBS.items() if isinstance(job.cadence, str) and is_on(name)}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        rows: dict[str, Schedule] = {}
        for row in Schedule.objects.order_by("pk"):
            name = row.name or ""
            if name in wanted and name not in rows:
                rows[name] = row
            elif name.startswith(PREFIX):
                row.delete()
                log.warning("schedule.dropped", schedule=name, id=row.pk)
            elif problem := complaint(row):
                _quarantine(row, problem)
        for name, job in wanted.items():
            _settle(rows.get(name), name, job, now)


def complaint(row: Schedule) -> str | None:
    """Why a schedule row that is switched on cannot be run; None if it can."""
    return None if row.repeats == 0 else next(_complaints(row), None)


def _complaints(row: Schedule) -> Iterator[str]:
    if row.args:
        try:
            ast.literal_eval(row.args)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            yield "args"
    if row.kwargs and not _are_keywords(row.kwargs):
        yield "kwargs"
    if row.schedule_type == Schedule.CRON and not croniter.is_valid(row.cron or ""):
        yield "cron"
    if row.schedule_type == Schedule.MINUTES and not row.minutes:
        yield "minutes"
    if not row.func:
        yield "func"
    try:
        row.full_clean(exclude=["args", "kwargs", "cron", "minutes", "func", "next_run"])
    except ValidationError as error:
        yield ", ".join(error.message_dict)


def _are_keywords(text: str) -> bool:
    """Whether django-q2 can read it: a dictionary with names for keys, or `name=value, …`."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return _are_named(text)
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def _are_named(text: str) -> bool:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        return isinstance(call, ast.Call) and not call.args and all(_is_literal(word.value) for word in call.keywords)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _quarantine(row: Schedule, problem: str) -> None:
    """Kept for its owner to mend, and never run: a schedule repeated no more times is passed over."""
    Schedule.objects.filter(pk=row.pk).update(repeats=0)
    log.error("schedule.quarantined", schedule=row.name or str(row.pk), id=row.pk, problem=problem)


def _settle(row: Schedule | None, name: str, job: Job, now: datetime) -> None:
    wanted = {**_FIXED, "func": job.task, "cron": job.cadence}
    if row is not None and row.repeats == 0:  # switched off in the admin, where it is switched on again
        wanted["repeats"] = 0
    next_run = croniter(job.cadence, now).get_next(datetime)
    if row is None:
        # Not by save(), which has a clock of its own.
        Schedule.objects.bulk_create([Schedule(name=name, next_run=next_run, **wanted)])
        log.info("schedule.created", schedule=name)
        return
    drifted = sorted(field for field, value in wanted.items() if getattr(row, field) != value)
    lost = row.next_run is None or row.next_run > next_run + timedelta(minutes=1)
    if drifted or lost:
        Schedule.objects.filter(pk=row.pk).update(**wanted, next_run=next_run)
        log.warning("schedule.repaired", schedule=name, fields=drifted or ["next_run"])
