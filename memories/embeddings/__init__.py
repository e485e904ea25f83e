"""Embeddings from the providers the owner configured, within time limits, with a cache and a breaker (A12, C14).

`embed_query` and `embed_passages` ask the providers in order; None means that nobody gave a usable answer in time.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from functools import lru_cache, partial

from cachetools import LRUCache
from django.conf import settings
from django.utils.module_loading import import_string

from memories.embeddings import cache
from memories.embeddings.base import Provider
from memories.embeddings.breaker import Breaker
from memories.exceptions import EmbedderFailed

log = logging.getLogger(__name__)
QUERY_CACHE = 1_024  # questions a process remembers the vectors of

_breakers: dict[str, Breaker] = {}
_queries: LRUCache[tuple[str, str], list[float]] = LRUCache(QUERY_CACHE)
_lock = threading.Lock()


@dataclass(frozen=True)
class Embedded:
    """Vectors and whose they are."""

    provider: Provider
    vectors: list[list[float]]


def providers() -> list[Provider]:
    """The configured providers that can be used at all, in order of trust."""
    return _providers(tuple(settings.MEMORY_EMBEDDERS))


@lru_cache(maxsize=8)
def _providers(paths: tuple[str, ...]) -> list[Provider]:
    found: list[Provider] = []
    for path in paths:
        try:
            found.append(import_string(path)())
        except (EmbedderFailed, ImportError) as error:
            log.warning("embedder %s is not available: %s", path, error)
    return found


def main_provider() -> Provider | None:
    """The provider whose model the index is built with: the first; fallbacks serve the same model or are skipped."""
    usable = providers()
    return usable[0] if usable else None


def providers_of_main_model() -> list[Provider]:
    """The providers whose vectors may stand in the one index."""
    usable = providers()
    return [p for p in usable if (p.model, p.dimension) == (usable[0].model, usable[0].dimension)]


def embed_query(text: str, *, seconds: float) -> Embedded | None:
    """The vector of a question, or None when all providers together took longer or failed."""
    deadline = time.monotonic() + seconds
    for provider in providers_of_main_model():
        key = provider.name, text
        with _lock:
            known = _queries.get(key)
        if known:
            return Embedded(provider, [known])
        vectors = _ask(provider, partial(_query_vectors, provider, text), 1, deadline)
        if vectors:
            with _lock:
                _queries[key] = vectors[0]
            return Embedded(provider, vectors)
    return None


def embed_passages(texts: Sequence[str], *, seconds: float, use_cache: bool = True) -> Embedded | None:
    """One vector a text in order, or None; `seconds` is the limit of each provider's call."""
    for provider in providers_of_main_model():
        known = cache.cached(provider, texts) if use_cache else {}
        known = {text: vector for text, vector in known.items() if len(vector) == provider.dimension}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            deadline = time.monotonic() + seconds
            vectors = _ask(provider, partial(_passage_vectors, provider, missing), len(missing), deadline)
            if vectors is None:
                continue
            fresh = dict(zip(missing, vectors, strict=True))
            cache.keep(provider, fresh)
            known |= fresh
        return Embedded(provider, [known[text] for text in texts])
    return None


def warm_up() -> bool:
    """Load what loads on first use; whether a provider answered."""
    return embed_query("warm up", seconds=30) is not None


def forget() -> None:
    """Begin anew: breakers closed, remembered questions dropped (tests, changed settings)."""
    _providers.cache_clear()
    _breakers.clear()
    with _lock:
        _queries.clear()


def _query_vectors(provider: Provider, text: str, seconds: float) -> list[list[float]]:
    return [provider.embed_query(text, seconds=seconds)]


def _passage_vectors(provider: Provider, texts: list[str], seconds: float) -> list[list[float]]:
    return provider.embed_passages(texts, seconds=seconds)


def _ask(
    provider: Provider, call: Callable[[float], list[list[float]]], count: int, deadline: float
) -> list[list[float]] | None:
    """The provider's vectors when it answers in time and in shape; None otherwise, and its breaker hears of it."""
    breaker = _breakers.setdefault(provider.name, Breaker())
    left = deadline - time.monotonic()
    if left <= 0 or not breaker.lets_through():
        return None
    future = _executor(provider.name).submit(_checked, provider, call, count, left)
    if _succeeds(future, provider, left):
        breaker.succeeded()
        return future.result()
    breaker.failed()
    return None


def _succeeds(future: Future[list[list[float]]], provider: Provider, seconds: float) -> bool:
    """Whether a call ends well and in time; whatever a provider of others' making may raise, recall goes on."""
    try:
        error = future.exception(timeout=seconds)
    except FutureTimeout:
        future.cancel()
        log.warning("embedder %s took longer than %.0f ms", provider.name, seconds * 1000)
        return False
    if error is not None:
        log.warning("embedder %s: %s: %s", provider.name, type(error).__name__, error)
    return error is None


@lru_cache(maxsize=16)
def _executor(provider_name: str) -> ThreadPoolExecutor:
    """Threads of one provider: a call that cannot be interrupted is abandoned here and cannot block another's."""
    return ThreadPoolExecutor(max_workers=4, thread_name_prefix=f"embed-{provider_name}")


def _checked(
    provider: Provider, call: Callable[[float], list[list[float]]], count: int, seconds: float
) -> list[list[float]]:
    vectors = call(seconds)
    if len(vectors) != count:
        raise EmbedderFailed(f"{len(vectors)} vectors for {count} texts.")
    for vector in vectors:
        if len(vector) != provider.dimension:
            raise EmbedderFailed(f"A vector of {len(vector)} dimensions instead of {provider.dimension}.")
        if not all(map(math.isfinite, vector)) or not any(vector):
            raise EmbedderFailed("A vector that is not a direction.")
    return vectors
