"""The owner's reranker: a model that reads a question beside each text and scores how well the text answers it.

It is asked by `POST rerank`, in the form of Jina (which vLLM, Infinity and llama.cpp serve, too) or of TEI. Nothing is
asked anywhere unless MEMORY_RERANK_BASE_URL is set.
"""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from functools import lru_cache
from typing import Any

import httpx
from django.conf import settings
from pydantic import AliasChoices, BaseModel, Field, FiniteFloat, TypeAdapter, ValidationError

from memories.embeddings import Breaker
from memories.endpoint import Endpoint

log = logging.getLogger(__name__)
AUTO, JINA, TEI = "auto", "jina", "tei"
FORMS = (AUTO, JINA, TEI)
TEI_TEXTS = 32  # in one request; TEI refuses more unless it was started with a larger --max-client-batch-size
#: How a server answers that does not read a form: a field it needs is missing. TEI says 422, vLLM and Infinity too.
_NOT_UNDERSTOOD = (400, 422)

_breakers: dict[str, Breaker] = {}
_understood: dict[str, str] = {}  # by address the form its server understood last


class RerankerFailed(Exception):
    """A reranker gave no answer that can be used; the message holds no words of users."""


class _NotUnderstood(RerankerFailed):
    """The server refused the request as it stands, as one does that reads another form."""


class _Row(BaseModel):
    index: int
    score: FiniteFloat = Field(validation_alias=AliasChoices("relevance_score", "score"))


class _Results(BaseModel):
    results: list[_Row]


_BODY: TypeAdapter[list[_Row] | _Results] = TypeAdapter(list[_Row] | _Results)


def is_configured() -> bool:
    return bool(settings.MEMORY_RERANK_BASE_URL)


def scores(question: str, texts: Sequence[str], *, seconds: float) -> list[float] | None:
    """How well each text answers the question, the higher the better; None when no usable answer came in time.

    Only the order of scores means something: models differ in their scale.
    """
    breaker = _breakers.setdefault(settings.MEMORY_RERANK_BASE_URL, Breaker())
    if seconds <= 0 or not breaker.lets_through():
        return None
    future = _executor().submit(_ask, question, list(texts), time.monotonic() + seconds)
    try:
        error = future.exception(timeout=seconds)
    except FutureTimeout:  # a name that does not resolve cannot be interrupted, and is abandoned
        future.cancel()
        log.warning("reranker: no answer within %.0f ms", seconds * 1000)
    else:
        if error is None:
            breaker.succeeded()
            return future.result()
        log.warning("reranker: %s: %s", type(error).__name__, error)
    breaker.failed()
    return None


def forget() -> None:
    """Begin anew: breakers closed, forms unknown (tests, changed settings)."""
    _breakers.clear()
    _understood.clear()


@lru_cache(maxsize=1)
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=8, thread_name_prefix="rerank")


@lru_cache(maxsize=4)
def _endpoint(base_url: str, key: str) -> Endpoint:
    """Kept open, with the proxy the environment names: a question has no time to connect anew."""
    return Endpoint(base_url, key, proxy_of_environment=True)


def _ask(question: str, texts: list[str], deadline: float) -> list[float]:
    """The scores in the order of the texts, by the first form the server understands. Raises RerankerFailed."""
    form = settings.MEMORY_RERANK_FORM
    # The form that was understood last first
    by_last = sorted((JINA, TEI), key=lambda name: name != _understood.get(settings.MEMORY_RERANK_BASE_URL, JINA))
    *others, last = by_last if form == AUTO else [form]
    for form in others:
        try:
            return _ask_in(form, question, texts, deadline)
        except _NotUnderstood:
            _understood.pop(settings.MEMORY_RERANK_BASE_URL, None)  # another server stands there now
    return _ask_in(last, question, texts, deadline)


def _ask_in(form: str, question: str, texts: list[str], deadline: float) -> list[float]:
    scores: list[float] = []
    size = TEI_TEXTS if form == TEI else len(texts)
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        if form == TEI:
            payload: dict[str, Any] = {"query": question, "texts": part, "truncate": True}
        else:
            model = {"model": settings.MEMORY_RERANK_MODEL} if settings.MEMORY_RERANK_MODEL else {}
            payload = model | {"query": question, "documents": part, "top_n": len(part), "return_documents": False}
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0:
            raise RerankerFailed("The time was up.")
        try:
            endpoint = _endpoint(settings.MEMORY_RERANK_BASE_URL, settings.MEMORY_RERANK_API_KEY)
            response = endpoint.post("rerank", payload, seconds=seconds_left)
        except (httpx.RequestError, httpx.InvalidURL, ValueError) as error:
            raise RerankerFailed(f"The endpoint failed: {type(error).__name__}.") from None
        if response.status in _NOT_UNDERSTOOD:
            raise _NotUnderstood(f"The endpoint answered {response.status}.")
        if not response.is_success:
            raise RerankerFailed(f"The endpoint answered {response.status}.")
        try:
            body = _BODY.validate_json(response.content)
        except ValidationError:
            raise RerankerFailed("The endpoint answered with something else.") from None
        rows = body.results if isinstance(body, _Results) else body
        count = len(part)
        by_index = {row.index: row.score for row in rows}
        if len(rows) != count or by_index.keys() != set(range(count)):
            raise RerankerFailed(f"The endpoint scored other texts than the {count} it was given.")
        scores += [by_index[index] for index in range(count)]
    _understood[settings.MEMORY_RERANK_BASE_URL] = form
    return scores
