"""Putting entries back as they were before a batch, from the history (F3).

Words, terms and fingerprints are taken from the history, not computed anew. An entry the batch made is archived: only a
purge or an erasure removes one.
"""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import connection

from memories.choices import SkipReason
from memories.entries import files, suppression
from memories.entries.changes import BulkOutcome
from memories.entries.draft import FIELDS, Use
from memories.entries.history import PriorRow, blocked_by_dependents, changed_since_batch, rows_before
from memories.exceptions import LineChanged
from memories.index import scope_statistics, search_rows
from memories.models import Entry, FileProblem, Link, Policy, Scope, Slot, Suppression
from memories.models.state import MARKS
from memories.models.tenancy import lock_scopes

ENTRIES = Entry._meta.db_table
#: Tables of rows that belong to entries, with the columns that refer to them.
RELATED: dict[str, tuple[type[Slot | Link | Suppression], tuple[str, ...]]] = {
    Slot._meta.db_table: (Slot, ("entry_id",)),
    Link._meta.db_table: (Link, ("from_entry_id", "to_entry_id")),
    Suppression._meta.db_table: (Suppression, ("entry_id",)),
}


def rollback(scope: Scope, entries: Sequence[int], *, of: int, by: int, force: bool, now: datetime) -> BulkOutcome:
    """Put entries, their slots, links and suppressions back as they were before batch `of`.

    Entries changed since by anything but the undo, batch `by`, are skipped unless `force`; entries whose loss would
    leave others out of use are skipped always. Inside the caller's transaction. Raises ScopeFrozen.
    """
    locked = lock_scopes([scope])[scope.pk]
    prior = rows_before(of, ENTRIES, entries)
    related = {table: _prior_related(of, table, entries) for table in RELATED}
    current = Entry.objects.in_scope(locked).select_for_update().in_bulk(list(entries))
    outcome = BulkOutcome(applied=sorted(current))
    outcome.skip(set(entries) - current.keys(), SkipReason.GONE)
    if not force:
        changed_pks = changed_since_batch(prior, by=by)
        outcome.skip(changed_pks & current.keys(), SkipReason.CHANGED)
    # what is in quarantine is let back by the undo of the batch that put it there
    let_back = {pk for pk, row in prior.items() if "quarantined_at" in row.columns}
    outcome.skip((pk for pk in current.keys() - let_back if current[pk].quarantined_at), SkipReason.QUARANTINED)
    expiring = {pk for pk in outcome.applied if pk in prior and _is_expired_by_undo(current[pk], prior[pk])}
    for pk, (reason, detail) in blocked_by_dependents(locked, expiring, of=of, by=by, force=force).items():
        outcome.skip([pk], reason)
        outcome.details[pk] = detail
    _restore_entries(locked, {pk: prior[pk] for pk in outcome.applied if pk in prior}, current, now)
    for table, rows in related.items():
        _restore_related(table, rows, set(outcome.applied))
    if outcome.applied:
        if related[Suppression._meta.db_table]:
            suppression.reconcile(locked, [current[pk] for pk in outcome.applied], now=now)
        search_rows.enqueue(outcome.applied)
        scope_statistics.raise_version(locked)
        # Their files say what they say after it
        before = [current[pk] for pk in outcome.applied if current[pk].path]
        after = Entry.objects.in_scope(locked).in_bulk([entry.pk for entry in before]) if before else {}
        pairs = [(entry, after[entry.pk]) for entry in before if entry.pk in after]
        files.strike_lines(locked, [old for old, new in pairs if old.is_live() and not new.is_live()], now=now)
        files.restore_lines(locked, [new for old, new in pairs if new.is_live() and not old.is_live()], now=now)
        for old, new in pairs:
            if old.is_live():
                try:
                    files.reword_line(locked, new, old.content)
                except LineChanged as problem:  # its file holds: it is read again
                    files.note_problem(locked, new.path, FileProblem.NOT_WRITTEN, str(problem), now)
    return outcome


def _prior_related(batch: int, table: str, entries: Sequence[int]) -> dict[int, PriorRow]:
    """The rows of these entries that the batch changed or removed, as they were."""
    _model, columns = RELATED[table]
    here = " OR ".join(f"{column} = ANY(%(entries)s)" for column in columns)
    old_condition = " OR ".join(f"(old -> '{column}')::bigint = ANY(%(entries)s)" for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {table} WHERE {here} UNION SELECT row_id FROM memories_change"  # noqa: S608 (our own tables)
            f" WHERE batch_id = %(batch)s AND table_name = %(table)s AND op = 'D' AND ({old_condition})",
            {"entries": list(entries), "batch": batch, "table": table},
        )
        rows = [row[0] for row in cursor.fetchall()]
    return rows_before(batch, table, rows) if rows else {}


def needed_replacements(
    scope: Scope, entries: Sequence[int], *, of: int, restored: Collection[int] = ()
) -> dict[int, str]:
    """Entries that undoing batch `of` would skip because they replaced others since, with the batches that did it.

    Others that are `restored` before it do not count.
    """
    prior = rows_before(of, ENTRIES, entries)
    current = Entry.objects.in_scope(scope).in_bulk(list(prior))
    expiring = {pk for pk, entry in current.items() if _is_expired_by_undo(entry, prior[pk])}
    blocked = blocked_by_dependents(scope, expiring, of=of, by=None, force=False, restored=restored)
    return {pk: detail for pk, (reason, detail) in blocked.items() if reason == SkipReason.STANDS}


def _is_expired_by_undo(entry: Entry, prior: PriorRow) -> bool:
    """Whether an entry in use would be out of use when it is put back."""
    return entry.is_live() and (prior.is_new or any(prior.columns.get(column) for column in MARKS.values()))


_COLUMNS = [column.column for column in Entry._meta.concrete_fields if Use.UNDO in FIELDS[column.name]]
_POPULATE = f"""
    UPDATE memories_entry e SET {", ".join(f"{column} = was.{column}" for column in _COLUMNS)}, updated_at = %s FROM (
        SELECT p.* FROM unnest(%s::bigint[], %s::jsonb[]) AS put (id, old) JOIN memories_entry t ON t.id = put.id
        CROSS JOIN LATERAL jsonb_populate_record(t, put.old) p) was WHERE e.id = was.id
"""  # noqa: S608 (names of ours)


def _restore_entries(scope: Scope, prior: dict[int, PriorRow], current: dict[int, Entry], now: datetime) -> None:
    new_pks = [pk for pk, row in prior.items() if row.is_new]  # archived since or not: it stays so by this undo
    Entry.objects.in_scope(scope).filter(pk__in=new_pks).update(archived_at=now, updated_at=now)
    old_columns = {pk: row.columns for pk, row in prior.items() if not row.is_new and row.columns}
    if not old_columns:
        return
    with connection.cursor() as cursor:
        cursor.execute(_POPULATE, [now, list(old_columns), [json.dumps(columns) for columns in old_columns.values()]])

    # expired entries in use again get a new term where their time is over, or the next run takes them
    expired = [pk for pk in old_columns if current[pk].expired_at]
    policies = Policy.objects.of(scope.workspace_id)
    over = policies.over(now, scope_kind=scope.kind)
    for entry in Entry.objects.in_scope(scope).live().filter(over, pk__in=expired).only("type", "scope"):
        entry.scope = scope
        Entry.objects.filter(pk=entry.pk).update(expires_at=policies.end_of_undone(entry, now))

    # the restored words are counted and indexed
    reworded = [current[pk] for pk, columns in old_columns.items() if "terms" in columns or "content" in columns]
    if reworded:
        counted: Counter[int] = Counter()
        restored = Entry.objects.in_scope(scope).in_bulk([entry.pk for entry in reworded])
        for entry in reworded:
            counted.subtract(scope_statistics.counted_terms(entry))
            counted.update(scope_statistics.counted_terms(restored[entry.pk]))
        scope_statistics.count_terms(scope.workspace_id, {scope.pk: counted})
        search_rows.write_keywords(search_rows.keyword_rows(restored.values()), {scope.pk: scope.index_length})


def _restore_related(table: str, rows: dict[int, PriorRow], entries: set[int]) -> None:
    """Remove the rows of these entries that the batch made; put back those it changed or removed."""
    model, columns = RELATED[table]
    current = {row.pk: row for row in model.objects.filter(pk__in=list(rows))}
    removed_pks: list[int] = []
    for pk, row in rows.items():
        owners = {getattr(current[pk], column) if pk in current else row.columns.get(column) for column in columns}
        if owners.isdisjoint(entries):
            continue
        if row.is_new:
            removed_pks.append(pk)
        elif pk in current:
            model.objects.filter(pk=pk).update(**row.restorable)
        else:  # under its own id, unless its place was taken meanwhile
            with connection.cursor() as cursor:
                cursor.execute(
                    f"INSERT INTO {table} SELECT p.* FROM jsonb_populate_record(NULL::{table}, %s::jsonb) p"  # noqa: S608 (a table of ours)
                    " ON CONFLICT DO NOTHING",
                    [json.dumps(row.columns)],
                )
    model.objects.filter(pk__in=removed_pks).delete()
