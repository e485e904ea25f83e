"""Tasks of memories, by the paths the queue knows; memories.jobs schedules the jobs among them."""

import time as clock
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType

import structlog
from django.db import transaction
from django.utils import timezone
from django_q.tasks import async_task

from memories import batches, webhooks
from memories.conf import conf
from memories.consolidation import compression, extraction
from memories.consolidation import summaries as archiving
from memories.exceptions import BatchSettled, PlatformError
from memories.lifecycle import access_counting, expiry, maintenance, old_entries
from memories.models import Batch, Workspace
from memories.notes.condition import index_out_of_step
from memories.notes.freshness import scopes_to_index
from memories.notes.index import SyncReport

log = structlog.get_logger(__name__)
Report = expiry.Report
Counts = Mapping[str, int]
NOTHING: Counts = MappingProxyType({})
#: Count of a job whose time is up: another task continues it.
GOES_ON = "goes_on"
#: Rows of a batch that is applied in the request; a larger one is left to the worker.
INLINE_ROWS = batches.CHUNK
#: Seconds one task takes at most before another continues: less than the timeout of the cluster.
LONGEST_SECONDS = 300
REST_SECONDS = 1.0
#: Between two looks for deliveries, and between two tasks for them.
LOOK_SECONDS, ASKED_EVERY = 1.0, 5.0


class _TimeUp(Exception):
    """The time of a task is up; another one continues."""


def expire(workspace_id: int, *, now: datetime, run: str, report: Report | None = None) -> dict[str, int]:
    """Expire what is due, for LONGEST_SECONDS; after that the counts have GOES_ON.

    Between two transactions it rests for as long as one took, so that half of a processor stays free.
    """
    counts: dict[str, int] = {}
    ends, worked_from = clock.monotonic() + LONGEST_SECONDS, clock.monotonic()

    def rest(so_far: dict[str, int]) -> None:
        nonlocal worked_from
        counts.update(so_far)
        if report:
            report(so_far)
        if clock.monotonic() > ends:
            raise _TimeUp
        clock.sleep(min(clock.monotonic() - worked_from, REST_SECONDS))
        worked_from = clock.monotonic()

    try:
        return expiry.expire_due(workspace_id, now=now, run=run, report=rest)
    except _TimeUp:
        return counts | {GOES_ON: 1}


def restore_expired(
    batch_ids: list[int], *, term: timedelta | None, actor: str, reason: str, among: list[int] | None = None
) -> dict[str, int]:
    """Restore batches too large for a request; called again, it continues with what is still expired."""
    batches = Batch.objects.filter(pk__in=batch_ids)
    return expiry.restore_all(batches, term=term, now=timezone.now(), actor=actor, reason=reason, among=among)


def repair_index() -> dict[str, int]:
    return maintenance.find_unindexed(now=timezone.now())


def mark_echoes() -> dict[str, int]:
    return old_entries.mark_old_echoes(seconds=LONGEST_SECONDS)


def find_secrets() -> dict[str, int]:
    return old_entries.find_old_secrets(now=timezone.now(), seconds=LONGEST_SECONDS)


def clean_up() -> dict[str, int]:
    return maintenance.clean_up(now=timezone.now())


def extract() -> dict[str, int]:
    return extraction.extract_ready(timezone.now)


def extract_day(workspace_id: int, *, now: datetime, run: str, report: Report | None = None) -> dict[str, int]:
    return extraction.extract_all(clock_from(now), workspace_id=workspace_id, report=report)


def compress_days(
    workspace_id: int, *, now: datetime, run: str, so_far: Counts = NOTHING, report: Report | None = None
) -> dict[str, int]:
    """Make facts of the days before, for COMPRESS_TIME a task; the counts are those of all tasks of the run."""

    def report_all(counts: dict[str, int]) -> None:
        if report:
            report(_sum(so_far, counts))

    counts = compression.compress_days(workspace_id, clock=clock_from(now), run=run, report=report_all)
    return _sum(so_far, _with_continuation(counts, "days"))


def compress(
    workspace_id: int, *, now: datetime, run: str, so_far: Counts = NOTHING, report: Report | None = None
) -> dict[str, int]:
    """Judge facts, for COMPRESS_TIME a task; each task counts all anew, except what was planned."""
    counts = _with_continuation(
        compression.compress_facts(workspace_id, clock=clock_from(now), run=run, report=report), "planned"
    )
    return counts | {"planned": counts["planned"] + so_far.get("planned", 0)}


def _with_continuation(counts: dict[str, int], count_name: str) -> dict[str, int]:
    """The counts, with GOES_ON where the time was up and something was done."""
    if not (counts.get("stopped_time") and counts[count_name]):
        return counts
    return {name: count for name, count in counts.items() if name != "stopped_time"} | {GOES_ON: 1}


def _sum(so_far: Counts, counts: dict[str, int]) -> dict[str, int]:
    """The sums of all tasks of a run; `waiting` is that of the last."""
    return {name: count + (so_far.get(name, 0) if name != "waiting" else 0) for name, count in counts.items()}


def archive(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """Condense the day before into notes, unless AUTO_MEMORY_SAVE_AT_4 is off."""
    return archiving.archive_day(workspace_id, now=now) if conf.AUTO_MEMORY_SAVE_AT_4 else {}


def rehearse() -> dict[str, int]:
    return access_counting.count_served(now=timezone.now())


def tidy_branch(batch_id: int, model: str) -> None:
    """Have a model tidy a memory on a branch that somebody asked for."""
    branch = Batch.objects.select_related("scope", "workspace").get(pk=batch_id)
    try:
        compression.propose_on(branch, model_name=model, clock=timezone.now)
    except BatchSettled:
        log.warning("branch.settled", batch=str(branch.uid))


def carry_out(batch_id: int) -> None:
    """Apply a batch too large for a request; again does nothing, two at once do it once."""
    batch = Batch.objects.get(pk=batch_id)
    try:
        batches.apply_batch(batch, now=timezone.now())
    except PlatformError as problem:  # a frozen scope: tried again every five minutes
        log.warning("batch.waits", batch=str(batch.uid), problem=type(problem).__name__)


def resume_batches() -> dict[str, int]:
    return batches.resume(now=timezone.now())


def deliver_webhooks() -> dict[str, int]:
    return webhooks.deliver_due(timezone.now)


def deliver_at_once() -> dict[str, int]:
    """What is due now: to receivers that answer before those that did not."""
    return webhooks.deliver_due(timezone.now)


class DeliverSoon:
    """Has the worker deliver what was just made, or is to be sent again, not within the minute but the second.

    It is work of the process that embeds (memories.index.worker.EmbedderWork), which is awake after every write.
    """

    is_urgent = True

    def __init__(self) -> None:
        self._next_at = 0.0

    def __call__(self, *, now: datetime) -> float:
        if clock.monotonic() >= self._next_at and webhooks.has_due(now=now):
            self._next_at = clock.monotonic() + ASKED_EVERY
            async_task("memories.tasks.deliver_at_once", group="mem:webhooks")
        return LOOK_SECONDS


deliver_soon = DeliverSoon()


def index_files(workspace_id: int, scope_ids: list[int] | None = None) -> dict[str, int]:
    """Index what is out of step in these scopes, or in all of a workspace; when the time is up another task goes on."""
    workspace, ends = Workspace.objects.get(pk=workspace_id), clock.monotonic() + LONGEST_SECONDS
    report = SyncReport()
    for scope in scopes_to_index(workspace, scope_ids):
        seconds_left = max(ends - clock.monotonic(), 0.0)
        report.add(index_out_of_step(scope, now=timezone.now(), seconds=seconds_left))
    if not report.is_complete:
        async_task("memories.tasks.index_files", workspace_id, scope_ids, group="mem:files")
    return {"files": report.files, "created": report.created, "changed": report.changed, "ended": report.ended}


def apply_or_queue(planned: Batch, *, now: datetime, most: int | None = None) -> bool:
    """Apply a batch at once when it has at most so many rows (INLINE_ROWS), else by the worker; whether it is applied.

    A frozen scope raises ScopeFrozen when the batch is small; a large one waits until it thaws.
    """
    if planned.changes.count() <= (INLINE_ROWS if most is None else most):
        batches.apply_batch(planned, now=now)
        return True
    batches.start(planned)
    transaction.on_commit(partial(async_task, "memories.tasks.carry_out", planned.pk, group="mem:batches"))
    return False


def deliver_on_commit() -> None:
    """Have deliveries sent as soon as they are committed, not when the next minute begins."""
    transaction.on_commit(partial(async_task, "memories.tasks.deliver_webhooks", group="mem:webhooks"))


def clock_from(now: datetime) -> Callable[[], datetime]:
    """A clock that begins at this moment: leases and limits go by the time that passes."""
    begun = timezone.now()
    return lambda: now + (timezone.now() - begun)
