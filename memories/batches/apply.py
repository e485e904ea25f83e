"""Applying batches: five hundred rows a transaction, from wherever the last process stopped (F3)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Generic, TypeVar

import structlog
from django.db import transaction
from django.db.models import QuerySet

from memories import entries
from memories.batches import steps, undo
from memories.batches.planning import counts_of
from memories.choices import BatchState, BatchVerb, ChangeState, Outcome, SkipReason
from memories.entries import BulkOutcome, Edit, daily_events
from memories.entries import draft as drafts
from memories.exceptions import (
    EntryNotFound,
    InvalidDraft,
    LineChanged,
    PlatformError,
    ScopeFrozen,
    VersionConflict,
)
from memories.models import Batch, BatchChange, Entry, Policy, Scope
from memories.models.change import acting
from memories.models.tenancy import lock_scopes
from memories.offline import replicas

log = structlog.get_logger(__name__)
#: Rows a transaction: short enough that no writer of the scope notices.
CHUNK = 500
#: Refusals that stop a batch, which goes on later: no row is to blame.
NOT_OF_ROWS = (ScopeFrozen, ConnectionError)


def apply_batch(batch: Batch, *, now: datetime, report: Callable[[int], None] | None = None) -> Batch:
    """Apply a batch, or what is left of it, unless it waits for approval. Raises ScopeFrozen.

    Rows whose entry was changed since the plan was made are skipped, with the reason. After every transaction `report`
    gets the number of rows this call has processed.
    """
    start(batch)
    processed = 0
    while rows := _apply_next(batch, now):
        processed += rows
        if report:
            report(processed)
    if processed:
        replicas.note_write_after_commit(batch.workspace_id)
    batch.refresh_from_db()
    return batch


def start(batch: Batch) -> None:
    """Mark a batch as being applied, unless it waits for approval: from now on any process may continue it."""
    ready = Batch.objects.filter(pk=batch.pk, state=BatchState.PROPOSED, held_because=[])
    if ready.update(state=BatchState.APPLYING):
        batch.state = BatchState.APPLYING


def progress(batch: Batch) -> int:
    """The number of rows already processed, of a batch that is being applied."""
    if batch.state != BatchState.APPLYING:
        return 0
    return BatchChange.objects.filter(batch=batch).exclude(state=ChangeState.PLANNED).count()


def unfinished() -> QuerySet[Batch]:
    """Batches that are being applied, or whose process died."""
    return Batch.objects.filter(state=BatchState.APPLYING).order_by("pk")


def resume(*, now: datetime, workspace_id: int | None = None, names: Collection[str] = ()) -> dict[str, int]:
    """Continue the batches of processes that died, all of them or those of some jobs in a workspace; how many."""
    resumed = failed = 0
    backlog = unfinished() if workspace_id is None else unfinished().filter(workspace_id=workspace_id, name__in=names)
    for batch in backlog:
        try:
            apply_batch(batch, now=now)
            resumed += 1
        except PlatformError as problem:  # a frozen scope: its batch waits until it thaws
            failed += 1
            log.warning("batch.waits", batch=str(batch.uid), problem=type(problem).__name__)
    return {"resumed": resumed, "waiting": failed}


S = TypeVar("S", bound=steps.Step)


@dataclass(frozen=True)
class _PlannedRow(Generic[S]):
    """A stored row of the plan with its step."""

    change: BatchChange
    step: S


@dataclass(frozen=True)
class _Work:
    """The batch that is applied, its scope, and the time."""

    batch: Batch
    scope: Scope
    now: datetime


def _apply_next(batch: Batch, now: datetime) -> int:
    """Apply the next rows, or finish the batch when there are none; the number of rows."""
    with transaction.atomic():
        batch = Batch.objects.select_for_update(of=("self",)).select_related("scope").get(pk=batch.pk)
        if batch.state != BatchState.APPLYING:
            return 0
        planned = BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED)
        changes = list(planned.order_by("position")[:CHUNK])
        if not changes:
            batch.state, batch.applied_at = BatchState.APPLIED, now
            batch.counts = counts_of(batch, state=ChangeState.APPLIED)
            batch.save(update_fields=["state", "counts", "applied_at"])
            undo.close(batch, now)
            return 0
        if batch.scope is None:
            raise AssertionError("a batch with a plan has a scope")
        rows = [_PlannedRow(change, steps.step_of(change)) for change in changes]
        with acting(batch.actor, batch=batch.pk, run=batch.run):
            for kind, group in groupby(rows, key=lambda row: type(row.step)):
                _APPLY.get(kind, _apply_alike)(_Work(batch, batch.scope, now), list(group))
        _save_states(changes)
    return len(changes)


def _save_states(changes: Sequence[BatchChange]) -> None:
    """Store the state of each row, in a statement for each state and note."""
    ends: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for change in changes:
        ends[change.state, change.note].append(change.pk)
    for (state, note), rows in ends.items():
        BatchChange.objects.filter(pk__in=rows).update(state=state, note=note)


def _create(work: _Work, rows: list[_PlannedRow[steps.CreateStep]]) -> None:
    # entries that rows rest on may have been changed or expired since the plan was made
    basis_ids = {entry for row in rows for entry in row.step.rests_on}
    versions: dict[int, int] = {}
    if basis_ids:
        live = Entry.objects.in_scope(lock_scopes([work.scope])[work.scope.pk]).live()
        versions = dict(live.filter(pk__in=basis_ids).values_list("pk", "version"))
    ready = []
    for row in rows:
        if any(versions.get(entry) != version for entry, version in row.step.rests_on.items()):
            row.change.skip(SkipReason.CHANGED)
            continue
        draft = row.step.draft.in_scope(work.scope)
        try:
            drafts.check(draft)
        except InvalidDraft as problem:
            row.change.skip(SkipReason.UNSTORABLE, str(problem))
        else:
            ready.append((row, draft))
    answers = entries.remember_many([draft for _row, draft in ready], now=work.now, actor=work.batch.actor)
    for (row, _draft), answer in zip(ready, answers, strict=True):
        change = row.change
        if answer.outcome == Outcome.SUPPRESSED:
            change.skip(SkipReason.ERASED if answer.reason == entries.ERASED else SkipReason.SUPPRESSED)
            continue
        change.entry, change.state = answer.entry, ChangeState.APPLIED
        change.note = "" if answer.outcome == Outcome.CREATED else str(answer.outcome)
        change.save(update_fields=["entry", "state", "note"])  # rows that merge into it look it up
        entries.link_sources(work.scope, answer.entry.pk, row.step.sources, now=work.now)


def _edit(work: _Work, rows: list[_PlannedRow[steps.EditStep]]) -> None:
    """Change columns that nothing is derived from together; content and slots entry by entry."""
    together: defaultdict[str, list[_PlannedRow[steps.EditStep]]] = defaultdict(list)
    for row in rows:
        change, step = row.change, row.step
        if not step.slots and entries.BULK_EDITABLE.issuperset(step.columns):
            together[repr(sorted(step.columns.items()))].append(row)
            continue
        edit, version = Edit(columns=step.values, slots=step.slots), change.expected_version
        try:
            if change.entry is None:
                raise EntryNotFound
            entries.update(change.entry, edit, now=work.now, actor=work.batch.actor, expected_version=version)
        except EntryNotFound:
            change.skip(SkipReason.GONE)
        except (VersionConflict, LineChanged):
            change.skip(SkipReason.CHANGED)
        except NOT_OF_ROWS:
            raise
        except (OSError, PlatformError) as problem:
            change.skip(SkipReason.UNSTORABLE, str(problem))
        else:
            change.state = ChangeState.APPLIED
        change.save(update_fields=["state", "note"])  # rows that merge into it look it up
    for group in together.values():
        changes = [row.change for row in group]
        _mark(changes, entries.update_many(work.scope, group[0].step.values, _expected_versions(changes), now=work.now))


def _quarantine(work: _Work, rows: list[_PlannedRow[steps.QuarantineStep]]) -> None:
    changes = [row.change for row in rows]
    poisoned = {row.change.entry_id: row.step.origins for row in rows if row.change.entry_id is not None}
    run, actor = work.batch.run, work.batch.actor
    outcome = entries.quarantine_many(
        work.scope, _expected_versions(changes), poisoned, run=run, now=work.now, actor=actor
    )
    _mark(changes, outcome)


def _write_events(work: _Work, rows: list[_PlannedRow[steps.EventStep]]) -> None:
    """Give the events that are there their new content, and write the others; what cannot be stored is skipped."""
    actor, ready = work.batch.actor, []
    for row in rows:
        try:
            drafts.check_content(row.step.content)
        except InvalidDraft as problem:
            row.change.skip(SkipReason.UNSTORABLE, str(problem))
        else:
            ready.append(row)
    if growing := [row for row in ready if row.change.event_id is not None]:
        contents = {row.change.event_id or 0: row.step.content for row in growing}
        versions = {row.change.event_id or 0: row.change.expected_version for row in growing}
        outcome = daily_events.grow(work.scope, contents, versions, now=work.now, actor=actor)
        _mark([row.change for row in growing], outcome, "event_id")
    new = [row for row in ready if row.change.event_id is None]
    events = daily_events.write_each([row.step.event(work.scope) for row in new], now=work.now, actor=actor)
    for row, event in zip(new, events, strict=True):
        if event is None:
            row.change.skip(SkipReason.SUPPRESSED)
            continue
        row.change.event, row.change.state = event, ChangeState.APPLIED
        row.change.save(update_fields=["event", "state"])


def _set_policies(work: _Work, rows: list[_PlannedRow[steps.PolicyStep]]) -> None:
    """Set the policies nobody changed since; one run for all of them, with the reason of the batch."""
    workspace = work.batch.workspace_id
    values = Policy.objects.of(workspace).values
    for row in rows:
        subject, (before, after) = row.step.subject, row.step.change
        present = {subject: values[subject]} if subject in values else {}
        if present != before:
            row.change.skip(SkipReason.ALREADY if present == after else SkipReason.CHANGED)
            continue
        values = {name: value for name, value in values.items() if name != subject} | after
        row.change.state = ChangeState.APPLIED
    Policy.objects.put(workspace, values, reason=work.batch.reason)


#: Steps that differ from row to row; rows of other kinds are applied together where their steps are equal.
_APPLY: dict[type[steps.Step], Callable[[_Work, list[_PlannedRow[Any]]], None]] = {
    steps.CreateStep: _create,
    steps.EditStep: _edit,
    steps.EventStep: _write_events,
    steps.QuarantineStep: _quarantine,
    steps.PolicyStep: _set_policies,
}


def _apply_alike(work: _Work, rows: Iterable[_PlannedRow[steps.Step]]) -> None:
    groups: defaultdict[steps.Step, list[BatchChange]] = defaultdict(list)
    for row in rows:
        groups[row.step].append(row.change)
    for step, changes in groups.items():
        _apply_together(work, step, changes)


def _apply_together(work: _Work, step: steps.Step, changes: list[BatchChange]) -> None:
    """Apply one step to some rows; where it is refused, as by their files, to as many of them as it can be.

    Raises ScopeFrozen.
    """
    try:
        with transaction.atomic():
            _apply_step(work, step, changes)
    except NOT_OF_ROWS:
        raise
    except (OSError, PlatformError) as refusal:
        # File by file; then to halves, where a line is refused: another problem is the whole file's
        of_entries = [change.entry_id for change in changes if change.entry_id is not None]
        path_of = dict(Entry.objects.in_scope(work.scope).filter(pk__in=of_entries).values_list("pk", "path"))
        by_path: defaultdict[str, list[BatchChange]] = defaultdict(list)
        for change in changes:
            by_path[path_of.get(change.entry_id or 0, "")].append(change)
        parts, half = list(by_path.values()), len(changes) // 2
        if len(parts) == 1 and half and (isinstance(refusal, InvalidDraft) or "" in by_path):
            parts = [changes[:half], changes[half:]]
        if len(parts) == 1:
            for change in changes:
                change.skip(SkipReason.UNSTORABLE, str(refusal))
            return
        for part in parts:
            _apply_together(work, step, part)


def _apply_step(work: _Work, step: steps.Step, changes: list[BatchChange]) -> None:
    if not isinstance(step, steps.UndoStep):
        _mark(changes, _outcome(work, step, _expected_versions(changes)))
        return
    of, by = step.of or work.batch.undoes_id or 0, work.batch.pk
    for rollback, column in ((entries.rollback, "entry_id"), (daily_events.rollback, "event_id")):
        column_changes = [change for change in changes if getattr(change, column) is not None]
        if ids := [getattr(change, column) for change in column_changes]:
            _mark(column_changes, rollback(work.scope, ids, of=of, by=by, force=step.force, now=work.now), column)


def _outcome(work: _Work, step: steps.Step, expected: dict[int, int | None]) -> BulkOutcome:
    scope, now, actor = work.scope, work.now, work.batch.actor
    match step:
        case steps.ExpireStep(suppress=suppress, only_live=only_live):
            return entries.expire_many(scope, expected, now=now, actor=actor, suppress=suppress, only_live=only_live)
        case steps.ArchiveStep():
            return entries.expire_many(scope, expected, now=now, actor=actor, column="archived_at")
        case steps.RestoreStep():
            return entries.restore_many(scope, expected, now=now, term=step.term)
        case steps.ReplaceStep():
            successor, rows = step.into.entry, BatchChange.objects.filter(batch=work.batch)
            edits = rows.filter(verb=BatchVerb.CHANGE, draft__columns__has_key="content", state=ChangeState.LEFT)
            if not successor:  # the entry that the row at a position created
                makers = rows.filter(position=step.into.position or 0, state=ChangeState.APPLIED)
                successor = makers.values_list("entry_id", flat=True).first()
            elif edits.filter(entry=successor).exclude(note__startswith=SkipReason.REMOVED).exists():
                # changed since the plan, it did not get the words that hold what is merged into it
                return BulkOutcome(skipped=dict.fromkeys(expected, SkipReason.CHANGED))
            if successor is None:
                return BulkOutcome(skipped=dict.fromkeys(expected, SkipReason.NO_SUCCESSOR))
            replace = entries.merge if isinstance(step, steps.MergeStep) else entries.supersede
            return replace(scope, successor, expected, now=now)
        case steps.PurgeStep():
            return entries.purge(scope, expected, now=now)
        case _:
            return BulkOutcome(skipped=dict.fromkeys(expected, SkipReason.GONE))


def _expected_versions(changes: Iterable[BatchChange]) -> dict[int, int | None]:
    return {change.entry_id: change.expected_version for change in changes if change.entry_id is not None}


def _mark(changes: Iterable[BatchChange], outcome: BulkOutcome, column: str = "entry_id") -> None:
    applied = set(outcome.applied)
    for change in changes:
        pk = getattr(change, column) or 0
        if pk in applied:
            change.state = ChangeState.APPLIED
        else:
            change.skip(outcome.skipped.get(pk, SkipReason.ALREADY), outcome.details.get(pk, ""))
