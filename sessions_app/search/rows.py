"""The search rows of messages, which can be made again at any time (C6).

A row holds the words of a message from the beginning, and its embedding as soon as the embedder has made one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection

from memories.index.search_rows import sparse_literal
from memories.language import text
from memories.models import EmbeddingModel
from sessions_app.models import ATTEMPTS, SEARCHED, is_reset_command

#: Terms of one message by which it can be found, the first ones.
TERMS = 1_000
#: Rows made at a time, and ids looked through: a tenth of a second, for entries wait meanwhile (A13).
CHUNK, WINDOW = 200, 5_000

_WRITE = """
INSERT INTO sessions_app_eventindex
    (event_id, workspace_id, session_id, conversation, kind, at, keywords, failures)
SELECT e.id, e.workspace_id, e.session_id, e.conversation, e.kind, e.at, new.keywords::sparsevec, 0
FROM unnest(%s::bigint[], %s::text[]) AS new (event, keywords) JOIN sessions_app_sessionevent e ON e.id = new.event
ORDER BY e.id ON CONFLICT DO NOTHING
"""
_MISSING = """
SELECT e.id, e.kind, e.content FROM sessions_app_sessionevent e
WHERE e.id > %(after)s AND e.id <= %(end)s AND e.kind = ANY(%(kinds)s::text[])
AND NOT EXISTS (SELECT 1 FROM sessions_app_eventindex i WHERE i.event_id = e.id) ORDER BY e.id LIMIT %(limit)s
"""
_OUTDATED = """
UPDATE sessions_app_eventindex i SET model_id = NULL, embedding = NULL, failures = 0, retry_at = NULL
FROM unnest(%(workspaces)s::bigint[], %(models)s::bigint[], %(dimensions)s::int[])
    AS wanted (workspace, model, dimension)
WHERE i.event_id > %(after)s AND i.event_id <= %(end)s AND i.workspace_id = wanted.workspace
AND CASE WHEN i.model_id IS NULL THEN i.failures >= %(attempts)s
    ELSE i.model_id <> wanted.model OR vector_dims(i.embedding) <> wanted.dimension END
"""


def keywords_of(kind: str, content: str) -> str | None:
    """The words a message is found by; ambient talk, tools and /reset have none (B5, B6).

    Its terms and its Chinese characters, each once: counts say little of so short a text.
    """
    if kind not in SEARCHED or not content.strip() or is_reset_command(content):
        return None
    terms = dict.fromkeys([*text.terms(content), *map(text.dimension_of, sorted(text.characters(content)))], 1.0)
    return sparse_literal(dict(list(terms.items())[:TERMS]))


def write(messages: Iterable[tuple[int, str, str]]) -> None:
    """Write the search rows of messages, each given with its id, kind and content."""
    keywords = {pk: words for pk, kind, content in messages if (words := keywords_of(kind, content)) is not None}
    if keywords:
        with connection.cursor() as cursor:
            cursor.execute(_WRITE, [list(keywords), list(keywords.values())])


def write_missing(after: int) -> int | None:
    """Make the rows that are missing after this message; up to which, or None when there are no more messages."""
    end = after + WINDOW
    with connection.cursor() as cursor:
        cursor.execute(_MISSING, {"after": after, "end": end, "kinds": list(SEARCHED), "limit": CHUNK})
        missing = cursor.fetchall()
    write(missing)
    return missing[-1][0] if len(missing) == CHUNK else _unless_last(end)


def discard_outdated(after: int, models: Mapping[int, EmbeddingModel]) -> int | None:
    """Discard embeddings of another than the workspace's model after this message, and retry failed ones.

    Up to which message, or None when there are no more.
    """
    parameters: dict[str, Any] = {
        "after": after,
        "end": after + WINDOW,
        "attempts": ATTEMPTS,
        "workspaces": list(models),
        "models": [model.pk for model in models.values()],
        "dimensions": [model.dimension for model in models.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(_OUTDATED, parameters)
    return _unless_last(after + WINDOW)


def _unless_last(end: int) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM sessions_app_sessionevent WHERE id > %s)", [end])
        return end if cursor.fetchone()[0] else None
