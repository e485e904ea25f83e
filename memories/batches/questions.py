"""Proposals that wait for a person, those that would do most harm if they were wrong first (F4)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import connection

from memories.batches.safety_limit import RETIRING
from memories.choices import BatchState, BatchVerb, ChangeState, Source
from memories.models.entry import LIVE_SQL

#: Proposals that are ranked, and rows looked at of each: whatever waits, a page costs no more.
MOST, _ROWS = 1_000, 1_000
#: Sources of what people wrote, brought along or had saved on purpose.
_OF_PEOPLE = (Source.MANUAL, Source.MIGRATION, Source.TOOL)
#: Verbs after which the words of an entry stand elsewhere, or otherwise.
_REWRITING = (BatchVerb.MERGE, BatchVerb.CHANGE)


@dataclass(frozen=True)
class Question:
    """A proposal nobody has decided on, and what approving it would do to entries that still are as it found them."""

    batch: int
    purged: int  # removed for good
    protected: int  # taken out of use or changed, though a person pinned, checked or wrote them
    retired: int  # taken out of use
    retired_importance: float
    rewritten: int  # merged or changed
    rewritten_importance: float


#: The order: what cannot be undone; what people cared for; what takes most out of use, by importance; what rewrites
#: most; and what has waited longest.
_OPEN = f"""
    SELECT b.id, harm.* FROM memories_batch b CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE c.verb = 'purge') AS purged,
            count(*) FILTER (WHERE c.verb = ANY(%(touching)s)
                AND (e.pinned OR e.verified_at IS NOT NULL OR e.source = ANY(%(people)s))) AS protected,
            count(*) FILTER (WHERE c.verb = ANY(%(retiring)s)) AS retired,
            coalesce(sum(e.importance) FILTER (WHERE c.verb = ANY(%(retiring)s)), 0) AS retired_importance,
            count(*) FILTER (WHERE c.verb = ANY(%(rewriting)s)) AS rewritten,
            coalesce(sum(e.importance) FILTER (WHERE c.verb = ANY(%(rewriting)s)), 0) AS rewritten_importance
        FROM (
            SELECT verb, entry_id, expected_version FROM memories_batchchange
            WHERE batch_id = b.id AND state = %(planned)s ORDER BY position LIMIT %(rows)s
        ) c JOIN memories_entry e ON e.id = c.entry_id
            AND (c.verb = 'purge' OR ({LIVE_SQL} AND e.version = coalesce(c.expected_version, e.version)))
    ) harm
    WHERE b.state = %(proposed)s AND (%(seen)s::bigint[] IS NULL OR b.workspace_id = ANY(%(seen)s::bigint[]))
    ORDER BY harm.purged DESC, harm.protected DESC, harm.retired_importance DESC, harm.rewritten_importance DESC,
        b.created_at, b.id
    LIMIT %(most)s
"""  # noqa: S608 (constants)


def open_questions(workspaces: Collection[int] | None) -> list[Question]:
    """The proposals of these workspaces that wait, None: of all; the most harmful first, at most MOST."""
    values: dict[str, Any] = {
        "touching": [*RETIRING, *_REWRITING, BatchVerb.PURGE],
        "retiring": list(RETIRING),
        "rewriting": list(_REWRITING),
        "people": list(_OF_PEOPLE),
        "planned": ChangeState.PLANNED,
        "proposed": BatchState.PROPOSED,
        "seen": None if workspaces is None else sorted(workspaces),
        "rows": _ROWS,
        "most": MOST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, values)
        return [Question(*row) for row in cursor.fetchall()]
