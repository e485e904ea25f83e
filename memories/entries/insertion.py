"""New entries and links in one statement each, as rows: a placeholder for each value takes as long as all the rest."""

import json
from collections.abc import Mapping, Sequence

from django.db import connection

from memories import prepared
from memories.index.scope_statistics import COUNT_NEW, counting
from memories.models import Entry, Link, Scope

_FIELDS = [column for column in Entry._meta.concrete_fields if not column.primary_key]
_NAMES = ", ".join(f'"{column.column}"' for column in _FIELDS)
_INSERT = f"""
    WITH inserted AS (
        INSERT INTO memories_entry ({_NAMES})
        SELECT {_NAMES} FROM jsonb_populate_recordset(NULL::memories_entry, %(entries)s::jsonb)
        RETURNING uid, id
    ), {COUNT_NEW}
    SELECT uid, id FROM inserted
"""  # noqa: S608 (names of ours)


def insert_entries(entries: Sequence[Entry], scopes: Mapping[int, Scope]) -> None:
    """Store new entries, give each its id, and count them into their scopes, by id.

    Every value is taken as it is, as Django's bulk_create does.
    """
    rows = [{column.column: getattr(entry, column.attname) for column in _FIELDS} for entry in entries]
    values = {"entries": json.dumps(rows, default=str, ensure_ascii=False), **counting(scopes, entries)}
    ids = dict(prepared.rows(_INSERT, values))
    for entry in entries:
        entry.pk = ids[entry.uid]
        entry._state.adding, entry._state.db = False, connection.alias


_LINK = """
    INSERT INTO memories_link (version, workspace_id, from_entry_id, to_entry_id, kind, created_at)
    SELECT * FROM unnest(%(version)s::bigint[], %(workspace_id)s::bigint[], %(from_entry_id)s::bigint[],
        %(to_entry_id)s::bigint[], %(kind)s::text[], %(created_at)s::timestamptz[])
    ON CONFLICT DO NOTHING
"""
_LINK_COLUMNS = ("version", "workspace_id", "from_entry_id", "to_entry_id", "kind", "created_at")


def insert_links(links: Sequence[Link]) -> None:
    """Store links that are not there yet."""
    with prepared.cursor() as cursor:
        cursor.execute(_LINK, {name: [getattr(link, name) for link in links] for name in _LINK_COLUMNS})
