"""What rows were before a batch, by the history of what it changed; and whether anything changed them since (F3)."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from memories.choices import Operation
from memories.models import DailyEvent, Entry

#: What batches name in their rows, and the column they name it in.
_NAMED = {Entry._meta.db_table: "entry_id", DailyEvent._meta.db_table: "event_id"}


@dataclass
class PriorRow:
    """What a row was before the batch."""

    made: bool = False  # by the batch
    columns: dict[str, Any] = field(default_factory=dict)  # of those it changed; all of them when it removed the row
    last: int = 0  # its last change by the batch


def rows_before(batch: int, table: str, rows: Collection[int]) -> dict[int, PriorRow]:
    """What a batch found: the earliest value of every column it changed of these rows of a table."""
    found: defaultdict[int, PriorRow] = defaultdict(PriorRow)
    for row_id, change_id, op, old in _changes(batch, table, rows):
        row = found[row_id]
        row.made = row.made or (op == Operation.INSERT and not row.last)
        row.columns = {**old, **row.columns}
        row.last = change_id
    return dict(found)


def _changes(batch: int, table: str, rows: Collection[int]) -> Iterable[tuple[int, int, str, dict[str, Any]]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT row_id, id, op, old::text FROM memories_change"
            " WHERE batch_id = %s AND table_name = %s AND row_id = ANY(%s) ORDER BY id",
            [batch, table, list(rows)],
        )
        return [(row, change, op, json.loads(old)) for row, change, op, old in cursor.fetchall()]


#: A change that was taken back, and the one that took it back, are none: both came after what is asked about.
_SINCE = """
    SELECT DISTINCT c.row_id FROM unnest(%(rows)s::bigint[], %(lasts)s::bigint[]) AS put (row_id, last)
    JOIN memories_change c ON c.table_name = %(table)s AND c.row_id = put.row_id AND c.id > put.last
    WHERE c.batch_id IS DISTINCT FROM %(by)s AND (%(columns)s::text[] = '{{}}' OR c.old ?| %(columns)s)
      AND (c.batch_id IS NULL OR NOT (
        EXISTS (
            SELECT 1 FROM memories_batchchange u JOIN memories_batch b ON b.id = u.batch_id
            WHERE u.{named} = c.row_id AND u.verb = 'undo' AND u.state = 'applied' AND b.undoes_id = c.batch_id
        ) OR EXISTS (
            SELECT 1 FROM memories_batchchange u JOIN memories_batch b ON b.id = u.batch_id
            JOIN memories_change f ON f.batch_id = b.undoes_id AND f.table_name = c.table_name AND f.row_id = c.row_id
            WHERE u.{named} = c.row_id AND u.verb = 'undo' AND u.state = 'applied' AND u.batch_id = c.batch_id
              AND f.id > put.last
        )
    ))
"""


def changed_since(
    lasts: Mapping[int, int], *, by: int = 0, table: str = Entry._meta.db_table, columns: Collection[str] = ()
) -> set[int]:
    """Rows that anything but batch `by` has changed after their change `lasts` names, and not taken back since.

    With `columns`, only changes of one of these count.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _SINCE.format(named=_NAMED[table]),
            {
                "rows": list(lasts),
                "lasts": list(lasts.values()),
                "by": by,
                "table": table,
                "columns": list(columns),
            },
        )
        return {row[0] for row in cursor.fetchall()}
