"""The redacted messages of a conversation: people suppressed a memory that rests on them (A15).

They stay stored, but are handed to no model and nothing is made of them until the memory is restored; nor of what the
bot answered to them, which mostly repeats them. This is the one place that says which they are.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from django.db import connection

from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent, conversation_path, event_ids

#: Suppressions are indexed by conversation; a memory of several conversations stands under this.
_SEVERAL = "*"
_SUPPRESSED = "SELECT origins FROM memories_suppression WHERE workspace_id = %s AND conversation = ANY(%s)"
#: Run only where there are any: planning it takes longer than running it. A message that is no longer stored was
#: summarised before, so it stands before all that are (position 0).
_WITH_ANSWERS = """
SELECT named.id, coalesce(e.position, 0)
FROM unnest(%(ids)s::bigint[]) AS named (id)
LEFT JOIN sessions_app_sessionevent e ON e.id = named.id AND e.workspace_id = %(workspace)s
UNION
SELECT answer.id, answer.position FROM sessions_app_sessionevent e CROSS JOIN LATERAL (
    SELECT min(position) AS position FROM sessions_app_sessionevent
    WHERE session_id = e.session_id AND conversation = e.conversation AND position > e.position AND kind = %(user)s
) following
JOIN sessions_app_sessionevent answer
    ON answer.session_id = e.session_id AND answer.conversation = e.conversation AND answer.position > e.position
    AND answer.position < coalesce(following.position, %(end)s) AND answer.kind = ANY(%(answers)s)
WHERE e.id = ANY(%(ids)s::bigint[]) AND e.workspace_id = %(workspace)s AND e.kind = %(user)s
"""
_NO_END = 2**31 - 1


class Identified(Protocol):
    """A message known by its id."""

    @property
    def pk(self) -> int: ...


M = TypeVar("M", bound=Identified)


def redacted_events(session: Session, conversation: int | None = None) -> dict[int, int]:
    """The positions of the redacted messages of a conversation, by default the open one, by id."""
    number = session.conversation if conversation is None else conversation
    return redacted_in(session.workspace_id, {conversation_path(session.uid, number)})


def redacted_in(workspace_id: int, conversations: Collection[str]) -> dict[int, int]:
    """The same of several conversations of a workspace, by path."""
    with connection.cursor() as cursor:
        cursor.execute(_SUPPRESSED, [workspace_id, [*conversations, _SEVERAL]])
        ids = [pk for (origins,) in cursor.fetchall() for pk in event_ids(origins, conversations)]
        if not ids:
            return {}
        parameters: dict[str, Any] = {
            "ids": ids,
            "workspace": workspace_id,
            "user": EventKind.USER.value,
            "answers": [EventKind.ASSISTANT.value, EventKind.TOOL.value],
            "end": _NO_END,
        }
        cursor.execute(_WITH_ANSWERS, parameters)
        return dict(cursor.fetchall())


def redact(events: Iterable[M], redacted: Collection[int]) -> list[M]:
    """Messages without the redacted ones."""
    return [event for event in events if event.pk not in redacted]


def reveals(redacted: Mapping[int, int], up_to: int, known: Collection[int] = ()) -> bool:
    """Whether a text about all up to a position may tell a redacted message; `known` were redacted when it was made."""
    return any(position <= up_to and pk not in known for pk, position in redacted.items())


def latest_summary(session: Session, redacted: Mapping[int, int]) -> tuple[SessionEvent | None, int]:
    """The newest summary of the open conversation that reveals nothing redacted, and the position it covers.

    (None, 0) when all reveal something: then the messages are handed out themselves, until there is a new one.
    """
    if not session.compacted_to:
        return None, 0
    newest_first = session.messages().filter(kind=EventKind.SUMMARY).order_by("-position")
    for summary in newest_first if redacted else newest_first[:1]:
        up_to = int(summary.data.get("covers_to", summary.position))
        if not reveals(redacted, up_to, summary.data.get("left_out", ())):
            return summary, up_to
    return None, 0
