"""Raw embeddings of entries, as the embedder made them of their texts."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import F

from memories.index.contextual import dense_literal
from memories.kinds import SECRET, EntryType
from memories.models import EmbeddingModel, EntryVector, Scope
from memories.models.state import live_sql

#: Memories of messages whose vectors are compared, the latest; and facts they are compared with.
_MESSAGES_MOST, _FACTS_MOST = 40, 1_000
_OF_TEXT = "v.entry_id = e.id AND v.model_id = %(model)s AND v.fingerprint = e.fingerprint"
_NEAREST = f"""
    WITH messages AS MATERIALIZED (
        SELECT v.embedding FROM memories_entry e JOIN memories_entryvector v ON {_OF_TEXT}
        WHERE e.scope_id = %(scope)s AND e.session_id = ANY(%(sessions)s::varchar[]) AND e.session_id <> ''
            AND e.created_at >= %(since)s AND e.type <> %(fact)s AND e.origins && %(origins)s::varchar[]
            AND {live_sql("e")}
        ORDER BY e.created_at DESC, e.id DESC LIMIT {_MESSAGES_MOST}
    ), facts AS MATERIALIZED (
        SELECT e.id, v.embedding FROM (
            SELECT * FROM memories_entry e
            WHERE e.scope_id = %(scope)s AND e.type = %(fact)s AND e.category <> ALL(%(secret)s::varchar[])
                AND {live_sql("e")}
            ORDER BY e.stated_at DESC, e.id DESC LIMIT {_FACTS_MOST}
        ) e JOIN memories_entryvector v ON {_OF_TEXT}
    )
    SELECT facts.id FROM facts CROSS JOIN messages
    GROUP BY facts.id ORDER BY min(facts.embedding <#> messages.embedding), facts.id DESC LIMIT %(most)s
"""  # noqa: S608 (names of ours)


def raw_vectors(entries: Iterable[int], model_id: int) -> dict[int, list[float]]:
    """Raw embeddings of the entries' present texts; those of an older wording are not used."""
    rows = EntryVector.objects.filter(entry__in=list(entries), model_id=model_id, fingerprint=F("entry__fingerprint"))
    return dict(rows.values_list("entry_id", "embedding"))


def facts_near_messages(
    scope: Scope,
    model: EmbeddingModel,
    *,
    origins: Iterable[str],
    sessions: Iterable[str],
    since: datetime,
    most: int,
) -> list[int]:
    """The facts of a scope that are nearest to what it remembers of these messages, nearest first; no secrets.

    By the vectors both have: nothing is embedded. `since` is before any of it was written.
    """
    values: dict[str, Any] = {
        "scope": scope.pk,
        "model": model.pk,
        "origins": sorted(set(origins)),
        "sessions": sorted(set(sessions)),
        "since": since,
        "fact": EntryType.FACT.value,
        "secret": [category.value for category in SECRET],
        "most": most,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NEAREST, values)
        return [pk for (pk,) in cursor.fetchall()]


def write_vectors(texts: Sequence[tuple[int, str]], vectors: Sequence[Sequence[float]], *, model_id: int) -> None:
    """Store the raw embeddings of entries, each given with the fingerprint of the text that was embedded."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_entryvector (workspace_id, entry_id, model_id, fingerprint, embedding)"
            " SELECT e.workspace_id, e.id, %s, new.fingerprint, new.embedding::halfvec"
            " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS new (entry, fingerprint, embedding)"
            " JOIN memories_entry e ON e.id = new.entry"
            " ON CONFLICT (entry_id, model_id) DO UPDATE"
            " SET fingerprint = excluded.fingerprint, embedding = excluded.embedding",
            [
                model_id,
                [entry for entry, _ in texts],
                [fingerprint for _, fingerprint in texts],
                [dense_literal(vector) for vector in vectors],
            ],
        )
