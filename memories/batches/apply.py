"""Carrying a batch out: five hundred rows a transaction, from wherever the last process stopped."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import structlog
from django.db import transaction
from django.db.models import QuerySet

from memories import entries
from memories.batches import undo
from memories.batches.planning import counts_of
from memories.choices import BatchState, BatchVerb, ChangeState, Outcome, SkipReason
from memories.entries import BulkOutcome, Edit, daily_events
from memories.entries import draft as drafts
from memories.entries.locks import lock_scopes
from memories.exceptions import EntryNotFound, InvalidDraft, PlatformError, VersionConflict
from memories.models import Batch, BatchChange, Entry, Scope
from memories.models.change import acting

log = structlog.get_logger(__name__)
#: Rows a transaction: short enough that no writer of the scope notices.
CHUNK = 500


def apply_batch(batch: Batch, *, now: datetime, report: Callable[[int], None] | None = None) -> Batch:
    """Apply what a batch plans, unless the safety limit holds it; it goes on where it was left. Raises ScopeFrozen.

    Rows whose entry was changed since the plan was made are left alone, and say so. `report` is told after every
    transaction how many rows this call has dealt with.
    """
    start(batch)
    applied = 0
    while rows := _apply_next(batch, now):
        applied += rows
        if report:
            report(applied)
    batch.refresh_from_db()
    return batch


def start(batch: Batch) -> None:
    """Begin to apply a batch, unless the safety limit holds it: from now on whoever comes by goes on with it."""
    ready = Batch.objects.filter(pk=batch.pk, state=BatchState.PROPOSED, held_because=[])
    if ready.update(state=BatchState.APPLYING):
        batch.state = BatchState.APPLYING


def progress(batch: Batch) -> int:
    """How many rows other processes have dealt with already, of a batch one goes on with."""
    if batch.state != BatchState.APPLYING:
        return 0
    return BatchChange.objects.filter(batch=batch).exclude(state=ChangeState.PLANNED).count()


def unfinished() -> QuerySet[Batch]:
    """Batches some process began to apply and did not end."""
    return Batch.objects.filter(state=BatchState.APPLYING).order_by("pk")


def resume(*, now: datetime) -> dict[str, int]:
    """Carry on with what other processes left behind when they died; how many batches."""
    resumed = failed = 0
    for batch in unfinished():
        try:
            apply_batch(batch, now=now)
            resumed += 1
        except PlatformError as problem:  # a frozen scope: its batch waits until it thaws
            failed += 1
            log.warning("batch.waits", batch=str(batch.uid), problem=type(problem).__name__)
    return {"resumed": resumed, "waiting": failed}


def _apply_next(batch: Batch, now: datetime) -> int:
    """Apply the next rows, or close the batch when there are none; how many."""
    with transaction.atomic():
        held = Batch.objects.select_for_update(of=("self",)).select_related("scope").get(pk=batch.pk)
        if held.state != BatchState.APPLYING:
            return 0
        planned = BatchChange.objects.filter(batch=held, state=ChangeState.PLANNED)
        changes = list(planned.order_by("position")[:CHUNK])
        if not changes:
            _finish(held, now)
            return 0
        with acting(held.actor, batch=held.pk, run=held.run):
            for verb, group in groupby(changes, key=lambda change: change.verb):
                _VERBS[BatchVerb(verb)](_scope_of(held), held, list(group), now)
        _write_down(changes)
    return len(changes)


def _scope_of(batch: Batch) -> Scope:
    if batch.scope is None:
        raise AssertionError("a batch with a plan has a scope")
    return batch.scope


def _finish(batch: Batch, now: datetime) -> None:
    batch.state, batch.applied_at = BatchState.APPLIED, now
    batch.counts = counts_of(batch, state=ChangeState.APPLIED)
    batch.save(update_fields=["state", "counts", "applied_at"])
    undo.close(batch, now)


def _write_down(changes: Sequence[BatchChange]) -> None:
    """How each row ended: a statement for each way there is."""
    ways: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for change in changes:
        ways[change.state, change.note].append(change.pk)
    for (state, note), rows in ways.items():
        BatchChange.objects.filter(pk__in=rows).update(state=state, note=note)


def _create(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    ready, outdated = [], _outdated(scope, changes)
    for change in changes:
        if change.pk in outdated:
            change.leave(SkipReason.CHANGED)
            continue
        try:
            draft = drafts.deserialize(scope, change.draft)
            drafts.check(draft)
            ready.append((change, draft))
        except InvalidDraft as problem:
            change.leave(SkipReason.UNSTORABLE, str(problem))
    answers = entries.remember_many([draft for _change, draft in ready], now=now, actor=batch.actor)
    for (change, _draft), answer in zip(ready, answers, strict=True):
        if answer.outcome == Outcome.SUPPRESSED:
            change.leave(SkipReason.SUPPRESSED)
            continue
        change.entry, change.state = answer.entry, ChangeState.APPLIED
        change.note = "" if answer.outcome == Outcome.CREATED else str(answer.outcome)
        change.save(update_fields=["entry", "state", "note"])  # rows that merge into it look it up
        entries.link_sources(scope, answer.entry.pk, change.draft.get("sources", []), now=now)


def _outdated(scope: Scope, changes: Iterable[BatchChange]) -> set[int]:
    """Rows that would say again what was changed or taken out since they were judged."""
    resting = {change.pk: change.draft["rests_on"] for change in changes if change.draft.get("rests_on")}
    if not resting:
        return set()
    wanted = {int(entry) for versions in resting.values() for entry in versions}
    held = Entry.objects.in_scope(lock_scopes([scope])[scope.pk]).live()
    found = dict(held.filter(pk__in=wanted).values_list("pk", "version"))
    return {pk for pk, versions in resting.items() if any(found.get(int(e)) != v for e, v in versions.items())}


def _expire(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    for suppress, group in _alike(changes, lambda draft: bool(draft.get("suppress"))):
        done = entries.expire_many(scope, _expected(group), now=now, actor=batch.actor, suppress=suppress)
        _mark(group, done)


def _archive(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    done = entries.expire_many(scope, _expected(changes), now=now, actor=batch.actor, column="archived_at")
    _mark(changes, done)


def _restore(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    for seconds, group in _alike(changes, lambda draft: draft.get("term_seconds")):
        term = None if seconds is None else timedelta(seconds=seconds)
        _mark(group, entries.restore_many(scope, _expected(group), now=now, term=term))


def _merge(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    for keeper, group in _by_successor(batch, changes):
        _mark(group, entries.merge(scope, keeper, _expected(group), now=now))


def _supersede(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    for successor, group in _by_successor(batch, changes):
        _mark(group, entries.supersede(scope, successor, _expected(group), now=now))


def _change(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    """Columns that nothing follows from are changed together; words and slots entry by entry."""
    together: defaultdict[str, list[BatchChange]] = defaultdict(list)
    for change in changes:
        columns = change.draft.get("columns", {})
        if change.draft.get("slots") or not entries.BULK_EDITABLE.issuperset(columns):
            _edit(batch, change, now)
        else:
            together[repr(sorted(columns.items()))].append(change)
    for group in together.values():
        columns = entries.read_columns(group[0].draft["columns"])
        _mark(group, entries.update_many(scope, columns, _expected(group), now=now))


def _edit(batch: Batch, change: BatchChange, now: datetime) -> None:
    entry = change.entry
    wanted = Edit(columns=entries.read_columns(change.draft.get("columns", {})), slots=change.draft.get("slots", {}))
    try:
        if entry is None:
            raise EntryNotFound
        entries.update(entry, wanted, now=now, actor=batch.actor, expected_version=change.expected_version)
    except EntryNotFound:
        change.leave(SkipReason.GONE)
    except VersionConflict:
        change.leave(SkipReason.CHANGED)
    except InvalidDraft as problem:
        change.leave(SkipReason.UNSTORABLE, str(problem))
    else:
        change.state = ChangeState.APPLIED


def _tell(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    told = [daily_events.deserialize(scope, change.draft) for change in changes]
    for change, event in zip(changes, daily_events.write_each(told, now=now, actor=batch.actor), strict=True):
        if event is None:
            change.leave(SkipReason.SUPPRESSED)
            continue
        change.event, change.state = event, ChangeState.APPLIED
        change.save(update_fields=["event", "state"])


def _undo(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    for force, group in _alike(changes, lambda draft: bool(draft.get("force"))):
        of, by = batch.undoes_id or 0, batch.pk
        for put_back, column in ((entries.rollback, "entry_id"), (daily_events.rollback, "event_id")):
            rows = [change for change in group if getattr(change, column) is not None]
            if named := [getattr(change, column) for change in rows]:
                _mark(rows, put_back(scope, named, of=of, by=by, force=force, now=now), column)


def _purge(scope: Scope, batch: Batch, changes: list[BatchChange], now: datetime) -> None:
    _mark(changes, entries.purge(scope, _expected(changes), now=now))


_VERBS: dict[BatchVerb, Callable[[Scope, Batch, list[BatchChange], datetime], None]] = {
    BatchVerb.CREATE: _create,
    BatchVerb.CHANGE: _change,
    BatchVerb.MERGE: _merge,
    BatchVerb.EXPIRE: _expire,
    BatchVerb.ARCHIVE: _archive,
    BatchVerb.RESTORE: _restore,
    BatchVerb.SUPERSEDE: _supersede,
    BatchVerb.UNDO: _undo,
    BatchVerb.PURGE: _purge,
    BatchVerb.TELL: _tell,
}


def _expected(changes: Iterable[BatchChange]) -> dict[int, int | None]:
    return {change.entry_id: change.expected_version for change in changes if change.entry_id is not None}


def _alike(
    changes: Iterable[BatchChange], question: Callable[[dict[str, Any]], Any]
) -> list[tuple[Any, list[BatchChange]]]:
    """Rows whose drafts give the same answer, together."""
    groups: defaultdict[Any, list[BatchChange]] = defaultdict(list)
    for change in changes:
        groups[question(change.draft)].append(change)
    return list(groups.items())


def _by_successor(batch: Batch, changes: Sequence[BatchChange]) -> list[tuple[int, list[BatchChange]]]:
    """Rows by the entry that takes their place; those whose place nobody took are left alone."""
    positions = [into["position"] for change in changes if "position" in (into := change.draft.get("into", {}))]
    made = dict(
        BatchChange.objects.filter(batch=batch, position__in=positions, state=ChangeState.APPLIED).values_list(
            "position", "entry_id"
        )
    )

    def successor(draft: dict[str, Any]) -> int | None:
        into = draft.get("into", {})
        return into.get("entry") or made.get(into.get("position"))

    groups = _alike(changes, successor)
    for change in (change for entry, group in groups if entry is None for change in group):
        change.leave(SkipReason.NO_SUCCESSOR)
    return [(entry, group) for entry, group in groups if entry is not None]


def _mark(changes: Iterable[BatchChange], outcome: BulkOutcome, column: str = "entry_id") -> None:
    made = set(outcome.applied)
    for change in changes:
        pk = getattr(change, column) or 0
        if pk in made:
            change.state = ChangeState.APPLIED
        else:
            change.leave(outcome.skipped.get(pk, SkipReason.ALREADY), outcome.details.get(pk, ""))
