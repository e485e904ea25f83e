"""Raw embeddings of entries, as the embedder made them of their texts."""

from collections.abc import Iterable, Sequence

from django.db import connection
from django.db.models import F

from memories.index.contextual import dense_literal
from memories.models import EntryVector


def raw_vectors(entries: Iterable[int], model_id: int) -> dict[int, list[float]]:
    """Raw embeddings of the entries' present texts; those of an older wording are not used."""
    found = EntryVector.objects.filter(entry__in=list(entries), model_id=model_id, fingerprint=F("entry__fingerprint"))
    return dict(found.values_list("entry_id", "embedding"))


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
