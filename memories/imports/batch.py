"""What every import has in common: one batch that can be undone, taken up again after a kill, counted as it went (D8).

What an import brought once, and nobody undid, is not brought again: whatever people made of it since stays as it is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Protocol
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import Count, QuerySet

from memories import batches
from memories.batches.steps import CreateStep, PlanRow
from memories.choices import BatchState, BatchVerb, ChangeState, Outcome, SkipReason
from memories.exceptions import ScopeFrozen
from memories.imports.left_out import AllLeftOut, LeftOut, LeftOutReason
from memories.models import Batch, BatchChange, Entry, Scope

NAME = "import"
#: Two imports into one scope at once would both miss what the other plans.
_IMPORT_LOCK = 12 << 56
_OPEN = (BatchState.PROPOSED, BatchState.APPLYING, BatchState.APPLIED)
#: How far it is: of files, or of the bytes of one, that are read, then of rows that are written.
Report = Callable[[str, int, int], None]
FILES, READ, ROWS = "files", "bytes", "rows"


class Reading(Protocol):
    """What is read into the rows of a plan, and counted meanwhile."""

    def rows(self) -> Iterator[PlanRow]: ...


@dataclass
class ImportReport:
    """What an import wrote or, tried out, would write."""

    files: int = 0
    facts: int = 0
    events: int = 0
    merged: int = 0  # lines that became part of one that says nearly the same
    already: int = 0  # lines and days that are there already
    continued: int = 0  # rows of an import that was killed
    left_out: AllLeftOut = field(default_factory=AllLeftOut)
    profile: int = 0  # lines of the scope's profile after it
    batch: Batch | None = None


def carry_out(
    scope: Scope,
    reading: Reading,
    done: ImportReport,
    *,
    name: str,
    now: datetime,
    actor: str,
    is_dry: bool = False,
    report: Report | None = None,
) -> ImportReport:
    """Import what is read into a scope, after what a killed import has left to do; dry, only count it.

    Raises ScopeFrozen, and what the reading does.
    """
    if Scope.objects.get(pk=scope.pk).frozen:
        raise ScopeFrozen
    if is_dry:
        for row in reading.rows():
            if isinstance(row.step, CreateStep):
                done.facts += 1
            else:
                done.events += 1
    else:
        unfinished = Batch.objects.filter(scope=scope, name=NAME, state__in=(BatchState.PROPOSED, BatchState.APPLYING))
        for batch in list(unfinished.order_by("pk")):
            done.continued += BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED).count()
            _apply(batch, now, report)
        done.batch = _plan(scope, reading, now=now, actor=actor, name=name)
        if done.batch:
            _apply(done.batch, now, report)
            _count_written(done, done.batch)
    done.profile = Entry.objects.in_scope(scope).live().filter(tier=1).count()
    return done


def _plan(scope: Scope, reading: Reading, *, now: datetime, actor: str, name: str) -> Batch | None:
    """The plan of what is not there yet; None where there is nothing."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_IMPORT_LOCK + scope.pk])
        rows = reading.rows()
        first = list(islice(rows, 1))
        if not first:
            return None
        run = f"{NAME}:{uuid4()}"
        return batches.plan(scope, chain(first, rows), name=NAME, run=run, actor=actor, now=now, reason=name)


def _apply(batch: Batch, now: datetime, report: Report | None) -> None:
    rows = BatchChange.objects.filter(batch=batch)
    total, before = rows.count(), rows.exclude(state=ChangeState.PLANNED).count()
    batches.apply_batch(batch, now=now, report=lambda done: report(ROWS, before + done, total) if report else None)


def _count_written(done: ImportReport, batch: Batch) -> None:
    """What became of each row of the batch."""
    rows = BatchChange.objects.filter(batch=batch).order_by()
    for verb, state, note, count in rows.values_list("verb", "state", "note").annotate(rows=Count("*")):
        if state == ChangeState.LEFT:
            reason = LeftOutReason.SUPPRESSED if note == SkipReason.SUPPRESSED else LeftOutReason.UNSTORABLE
            done.left_out.add(LeftOut("", reason), count)
        elif note == Outcome.MERGED:
            done.merged += count
        elif note == Outcome.SKIPPED:
            done.already += count
        elif verb == BatchVerb.CREATE:
            done.facts += count
        else:
            done.events += count


def imported(scope: Scope) -> QuerySet[BatchChange, tuple[str | None, str | None]]:
    """Words and day of all that imports brought into a scope, or are about to bring, and nobody undid."""
    rows = BatchChange.objects.filter(batch__scope=scope, batch__name=NAME, batch__state__in=_OPEN)
    rows = rows.filter(workspace_id=scope.workspace_id, state__in=(ChangeState.PLANNED, ChangeState.APPLIED))
    return rows.order_by().values_list("draft__content", "draft__date")
