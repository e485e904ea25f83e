"""The task queue: its broker inside a request, tasks that lost their worker or kill every one, and jobs that fail."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import Failure, OrmQ, Task
from django_q.tasks import async_task

from memories.tenancy import row_level_security
from memories.webhooks import FailingJob
from memplatform.operations.jobs.registry import JOBS, PREFIX

log = structlog.get_logger(__name__)


class Broker(ORM):  # type: ignore[misc]
    """Queues over the request's own connection: closed, as django-q would have it, it takes the wall along."""

    @staticmethod
    def get_connection(list_key: str | None = None) -> Any:
        return OrmQ.objects.using(Conf.ORM) if row_level_security.is_inside() else ORM.get_connection(list_key)


def release(task_id: str, *, now: datetime) -> None:
    """Run a task whose worker died again at once, not when its lock expires."""
    if row := _row(task_id):
        OrmQ.objects.filter(pk=row.pk).update(lock=now)
        log.warning("task.released", task=task_id)


def release_all(*, now: datetime) -> None:
    """Run again whatever a killed cluster had taken and not begun."""
    task_count = OrmQ.objects.filter(lock__gt=now).update(lock=now)
    if task_count:
        log.warning("tasks.released", count=task_count)


def set_aside(task_id: str, deaths: int, *, now: datetime) -> None:
    """Move a task that killed its worker every time from the queue to the failed tasks."""
    if (row := _row(task_id)) is None:
        return
    task = row.task
    fields = {name: task[name] for name in ("name", "args", "kwargs", "started")}
    fields |= {"func": str(task["func"]), "group": task.get("group"), "stopped": now, "success": False}
    result = _("It ended its worker process %(count)d times, and is not tried again.") % {"count": deaths}
    Task.objects.update_or_create(id=task_id, defaults={**fields, "result": result, "attempt_count": deaths})
    row.delete()
    log.error("task.set_aside", task=task_id, func=str(task["func"]), deaths=deaths)


def run_again(tasks: Iterable[Failure]) -> None:
    """Into the queue as they were called the first time and off the list of those that failed, in one transaction."""
    with transaction.atomic():
        for task in tasks:
            async_task(task.func, *(task.args or ()), hook=task.hook, group=task.group, **(task.kwargs or {}))
            task.delete()


def is_queued(task_id: str) -> bool:
    return bool(task_id) and _row(task_id) is not None


def _row(task_id: str) -> OrmQ | None:
    """Locked rows are read first: the task is nearly always one of them."""
    rows = OrmQ.objects.order_by("-lock").iterator(chunk_size=100)
    return next((row for row in rows if row.task_id() == task_id), None)


_KIND = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*")


def failing_jobs() -> list[FailingJob]:
    """The jobs whose last run failed, with how often that happened in a row."""
    names = {f"{PREFIX}{job.name}": job.name for job in JOBS.values() if job.cron and job.is_on}
    newest = Task.objects.filter(group__in=names).order_by("group", "-stopped").distinct("group")
    failing = []
    for task in newest:
        if not task.success:
            attempts_of_job, error = Task.objects.filter(group=task.group), kind_of(task.result)
            well_at = attempts_of_job.filter(success=True).aggregate(at=Max("stopped"))["at"]
            attempts = attempts_of_job.filter(success=False, **({"stopped__gt": well_at} if well_at else {})).count()
            day = task.stopped.astimezone(UTC).date()
            failing.append(FailingJob(job=names[task.group], date=day, attempts=attempts, error=error, well_at=well_at))
    return failing


def kind_of(result: object) -> str:
    """The kind of error in what a task left behind, a message and its traceback; never its words."""
    _before, frame, rest = str(result).rpartition('\n  File "')
    lines = (line for line in rest.splitlines()[1:] if line and not line.startswith(" "))
    kind = _KIND.fullmatch(next(lines, "").partition(":")[0]) if frame else None
    return kind[0] if kind else "Exception"
