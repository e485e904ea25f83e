"""The open conversation as it is handed out again (B2, B3), less what people took out (A15)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from sessions_app.choices import SPOKEN, EventKind
from sessions_app.history import redaction
from sessions_app.lifecycle import close
from sessions_app.models import Session, SessionEvent

#: What a message costs a model besides its words.
MESSAGE_TOKENS = 4

_EVENTS = "FROM sessions_app_sessionevent WHERE session_id = %(session)s AND conversation = %(conversation)s"
_COLUMNS = "id, position, kind, sender_id, content, tokens, at::text"
#: Of the newest, one more than has room: by it a reader sees that there are more.
_SPOKEN = f"""
SELECT {_COLUMNS} FROM (
    SELECT *, sum(tokens + %(each)s) OVER (ORDER BY position DESC) - tokens - %(each)s AS newer
    {_EVENTS} AND position > %(compacted)s AND kind = ANY(%(spoken)s) AND id <> ALL(%(out)s::bigint[])
) said WHERE newer < %(limit)s ORDER BY position
"""  # noqa: S608 (constants)


class ReplayedMessage(NamedTuple):
    """What a history needs of a message."""

    pk: int
    position: int
    kind: str
    sender_id: str
    content: str
    tokens: int
    at: datetime


def replay_messages(session: Session, limit: int) -> list[ReplayedMessage]:
    """The open conversation, its summary first, no further back than `limit` tokens and one message more.

    Less what people took out, and summaries that tell of it (A15). In plain SQL, with times as text: hundreds of rows
    are read for every answer of a bot, and loading them by the ORM takes longer than finding them.
    """
    out = redaction.redacted_events(session)
    summary, compacted = redaction.latest_summary(session, out)
    asked: dict[str, Any] = {
        "session": session.pk,
        "conversation": session.conversation,
        "compacted": compacted,
        "spoken": [kind.value for kind in SPOKEN],
        "out": list(out),
        "each": MESSAGE_TOKENS,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SPOKEN, asked)
        said = [ReplayedMessage._make((*row[:-1], datetime.fromisoformat(row[-1]))) for row in cursor.fetchall()]
    if summary is None:
        return said
    values = [getattr(summary, name) for name in ReplayedMessage._fields]
    return [ReplayedMessage._make(values), *said]


@dataclass(frozen=True)
class History:
    """A conversation as it is handed out: a summary of older turns, if there is one, and the newest as they were."""

    events: list[SessionEvent]
    tokens: int
    is_cut: bool  # older messages were left out: they did not fit, and no summary stands for them yet


def replay_history(session: Session, *, max_tokens: int | None = None, now: datetime) -> History:
    """The open conversation within its budget, or within `max_tokens`; nothing of one that its next use will close."""
    if close.is_stale(session, now=now):
        return History([], 0, False)
    out = redaction.redacted_events(session)
    latest, up_to = redaction.latest_summary(session, out)
    summary = [latest] if latest else []
    spoken = redaction.redact(session.spoken().filter(position__gt=up_to), out)
    limit = session.max_tokens() if max_tokens is None else max_tokens
    fitting = _newest(spoken, limit - sum(event.tokens for event in summary))
    events = [*summary, *fitting]
    return History(events, sum(event.tokens for event in events), len(fitting) < len(spoken))


def _newest(events: list[SessionEvent], limit: int) -> list[SessionEvent]:
    """The newest messages that fit, from the beginning of a turn on."""
    used, begin = 0, len(events)
    for position in range(len(events) - 1, -1, -1):
        used += events[position].tokens
        if used > limit:
            break
        if events[position].kind == EventKind.USER or position == 0:
            begin = position
    return events[begin:]
