"""What the worker does for memories: one call a task; only the hourly ones read the clock themselves."""

import time as clock
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType

import structlog
from django.db import transaction
from django.utils import timezone
from django_q.tasks import async_task

from memories import batches
from memories.conf import conf
from memories.consolidation import compression, extraction
from memories.consolidation import day_notes as archiving
from memories.exceptions import PlatformError
from memories.lifecycle import access_counting, expiry, maintenance
from memories.models import Batch

log = structlog.get_logger(__name__)
Report = expiry.Report
Counts = Mapping[str, int]
NOTHING: Counts = MappingProxyType({})
#: Among what a job has counted: it had its time, and another task is to go on with it.
GOES_ON = "goes_on"
#: Rows of a batch that are carried out while somebody waits; what is larger is left to the worker.
AT_ONCE = batches.CHUNK
#: Seconds one task takes at most before another goes on: less than the cluster lets it live.
LONGEST_SECONDS = 300
REST_SECONDS = 1.0


class _TimeUp(Exception):
    """A task has had its time; another one goes on."""


def expire(workspace_id: int, *, now: datetime, run: str, report: Report | None = None) -> dict[str, int]:
    """Nightly, at the workspace's own hour; what there was no time for is another task, which counts all of it.

    Between two transactions it rests for as long as one took: half of a processor is left to those who are awake.
    """
    counts: dict[str, int] = {}
    ends, worked_from = clock.monotonic() + LONGEST_SECONDS, clock.monotonic()

    def tell(so_far: dict[str, int]) -> None:
        nonlocal worked_from
        counts.update(so_far)
        if report:
            report(so_far)
        if clock.monotonic() > ends:
            raise _TimeUp
        clock.sleep(min(clock.monotonic() - worked_from, REST_SECONDS))
        worked_from = clock.monotonic()

    try:
        return expiry.expire_due(workspace_id, now=now, run=run, report=tell)
    except _TimeUp:
        return counts | {GOES_ON: 1}


def restore_expired(batch_ids: list[int], *, term: timedelta | None, actor: str, reason: str) -> dict[str, int]:
    """What is too much to wait for; called again, it goes on with what is out still."""
    batches = Batch.objects.filter(pk__in=batch_ids)
    return expiry.restore_all(batches, term=term, now=timezone.now(), actor=actor, reason=reason)


def repair_index() -> dict[str, int]:
    """Hourly."""
    return maintenance.find_unindexed(now=timezone.now())


def clean_up() -> dict[str, int]:
    """Hourly."""
    return maintenance.clean_up(now=timezone.now())


def extract() -> dict[str, int]:
    """Every minute."""
    return extraction.extract_ready(timezone.now)


def extract_day(workspace_id: int, *, now: datetime, run: str, report: Report | None = None) -> dict[str, int]:
    """Nightly, at the workspace's own hour."""
    return extraction.extract_all(_from(now), workspace_id=workspace_id, report=report)


def compress_days(
    workspace_id: int, *, now: datetime, run: str, so_far: Counts = NOTHING, report: Report | None = None
) -> dict[str, int]:
    """Nightly, at the workspace's own hour; what there was no time for is another task."""

    def tell(counts: dict[str, int]) -> None:
        if report:
            report(_added(so_far, counts))

    counts = compression.compress_days(workspace_id, clock=_from(now), run=run, report=tell)
    return _added(so_far, _going_on(counts, "days"))


def compress(
    workspace_id: int, *, now: datetime, run: str, so_far: Counts = NOTHING, report: Report | None = None
) -> dict[str, int]:
    """Weekly, at the workspace's own hour; what there was no time for is another task, which counts all anew."""
    counts = _going_on(compression.compress_facts(workspace_id, clock=_from(now), run=run, report=report), "planned")
    return counts | {"planned": counts["planned"] + so_far.get("planned", 0)}


def _going_on(counts: dict[str, int], done: str) -> dict[str, int]:
    """What had its time and got somewhere goes on; what did not is left to the next night."""
    if not (counts.get("stopped_time") and counts[done]):
        return counts
    return {name: count for name, count in counts.items() if name != "stopped_time"} | {GOES_ON: 1}


def _added(so_far: Counts, counts: dict[str, int]) -> dict[str, int]:
    """What the tasks of a run have counted together; how many wait is said by the last of them."""
    return {name: count + (so_far.get(name, 0) if name != "waiting" else 0) for name, count in counts.items()}


def archive(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """Nightly, at the workspace's own hour, unless owners want no notes."""
    return archiving.archive_day(workspace_id, now=now) if conf.AUTO_MEMORY_SAVE_AT_4 else {}


def rehearse() -> dict[str, int]:
    """Every minute."""
    return access_counting.count_served(now=timezone.now())


def carry_out(batch_id: int) -> None:
    """What was approved or planned and is too large to wait for; again does nothing, two at once do it once."""
    _carry_out(Batch.objects.get(pk=batch_id))


def resume_batches() -> dict[str, int]:
    """Every five minutes."""
    return batches.resume(now=timezone.now())


def begin(planned: Batch, *, now: datetime) -> bool:
    """Have a batch carried out: at once when it is small, else by the worker; whether it is done.

    A frozen scope raises ScopeFrozen when the batch is small; a large one waits until it thaws.
    """
    if planned.changes.count() <= AT_ONCE:
        batches.apply_batch(planned, now=now)
        return True
    batches.start(planned)
    transaction.on_commit(partial(async_task, "memories.tasks.carry_out", planned.pk, group="mem:batches"))
    return False


def _carry_out(planned: Batch) -> None:
    try:
        batches.apply_batch(planned, now=timezone.now())
    except PlatformError as problem:  # a frozen scope: tried again every five minutes
        log.warning("batch.waits", batch=str(planned.uid), problem=type(problem).__name__)


def _from(now: datetime) -> Callable[[], datetime]:
    """A clock that begins at this moment: leases and limits go by the time that passes."""
    begun = timezone.now()
    return lambda: now + (timezone.now() - begun)
