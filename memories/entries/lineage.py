"""What rests on what: from some messages and entries to everything that was made of them, over any number of steps."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection

#: By sets, for lists would be read through for every message of every row.
_OF_MESSAGES = """
    SELECT DISTINCT r.id FROM {table} r CROSS JOIN LATERAL unnest(r.origins) named (origin)
    WHERE r.workspace_id = %(workspace)s AND named.origin IN (SELECT unnest(%(origins)s::text[]))
"""
_ENTRIES = f"""
    {_OF_MESSAGES.format(table="memories_entry")}
    UNION
    SELECT v.entry_id FROM memories_evidence v WHERE v.workspace_id = %(workspace)s
        AND v.origin IN (SELECT unnest(%(origins)s::text[]) UNION ALL
                         SELECT 'daily/' || d.uid FROM memories_dailyevent d WHERE d.id = ANY(%(days)s))
    UNION
    SELECT l.to_entry_id FROM memories_link l WHERE l.workspace_id = %(workspace)s AND l.kind = 'source_of'
        AND l.from_entry_id IN (SELECT unnest(%(entries)s::bigint[]))
    UNION
    SELECT l.from_entry_id FROM memories_link l WHERE l.workspace_id = %(workspace)s AND l.kind = 'merged_from'
        AND l.to_entry_id IN (SELECT unnest(%(entries)s::bigint[]))
"""  # noqa: S608 (names of ours)
_DAYS = _OF_MESSAGES.format(table="memories_dailyevent")


@dataclass(frozen=True)
class Lineage:
    """What rests on some messages and entries, with these."""

    entries: frozenset[int]
    days: frozenset[int]
    origins: frozenset[str]


def lineage_of(workspace_id: int, *, entries: Iterable[int] = (), origins: Iterable[str] = ()) -> Lineage:
    """Entries and days that rest on these messages, or were made of these entries, at whatever remove.

    Only the given messages count: what was found may rest on others too, which are nobody's fault.
    """
    found, named = set(entries), sorted(set(origins))
    days = _ids(_DAYS, workspace=workspace_id, origins=named)
    new: Collection[int] = found | {0}  # messages alone lead to entries as well
    while new:
        rows = _ids(_ENTRIES, workspace=workspace_id, origins=named, days=sorted(days), entries=sorted(found))
        new = rows - found
        found |= new
    return Lineage(frozenset(found), frozenset(days), frozenset(named))


def _ids(statement: str, **values: Any) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return {row[0] for row in cursor.fetchall()}
