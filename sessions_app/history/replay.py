"""The open conversation as it is handed out with everything else a bot needs (B2, B3, C9).

In plain SQL, with times as text: hundreds of rows are read for every answer of a bot, and to build the query and to
load their times by the usual way takes longer than to find them.
"""

from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from sessions_app.choices import SPOKEN
from sessions_app.history import redaction
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

    Less what people took out, and summaries that tell of it (A15).
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
    return [*([_handed_out(summary)] if summary else []), *said]


def _handed_out(event: SessionEvent) -> ReplayedMessage:
    return ReplayedMessage(event.pk, event.position, event.kind, event.sender_id, event.content, event.tokens, event.at)
