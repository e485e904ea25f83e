"""Rows of a made-up workspace, written by COPY: for measurements on many, never beside what people remember."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.db import connection, models
from django.db.models import NOT_PROVIDED

from memories.models import Entry
from memories.models.change import acting

#: Rows a transaction.
CHUNK = 20_000
_TERMS = """
INSERT INTO memories_scopeterm (workspace_id, scope_id, term, entries)
SELECT workspace_id, scope_id, term, count(*) FROM memories_entry CROSS JOIN unnest(terms) term
WHERE workspace_id = %s GROUP BY 1, 2, 3
"""
_LENGTHS = """
UPDATE memories_scope s SET entry_count = n, average_length = average, index_length = average, version = s.version + 1
FROM (SELECT scope_id, count(*) AS n, avg(length) AS average FROM memories_entry WHERE workspace_id = %s GROUP BY 1) e
WHERE e.scope_id = s.id
"""


def reserve_ids(model: type[models.Model], count: int) -> int:
    """The first of so many ids that nothing else gets."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [model._meta.db_table])
        (sequence,) = cursor.fetchone()
        cursor.execute("SELECT nextval(%s::regclass)", [sequence])
        (first,) = cursor.fetchone()
        cursor.execute("SELECT setval(%s::regclass, %s)", [sequence, first + count])
    return int(first)


def copy_rows(model: type[models.Model], rows: Iterable[Mapping[str, Any]], *, actor: str) -> Iterator[int]:
    """Write rows given by attribute, the others as a new row has them; after each transaction how many it wrote."""
    columns = [column for column in model._meta.concrete_fields if column.attname == "id" or _is_written(column)]
    blank = {column.attname: column.get_default() for column in columns}
    pending = iter(rows)
    while chunk := list(islice(pending, CHUNK)):
        named = [column for column in columns if column.attname in chunk[0] or not column.primary_key]
        lines = ([row.get(column.attname, blank[column.attname]) for column in named] for row in chunk)
        with acting(actor), connection.cursor() as cursor:
            _copy(cursor, model._meta.db_table, [str(column.column) for column in named], lines)
        yield len(chunk)


def _is_written(column: Any) -> bool:
    return column.db_default is NOT_PROVIDED or column.has_default()


def _copy(cursor: Any, table: str, columns: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    with cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
        for line in lines:
            copy.write_row([_written(value) for value in line])


def _written(value: Any) -> Any:
    return str(value) if isinstance(value, models.Choices) else value


def count_scopes(workspace_id: int) -> None:
    """Count the terms and lengths of what was copied into the scopes of a workspace."""
    with connection.cursor() as cursor:
        cursor.execute(_TERMS, [workspace_id])
        cursor.execute(_LENGTHS, [workspace_id])
        for table in (Entry._meta.db_table, "memories_entryindex", "memories_scopeterm"):
            cursor.execute(f"ANALYZE {table}")


def is_empty() -> bool:
    """Whether nothing is remembered yet."""
    return not Entry.objects.exists()
