"""How long messages are handed out, and kept: as long as the memory of their turn lives (A9, C6).

A message that never became a memory has the same term. Past it no answer and no text has the message; it stays stored
for the operator until SESSION_EVENT_TTL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction

from memories.choices import EntryType, ScopeKind
from memories.conf import conf
from memories.entries import evidence
from memories.models.entry import LIVE_SQL
from memories.models.policy import Policies
from sessions_app.models import conversation_path, event_ids

#: Turns whose term is not that of their messages: pinned, restored, repeated, or with a term of their own.
_LIVES = f"""({LIVE_SQL} AND CASE WHEN e.expires_at IS NOT NULL THEN e.expires_at > %(now)s
    WHEN e.pinned THEN true ELSE e.stated_at > %(since)s END)"""
_APART = f"""
SELECT e.origins, {_LIVES} FROM memories_entry e
WHERE e.workspace_id = %(workspace)s AND e.scope_id = ANY(%(scopes)s::bigint[]) AND e.type = %(turn)s
    AND cardinality(e.origins) > 0
    AND (({_LIVES} AND e.created_at <= %(since)s)
        OR (e.stated_at > %(since)s AND (e.expired_at IS NOT NULL OR e.expires_at <= %(now)s)))
"""  # noqa: S608 (constants)


@dataclass(frozen=True)
class Retention:
    """Which messages of some scopes of one kind are handed out: all after a time, with exceptions by id."""

    since: datetime | None  # None: no limit
    longer: frozenset[int] = frozenset()
    shorter: frozenset[int] = frozenset()

    def includes(self, event: int, at: datetime) -> bool:
        """Whether a message is still handed out."""
        if event in self.longer:
            return True
        return event not in self.shorter and (self.since is None or at > self.since)


def retention_of(
    workspace_id: int, scopes: Sequence[int], kind: ScopeKind, policies: Policies, now: datetime
) -> Retention:
    """The retention of messages in these scopes, all of one kind."""
    ttl = policies.ttl(EntryType.CHAT_TURN, kind)
    since = None if ttl is None else now - ttl
    if not scopes:
        return Retention(since)
    parameters: dict[str, Any] = {
        "workspace": workspace_id,
        "scopes": list(scopes),
        "turn": EntryType.CHAT_TURN.value,
        "since": since or datetime(1, 1, 2, tzinfo=UTC),
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_APART, parameters)
        rows = cursor.fetchall()
    longer = {pk for origins, lives in rows if lives for pk in event_ids(origins)}
    shorter = {pk for origins, lives in rows if not lives for pk in event_ids(origins)}
    return Retention(since, frozenset(longer), frozenset(shorter - longer))


CHUNK = 5_000  # messages removed in one transaction
#: Never a message of the open conversation that no summary covers, nor one that waits to be extracted.
_OLD = """
    FROM sessions_app_sessionevent e JOIN sessions_app_session s ON s.id = e.session_id
    WHERE e.at < %(before)s AND NOT (e.conversation = s.conversation AND e.position > s.compacted_to)
    AND NOT EXISTS (
        SELECT 1 FROM memories_extractionbatch b WHERE b.session_uid = s.uid AND b.conversation = e.conversation
    )
"""
_REMOVE = f"""
    WITH removed AS (
        DELETE FROM sessions_app_sessionevent WHERE id IN (
            SELECT e.id {_OLD} ORDER BY e.at LIMIT %(chunk)s FOR UPDATE OF e SKIP LOCKED
        ) RETURNING workspace_id, session_id, conversation, id
    )
    SELECT r.workspace_id, s.uid, r.conversation, r.id FROM removed r JOIN sessions_app_session s ON s.id = r.session_id
"""  # noqa: S608 (constants)


def clean_events(*, now: datetime) -> dict[str, int]:
    """Remove messages older than SESSION_EVENT_TTL, in short transactions; their count.

    What facts quote of them is forgotten with them.
    """
    total, removed = 0, CHUNK
    while removed == CHUNK:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_REMOVE, {"before": now - conf.SESSION_EVENT_TTL, "chunk": CHUNK})
            rows = cursor.fetchall()
            # Forget what facts quote of messages, each named by its workspace, session, conversation and id
            origins: dict[int, list[str]] = {}
            for workspace, session, conversation, event in rows:
                origins.setdefault(workspace, []).append(f"{conversation_path(session, conversation)}/event-{event}")
            for workspace, named in origins.items():
                evidence.forget(workspace, named)
        removed = len(rows)
        total += removed
    return {"events": total}


def count_old(*, now: datetime) -> dict[str, int]:
    """How many messages a run would remove."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {_OLD}", {"before": now - conf.SESSION_EVENT_TTL})  # noqa: S608 (constants)
        return {"events": int(cursor.fetchone()[0])}
