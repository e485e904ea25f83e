"""How far a model is trusted in a workspace: the share of what it made there that people did not take back (D5, D6).

Counted over what its batches created, merged or replaced and people could look at: what they undid, refused, removed
from a plan or took out of use counts against it. Below TRUST_LEAST what it finds is only quoted, and nothing acts.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from memories.choices import BatchState, BatchVerb, ChangeState, SkipReason
from memories.conf import conf
from memories.consolidation.corrections import NAMES

WINDOW = timedelta(days=90)
#: With fewer rows a share says nothing.
LEAST_ROWS = 10
#: What models' batches are called, those that wait for a person included.
_NAMES = ("extract", "compress-days", *NAMES)
_VERBS = (BatchVerb.CREATE, BatchVerb.MERGE, BatchVerb.SUPERSEDE, BatchVerb.ARCHIVE)
_ROWS = f"""
WITH made AS (
    SELECT b.cost ->> 'model' AS model, c.state = '{ChangeState.APPLIED}' AS stands,
        c.state = '{ChangeState.UNDONE}' OR (c.state = '{ChangeState.LEFT}' AND c.note = '{SkipReason.REMOVED}')
        OR (b.state = '{BatchState.REFUSED}' AND b.decided_by <> '' AND b.decided_by NOT LIKE 'job:%%')
        OR (c.state = '{ChangeState.APPLIED}' AND c.verb = '{BatchVerb.CREATE}' AND e.expired_at IS NOT NULL
            AND EXISTS (SELECT 1 FROM memories_change h WHERE h.table_name = 'memories_entry' AND h.row_id = e.id
            AND h.old ? 'expired_at' AND h.actor NOT LIKE 'job:%%')) AS is_taken_back
    FROM memories_batch b JOIN memories_batchchange c ON c.batch_id = b.id
    LEFT JOIN memories_entry e ON e.id = c.entry_id
    WHERE b.workspace_id = %(workspace)s AND b.name = ANY(%(names)s) AND b.created_at > %(since)s
        AND c.verb = ANY(%(verbs)s) AND b.cost ? 'model'
)
SELECT model, count(*), count(*) FILTER (WHERE is_taken_back) FROM made WHERE stands OR is_taken_back
GROUP BY model ORDER BY model
"""  # noqa: S608 (names of ours)


@dataclass(frozen=True)
class Trust:
    """What became of what a model made."""

    model: str
    rows: int = 0
    taken_back: int = 0

    @property
    def share(self) -> float:
        """The share that people let stand."""
        return 1 - self.taken_back / self.rows if self.rows else 1.0

    @property
    def is_enough(self) -> bool:
        """Whether what it finds may act."""
        return self.rows < LEAST_ROWS or self.share >= conf.TRUST_LEAST


def figures(workspace_id: int, *, now: datetime) -> list[Trust]:
    """The models of a workspace."""
    values: dict[str, Any] = {
        "workspace": workspace_id,
        "names": list(_NAMES),
        "verbs": [verb.value for verb in _VERBS],
        "since": now - WINDOW,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, values)
        return [Trust(*row) for row in cursor.fetchall()]


def is_trusted(workspace_id: int, model: str, *, now: datetime) -> bool:
    """Whether what a model finds may act."""
    return all(figure.is_enough for figure in figures(workspace_id, now=now) if figure.model == model)
