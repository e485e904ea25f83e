"""New entries in one statement, as rows of JSON: a placeholder for each value takes as long as all the rest."""

import json
from collections.abc import Sequence

from django.db import connection

from memories import prepared
from memories.models import Entry

_FIELDS = [column for column in Entry._meta.concrete_fields if not column.primary_key]
_NAMES = ", ".join(f'"{column.column}"' for column in _FIELDS)
_INSERT = f"""
    INSERT INTO memories_entry ({_NAMES})
    SELECT {_NAMES} FROM jsonb_populate_recordset(NULL::memories_entry, %s::jsonb)
    RETURNING uid, id
"""  # noqa: S608 (names of ours)


def insert_entries(entries: Sequence[Entry]) -> None:
    """Store new entries and give each its id; every value is taken as it is, as Django's bulk_create does."""
    rows = [{column.column: getattr(entry, column.attname) for column in _FIELDS} for entry in entries]
    with prepared.cursor() as cursor:
        cursor.execute(_INSERT, [json.dumps(rows, default=str, ensure_ascii=False)])
        ids = dict(cursor.fetchall())
    for entry in entries:
        entry.pk = ids[entry.uid]
        entry._state.adding, entry._state.db = False, connection.alias
