"""How long messages are handed out: as long as the memory of their turn lives (A9).

A message that never became a memory has the same term, from when it was said. Past it no answer and no text tells the
message; the log keeps it for the operator, until it is cleaned up (C6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from memories.choices import EntryType, ScopeKind
from memories.models.entry import LIVE_SQL
from memories.models.policy import Policies

#: Turns whose term is not that of their messages: pinned, restored, said again; or with an end of their own.
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
    """The messages of some scopes of one kind that are still handed out: all since then, but for exceptions by id."""

    since: datetime | None  # None: whenever
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
    asked: dict[str, Any] = {
        "workspace": workspace_id,
        "scopes": list(scopes),
        "turn": EntryType.CHAT_TURN.value,
        "since": since or datetime(1, 1, 2, tzinfo=UTC),
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_APART, asked)
        rows = cursor.fetchall()
    longer = {number for origins, lives in rows if lives for number in _numbers(origins)}
    shorter = {number for origins, lives in rows if not lives for number in _numbers(origins)}
    return Retention(since, frozenset(longer), frozenset(shorter - longer))


def _numbers(origins: Sequence[str]) -> list[int]:
    """The messages a memory rests on, by id; of what is no message nothing."""
    ends = (origin.rpartition("/event-")[2] for origin in origins)
    return [int(end) for end in ends if end.isascii() and end.isdigit() and len(end) < 19]
