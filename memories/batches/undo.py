"""Undo a batch: an undo is a batch itself, and can be undone (F3)."""

from collections.abc import Collection
from datetime import datetime
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from memories import entries
from memories.batches import derived
from memories.batches.planning import plan
from memories.batches.steps import PlanRow, UndoStep, replaced_by_rows
from memories.choices import BatchState, BatchVerb, ChangeState
from memories.exceptions import BatchBusy, BatchSettled, NothingToUndo
from memories.models import Batch, BatchChange, Change, DailyEvent, Entry

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
    `run` is the run of several undos that one click asked for. Raises BatchSettled, BatchBusy, NothingToUndo or
    ScopeFrozen.
    """
    with transaction.atomic():
        locked = Batch.objects.select_for_update(of=("self",)).select_related("scope").get(pk=batch.pk)
        if locked.state != BatchState.APPLIED or locked.scope is None:
            raise BatchSettled
        if locked.undone_by.filter(state__in=(BatchState.PROPOSED, BatchState.APPLYING)).exists():
            raise BatchBusy
        if locked.changes.filter(verb=BatchVerb.PURGE).exists():
            raise NothingToUndo
        touched = _still_applied(locked) if positions is None else _named(locked, positions)
        events = _events(locked, positions)
        if not (touched or events):
            raise NothingToUndo
        made_of_it = derived.made_of(locked, touched, events)
        undo = plan(
            locked.scope,
            [
                *(row for part in made_of_it.parts for row in part.undo_rows(force=force)),
                *(PlanRow(step=UndoStep(force=force), entry_id=entry) for entry in touched),
                *(PlanRow(step=UndoStep(force=force), event_id=event) for event in [*events, *made_of_it.notes]),
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
    changed = Change.objects.filter(batch_id=batch.pk, table_name=table).order_by().values_list("row_id", flat=True)
    prior = entries.rows_before(batch.pk, table, set(changed))
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
    made_of_it = derived.made_of(batch, touched, _events(batch, None))
    restored = {entry for part in made_of_it.parts for entry in part.entries}
    return entries.needed_replacements(batch.scope, touched, of=batch.pk, restored=restored)


def close(undo: Batch, now: datetime) -> None:
    """Mark what an undo put back as undone in the batch it undoes, and as applied again one further back, in turns."""
    rows = BatchChange.objects.filter(batch=undo, verb=BatchVerb.UNDO, state=ChangeState.APPLIED)
    rows = rows.exclude(draft__has_key="of")
    put_back, in_effect = Q(entry__in=rows.values("entry")) | Q(event__in=rows.values("event")), False
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


def _named(batch: Batch, positions: Collection[int]) -> list[int]:
    """The entries of these rows, and those replaced by what these rows created."""
    changes = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED, entry__isnull=False)
    chosen = changes.filter(position__in=list(positions)) | replaced_by_rows(changes, positions)
    return sorted({entry for entry in chosen.values_list("entry_id", flat=True) if entry is not None})


def _events(batch: Batch, positions: Collection[int] | None) -> list[int]:
    """The events its rows wrote or put back, except those undone already."""
    changes = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED, event__isnull=False)
    chosen = changes if positions is None else changes.filter(position__in=list(positions))
    return sorted({event for event in chosen.values_list("event_id", flat=True) if event is not None})
