"""A moment's patience for the vectors of what was said just now (A13).

A turn is found by its words at once and by its meaning a moment later. Who asks within seconds of telling waits that
moment, and is told if it was not enough. Where waiting did not help, nobody waits again for a while: then the embedder
is behind, and more patience would only make every answer late.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from memories.embeddings.base import Provider

#: What was said longer ago waits for more than a moment.
RECENTLY = timedelta(seconds=10)
STEP = 0.02  # seconds between two looks
REST = 5.0  # seconds without waiting after it did not help
#: By the index of a scope's entries by their time: a handful of rows.
_WAITING = """
SELECT EXISTS (
    SELECT 1 FROM memories_entry e JOIN memories_entryindex i ON i.entry_id = e.id
    WHERE e.scope_id = ANY(%(scopes)s::bigint[]) AND e.created_at > %(since)s AND e.created_at <= %(now)s
        AND (i.model_id IS NULL OR i.model_id <> (
            SELECT m.id FROM memories_embeddingmodel m WHERE m.name = %(name)s AND m.dimension = %(dimension)s))
)
"""


class PendingWait:
    """How long this process waits for vectors."""

    def __init__(self) -> None:
        self._until = 0.0

    def wait(self, scopes: Sequence[int], by: Provider, *, now: datetime, seconds: float) -> bool:
        """Wait until what was said just now has its vectors, but no longer; whether some are still missing."""
        if seconds <= 0 or not scopes:
            return False
        deadline = time.monotonic() + seconds
        while waiting := _is_waiting(scopes, by, now):
            moment = time.monotonic()
            if moment < self._until:
                break
            if moment + STEP > deadline:
                self._until = moment + REST
                break
            time.sleep(STEP)
        return waiting

    def forget(self) -> None:
        """Wait again (tests)."""
        self._until = 0.0


pending_wait = PendingWait()


def _is_waiting(scopes: Sequence[int], by: Provider, now: datetime) -> bool:
    asked: dict[str, Any] = {"scopes": list(scopes), "since": now - RECENTLY, "now": now}
    asked |= {"name": by.model, "dimension": by.dimension}
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, asked)
        return bool(cursor.fetchone()[0])
