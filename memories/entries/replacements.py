"""Entries that replaced others: an undo does not take them out of use while the others would not come back (F3)."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Min

from memories.choices import ChangeState, LinkKind, SkipReason
from memories.entries.versions import changed_since, rows_before
from memories.models import Batch, BatchChange, Change, Entry, Link, Scope

ENTRIES = Entry._meta.db_table
#: Columns that mark an entry as replaced.
_REPLACED = ("superseded_by_id", "archived_at")


def blocked_by_dependents(
    scope: Scope,
    expiring: Collection[int],
    *,
    of: int,
    by: int | None,
    force: bool,
    restored: Collection[int] = (),
) -> dict[int, tuple[SkipReason, str]]:
    """Of entries that undoing batch `of` would take out of use, those it must skip, each with reason and detail.

    STANDS, with the batches to undo first: another batch made the entry replace others since. CHANGED: the undo would
    not put back what it replaced, because that was changed since. Entries replaced before the batch do not count: they
    were out of use then, nor do those `restored` before. `by` is the undo; None: an undo of everything.
    """
    dependents = _replaced_since(_dependents(scope, expiring), of, by)
    if not dependents:
        return {}
    back, changed = _restored_by_undo({other for others in dependents.values() for other in others}, of, by, force)
    back |= set(restored)
    blocked = {pk: others - back for pk, others in dependents.items() if others - back}
    batches = _replacing_batches({other for others in blocked.values() for other in others - changed})
    return {
        pk: (SkipReason.STANDS, ", ".join(sorted({batches[one] for one in others - changed if one in batches})) or "—")
        if others - changed
        else (SkipReason.CHANGED, "")
        for pk, others in blocked.items()
    }


def _dependents(scope: Scope, expiring: Collection[int]) -> dict[int, set[int]]:
    """By entry, those out of use only because it replaced them."""
    dependents: defaultdict[int, set[int]] = defaultdict(set)
    rows = Entry.objects.in_scope(scope).filter(expired_at=None, suppressed_at=None)
    for other, entry in rows.filter(superseded_by__in=expiring, archived_at=None).values_list("pk", "superseded_by"):
        dependents[entry or 0].add(other)
    merged = Link.objects.filter(workspace_id=scope.workspace_id, kind=LinkKind.MERGED_FROM, from_entry__in=expiring)
    archived = rows.filter(archived_at__isnull=False, superseded_by=None)
    for entry, other in merged.filter(to_entry__in=archived).values_list("from_entry", "to_entry"):
        dependents[entry].add(other)
    return dict(dependents)


def _replaced_since(dependents: dict[int, set[int]], of: int, by: int | None) -> dict[int, set[int]]:
    """Only those replaced in batch `of`, or after it."""
    rows = Change.objects.filter(batch_id=of, table_name=ENTRIES, row_id__in=dependents).order_by()
    began = dict(rows.values_list("row_id").annotate(first=Min("id")))
    before_batch: dict[int, int] = {}
    for entry, others in dependents.items():
        for other in others:
            before_batch[other] = min(before_batch.get(other, began[entry]), began[entry] - 1)
    replaced = changed_since(before_batch, by=by or 0, columns=_REPLACED)
    return {entry: others & replaced for entry, others in dependents.items() if others & replaced}


def _restored_by_undo(others: Collection[int], of: int, by: int | None, force: bool) -> tuple[set[int], set[int]]:
    """Of entries batch `of` replaced: those the undo puts back, and those it does not because they were changed."""
    named = set(others)
    if by is not None:
        rows = BatchChange.objects.filter(batch=by, entry__in=others).exclude(state=ChangeState.LEFT)
        named = {pk for pk in rows.values_list("entry_id", flat=True) if pk is not None}
    prior = rows_before(of, ENTRIES, named)
    last = {pk: row.last_change for pk, row in prior.items() if not row.columns.keys().isdisjoint(_REPLACED)}
    changed = set() if force else changed_since(last, by=by or 0)
    return last.keys() - changed, changed


def _replacing_batches(others: Collection[int]) -> dict[int, str]:
    """By replaced entry, the end of the id of the batch that did it."""
    gave = Change.objects.filter(table_name=ENTRIES, row_id__in=others, batch_id__isnull=False)
    gave = gave.filter(old__has_any_keys=list(_REPLACED)).order_by("row_id", "-id").distinct("row_id")
    last = {row: batch for row, batch in gave.values_list("row_id", "batch_id") if batch is not None}
    uids = dict(Batch.objects.filter(pk__in=last.values()).values_list("pk", "uid"))
    return {row: f"…{uids[batch].hex[-8:]}" for row, batch in last.items() if batch in uids}
