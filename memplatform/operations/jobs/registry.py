"""Every job of the platform in one table, and the schedule rows of django-q2 kept equal to it (C10).

A job with a cron cadence is a schedule row of its own. One with an hour of the day runs once a local date in every
workspace's own time zone: the tick asks every 15 minutes which are due (memplatform.operations.jobs.runs).
"""

import ast
from datetime import datetime, time, timedelta

import structlog
from croniter import croniter
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils.translation import gettext_noop as _
from django_q.models import Schedule

import channels_app.tasks
import memories.jobs
import sessions_app.tasks
from memories.jobs import Job

log = structlog.get_logger(__name__)

#: The jobs of the platform itself.
OWN = (
    Job("tick", _("starts the nightly jobs that are due"), "D6", cron="*/15 * * * *",
        run="memplatform.tasks.tick", preview="memplatform.tasks.count_due"),
    Job("tell-condition", _("tells webhooks which part is missing or late"), "F1", cron="* * * * *",
        run="memplatform.tasks.tell_condition", preview="memplatform.tasks.count_parts"),
    Job("erase", _("erases the people an operator ordered to be erased"), "F7", cron="* * * * *",
        run="memplatform.tasks.erase_waiting", preview="memplatform.tasks.count_erasures"),
    Job("roll-up", _("counts what happened, for the charts of the home page"), "A14", cron="2-59/5 * * * *",
        run="memplatform.tasks.roll_up", preview="memplatform.tasks.count_hours"),
    Job("leak-drill", _("asks every door for words that nobody else may be shown"), "A22", at=time(5, 30), weekday=6,
        run="memplatform.tasks.drill_workspace", preview="memplatform.tasks.count_scopes_to_drill",
        is_on_by_default=False),
    Job("archive-records", _("moves old history and recall traces to the archive"), "F5", at=time(4, 15),
        run="memplatform.archive.move_due", preview="memplatform.archive.count_due", is_on_by_default=False),
)  # fmt: skip
JOBS = {job.name: job for job in (*OWN, *memories.jobs.JOBS, *sessions_app.tasks.JOBS, *channels_app.tasks.JOBS)}

PREFIX = "mem:"
_LOCK = 7_305_117  # any number nobody else uses
#: What ast raises for a text that is no literal.
_UNREADABLE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
#: Fields of a row that may not differ; the time of its next run is compared apart.
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


def sync_schedules(*, now: datetime) -> None:
    """Make the schedule rows equal to the table: create, repair, de-duplicate, and delete those it does not name.

    A row somebody else made is only touched when it cannot be run: one such row would stop all the others.
    """
    jobs_by_name = {f"{PREFIX}{name}": job for name, job in JOBS.items() if job.cron and job.is_on}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        rows: dict[str, Schedule] = {}
        for row in Schedule.objects.order_by("pk"):
            name = row.name or ""
            if name in jobs_by_name and name not in rows:
                rows[name] = row
            elif name.startswith(PREFIX):
                row.delete()
                log.warning("schedule.dropped", schedule=name, id=row.pk)
            elif problem := _invalid_field(row):
                Schedule.objects.filter(pk=row.pk).update(repeats=0)  # off, and kept for its owner to mend
                log.error("schedule.quarantined", schedule=name or str(row.pk), id=row.pk, problem=problem)
        for name, job in jobs_by_name.items():
            fields = {**_FIXED, "func": job.task, "cron": job.cron}
            next_run = croniter(job.cron, now).get_next(datetime)
            schedule = rows.get(name)
            if schedule is None:
                # Not by save(), which has a clock of its own.
                Schedule.objects.bulk_create([Schedule(name=name, next_run=next_run, **fields)])
                log.info("schedule.created", schedule=name)
                continue
            if schedule.repeats == 0:  # switched off in the admin, where it is switched on again
                fields["repeats"] = 0
            drifted = sorted(field for field, value in fields.items() if getattr(schedule, field) != value)
            is_lost = schedule.next_run is None or schedule.next_run > next_run + timedelta(minutes=1)
            if drifted or is_lost:
                Schedule.objects.filter(pk=schedule.pk).update(**fields, next_run=next_run)
                log.warning("schedule.repaired", schedule=name, fields=drifted or ["next_run"])


def _invalid_field(row: Schedule) -> str | None:
    """The field that keeps a schedule row from running; None when it can run, or is switched off."""
    if row.repeats == 0:
        return None
    try:
        ast.literal_eval(row.args or "()")
    except _UNREADABLE:
        return "args"
    if row.kwargs and not _are_keywords(row.kwargs):
        return "kwargs"
    if row.schedule_type == Schedule.CRON and not croniter.is_valid(row.cron or ""):
        return "cron"
    if row.schedule_type == Schedule.MINUTES and not row.minutes:
        return "minutes"
    if not row.func:
        return "func"
    try:
        row.full_clean(exclude=["args", "kwargs", "cron", "minutes", "func", "next_run"])
    except ValidationError as error:
        return ", ".join(error.message_dict)
    return None


def _are_keywords(text: str) -> bool:
    """Whether django-q2 can read it: a dictionary with names for keys, or `name=value, …` of literals."""
    try:
        value = ast.literal_eval(text)
        return isinstance(value, dict) and all(isinstance(name, str) for name in value)
    except _UNREADABLE:
        pass
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        for keyword in getattr(call, "keywords", []):
            ast.literal_eval(keyword.value)
    except _UNREADABLE:
        return False
    return isinstance(call, ast.Call) and not call.args
