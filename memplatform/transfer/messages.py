"""The messages something rests on, named by their place in the conversation: it is the same on every platform.

Here a message is named by its number in the table, which another platform gives to another.
"""

from collections.abc import Callable, Collection, Iterable
from uuid import UUID

from django.db import connection

from sessions_app.models import SessionEvent, conversation_path, event_ids

_EVENT, _AT, _GONE = "/event-", "/position-", "/gone-"
#: A message by its session, conversation and position.
Place = tuple[UUID, int, int]

_FIND = """
SELECT s.uid, e.conversation, e.position, e.id
FROM unnest(%s::uuid[], %s::int[], %s::int[]) AS wanted (session, conversation, position)
JOIN sessions_app_session s ON s.uid = wanted.session AND s.workspace_id = %s
JOIN sessions_app_sessionevent e
    ON e.session_id = s.id AND e.conversation = wanted.conversation AND e.position = wanted.position
"""


def by_position(origins: Collection[str]) -> dict[str, str]:
    """The names of messages by position; of one that is gone a name that leads to no other message elsewhere."""
    rows = SessionEvent.objects.filter(pk__in=set(event_ids(origins))).select_related("session")
    found = {row.session.origin_of(row): _named(row.session.uid, row.conversation, row.position) for row in rows}
    return {origin: found.get(origin, origin.replace(_EVENT, _GONE)) for origin in origins}


def _named(session: UUID, conversation: int, position: int) -> str:
    return f"{conversation_path(session, conversation)}{_AT}{position}"


def by_number(workspace: int, origins: Iterable[str], session_of: Callable[[Place], UUID]) -> dict[str, str]:
    """The names here of messages as an export names them; one that is not here keeps the name of its place."""
    places = {origin: place for origin in origins if (place := _place(origin, session_of))}
    found = numbers(workspace, [place for place in places.values() if place[2]])
    names = {}
    for origin, (session, conversation, position) in places.items():
        number = found.get((session, conversation, position))
        last = origin.rpartition("/")[2] if number is None else f"event-{number}"
        names[origin] = f"{conversation_path(session, conversation)}/{last}"
    return names


def numbers(workspace: int, places: Iterable[Place]) -> dict[Place, int]:
    """The numbers of the messages that are here, by their place."""
    wanted = list(places)
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [*([place[n] for place in wanted] for n in range(3)), workspace])
        return {(session, conversation, position): pk for session, conversation, position, pk in cursor.fetchall()}


def _place(origin: str, session_of: Callable[[Place], UUID]) -> Place | None:
    """The place a name tells, at position 0 where the message is gone; None: it is no name of a message."""
    try:
        _head, session, conversation, last = origin.split("/")
        position = int(last.removeprefix(_AT[1:])) if last.startswith(_AT[1:]) else 0
        place = UUID(session), int(conversation), position
    except ValueError:
        return None
    return (session_of(place), *place[1:])
