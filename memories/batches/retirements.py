"""How many memories batches of machines take out of use for good: nothing in use names them as its source (F4)."""

from datetime import datetime
from typing import Any

from django.db import connection

from memories.choices import BatchVerb
from memories.models import Batch
from memories.models.entry import LIVE_SQL

#: Verbs that take an entry out of use; what is merged lives on in what names it as its source.
RETIRING = (BatchVerb.EXPIRE, BatchVerb.ARCHIVE, BatchVerb.SUPERSEDE)
#: Of the entries of `gone`, those no live entry was made from, however many steps lie between.
_UNNAMED = f"""
    , up (origin, entry_id) AS (
        SELECT entry_id, entry_id FROM gone
        UNION
        SELECT up.origin, l.from_entry_id FROM up
        JOIN memories_link l ON l.to_entry_id = up.entry_id AND l.kind = 'merged_from'
        WHERE l.workspace_id = %(workspace)s
    )
    SELECT count(*) FROM gone WHERE NOT EXISTS (
        SELECT FROM up JOIN memories_entry e ON e.id = up.entry_id
        WHERE up.origin = gone.entry_id AND {LIVE_SQL} AND e.id NOT IN (SELECT entry_id FROM going)
    )
"""  # noqa: S608 (constants)
#: What a plan takes out of use, and what lived on in that alone; what it merges lives on.
_PLANNED = f"""
    WITH RECURSIVE going AS (
        SELECT c.entry_id FROM memories_batchchange c JOIN memories_entry e ON e.id = c.entry_id
        WHERE c.batch_id = %(batch)s AND c.verb = ANY(%(verbs)s) AND {LIVE_SQL}
          AND NOT EXISTS (SELECT FROM memories_batchchange m
                          WHERE m.batch_id = c.batch_id AND m.entry_id = c.entry_id AND m.verb = 'merge')
    ), gone (entry_id) AS (
        SELECT entry_id FROM going
        UNION
        SELECT l.to_entry_id FROM gone
        JOIN memories_link l ON l.from_entry_id = gone.entry_id AND l.kind = 'merged_from'
        JOIN memories_entry e ON e.id = l.to_entry_id AND NOT ({LIVE_SQL})
    )
"""  # noqa: S608 (constants)
#: What the batches of machines took out of use since a moment, of some types, and nobody brought back.
_LATELY = f"""
    WITH RECURSIVE going (entry_id) AS (SELECT 0::bigint WHERE false), gone AS (
        SELECT DISTINCT c.entry_id FROM memories_batch b
        JOIN memories_batchchange c ON c.batch_id = b.id AND c.state = 'applied' AND c.verb = ANY(%(verbs)s)
        JOIN memories_entry e ON e.id = c.entry_id AND e.type = ANY(%(types)s) AND NOT ({LIVE_SQL})
        WHERE b.scope_id = %(scope)s AND b.workspace_id = %(workspace)s AND b.is_summed AND b.decided_by = ''
          AND b.created_at > %(since)s AND b.id <> %(batch)s
    )
"""  # noqa: S608 (constants)
_TYPES = """
    SELECT array_agg(DISTINCT e.type) FROM memories_batchchange c JOIN memories_entry e ON e.id = c.entry_id
    WHERE c.batch_id = %(batch)s AND c.verb = ANY(%(verbs)s)
"""


def retired_types(batch: Batch) -> list[str]:
    """The types of the entries a plan takes out of use."""
    return _asked(_TYPES, batch) or []


def count_planned(batch: Batch) -> int:
    """Entries that would be out of use, with no live one made from them."""
    return int(_asked(_PLANNED + _UNNAMED, batch))


def count_recent(batch: Batch, kinds: list[str], since: datetime) -> int:
    """What machines have retired in the scope of a batch before it, that nobody decided on or brought back."""
    verbs = [*RETIRING, BatchVerb.MERGE]  # what is merged is retired when what it became is
    return int(_asked(_LATELY + _UNNAMED, batch, verbs=verbs, types=kinds, since=since))


def _asked(query: str, batch: Batch, **more: Any) -> Any:
    values = {"batch": batch.pk, "scope": batch.scope_id, "workspace": batch.workspace_id, "verbs": list(RETIRING)}
    with connection.cursor() as cursor:
        cursor.execute(query, values | more)
        return cursor.fetchone()[0]
