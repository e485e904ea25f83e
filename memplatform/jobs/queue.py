"""The rows of the task queue, as far as the watchdog minds them: tasks that lost their worker, or kill every one."""

from datetime import datetime

import structlog
from django.utils.translation import gettext as _
from django_q.models import OrmQ, Task

log = structlog.get_logger(__name__)


def release(task_id: str, *, now: datetime) -> None:
    """Have a task whose worker died run again at once, not when its claim runs out."""
    if row := _row(task_id):
        OrmQ.objects.filter(pk=row.pk).update(lock=now)
        log.warning("task.released", task=task_id)


def release_all(*, now: datetime) -> None:
    """The same for whatever a killed cluster had taken and not begun."""
    released = OrmQ.objects.filter(lock__gt=now).update(lock=now)
    if released:
        log.warning("tasks.released", count=released)


def set_aside(task_id: str, deaths: int, *, now: datetime) -> None:
    """Take a task that killed its worker every time out of the queue, to stand among the failed ones."""
    row = _row(task_id)
    if row is None:
        return
    task = row.task
    Task.objects.update_or_create(
        id=task_id,
        defaults={
            "name": task["name"],
            "func": str(task["func"]),
            "args": task["args"],
            "kwargs": task["kwargs"],
            "group": task.get("group"),
            "started": task["started"],
            "stopped": now,
            "success": False,
            "result": _("It ended its worker process %(count)d times, and is not tried again.") % {"count": deaths},
            "attempt_count": deaths,
        },
    )
    row.delete()
    log.error("task.set_aside", task=task_id, func=str(task["func"]), deaths=deaths)


def is_there(task_id: str) -> bool:
    return bool(task_id) and _row(task_id) is not None


def _row(task_id: str) -> OrmQ | None:
    """Those in hand first: it is nearly always one of a few."""
    rows = OrmQ.objects.order_by("-lock").iterator(chunk_size=100)
    return next((row for row in rows if row.task_id() == task_id), None)
