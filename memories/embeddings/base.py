"""What an embedder is, with a breaker for one that fails and a cache of vectors."""

import hashlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from django.db import connection

from memories.conf import conf
from memories.models import EmbeddingCache


@dataclass(frozen=True)
class Unrelated:
    """The cosine of texts that have nothing in common, by the scripts of the two; a property of the model."""

    cjk: float
    latin: float
    across: float
    #: How much lower on the scale of similarity a right answer in another script stands.
    lift: float = 0.0

    @classmethod
    def all(cls, cosine: float) -> "Unrelated":
        return cls(cosine, cosine, cosine)


class Provider(Protocol):
    """Turns texts into vectors; named by a dotted path in MEMORY_EMBEDDERS and made once a process.

    Vectors of providers with the same `model` may be compared with each other; those of other models never are.
    """

    #: Which implementation answers; the cache and the breaker keep providers apart by it.
    name: str
    #: Whose vectors these are.
    model: str
    dimension: int
    #: Cosine of unrelated texts, and of the same text: the ranking's scale is the stretch between them.
    floor: float
    ceiling: float
    #: `floor` more exactly, by script. A provider that does not say is taken to have the same everywhere.
    unrelated: Unrelated

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        """One vector a text, in order. Raises EmbedderFailed; may take longer than `seconds` only if it cannot stop."""
        ...

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        """The vector of a question, comparable with those of passages."""
        ...


def unrelated_of(provider: Provider) -> Unrelated:
    """What a provider says of unrelated texts; its floor when it says nothing."""
    return getattr(provider, "unrelated", None) or Unrelated.all(provider.floor)


@dataclass
class Breaker:
    """Closed while things go well; open after several failures in a row; then one call may try again."""

    failures: int = 0
    open_until: float = 0.0  # by the monotonic clock
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lets_through(self) -> bool:
        """Whether the provider may be asked now; while it rests, one call per rest tries."""
        with self._lock:
            if self.failures < conf.BREAKER_FAILURES:
                return True
            now = time.monotonic()
            if now < self.open_until:
                return False
            self.open_until = now + conf.BREAKER_REST.total_seconds()
            return True

    def succeeded(self) -> None:
        with self._lock:
            self.failures = 0

    def failed(self) -> None:
        with self._lock:
            self.failures += 1
            if self.failures >= conf.BREAKER_FAILURES:
                self.open_until = time.monotonic() + conf.BREAKER_REST.total_seconds()


#: What nobody has used for long is removed (memories.lifecycle.maintenance); use is written down at most once a day.
_RECORD_USE = """
    UPDATE memories_embeddingcache SET used_at = now()
    WHERE provider = %s AND model = %s AND text_hash = ANY(%s) AND used_at < now() - interval '1 day'
"""


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def cached(provider: Provider, texts: Sequence[str]) -> dict[str, list[float]]:
    """The vectors that are kept, by text."""
    hashes = {text_hash(text): text for text in texts}
    rows = EmbeddingCache.objects.filter(
        provider=provider.name, model=provider.model, text_hash__in=list(hashes)
    ).values_list("text_hash", "embedding")
    vectors = {hashes[digest]: embedding for digest, embedding in rows}
    if vectors:
        with connection.cursor() as cursor:
            cursor.execute(_RECORD_USE, [provider.name, provider.model, list(hashes)])
    return vectors


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
