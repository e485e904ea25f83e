"""Jobs of the whole platform that fail: they run again by themselves, and have no run of their own on record."""

import re
from datetime import UTC

from django.db.models import Max
from django_q.models import Task

from memories.webhooks import FailingJob
from memplatform.operations.jobs.registry import JOBS, PREFIX

_KIND = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*")


def failing_jobs() -> list[FailingJob]:
    """The jobs whose last run failed, with how often that happened in a row."""
    names = {f"{PREFIX}{job.name}": job.name for job in JOBS.values() if job.cron and job.is_on}
    newest = Task.objects.filter(group__in=names).order_by("group", "-stopped").distinct("group")
    return [_failing(names[task.group], task) for task in newest if not task.success]


def _failing(job: str, task: Task) -> FailingJob:
    ran = Task.objects.filter(group=task.group)
    well_at = ran.filter(success=True).aggregate(at=Max("stopped"))["at"]
    failed = ran.filter(success=False, **({"stopped__gt": well_at} if well_at else {}))
    date = task.stopped.astimezone(UTC).date()
    return FailingJob(job=job, date=date, attempts=failed.count(), error=kind_of(task.result), well_at=well_at)


def kind_of(result: object) -> str:
    """The kind of error in what a task left behind, a message and its traceback; never its words."""
    _before, frame, rest = str(result).rpartition('\n  File "')
    lines = (line for line in rest.splitlines()[1:] if line and not line.startswith(" "))
    found = _KIND.fullmatch(next(lines, "").partition(":")[0]) if frame else None
    return found[0] if found else "Exception"
