"""The search rows of messages: written with the message, made anew at any time (C6).

A row holds the words of a message from the first moment, and its embedding as soon as the embedder has come to it.
What is found by its words is found whether anybody embeds or not.
"""

from collections.abc import Iterable, Sequence

from django.db import connection

from memories.index.contextual import sparse_literal
from memories.language import text
from memories.models import EmbeddingModel
from sessions_app.choices import SEARCHED
from sessions_app.lifecycle.reset import is_reset_command
from sessions_app.models import ATTEMPTS, SessionEvent

#: Different words of one message by which it can be found, the first ones.
TERMS = 1_000
#: Rows that are made at a time, and ids that are looked through: a tenth of a second, for entries wait meanwhile (A13).
CHUNK, WINDOW = 200, 5_000

_WRITE = """
INSERT INTO sessions_app_eventindex
    (event_id, workspace_id, session_id, conversation, kind, at, keywords, failures)
SELECT e.id, e.workspace_id, e.session_id, e.conversation, e.kind, e.at, new.keywords::sparsevec, 0
FROM unnest(%s::bigint[], %s::text[]) AS new (event, keywords) JOIN sessions_app_sessionevent e ON e.id = new.event
ORDER BY e.id ON CONFLICT (event_id) DO NOTHING
"""
_MISSING = """
SELECT e.id, e.content FROM sessions_app_sessionevent e
WHERE e.id > %(after)s AND e.id <= %(end)s AND e.kind = ANY(%(kinds)s::text[])
AND NOT EXISTS (SELECT 1 FROM sessions_app_eventindex i WHERE i.event_id = e.id) ORDER BY e.id LIMIT %(limit)s
"""
_OUTDATED = """
UPDATE sessions_app_eventindex SET model_id = NULL, embedding = NULL, failures = 0, retry_at = NULL
WHERE event_id > %(after)s AND event_id <= %(end)s AND CASE WHEN model_id IS NULL THEN failures >= %(attempts)s
    ELSE model_id <> %(model)s OR vector_dims(embedding) <> %(dimension)s END
"""


def write(events: Sequence[SessionEvent]) -> None:
    """Search rows of new messages. Nothing ambient is searched, nor what clears a conversation (B5, B6)."""
    _write([(event.pk, event.content) for event in events if event.kind in SEARCHED])


def _write(said: Iterable[tuple[int, str]]) -> None:
    found = [(pk, content) for pk, content in said if content.strip() and not is_reset_command(content)]
    if not found:
        return
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, [[pk for pk, _ in found], [_keywords(content) for _, content in found]])


def _keywords(content: str) -> str:
    """The terms of a message and its single Chinese characters, each once: how often says little of so short a text."""
    terms = dict.fromkeys([*text.terms(content), *map(text.dimension_of, sorted(text.characters(content)))], 1.0)
    return sparse_literal(dict(list(terms.items())[:TERMS]))


def write_missing(after: int) -> int | None:
    """Make rows for messages that have none, beginning after this one: to where; None when there are no more."""
    end = after + WINDOW
    with connection.cursor() as cursor:
        cursor.execute(_MISSING, {"after": after, "end": end, "kinds": list(SEARCHED), "limit": CHUNK})
        missing = cursor.fetchall()
    _write(missing)
    return missing[-1][0] if len(missing) == CHUNK else _unless_last(end)


def forget_outdated(after: int, model: EmbeddingModel) -> int | None:
    """Have embedded anew what another model embedded, or this one in other dimensions, and try again what failed.

    Beginning after this message: to where; None when there are no more.
    """
    end = after + WINDOW
    asked = {"after": after, "end": end, "attempts": ATTEMPTS, "model": model.pk, "dimension": model.dimension}
    with connection.cursor() as cursor:
        cursor.execute(_OUTDATED, asked)
    return _unless_last(end)


def _unless_last(end: int) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM sessions_app_sessionevent WHERE id > %s)", [end])
        return end if cursor.fetchone()[0] else None
