"""Undo a batch: an undo is a batch itself, and can be undone (F3).

What jobs made of its changes since goes along. Compression makes facts of days, one fact of several and lines of a
profile, in batches of its own; and a note of each day. All of it repeats the batch in other words.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from memories import entries
from memories.batches.planning import plan
from memories.batches.steps import REPLACING, PlanRow, PolicyStep, UndoStep, replaced_by_rows, step_of
from memories.choices import BatchState, BatchVerb, ChangeState, LinkKind, Outcome, Source
from memories.entries import daily_events
from memories.entries.evidence import days_quoted_by, quoting_days
from memories.exceptions import BatchBusy, BatchSettled, NothingToUndo
from memories.models import Batch, BatchChange, Change, DailyEvent, Entry, Link, Policy, Scope
from memories.models.operations import require_history

_Row = tuple[int, int]  # batch and position


@dataclass
class Part:
    """What one batch of a job made of it: to be put back as it was before that batch."""

    batch: int
    entries: set[int] = field(default_factory=set)
    days: set[int] = field(default_factory=set)  # to be made into facts anew

    def undo_rows(self, *, force: bool) -> Iterator[PlanRow]:
        step = UndoStep(force=force, of=self.batch)
        yield from (PlanRow(step=step, entry_id=entry) for entry in sorted(self.entries))
        yield from (PlanRow(step=step, event_id=day) for day in sorted(self.days))


@dataclass(frozen=True)
class MadeOfIt:
    """The parts to put back, the newest first; and the notes of days, which stand in no batch."""

    parts: list[Part]
    notes: list[int]


def made_of(batch: Batch, touched: Collection[int], events: Collection[int]) -> MadeOfIt:
    """What jobs made, at whatever remove, of the entries a batch wrote or reworded, and of the days it noted."""
    if batch.scope is None or batch.undoes_id:  # the undo of an undo puts back what went along
        return MadeOfIt([], [])
    scope, parts = batch.scope, dict[int, Part]()
    prior = entries.rows_before(batch.pk, Entry._meta.db_table, touched)
    new = {pk for pk, row in prior.items() if row.is_new or "content" in row.columns}
    seen_ids, quoting = set(new), quoting_days(scope.workspace_id, events)
    days = {pk for pk, row in entries.rows_before(batch.pk, DailyEvent._meta.db_table, events).items() if row.is_new}
    while new or quoting:
        made_rows, new = _made_of(batch, scope, new, quoting), set[int]()
        quoting = set()
        for row, change in made_rows.items():
            part = parts.setdefault(row[0], Part(row[0]))
            replaced = replaced_by_rows(BatchChange.objects.filter(batch=row[0], state=ChangeState.APPLIED), [row[1]])
            part.entries |= {change.entry_id or 0, *(other.entry_id or 0 for other in replaced)} - {0}
            if change.note in ("", Outcome.MERGED) and change.entry_id not in seen_ids:
                new.add(change.entry_id or 0)
        seen_ids |= new
    for part in parts.values():
        part.days = days_quoted_by(scope.workspace_id, part.entries) - days
    return MadeOfIt(
        sorted(parts.values(), key=lambda part: -part.batch), daily_events.notes_of_days(scope, sorted(events))
    )


def _made_of(batch: Batch, scope: Scope, sources: Collection[int], quoting: Collection[int]) -> dict[_Row, BatchChange]:
    """The rows by which compression made something of these entries or, since a batch, made these that quote days."""
    rows = BatchChange.objects.filter(workspace_id=scope.workspace_id, batch__scope=scope, state=ChangeState.APPLIED)
    replaced = rows.filter(verb__in=REPLACING, entry__in=sources, draft__into__position__isnull=False)
    positions: defaultdict[int, set[int]] = defaultdict(set)
    for replacing, position in replaced.values_list("batch_id", "draft__into__position"):
        positions[replacing].add(position)
    lines = Link.objects.filter(workspace_id=scope.workspace_id, kind=LinkKind.SOURCE_OF, from_entry__in=sources)
    condition = Q(entry__in=set(lines.values_list("to_entry_id", flat=True)))
    condition |= Q(entry__in=quoting, batch_id__gt=batch.pk)  # of a day that has grown, what was made before stays
    for replacing, places in positions.items():
        condition |= Q(batch=replacing, position__in=places)
    changes = rows.filter(condition, verb=BatchVerb.CREATE, draft__source=Source.COMPRESSION)
    return {(change.batch_id, change.position): change for change in changes}


#: Entries of which a batch changed the row, slots, links or suppression, from the history.
_TOUCHED = """
    SELECT row_id AS entry_id FROM memories_change WHERE batch_id = %(batch)s AND table_name = 'memories_entry'
    UNION
    SELECT s.entry_id FROM memories_change c JOIN memories_slot s ON s.id = c.row_id
    WHERE c.batch_id = %(batch)s AND c.table_name = 'memories_slot'
    UNION
    SELECT l.from_entry_id FROM memories_change c JOIN memories_link l ON l.id = c.row_id
    WHERE c.batch_id = %(batch)s AND c.table_name = 'memories_link'
    UNION
    SELECT s.entry_id FROM memories_change c JOIN memories_suppression s ON s.id = c.row_id
    WHERE c.batch_id = %(batch)s AND c.table_name = 'memories_suppression'
    UNION
    SELECT coalesce(old -> 'entry_id', old -> 'from_entry_id')::bigint FROM memories_change
    WHERE batch_id = %(batch)s AND op = 'D'
      AND table_name IN ('memories_slot', 'memories_link', 'memories_suppression')
"""


def plan_undo(
    batch: Batch,
    *,
    actor: str,
    now: datetime,
    reason: str = "",
    positions: Collection[int] | None = None,
    force: bool = False,
    run: str | None = None,
) -> Batch:
    """Plan to put back the state before a batch: of all it changed, or of what its rows at `positions` refer to.

    What jobs made of it since goes along: facts of its days, notes of these days, merges and lines of a profile.
    Entries changed since are skipped, unless `force`: then the columns the batch changed are put back, and what others
    changed stays. Entries that replaced others since are skipped in any case.
    `run`: of several undos of one click. Raises BatchSettled, BatchBusy, NothingToUndo, HistoryArchived, ScopeFrozen.
    """
    with transaction.atomic():
        locked = Batch.objects.select_for_update(of=("self",)).select_related("scope").get(pk=batch.pk)
        if locked.state != BatchState.APPLIED or locked.scope is None:
            raise BatchSettled
        if locked.undone_by.filter(state__in=(BatchState.PROPOSED, BatchState.APPLYING)).exists():
            raise BatchBusy
        require_history(locked.workspace_id, locked.created_at)
        if locked.changes.filter(verb=BatchVerb.PURGE).exists():
            raise NothingToUndo
        touched = _still_applied(locked) if positions is None else _entries_of_rows(locked, positions)
        events = _events(locked, positions)
        policies = list(_policies_put_back(locked, positions, force=force))
        if not (touched or events or policies):
            raise NothingToUndo
        made_of_it = made_of(locked, touched, events)
        undo = plan(
            locked.scope,
            [
                *(row for part in made_of_it.parts for row in part.undo_rows(force=force)),
                *(PlanRow(step=UndoStep(force=force), entry_id=entry) for entry in touched),
                *(PlanRow(step=UndoStep(force=force), event_id=event) for event in [*events, *made_of_it.notes]),
                *policies,
            ],
            name=BatchVerb.UNDO,
            run=run or f"undo:{uuid4()}",
            actor=actor,
            now=now,
            reason=reason,
        )
        Batch.objects.filter(pk=undo.pk).update(undoes=locked)
    undo.refresh_from_db()
    return undo


def changed_since(batch: Batch, model: type[Entry | DailyEvent] = Entry) -> list[int]:
    """Entries or events of an applied batch that were changed since: an undo skips them unless it is forced."""
    table = model._meta.db_table
    row_ids = Change.objects.filter(batch_id=batch.pk, table_name=table).order_by().values_list("row_id", flat=True)
    prior = entries.rows_before(batch.pk, table, set(row_ids))
    return sorted(entries.changed_since_batch(prior, table=table))


def with_effect(rows: QuerySet[Batch]) -> QuerySet[Batch]:
    """Of batches those with something to undo: not those of which all that expired is in use again, or the reverse."""
    applied = BatchChange.objects.filter(batch=OuterRef("pk"), state=ChangeState.APPLIED)
    in_use_again = Q(verb=BatchVerb.EXPIRE, event__isnull=True, entry__expired_at__isnull=True)
    out_of_use_again = Q(verb=BatchVerb.RESTORE, entry__expired_at__isnull=False)
    stands = Exists(applied.exclude(in_use_again | out_of_use_again)) | ~Exists(applied)
    return rows.filter(stands, state=BatchState.APPLIED)


def undo_blockers(batch: Batch) -> dict[int, str]:
    """Entries of an applied batch that replaced others since, with the batches to undo first."""
    if batch.scope is None:
        return {}
    touched = _still_applied(batch)
    made_of_it = made_of(batch, touched, _events(batch, None))
    restored = {entry for part in made_of_it.parts for entry in part.entries}
    return entries.needed_replacements(batch.scope, touched, of=batch.pk, restored=restored)


def close(undo: Batch, now: datetime) -> None:
    """Mark what an undo put back as undone in the batch it undoes, and as applied again one further back, in turns."""
    rows = BatchChange.objects.filter(batch=undo, verb=BatchVerb.UNDO, state=ChangeState.APPLIED)
    rows = rows.exclude(draft__has_key="of")
    put_back, in_effect = Q(entry__in=rows.values("entry")) | Q(event__in=rows.values("event")), False
    policies = BatchChange.objects.filter(batch=undo, verb=BatchVerb.POLICY, state=ChangeState.APPLIED)
    put_back |= Q(verb=BatchVerb.POLICY, draft__about__in=list(policies.values_list("draft__about", flat=True)))
    step: Batch | None = undo
    while step is not None and (step := step.undoes) is not None:
        was, becomes = (
            (ChangeState.UNDONE, ChangeState.APPLIED) if in_effect else (ChangeState.APPLIED, ChangeState.UNDONE)
        )
        BatchChange.objects.filter(put_back, batch=step, state=was).update(state=becomes)
        applied = BatchChange.objects.filter(batch=step, state=ChangeState.APPLIED).exists()
        step.state = BatchState.APPLIED if applied else BatchState.UNDONE
        step.closed_at = None if applied else now
        step.save(update_fields=["state", "closed_at"])
        in_effect = not in_effect


def _still_applied(batch: Batch) -> list[int]:
    """The entries a batch changed, except those undone already."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT entry_id FROM ({_TOUCHED}) touched WHERE entry_id NOT IN (SELECT entry_id"  # noqa: S608 (constants)
            " FROM memories_batchchange WHERE batch_id = %(batch)s AND state = 'undone' AND entry_id IS NOT NULL)"
            " ORDER BY entry_id",
            {"batch": batch.pk},
        )
        return [row[0] for row in cursor.fetchall()]


def _entries_of_rows(batch: Batch, positions: Collection[int]) -> list[int]:
    """The entries of these rows, and those replaced by what these rows created."""
    changes = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED, entry__isnull=False)
    rows = changes.filter(position__in=list(positions)) | replaced_by_rows(changes, positions)
    return sorted({entry for entry in rows.values_list("entry_id", flat=True) if entry is not None})


def _policies_put_back(batch: Batch, positions: Collection[int] | None, *, force: bool) -> Iterator[PlanRow]:
    """The rows that put back the policies it set."""
    changes = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED, verb=BatchVerb.POLICY)
    present = Policy.objects.of(batch.workspace_id).values if force else None
    for change in changes if positions is None else changes.filter(position__in=list(positions)):
        step = step_of(change)
        if isinstance(step, PolicyStep):
            yield PlanRow(step=step.undone(present))


def _events(batch: Batch, positions: Collection[int] | None) -> list[int]:
    """The events its rows wrote or put back, except those undone already."""
    changes = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED, event__isnull=False)
    rows = changes if positions is None else changes.filter(position__in=list(positions))
    return sorted({event for event in rows.values_list("event_id", flat=True) if event is not None})
