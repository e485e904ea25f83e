"""What providers answered before, by the text's hash: a text is embedded once (C12)."""

import hashlib
from collections.abc import Sequence

from django.db import connection

from memories.embeddings.base import Provider
from memories.models import EmbeddingCache

#: What nobody has used for long is removed (memories.lifecycle.maintenance); use is written down at most once a day.
_RECORD_USE = """
    UPDATE memories_embeddingcache SET used_at = now()
    WHERE provider = %s AND model = %s AND text_hash = ANY(%s) AND used_at < now() - interval '1 day'
"""


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def cached(provider: Provider, texts: Sequence[str]) -> dict[str, list[float]]:
    """The vectors already known, by text."""
    hashes = {text_hash(text): text for text in texts}
    rows = EmbeddingCache.objects.filter(
        provider=provider.name, model=provider.model, text_hash__in=list(hashes)
    ).values_list("text_hash", "embedding")
    found = {hashes[digest]: embedding for digest, embedding in rows}
    if found:
        with connection.cursor() as cursor:
            cursor.execute(_RECORD_USE, [provider.name, provider.model, list(hashes)])
    return found


def keep(provider: Provider, vectors: dict[str, list[float]]) -> None:
    """Remember what the provider answered."""
    EmbeddingCache.objects.bulk_create(
        [
            EmbeddingCache(provider=provider.name, model=provider.model, text_hash=text_hash(text), embedding=vector)
            for text, vector in vectors.items()
        ],
        update_conflicts=True,  # one of another dimension may stand there
        unique_fields=["provider", "model", "text_hash"],
        update_fields=["embedding"],
    )
