"""What was said word for word, for questions about the past: the leg of session events (C5, C6).

A group's events belong to the chat, a direct chat's to its user (C4). So a person's private messages are found where
that person is alone with the bot, and never in a group, not even in one that may hear everything: a message has no
category, and nobody can tell whether it is a password.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from memories.choices import ScopeKind
from memories.retrieval.legs import THEN, Asked, Found, needle_of, share_of, taken_out
from memories.retrieval.query import Place
from sessions_app.choices import EventKind

KIND = "session_event"
#: Looked at before suppressed ones go and words are compared exactly.
CANDIDATES = 60

#: Latin words are looked for by their beginnings, Chinese ones as they stand; each text is folded once. Summaries are
#: left out: whose words they are made of, and whether people took those out, no longer shows.
_SAID = """
SELECT id, session, conversation, kind, sender_id, content, at, scope_id FROM (
    SELECT e.id, s.uid AS session, e.conversation, e.kind, e.sender_id, e.content, e.at,
        CASE WHEN s.is_group THEN s.chat_scope_id ELSE s.user_scope_id END AS scope_id,
        (SELECT count(*) FROM (SELECT lower(e.content) AS said OFFSET 0) folded,
         unnest(%(needles)s::text[]) AS n (needle) WHERE strpos(said, needle) > 0) AS hits
    FROM sessions_app_session s JOIN sessions_app_sessionevent e ON e.session_id = s.id
    WHERE s.workspace_id = %(workspace)s AND e.kind = ANY(%(kinds)s::text[])
    AND (
        (NOT s.is_group AND s.user_scope_id = ANY(%(users)s::bigint[]))
        OR (s.is_group AND s.chat_scope_id = ANY(%(chats)s::bigint[])
            AND coalesce((s.rules ->> 'capture_group_memory')::boolean, true))
    )
    AND (NOT %(closed)s OR e.conversation < s.conversation)
    AND (%(from)s::timestamptz[] IS NULL OR EXISTS (
        SELECT 1 FROM unnest(%(from)s::timestamptz[], %(to)s::timestamptz[]) AS w (begins, ends)
        WHERE e.at >= w.begins AND e.at < w.ends
    ))
    AND e.at >= coalesce(%(since)s::timestamptz, '-infinity') AND e.at < coalesce(%(until)s::timestamptz, 'infinity')
) said WHERE hits > 0 OR NOT %(by_word)s ORDER BY hits DESC, at DESC, id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True)
class _Try:
    """One way to look: at the days that were named or at any, by the words or by none."""

    then: bool
    by_word: bool
    closed: bool = False


def session_events(asked: Asked, places: Sequence[Place], now: datetime) -> list[Found]:
    """The messages that bear on a question about the past, best first. What is ambient was never said to the bot."""
    heard = {place.scope.pk: place.scope.key for place in places if not _is_private_here(place)}
    if not heard:
        return []
    for look in _tries(asked):
        if found := _found(asked, look, places, heard):
            return sorted(found, key=lambda item: (-item.score, -item.at.timestamp()))[: asked.limit]
    return []


def _is_private_here(place: Place) -> bool:
    return place.ref.in_group and place.scope.kind == ScopeKind.USER


def _tries(asked: Asked) -> Iterator[_Try]:
    """What was said on the days that are named, by its words, else whatever it was; else by its words at any time."""
    words, days = bool(asked.words), bool(asked.moments)
    if days and words:
        yield _Try(then=True, by_word=True)
        yield _Try(then=False, by_word=True)
    if days:
        yield _Try(then=True, by_word=False)
    elif words:
        yield _Try(then=False, by_word=True)
    else:  # «last time»: the conversation before this one, if there is one
        yield _Try(then=False, by_word=False, closed=True)
        yield _Try(then=False, by_word=False)


def _found(asked: Asked, look: _Try, places: Sequence[Place], heard: dict[int, str]) -> list[Found]:
    rows = _rows(asked, look, places, heard)
    out = taken_out(places, [_path(row) for row in rows])
    found = []
    for row in rows:
        covered = share_of(row["content"], asked.words) if asked.words else 1.0
        if _path(row) in out or (look.by_word and not covered):
            continue
        found.append(
            Found(
                kind=KIND,
                path=_path(row),
                scope=heard[row["scope_id"]],
                role=row["kind"],
                sender=row["sender_id"],
                content=row["content"],
                at=row["at"],
                covered=covered,
                score=covered or THEN,
            )
        )
    return found


def _rows(asked: Asked, look: _Try, places: Sequence[Place], heard: dict[int, str]) -> list[dict[str, Any]]:
    days = asked.moments if look.then else None
    kinds = {place.scope.pk: place.scope.kind for place in places}
    parameters: dict[str, Any] = {
        "workspace": asked.workspace_id,
        "users": [pk for pk in heard if kinds[pk] == ScopeKind.USER],
        "chats": [pk for pk in heard if kinds[pk] == ScopeKind.CHAT],
        "kinds": [EventKind.USER.value, EventKind.ASSISTANT.value],
        "needles": [needle_of(word) for word in asked.words] if look.by_word else [],
        "by_word": look.by_word,
        "closed": look.closed,
        "from": None if days is None else [day.start for day in days],
        "to": None if days is None else [day.end for day in days],
        "since": asked.since,
        "until": asked.until,
        "limit": CANDIDATES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SAID, parameters)
        columns = [column.name for column in cursor.description]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def _path(row: dict[str, Any]) -> str:
    """As Session.origin_of names it."""
    return f"session_events/{row['session']}/{row['conversation']}/event-{row['id']}"
