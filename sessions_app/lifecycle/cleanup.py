"""Session events have their time, after which they are removed (C6)."""

from datetime import datetime

from django.db import connection

from memories.conf import conf

CHUNK = 5_000

#: Never an event of the open conversation that no summary covers, nor one that still waits to be extracted.
_OLD = """
    FROM sessions_app_sessionevent e JOIN sessions_app_session s ON s.id = e.session_id
    WHERE e.at < %(before)s AND NOT (e.conversation = s.conversation AND e.position > s.compacted_to)
    AND NOT EXISTS (
        SELECT 1 FROM memories_extractionbatch b WHERE b.session_uid = s.uid AND b.conversation = e.conversation
    )
"""
_REMOVE = f"""
    DELETE FROM sessions_app_sessionevent WHERE id IN (
        SELECT e.id {_OLD} ORDER BY e.at LIMIT %(chunk)s FOR UPDATE OF e SKIP LOCKED
    )
"""  # noqa: S608 (constants)


def clean_events(*, now: datetime) -> dict[str, int]:
    """Remove what is older than SESSION_EVENT_TTL, in short transactions; how many."""
    removed = _some(now)
    total = removed
    while removed == CHUNK:
        removed = _some(now)
        total += removed
    return {"events": total}


def count_old(*, now: datetime) -> dict[str, int]:
    """How many events a run would remove."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {_OLD}", {"before": now - conf.SESSION_EVENT_TTL})  # noqa: S608 (constants)
        return {"events": int(cursor.fetchone()[0])}


def _some(now: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE, {"before": now - conf.SESSION_EVENT_TTL, "chunk": CHUNK})
        return int(cursor.rowcount)
