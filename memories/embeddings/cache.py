"""What providers answered before, by the text's hash: a text is embedded once (C12)."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta

from django.db.models.functions import Now

from memories.embeddings.base import Provider
from memories.models import EmbeddingCache

#: Rows that nobody has used for long are removed (memories.upkeep).
USE_RECORDED_EVERY = timedelta(days=1)


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def cached(provider: Provider, texts: Sequence[str]) -> dict[str, list[float]]:
    """The vectors already known, by text."""
    hashes = {text_hash(text): text for text in texts}
    rows = EmbeddingCache.objects.filter(provider=provider.name, model=provider.model, text_hash__in=list(hashes))
    found = {hashes[digest]: embedding for digest, embedding in rows.values_list("text_hash", "embedding")}
    if found:
        rows.filter(used_at__lt=Now() - USE_RECORDED_EVERY).update(used_at=Now())
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
