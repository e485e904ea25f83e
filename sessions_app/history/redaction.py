"""The redacted messages of a conversation: people took out a memory that rests on them (A15).

What was said stays stored as it was said. But it is handed to no model any more, and nothing is made of it, until the
memory is restored: of the messages whose memory was taken out, of whichever scope, and of what the bot answered to
them, which mostly says the same again. This is the one place that says which they are.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from django.db import connection

from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent

#: Looked up by where they were said; a memory of several conversations names more than one.
_SEVERAL = "*"
_TAKEN_OUT = "SELECT origins FROM memories_suppression WHERE workspace_id = %s AND conversation = ANY(%s)"
#: Asked only where there are any: to plan it takes longer than to answer it. A message that is gone was summarised
#: before, so it stands before everything that is there.
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
_DIGITS = 19  # as many as an id has at most


class Identified(Protocol):
    """A message known by its id."""

    @property
    def pk(self) -> int: ...


M = TypeVar("M", bound=Identified)


def redacted_events(session: Session, conversation: int | None = None) -> dict[int, int]:
    """The positions of the redacted messages of a conversation, the open one unless told otherwise, by id."""
    here = session.place_of(session.conversation if conversation is None else conversation)
    return redacted_in(session.workspace_id, {here})


def redacted_in(workspace_id: int, places: Collection[str]) -> dict[int, int]:
    """The same of several conversations of a workspace, named as Session.place_of does."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKEN_OUT, [workspace_id, [*places, _SEVERAL]])
        ids = [int(pk) for (origins,) in cursor.fetchall() for pk in _named(places, origins)]
        if not ids:
            return {}
        asked: dict[str, Any] = {
            "ids": ids,
            "workspace": workspace_id,
            "user": EventKind.USER.value,
            "answers": [EventKind.ASSISTANT.value, EventKind.TOOL.value],
            "end": _NO_END,
        }
        cursor.execute(_WITH_ANSWERS, asked)
        return dict(cursor.fetchall())


def _named(places: Collection[str], origins: Iterable[str]) -> Iterator[str]:
    """The ids of messages of these conversations among what a memory rests on, as digits."""
    for origin in origins:
        place, _slash, number = origin.rpartition("/event-")
        if place in places and number.isascii() and number.isdigit() and len(number) < _DIGITS:
            yield number


def redact(events: Iterable[M], out: Collection[int]) -> list[M]:
    """Messages without the redacted ones."""
    return [event for event in events if event.pk not in out]


def reveals(out: Mapping[int, int], up_to: int, known: Collection[int] = ()) -> bool:
    """Whether a text about all up to a position may tell a redacted message; `known` were redacted when it was made."""
    return any(position <= up_to and pk not in known for pk, position in out.items())


def latest_summary(session: Session, out: Mapping[int, int]) -> tuple[SessionEvent | None, int]:
    """The newest summary of the open conversation that reveals nothing redacted, and the position it covers.

    Where people took something out that the newest tells of, an older one, or none: then what it stood for is handed
    out as it was said, until a new one is made.
    """
    if not session.compacted_to:
        return None, 0
    newest_first = session.messages().filter(kind=EventKind.SUMMARY).order_by("-position")
    for summary in newest_first if out else newest_first[:1]:
        up_to = int(summary.data.get("covers_to", summary.position))
        if not reveals(out, up_to, summary.data.get("left_out", ())):
            return summary, up_to
    return None, 0
