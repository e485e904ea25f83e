"""The safety limit: a machine's plan waits for a person if it retires too much, or changes what is pinned (F4)."""

from typing import Any

from django.db import connection

from memories.choices import BatchVerb, HoldReason
from memories.conf import conf
from memories.models import Batch, BatchChange, Entry
from memories.models.entry import LIVE_SQL

#: Verbs that retire an entry; a merged one lives on in the entry that has it as a source.
RETIRING = (BatchVerb.EXPIRE, BatchVerb.ARCHIVE, BatchVerb.SUPERSEDE)
#: The number of entries of `gone` that no live entry was merged from, over any number of steps.
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
#: What a plan retires, and what lived on in that alone; what it merges lives on.
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
#: What batches of machines retired since a moment, of some types, and nobody restored or decided on.
_RECENT = f"""
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


def violations(batch: Batch, *, unreadable: str = "") -> list[dict[str, Any]]:
    """Why a batch needs the approval of a person, as codes with figures; empty when it needs none."""
    reasons: list[dict[str, Any]] = []
    if unreadable:
        reasons.append({"code": HoldReason.UNREADABLE, "problem": unreadable[:500]})
    changes = BatchChange.objects.filter(batch=batch)
    if pinned := changes.filter(entry__pinned=True).count():
        reasons.append({"code": HoldReason.PINNED, "pinned": pinned})
    return reasons + _too_many(batch)


def approval_reasons(batch: Batch) -> list[str]:
    """The reasons in words, in the reader's language."""
    return [str(HoldReason(reason["code"]).label) % reason for reason in batch.held_because]


def _too_many(batch: Batch) -> list[dict[str, Any]]:
    """Whether a batch retires too large a share of its types in the scope: alone, or with recent ones of machines."""
    types = _query(_TYPES, batch)
    retired = int(_query(_PLANNED + _UNNAMED, batch)) if types else 0
    if not retired:
        return []
    entries = Entry.objects.live().filter(scope=batch.scope, workspace_id=batch.workspace_id)
    live = entries.filter(type__in=types).count()
    if _is_above(retired, live, conf.SAFETY_LIMIT_SHARE):
        return [
            {
                "code": HoldReason.SHARE,
                "retired": retired,
                "live": live,
                "percent": round(conf.SAFETY_LIMIT_SHARE * 100),
            }
        ]
    verbs = [*RETIRING, BatchVerb.MERGE]  # what was merged is retired when what it became is
    since = batch.created_at - conf.SAFETY_LIMIT_WINDOW
    before = int(_query(_RECENT + _UNNAMED, batch, verbs=verbs, types=types, since=since)) if batch.is_summed else 0
    if not before or not _is_above(retired + before, live + before, conf.SAFETY_LIMIT_WINDOW_SHARE):
        return []
    figures = {
        "retired": retired + before,
        "live": live + before,
        "percent": round(conf.SAFETY_LIMIT_WINDOW_SHARE * 100),
    }
    return [{"code": HoldReason.DRAINED, **figures, "days": conf.SAFETY_LIMIT_WINDOW.days}]


def _is_above(retired: int, live: int, share: float) -> bool:
    return retired > conf.SAFETY_LIMIT_ROWS and retired > share * live


def _query(query: str, batch: Batch, **more: Any) -> Any:
    values = {"batch": batch.pk, "scope": batch.scope_id, "workspace": batch.workspace_id, "verbs": list(RETIRING)}
    with connection.cursor() as cursor:
        cursor.execute(query, values | more)
        return cursor.fetchone()[0]
