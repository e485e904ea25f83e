"""What became part of an entry goes on being found through it: its words and its vector count for the entry (D6).

A source counts as long as it is archived, over any number of merges. What people took out of use counts for nothing.
"""

from collections.abc import Iterable

from django.db import connection

from memories.choices import LinkKind

#: That an entry `e` counts for another it was merged into.
COUNTS_SQL = f"""(e.archived_at IS NOT NULL AND e.expired_at IS NULL AND e.suppressed_at IS NULL AND EXISTS (
    SELECT 1 FROM memories_link l WHERE l.to_entry_id = e.id AND l.kind = '{LinkKind.MERGED_FROM}'))"""  # noqa: S608 (a name of ours)
#: Entries with what became part of them, over any number of merges.
_SOURCES = f"""
WITH RECURSIVE part (keeper, source) AS (
    SELECT from_entry_id, to_entry_id FROM memories_link
    WHERE from_entry_id = ANY(%s) AND kind = '{LinkKind.MERGED_FROM}'
    UNION
    SELECT part.keeper, l.to_entry_id FROM part
    JOIN memories_link l ON l.from_entry_id = part.source AND l.kind = '{LinkKind.MERGED_FROM}'
)
SELECT part.keeper, e.id FROM part JOIN memories_entry e ON e.id = part.source
WHERE part.source <> part.keeper
    AND e.archived_at IS NOT NULL AND e.expired_at IS NULL AND e.suppressed_at IS NULL ORDER BY 1, 2
"""  # noqa: S608 (names of ours)
_KEEPERS = f"""
WITH RECURSIVE whole (keeper) AS (
    SELECT from_entry_id FROM memories_link WHERE to_entry_id = ANY(%s) AND kind = '{LinkKind.MERGED_FROM}'
    UNION
    SELECT l.from_entry_id FROM whole
    JOIN memories_link l ON l.to_entry_id = whole.keeper AND l.kind = '{LinkKind.MERGED_FROM}'
)
SELECT keeper FROM whole ORDER BY 1
"""  # noqa: S608 (names of ours)


def sources_of(entries: Iterable[int]) -> dict[int, list[int]]:
    """By entry, those that became part of it and count for it."""
    found: dict[int, list[int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, [list(entries)])
        for keeper, source in cursor.fetchall():
            found.setdefault(keeper, []).append(source)
    return found


def keepers_of(entries: Iterable[int]) -> list[int]:
    """The entries that any of these became part of."""
    with connection.cursor() as cursor:
        cursor.execute(_KEEPERS, [list(entries)])
        return [keeper for (keeper,) in cursor.fetchall()]
