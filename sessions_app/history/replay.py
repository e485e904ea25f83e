"""The open conversation as it is handed out again (B2, B3), without its redacted messages (A15)."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from django.db import connection

from memories.language.confidential import without
from sessions_app.history import retention
from sessions_app.models import HIDDEN_SPANS, SENDER_NAME, SPOKEN, EventKind, Session, SessionEvent

#: Tokens of a message besides those of its content.
MESSAGE_TOKENS = 4

_EVENTS = "FROM sessions_app_sessionevent WHERE session_id = %(session)s AND conversation = %(conversation)s"
_COLUMNS = (
    f"id, position, kind, sender_id, coalesce(data->>'{SENDER_NAME}', ''), content, tokens, at::text,"
    f" data->'{HIDDEN_SPANS}'"
)
#: The newest messages, one more than fits: by it a caller sees that there are more.
_SPOKEN = f"""
SELECT {_COLUMNS} FROM (
    SELECT *, sum(tokens + %(each)s) OVER (ORDER BY position DESC) - tokens - %(each)s AS newer
    {_EVENTS} AND position > %(compacted)s AND kind = ANY(%(spoken)s) AND id <> ALL(%(redacted)s::bigint[])
) spoken WHERE newer < %(limit)s ORDER BY position
"""  # noqa: S608 (constants)


#: Messages among which the last one of a speaker is looked for.
LATEST = 20
M = TypeVar("M", SessionEvent, "ReplayedMessage")


class ReplayedMessage(NamedTuple):
    """The columns of a message that a history needs."""

    pk: int
    position: int
    kind: str
    sender_id: str
    sender_name: str  # at the time; empty where it was not reported
    content: str
    tokens: int
    at: datetime


def replay_messages(session: Session, limit: int) -> list[ReplayedMessage]:
    """The open conversation, its summary first, back to `limit` tokens and one message more.

    In plain SQL, with times as text: every answer of a bot reads hundreds of rows, and the ORM takes longer to load
    them than PostgreSQL to find them.
    """
    redacted = retention.redacted_events(session)
    summary, compacted_to = retention.latest_summary(session, redacted)
    parameters: dict[str, Any] = {
        "session": session.pk,
        "conversation": session.conversation,
        "compacted": compacted_to,
        "spoken": [kind.value for kind in SPOKEN],
        "redacted": list(redacted),
        "each": MESSAGE_TOKENS,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SPOKEN, parameters)
        messages = [
            ReplayedMessage(
                *(pk, position, kind, sender, name),
                without(content, json.loads(secrets)) if secrets else content,
                tokens,
                datetime.fromisoformat(at),
            )
            for pk, position, kind, sender, name, content, tokens, at, secrets in cursor.fetchall()
        ]
    if summary is None:
        return messages
    values = [getattr(summary.handed_out(), name) for name in ReplayedMessage._fields]
    return [ReplayedMessage._make(values), *messages]


@dataclass(frozen=True)
class History:
    """A conversation as it is handed out: the summary of older turns, if there is one, and the newest messages."""

    events: list[SessionEvent]
    tokens: int
    is_cut: bool  # older messages did not fit, and no summary covers them yet


def replay_history(session: Session, *, max_tokens: int | None = None, now: datetime) -> History:
    """The open conversation within its budget, or within `max_tokens`; empty for one that its next use will close."""
    if session.is_stale(now=now):
        return History([], 0, False)
    redacted = retention.redacted_events(session)
    latest, up_to = retention.latest_summary(session, redacted)
    summary = [latest] if latest else []
    messages = retention.redact(session.spoken().filter(position__gt=up_to), redacted)
    limit = session.max_tokens() if max_tokens is None else max_tokens
    turns = newest_turns(messages, limit - sum(event.tokens for event in summary))
    events = [event.handed_out() for event in (*summary, *turns)]
    return History(events, sum(event.tokens for event in events), len(turns) < len(messages))


def newest_turns(events: list[M], limit: int, *, overhead: int = 0) -> list[M]:
    """The newest whole turns within `limit` tokens; `overhead` is added for each message."""
    tokens, begin = 0, len(events)
    for position in range(len(events) - 1, -1, -1):
        tokens += events[position].tokens + overhead
        if tokens > limit:
            break
        if events[position].kind == EventKind.USER or position == 0:
            begin = position
    return events[begin:]


def last_turn(session: Session, speaker: str) -> list[SessionEvent]:
    """The last message of somebody in the open conversation, and the answer to it; none where people took it out."""
    newest = [event.handed_out() for event in session.spoken().order_by("-position")[:LATEST]]
    mine = (n for n, event in enumerate(newest) if event.kind == EventKind.USER and event.sender_id == speaker)
    n = next(mine, None)
    if n is None or newest[n].pk in retention.redacted_events(session):
        return []
    return [newest[n], *(event for event in newest[max(n - 1, 0) : n] if event.kind == EventKind.ASSISTANT)]
