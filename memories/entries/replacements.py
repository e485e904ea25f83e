"""Entries that stand for others, which would be out of use without them: no undo takes those others away too (F3)."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Min

from memories.choices import ChangeState, LinkKind, SkipReason
from memories.entries.versions import changed_since, rows_before
from memories.models import Batch, BatchChange, Change, Entry, Link, Scope

ENTRIES = Entry._meta.db_table
#: What of an entry says that another has taken its place.
_PLACE = ("superseded_by_id", "archived_at")


def blocked_by_dependents(
    scope: Scope, going: Collection[int], *, of: int, by: int | None, force: bool
) -> dict[int, tuple[SkipReason, str]]:
    """Of entries that undoing batch `of` would take out of use, those it must leave, each with the reason.

    Those that anything but this batch has let take the place of others since, whose batches are named; and those that
    took the place of what is not put back itself, because it was changed since. What had given its place away before
    the batch was as much out of use as what the undo puts back. `by` is the undo; None: of everything.
    """
    hanging = _replaced_since(_dependents(scope, going), of, by)
    if not hanging:
        return {}
    others = {other for ones in hanging.values() for other in ones}
    coming, stuck = _restored_by_undo(others, of, by, force)
    blocked = {pk: ones - coming for pk, ones in hanging.items() if ones - coming}
    first = _replacing_batches({other for ones in blocked.values() for other in ones - stuck})
    return {
        pk: (SkipReason.STANDS, ", ".join(sorted({first[one] for one in ones - stuck if one in first})) or "—")
        if ones - stuck
        else (SkipReason.CHANGED, "")
        for pk, ones in blocked.items()
    }


def _dependents(scope: Scope, going: Collection[int]) -> dict[int, set[int]]:
    """What is out of use only because these have taken its place."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    rows = Entry.objects.in_scope(scope).filter(expired_at=None, suppressed_at=None)
    for other, entry in rows.filter(superseded_by__in=going, archived_at=None).values_list("pk", "superseded_by"):
        found[entry or 0].add(other)
    merged = Link.objects.filter(workspace_id=scope.workspace_id, kind=LinkKind.MERGED_FROM, from_entry__in=going)
    archived = rows.filter(archived_at__isnull=False, superseded_by=None)
    for entry, other in merged.filter(to_entry__in=archived).values_list("from_entry", "to_entry"):
        found[entry].add(other)
    return dict(found)


def _replaced_since(hanging: dict[int, set[int]], of: int, by: int | None) -> dict[int, set[int]]:
    """Only those that gave their place away in batch `of`, or after it."""
    rows = Change.objects.filter(batch_id=of, table_name=ENTRIES, row_id__in=hanging).order_by()
    began = dict(rows.values_list("row_id").annotate(first=Min("id")))
    before_it: dict[int, int] = {}
    for entry, others in hanging.items():
        for other in others:
            before_it[other] = min(before_it.get(other, began[entry]), began[entry] - 1)
    gave = changed_since(before_it, by=by or 0, columns=_PLACE)
    return {entry: others & gave for entry, others in hanging.items() if others & gave}


def _restored_by_undo(others: Collection[int], of: int, by: int | None, force: bool) -> tuple[set[int], set[int]]:
    """Those whose place batch `of` gave away and the undo gives back; and those it would, had nobody changed them."""
    named = set(others)
    if by is not None:
        rows = BatchChange.objects.filter(batch=by, entry__in=others).exclude(state=ChangeState.LEFT)
        named = {pk for pk in rows.values_list("entry_id", flat=True) if pk is not None}
    were = {pk: row for pk, row in rows_before(of, ENTRIES, named).items() if not row.columns.keys().isdisjoint(_PLACE)}
    if force:
        return set(were), set()
    changed = changed_since({pk: row.last for pk, row in were.items()}, by=by or 0)
    return were.keys() - changed, changed


def _replacing_batches(others: Collection[int]) -> dict[int, str]:
    """The batch that gave away the place of each, by the end of its id."""
    gave = Change.objects.filter(table_name=ENTRIES, row_id__in=others, batch_id__isnull=False)
    gave = gave.filter(old__has_any_keys=list(_PLACE)).order_by("row_id", "-id").distinct("row_id")
    last = {row: batch for row, batch in gave.values_list("row_id", "batch_id") if batch is not None}
    uids = dict(Batch.objects.filter(pk__in=last.values()).values_list("pk", "uid"))
    return {row: f"…{uids[batch].hex[-8:]}" for row, batch in last.items() if batch in uids}
