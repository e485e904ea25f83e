"""Undo a batch: an undo is a batch itself, and can be undone (F3)."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import Max, Q

from memories import entries
from memories.batches.planning import plan
from memories.batches.steps import PlanRow, UndoStep, replaced_by_rows
from memories.choices import BatchState, BatchVerb, ChangeState
from memories.entries import daily_events
from memories.exceptions import BatchBusy, BatchSettled, NothingToUndo
from memories.models import Batch, BatchChange, Change, DailyEvent, Entry

_ENTRIES, _EVENTS = Entry._meta.db_table, DailyEvent._meta.db_table

#: Entries a batch changed, with their slots, links and what keeps them out; as its changes tell.
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
) -> Batch:
    """Plan to put back the state before a batch: of all it changed, or of what its rows at `positions` name.

    Entries changed since are left alone and named, unless `force`: then what the batch changed of them is put back,
    and what others changed beside it stays. What others would be out of use without stays
    in any case. Raises BatchSettled, BatchBusy, NothingToUndo or ScopeFrozen.
    """
    with transaction.atomic():
        held = Batch.objects.select_for_update(of=("self",)).select_related("scope").get(pk=batch.pk)
        if held.state != BatchState.APPLIED or held.scope is None:
            raise BatchSettled
        if held.undone_by.filter(state__in=(BatchState.PROPOSED, BatchState.APPLYING)).exists():
            raise BatchBusy
        if held.changes.filter(verb=BatchVerb.PURGE).exists():
            raise NothingToUndo
        entries = _still_applied(held) if positions is None else _named(held, positions)
        events = _events(held, positions)
        if not (entries or events):
            raise NothingToUndo
        undo = plan(
            held.scope,
            _rows(entries, events, UndoStep(force=force)),
            name=BatchVerb.UNDO,
            run=f"undo:{uuid4()}",
            actor=actor,
            now=now,
            reason=reason,
        )
        Batch.objects.filter(pk=undo.pk).update(undoes=held)
    undo.refresh_from_db()
    return undo


def _rows(entries: Iterable[int], events: Iterable[int], step: UndoStep) -> Iterator[PlanRow]:
    yield from (PlanRow(step=step, entry_id=entry) for entry in entries)
    yield from (PlanRow(step=step, event_id=event) for event in events)


def changed_since(batch: Batch) -> list[int]:
    """Entries of an applied batch that were changed since: an undo leaves them alone unless it is forced."""
    return sorted(entries.changed_since(_last_changes(batch, _ENTRIES)))


def events_changed_since(batch: Batch) -> list[int]:
    """Events of an applied batch that were changed since: an undo leaves them alone unless it is forced."""
    return sorted(daily_events.changed_since(_last_changes(batch, _EVENTS)))


def undo_blockers(batch: Batch) -> dict[int, str]:
    """Entries of an applied batch that have taken the place of others since, and by which batches, to undo first."""
    return {} if batch.scope is None else entries.needed_replacements(batch.scope, _still_applied(batch), of=batch.pk)


def _last_changes(batch: Batch, table: str) -> dict[int, int]:
    """The last change a batch made to each row of a table."""
    changes = Change.objects.filter(batch_id=batch.pk, table_name=table).order_by()
    return dict(changes.values_list("row_id").annotate(last=Max("id")))


def close(undo: Batch, now: datetime) -> None:
    """Mark in the batches before it what an undo put back: undone there, and in effect again one further back."""
    put_back = BatchChange.objects.filter(batch=undo, verb=BatchVerb.UNDO, state=ChangeState.APPLIED)
    put, in_effect = Q(entry__in=put_back.values("entry")) | Q(event__in=put_back.values("event")), False
    step: Batch | None = undo
    while step is not None and (step := step.undoes) is not None:
        was, becomes = (
            (ChangeState.UNDONE, ChangeState.APPLIED) if in_effect else (ChangeState.APPLIED, ChangeState.UNDONE)
        )
        BatchChange.objects.filter(put, batch=step, state=was).update(state=becomes)
        _set_state(step, now)
        in_effect = not in_effect


def _set_state(batch: Batch, now: datetime) -> None:
    applied = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED).exists()
    batch.state = BatchState.APPLIED if applied else BatchState.UNDONE
    batch.closed_at = None if applied else now
    batch.save(update_fields=["state", "closed_at"])


def _still_applied(batch: Batch) -> list[int]:
    """The entries a batch changed, without those that were undone already."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT entry_id FROM ({_TOUCHED}) touched WHERE entry_id NOT IN (SELECT entry_id"  # noqa: S608 (constants)
            " FROM memories_batchchange WHERE batch_id = %(batch)s AND state = 'undone' AND entry_id IS NOT NULL)"
            " ORDER BY entry_id",
            {"batch": batch.pk},
        )
        return [row[0] for row in cursor.fetchall()]


def _named(batch: Batch, positions: Collection[int]) -> list[int]:
    """The entries of these rows, and of those that became part of what these rows created."""
    changes = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED, entry__isnull=False)
    chosen = changes.filter(position__in=list(positions)) | replaced_by_rows(changes, positions)
    return sorted({entry for entry in chosen.values_list("entry_id", flat=True) if entry is not None})


def _events(batch: Batch, positions: Collection[int] | None) -> list[int]:
    """The events of days its rows told or put back, and nobody has put back since."""
    changes = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED, event__isnull=False)
    chosen = changes if positions is None else changes.filter(position__in=list(positions))
    return sorted({event for event in chosen.values_list("event_id", flat=True) if event is not None})
