"""The statistics of a scope computed anew from its live entries: what is out of use no longer counts."""

from django.db import connection, transaction

from memories.choices import Echo, LinkKind
from memories.entries.locks import lock_scopes
from memories.index import merged, scope_statistics
from memories.models import Scope
from memories.models.entry import LIVE_SQL

_TELLS = f"e.echo IS DISTINCT FROM '{Echo.TURN}'"
#: A live entry is found by the words of what became part of it, too (memories.index.merged).
_RECOUNT = f"""
    WITH RECURSIVE part (keeper, source) AS (
        SELECT e.id, l.to_entry_id FROM memories_entry e
        JOIN memories_link l ON l.from_entry_id = e.id AND l.kind = '{LinkKind.MERGED_FROM}'
        WHERE e.scope_id = %(scope)s AND {LIVE_SQL} AND {_TELLS}
        UNION
        SELECT part.keeper, l.to_entry_id FROM part
        JOIN memories_link l ON l.from_entry_id = part.source AND l.kind = '{LinkKind.MERGED_FROM}'
    ), held AS (
        SELECT e.id, term FROM memories_entry e CROSS JOIN LATERAL unnest(e.terms) term
        WHERE e.scope_id = %(scope)s AND {LIVE_SQL} AND {_TELLS}
        UNION ALL
        SELECT DISTINCT k.id, term FROM part JOIN memories_entry k ON k.id = part.keeper
        JOIN memories_entry e ON e.id = part.source CROSS JOIN LATERAL unnest(e.terms) term
        WHERE {merged.COUNTS_SQL} AND NOT term = ANY (k.terms)
    ), counted AS (
        SELECT term, count(*) AS entries FROM held GROUP BY term
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
        changed = recount(scope)
        transaction.set_rollback(is_dry)
    return changed


def recount(scope: Scope) -> bool:
    """The same while nobody else writes to the scope."""
    with connection.cursor() as cursor:
        cursor.execute(_RECOUNT, {"scope": scope.pk, "workspace": scope.workspace_id})
        changed = bool(cursor.rowcount)
        cursor.execute(_LENGTHS, [scope.pk])
        entries, average = cursor.fetchone()
    current = Scope.objects.get(pk=scope.pk)
    changed = changed or (current.entry_count, round(current.average_length, 6)) != (entries, round(average, 6))
    current.entry_count, current.average_length = entries, average
    named = scope_statistics.reread_names(current)
    changed = changed or named != (current.projects, current.nicknames)
    current.projects, current.nicknames = named
    if scope_statistics.settle_index_length(current) or changed:
        columns = ("entry_count", "average_length", "index_length", "projects", "nicknames")
        scope_statistics.raise_version(current, **{column: getattr(current, column) for column in columns})
    return changed
