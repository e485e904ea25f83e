"""Putting entries back as they were before a batch, from the history of what it changed (F3).

Nothing is computed anew that the history still holds: words, terms and fingerprints come back as they were. An entry
the batch made is archived, for nothing but a purge or an erasure removes one.
"""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from memories.choices import SkipReason
from memories.entries import suppression
from memories.entries.fields import FIELDS, Use
from memories.entries.locks import lock_scopes
from memories.entries.replacements import blocked_by_dependents
from memories.entries.transitions import BulkOutcome
from memories.entries.versions import PriorRow, changed_since, rows_before
from memories.index import scope_statistics, search_rows
from memories.language import text
from memories.models import Entry, Link, Policy, Scope, Slot, Suppression
from memories.models.state import MARKS

ENTRIES = Entry._meta.db_table
#: Rows that belong to entries, and the columns that say to which.
BESIDE: dict[str, tuple[type[Slot | Link | Suppression], tuple[str, ...]]] = {
    Slot._meta.db_table: (Slot, ("entry_id",)),
    Link._meta.db_table: (Link, ("from_entry_id", "to_entry_id")),
    Suppression._meta.db_table: (Suppression, ("entry_id",)),
}
#: What an undo never gives back: names, and what rises with every change.
_KEPT = frozenset({"id", "uid", "workspace_id", "scope_id", "version", "updated_at"})
#: What takes an entry out of use.
_OUT = tuple(MARKS.values())


def rollback(scope: Scope, entries: Sequence[int], *, of: int, by: int, force: bool, now: datetime) -> BulkOutcome:
    """Give entries, their slots, links and suppressions back what they were before batch `of`.

    Entries that anything but this undo, the batch `by`, has changed since are left alone unless `force`; so are, in any
    case, those that others would be out of use without. Inside the caller's transaction. Raises ScopeFrozen.
    """
    held = lock_scopes([scope])[scope.pk]
    were = rows_before(of, ENTRIES, entries)
    beside = {table: _prior_related(of, table, entries) for table in BESIDE}
    outcome = BulkOutcome()
    found = Entry.objects.in_scope(held).select_for_update().in_bulk(list(entries))
    outcome.skip(set(entries) - found.keys(), SkipReason.GONE)
    if not force:
        since = changed_since({pk: row.last for pk, row in were.items()}, by=by)
        outcome.skip(since & found.keys(), SkipReason.CHANGED)
    going = {
        pk for pk in found.keys() - outcome.skipped.keys() if pk in were and _is_expired_by_undo(found[pk], were[pk])
    }
    outcome.skip_each(blocked_by_dependents(held, going, of=of, by=by, force=force))
    outcome.applied = sorted(found.keys() - outcome.skipped.keys())
    _restore_entries(held, {pk: were[pk] for pk in outcome.applied if pk in were}, found, now)
    for table, rows in beside.items():
        _restore_related(table, rows, set(outcome.applied))
    _settle(held, outcome.applied, freed=bool(beside[Suppression._meta.db_table]), found=found, now=now)
    return outcome


def _prior_related(batch: int, table: str, entries: Sequence[int]) -> dict[int, PriorRow]:
    """What the batch changed of the rows that belong to these entries: those still there, and those it removed."""
    _model, columns = BESIDE[table]
    here = " OR ".join(f"{column} = ANY(%(entries)s)" for column in columns)
    gone = " OR ".join(f"(old -> '{column}')::bigint = ANY(%(entries)s)" for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {table} WHERE {here} UNION SELECT row_id FROM memories_change"  # noqa: S608 (our own tables)
            f" WHERE batch_id = %(batch)s AND table_name = %(table)s AND op = 'D' AND ({gone})",
            {"entries": list(entries), "batch": batch, "table": table},
        )
        rows = [row[0] for row in cursor.fetchall()]
    return rows_before(batch, table, rows) if rows else {}


def needed_replacements(scope: Scope, entries: Sequence[int], *, of: int) -> dict[int, str]:
    """Entries that undoing batch `of` would leave because they have taken the place of others; by which batches."""
    were = rows_before(of, ENTRIES, entries)
    found = Entry.objects.in_scope(scope).in_bulk(list(were))
    going = {pk for pk, entry in found.items() if _is_expired_by_undo(entry, were[pk])}
    told = blocked_by_dependents(scope, going, of=of, by=None, force=False)
    return {pk: detail for pk, (reason, detail) in told.items() if reason == SkipReason.STANDS}


def _is_expired_by_undo(entry: Entry, was: PriorRow) -> bool:
    """Whether it is in use, and would be out of use when it is put back."""
    return entry.is_live() and (was.made or any(was.columns.get(column) for column in _OUT))


_COLUMNS = [column.column for column in Entry._meta.concrete_fields if Use.UNDO in FIELDS[column.name]]
_POPULATE = (
    "UPDATE memories_entry e SET {columns}, updated_at = %s FROM ("
    " SELECT p.* FROM unnest(%s::bigint[], %s::jsonb[]) AS put (id, old) JOIN memories_entry t ON t.id = put.id"
    " CROSS JOIN LATERAL jsonb_populate_record(t, put.old) p) was WHERE e.id = was.id"
).replace("{columns}", ", ".join(f"{column} = was.{column}" for column in _COLUMNS))


def _restore_entries(scope: Scope, were: dict[int, PriorRow], found: dict[int, Entry], now: datetime) -> None:
    made = [pk for pk, row in were.items() if row.made and found[pk].archived_at is None]
    Entry.objects.in_scope(scope).filter(pk__in=made).update(archived_at=now, updated_at=now)
    changed = {pk: row.columns for pk, row in were.items() if not row.made and row.columns}
    if not changed:
        return
    with connection.cursor() as cursor:
        cursor.execute(_POPULATE, [now, list(changed), [json.dumps(columns) for columns in changed.values()]])
    _renew_terms(scope, [pk for pk in changed if found[pk].expired_at], now)
    reworded = [found[pk] for pk, columns in changed.items() if "terms" in columns or "content" in columns]
    if reworded:
        _reindex(scope, reworded)


def _renew_terms(scope: Scope, expired: Sequence[int], now: datetime) -> None:
    """Of entries that had expired and whose time is over, the next night would take those again that are in use now."""
    policies = Policy.objects.of(scope.workspace_id)
    over = policies.over(now, scope_kind=scope.kind)
    for entry in Entry.objects.in_scope(scope).live().filter(over, pk__in=expired).only("type", "scope"):
        entry.scope = scope
        Entry.objects.filter(pk=entry.pk).update(expires_at=policies.end_of_undone(entry, now))


def _reindex(scope: Scope, reworded: Sequence[Entry]) -> None:
    """Let entries be found by the words they have again; `reworded` holds them as they were a moment ago."""
    counted: Counter[int] = Counter()
    rows: list[search_rows.KeywordRow] = []
    are = Entry.objects.in_scope(scope).only("terms", "content").in_bulk([entry.pk for entry in reworded])
    for entry in reworded:
        counted.subtract(entry.terms)
        counted.update(are[entry.pk].terms)
        rows.append((entry.pk, scope.workspace_id, scope.pk, text.terms(are[entry.pk].content)))
    scope_statistics.count_terms(scope.workspace_id, {scope.pk: counted})
    search_rows.write_keywords(rows, {scope.pk: scope.index_length})


def _restore_related(table: str, rows: dict[int, PriorRow], done: set[int]) -> None:
    """Remove what the batch made, give back what it changed or removed; of entries that were left alone, nothing."""
    model, columns = BESIDE[table]
    stored = {row.pk: row for row in model.objects.filter(pk__in=list(rows))}
    removed: list[int] = []
    for pk, row in rows.items():
        owners = {getattr(stored[pk], column) if pk in stored else row.columns.get(column) for column in columns}
        if owners.isdisjoint(done):
            continue
        if row.made:
            removed.append(pk)
        elif pk in stored:
            model.objects.filter(pk=pk).update(
                **{name: value for name, value in row.columns.items() if name not in _KEPT}
            )
        else:
            _insert_again(table, row.columns)
    model.objects.filter(pk__in=removed).delete()


def _insert_again(table: str, columns: dict[str, Any]) -> None:
    """A row that the batch removed, under its own id; unless its place was taken meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} SELECT p.* FROM jsonb_populate_record(NULL::{table}, %s::jsonb) p"  # noqa: S608 (a table of ours)
            " ON CONFLICT DO NOTHING",
            [json.dumps(columns)],
        )


def _settle(scope: Scope, entries: Sequence[int], *, freed: bool, found: dict[int, Entry], now: datetime) -> None:
    if not entries:
        return
    if freed:
        suppression.reconcile(scope, [found[pk] for pk in entries], now=now)
    search_rows.enqueue(entries)
    scope_statistics.raise_version(scope)
