"""Memory as it was: read as of a moment (F6), and put back as it was before a batch (F3).

As of a moment: tables of the rows of some scopes, put in front of the stored ones. Temporary tables carry the names of
those the ranking reads, and PostgreSQL looks for a name among temporary tables first. So whatever is read inside
`as_they_were` is read as it was, by the statements that read it today. Row-level security does not guard temporary
tables: each is filled from the stored one, behind the wall, with the rows of the asked scopes alone. The transaction is
rolled back, and may write to nothing that is stored.

Before a batch: words, terms and fingerprints are taken from the history, not computed anew. An entry the batch made is
archived: only a purge or an erasure removes one.
"""

import json
import secrets
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from memories.choices import Echo, LinkKind, SkipReason
from memories.entries import files, suppression
from memories.entries.changes import BulkOutcome
from memories.entries.draft import FIELDS, Use
from memories.entries.history import ENTRIES, PriorRow, blocked_by_dependents, changed_since_batch, rows_before
from memories.exceptions import LineChanged
from memories.index import scope_statistics, search_rows
from memories.index.search_rows import dense_literal
from memories.models import DailyEvent, Entry, FileProblem, Link, Policy, Scope, Slot, Suppression
from memories.models.entry import LIVE_SQL
from memories.models.state import MARKS
from memories.models.tenancy import lock_scopes

_TELLS = f"e.echo IS DISTINCT FROM '{Echo.TURN}'"
#: A live entry is found by the words of what became part of it, too (memories.index.search_rows).
_RECOUNT = f"""
    WITH RECURSIVE part (keeper, source) AS (
        SELECT e.id, l.to_entry_id FROM memories_entry e
        JOIN memories_link l ON l.from_entry_id = e.id AND l.kind = '{LinkKind.MERGED_FROM}'
        WHERE e.scope_id = %(scope)s AND {LIVE_SQL} AND {_TELLS}
        UNION
        SELECT part.keeper, l.to_entry_id FROM part
        JOIN memories_link l ON l.from_entry_id = part.source AND l.kind = '{LinkKind.MERGED_FROM}'
    ), entry_terms AS (
        SELECT e.id, term FROM memories_entry e CROSS JOIN LATERAL unnest(e.terms) term
        WHERE e.scope_id = %(scope)s AND {LIVE_SQL} AND {_TELLS}
        UNION ALL
        SELECT DISTINCT k.id, term FROM part JOIN memories_entry k ON k.id = part.keeper
        JOIN memories_entry e ON e.id = part.source CROSS JOIN LATERAL unnest(e.terms) term
        WHERE {search_rows.COUNTS_SQL} AND NOT term = ANY (k.terms)
    ), counted AS (
        SELECT term, count(*) AS entries FROM entry_terms GROUP BY term
    ), gone AS (
        DELETE FROM memories_scopeterm t WHERE t.scope_id = %(scope)s
        AND NOT EXISTS (SELECT 1 FROM counted c WHERE c.term = t.term) RETURNING 1
    ), written AS (
        INSERT INTO memories_scopeterm AS t (workspace_id, scope_id, term, entries)
        SELECT %(workspace)s, %(scope)s, term, entries FROM counted
        ON CONFLICT (scope_id, term) DO UPDATE SET entries = excluded.entries WHERE t.entries <> excluded.entries
        RETURNING 1
    )
    SELECT 1 FROM gone UNION ALL SELECT 1 FROM written LIMIT 1
"""  # noqa: S608 (constants)
_LENGTHS = f"""
    SELECT count(*), coalesce(avg(length), 0)::float8 FROM memories_entry e
    WHERE e.scope_id = %s AND {LIVE_SQL} AND {_TELLS}
"""  # noqa: S608 (constants)


def count_scope(scope: Scope, is_dry: bool = False) -> bool:
    """Count the terms, entries and lengths of a scope, and read its names; whether what was stored was wrong.

    What was right is not stored again, so that its version stays; a length that its rows are to be weighed with is no
    count, and raises it. Raises ScopeFrozen.
    """
    with transaction.atomic():
        lock_scopes([scope])
        was_wrong = recount(scope)
        transaction.set_rollback(is_dry)
    return was_wrong


def recount(scope: Scope) -> bool:
    """The same while nobody else writes to the scope."""
    with connection.cursor() as cursor:
        cursor.execute(_RECOUNT, {"scope": scope.pk, "workspace": scope.workspace_id})
        was_wrong = bool(cursor.rowcount)
        cursor.execute(_LENGTHS, [scope.pk])
        entries, average = cursor.fetchone()
    current = Scope.objects.get(pk=scope.pk)
    was_wrong = was_wrong or (current.entry_count, round(current.average_length, 6)) != (entries, round(average, 6))
    current.entry_count, current.average_length = entries, average
    names = scope_statistics.reread_names(current)
    was_wrong = was_wrong or names != (current.projects, current.nicknames)
    current.projects, current.nicknames = names
    if scope_statistics.settle_index_length(current) or was_wrong:
        columns = ("entry_count", "average_length", "index_length", "projects", "nicknames")
        scope_statistics.raise_version(current, **{column: getattr(current, column) for column in columns})
    return was_wrong


#: A scope of so many entries has all search rows weighed anew where their average length was another then; a larger one
#: only where it was so much another that a write would have done so.
WEIGHED_ANEW = 2_000
#: What of an entry its search row, and the counts of its scope, are made of.
_COUNTING = (
    *("content", "terms", "echo", "path", "heading", "names", "session_id", "chat_id", "created_at"),
    *("speaker", "sender_id", "project", *MARKS.values()),
)
#: Recalls are counted so long after they were answered (memories.lifecycle.access_counting).
COUNTED_AFTER = timedelta(minutes=1)

#: Rows at a moment: those unchanged since, and for the others the earliest value of every column that changed since, in
#: front of what is stored, or was when the row was removed. What was made since is left out.
_RECORDED = """
WITH listed AS MATERIALIZED (SELECT t.id FROM {stored} t WHERE {where} UNION {removed}),
changed AS MATERIALIZED (
    SELECT c.row_id, bool_or(c.op = 'I') AS is_new,
        coalesce(jsonb_object_agg(k.key, k.value ORDER BY c.version DESC, c.id DESC) FILTER (WHERE k.key IS NOT NULL),
            '{{}}') AS past
    FROM memories_change c LEFT JOIN LATERAL jsonb_each(c.old) k ON true
    WHERE c.workspace_id = %(workspace)s AND c.table_name = '{name}' AND c.at > %(moment)s
        AND c.row_id = ANY(ARRAY(SELECT id FROM listed))
    GROUP BY c.row_id
), filled AS (
    INSERT INTO pg_temp.{name}
    SELECT t.* FROM {stored} t WHERE {where} AND NOT EXISTS (SELECT FROM changed c WHERE c.row_id = t.id)
    UNION ALL
    SELECT r.* FROM changed c LEFT JOIN {stored} t ON t.id = c.row_id CROSS JOIN LATERAL
        jsonb_populate_record(NULL::{stored}, coalesce(to_jsonb(t), '{{}}') || c.past) r
    WHERE NOT c.is_new AND r.workspace_id = %(workspace)s
)
SELECT row_id FROM changed
"""
_REMOVED = """SELECT c.row_id FROM memories_change c WHERE c.workspace_id = %(workspace)s
    AND c.table_name = '{name}' AND c.op = 'D' AND c.at > %(moment)s"""
#: Recorded tables in the order they are filled in: which rows of a stored one, and which of the removed ones.
_RECORDED_TABLES: Sequence[tuple[str, str, str | None]] = (
    (Entry._meta.db_table, "t.workspace_id = %(workspace)s AND t.scope_id = ANY(%(scopes)s::bigint[])", None),
    (
        Slot._meta.db_table,
        "t.workspace_id = %(workspace)s AND t.entry_id IN (SELECT e.id FROM pg_temp.memories_entry e)",
        "c.old -> 'entry_id' IN (SELECT to_jsonb(e.id) FROM pg_temp.memories_entry e)",
    ),
    (
        Link._meta.db_table,
        "t.workspace_id = %(workspace)s AND (t.from_entry_id IN (SELECT e.id FROM pg_temp.memories_entry e)"
        " OR t.to_entry_id IN (SELECT e.id FROM pg_temp.memories_entry e))",
        "c.old -> 'from_entry_id' IN (SELECT to_jsonb(e.id) FROM pg_temp.memories_entry e)",
    ),
    (Policy._meta.db_table, "t.workspace_id = %(workspace)s", "true"),
    (
        DailyEvent._meta.db_table,
        "t.workspace_id = %(workspace)s AND t.scope_id = ANY(%(scopes)s::bigint[])",
        "c.old -> 'scope_id' IN (SELECT to_jsonb(scope) FROM unnest(%(scopes)s::bigint[]) scope)",
    ),
)
#: Tables that follow from others, with the rows they begin with.
_DERIVED = {
    "memories_scope": "t.workspace_id = %(workspace)s AND t.id = ANY(%(scopes)s::bigint[])"
    " AND t.created_at <= %(moment)s",
    "memories_entryindex": "t.scope_id = ANY(%(scopes)s::bigint[])",
    "memories_scopeterm": "t.scope_id = ANY(%(scopes)s::bigint[])",
    "memories_indexqueueitem": "false",
    "memories_stagedvector": "false",
}
_COPY = "INSERT INTO pg_temp.{table} SELECT t.* FROM {schema}.{table} t WHERE {rows}"
_PLAIN = ("memories_entry", "memories_slot", "memories_link", "memories_policy", "memories_dailyevent")
_INDEXES = """
CREATE UNIQUE INDEX ON pg_temp.memories_entry (id);
CREATE INDEX ON pg_temp.memories_entry (scope_id, session_id, chat_id, created_at, id);
CREATE INDEX ON pg_temp.memories_slot (entry_id);
CREATE INDEX ON pg_temp.memories_link (from_entry_id);
CREATE INDEX ON pg_temp.memories_link (to_entry_id);
ANALYZE pg_temp.memories_entry (id, scope_id, type, tier, category, session_id, created_at);
ANALYZE pg_temp.memories_entryindex (entry_id, scope_id, model_id);
"""
#: When an entry was last served, as it was counted then; where it was served since, as the traces tell.
_ACCESS = """
CREATE TEMP TABLE memories_entryaccess ON COMMIT DROP AS
SELECT a.entry_id, a.workspace_id, a.access_count,
    CASE WHEN a.last_accessed <= %(moment)s THEN a.last_accessed ELSE served.at END AS last_accessed,
    a.repeat_count, a.last_seen
FROM {schema}.memories_entryaccess a JOIN pg_temp.memories_entry e ON e.id = a.entry_id
LEFT JOIN (
    SELECT s.entry_id, max(r.created_at) AS at
    FROM {schema}.memories_recalltrace r CROSS JOIN LATERAL unnest(r.served) s (entry_id)
    WHERE r.workspace_id = %(workspace)s AND r.created_at <= %(counted)s AND NOT r.query ? 'as_of'
        AND r.served && ARRAY(SELECT n.entry_id FROM {schema}.memories_entryaccess n
            JOIN pg_temp.memories_entry e ON e.id = n.entry_id WHERE n.last_accessed > %(moment)s)
    GROUP BY 1
) served ON served.entry_id = a.entry_id
"""
_VECTORS = """
CREATE TEMP TABLE past_vector ON COMMIT DROP AS SELECT * FROM {schema}.memories_entryvector LIMIT 0;
CREATE TEMP VIEW memories_entryvector AS
    SELECT v.* FROM {schema}.memories_entryvector v
    WHERE NOT EXISTS (SELECT FROM pg_temp.past_vector p WHERE p.entry_id = v.entry_id)
    UNION ALL SELECT * FROM pg_temp.past_vector
"""
_PAST_VECTORS = """
INSERT INTO pg_temp.past_vector (workspace_id, entry_id, model_id, fingerprint, embedding)
SELECT %(workspace)s, entry, %(model)s, words, vector::halfvec
FROM unnest(%(entries)s::bigint[], %(words)s::text[], %(vectors)s::text[]) AS r (entry, words, vector)
"""
#: Entries of the scopes that were made since, or changed in what search rows and counts are made of.
_CHANGED = """
SELECT e.id FROM memories_entry e WHERE e.workspace_id = %(workspace)s
    AND e.scope_id = ANY(%(scopes)s::bigint[]) AND EXISTS (SELECT FROM memories_change c
    WHERE c.table_name = 'memories_entry' AND c.row_id = e.id AND c.at > %(moment)s
        AND (c.op = 'I' OR c.old ?| %(counting)s::text[]))
UNION
SELECT e.id FROM memories_change c CROSS JOIN LATERAL (
    SELECT l.from_entry_id, l.to_entry_id FROM memories_link l WHERE l.id = c.row_id
    UNION ALL SELECT (c.old ->> 'from_entry_id')::bigint, (c.old ->> 'to_entry_id')::bigint
    WHERE c.op = 'D'
) l JOIN memories_entry e ON e.id IN (l.from_entry_id, l.to_entry_id)
WHERE c.workspace_id = %(workspace)s AND c.at > %(moment)s AND c.table_name = 'memories_link'
    AND e.scope_id = ANY(%(scopes)s::bigint[])
"""
_SCOPES_OF = "SELECT DISTINCT scope_id FROM {schema}.memories_entry WHERE id = ANY(%(ids)s)"
#: Who spoke is remembered by a scope for good: of these, who had spoken by then, and by which name.
_SPEAKERS = "SELECT DISTINCT speaker FROM memories_entry WHERE scope_id = %s AND speaker <> ''"
_SENDERS = """
SELECT DISTINCT ON (sender_id) sender_id, speaker FROM memories_entry
WHERE scope_id = %s AND sender_id <> '' AND speaker NOT IN ('', sender_id) ORDER BY sender_id, id DESC
"""


@dataclass(frozen=True)
class Reworded:
    """The vector of the words an entry had then, where it has others now."""

    entry: int
    fingerprint: str
    vector: Sequence[float]


@contextmanager
def as_they_were(
    workspace_id: int, scopes: Collection[int], moment: datetime, *, model_id: int | None, reworded: Sequence[Reworded]
) -> Iterator[None]:
    """Inside, these scopes of a workspace are read as they were at a moment, and nothing stored can be written."""
    values = {"workspace": workspace_id, "scopes": list(scopes), "moment": moment, "counted": moment - COUNTED_AFTER}
    try:
        with transaction.atomic():
            _Past(values, model_id).build(reworded)
            yield
            transaction.set_rollback(True)
    finally:
        if connection.connection is not None and not connection.needs_rollback:
            _forget_plans()


def _forget_plans() -> None:
    """Functions of the database keep plans, in which names stand for the tables they stood for then."""
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")


class _Past:
    """The tables of one question, as they are filled."""

    def __init__(self, values: Mapping[str, Any], model_id: int | None) -> None:
        self.values, self.model_id = values, model_id
        with connection.cursor() as cursor:
            cursor.execute("SELECT quote_ident(current_schema())")
            (self.schema,) = cursor.fetchone()

    def build(self, reworded: Sequence[Reworded]) -> None:
        changed_pks = {pk for (pk,) in self._run(_CHANGED, counting=[*_COUNTING])}
        beside = _with_relatives(changed_pks) if changed_pks else set()
        for table, rows in _DERIVED.items():
            self._create(table, "INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING INDEXES")
            self._run(_COPY.format(table=table, schema=self.schema, rows=rows))
        for table in _PLAIN:
            self._create(table, "INCLUDING DEFAULTS")
        for table, where, removal in _RECORDED_TABLES:
            removals = f"{_REMOVED.format(name=table)} AND {removal}" if removal else "SELECT NULL::bigint WHERE false"
            stored_table = f"{self.schema}.{table}"
            self._run(_RECORDED.format(stored=stored_table, name=table, where=where, removed=removals))
        self._run(_INDEXES)
        self._run(_ACCESS.format(schema=self.schema))

        # raw vectors: the stored ones, except of what had other words then
        self._run(_VECTORS.format(schema=self.schema))
        if reworded:
            self._run(
                _PAST_VECTORS,
                model=self.model_id,
                entries=[wording.entry for wording in reworded],
                words=[wording.fingerprint for wording in reworded],
                vectors=[dense_literal(wording.vector) for wording in reworded],
            )
        version = -1 - secrets.randbits(60)  # that no scope has at any moment, so that nothing kept of them is taken
        self._run("UPDATE pg_temp.memories_scope SET frozen = false, version = %(version)s", version=version)
        _forget_plans()
        self._run("SET TRANSACTION READ ONLY")
        if changed_pks:
            self._derive(changed_pks, beside)

    def _create(self, table: str, like: str) -> None:
        self._run(f"CREATE TEMP TABLE {table} (LIKE {self.schema}.{table} {like}) ON COMMIT DROP")

    def _derive(self, changed_pks: set[int], beside: set[int]) -> None:
        """Count the scopes anew, and make the search rows of what was not as it is, and of what stands beside it."""
        stale = changed_pks | beside | _with_relatives(changed_pks)
        # what was made since is in the stored table alone
        places = ((self.schema, changed_pks), ("pg_temp", stale))
        touched = {pk for schema, ids in places for (pk,) in self._run(_SCOPES_OF.format(schema=schema), ids=[*ids])}
        for scope in Scope.objects.filter(pk__in=touched):
            # Count a scope and read who had spoken; whether its search rows are weighed with another length now
            before = scope.index_length
            recount(scope)
            scope.refresh_from_db()
            drift = scope_statistics.LENGTH_DRIFT
            is_near = before and before / drift <= scope.average_length <= before * drift
            if scope.entry_count > WEIGHED_ANEW and is_near:
                scope.index_length = before
            with connection.cursor() as cursor:
                cursor.execute(_SPEAKERS, [scope.pk])
                spoke = {name for (name,) in cursor.fetchall()}
                cursor.execute(_SENDERS, [scope.pk])
                names = dict(cursor.fetchall())
            scope.speakers = [name for name in scope.speakers if name in spoke]
            scope.sender_names = {sender: names[sender] for sender in scope.sender_names if sender in names}
            scope.save(update_fields=["index_length", "speakers", "sender_names"])
            if scope.index_length != before:
                stale |= {pk for (pk,) in self._run("SELECT id FROM memories_entry WHERE scope_id = %(s)s", s=scope.pk)}
        rows = self._run(
            f"SELECT id FROM memories_entry e WHERE id = ANY(%(ids)s) AND {LIVE_SQL} ORDER BY id",  # noqa: S608 (names of ours)
            ids=sorted(stale),
        )
        search_rows.make_rows([pk for (pk,) in rows], model_id=self.model_id)

    def _run(self, statement: str, **more: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            is_plain = "%(" not in statement
            cursor.execute(statement, None if is_plain else {**self.values, **more})
            return cursor.fetchall() if cursor.description else []


def _with_relatives(entries: set[int]) -> set[int]:
    """What stands beside these entries in their conversations, and what they are part of."""
    return {near for group in search_rows.neighbours(entries).values() for near in group} | set(
        search_rows.keepers_of(entries)
    )


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
        files.restore_lines(locked, [new for old, new in pairs if new.is_live() and not old.is_live()])
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
