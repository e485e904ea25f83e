"""Embeddings of messages, made in the background while no entry waits for one (C6, A12, A13).

The embedder process calls, a batch at a time. A message never changes, so no embedding becomes outdated meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, connection

from memories import embeddings
from memories.conf import conf
from memories.index.contextual import dense_literal
from memories.index.worker import LEASE, has_queued, model_of
from memories.language import text
from memories.models import EmbeddingModel
from sessions_app.models import ATTEMPTS, EventIndex
from sessions_app.search import rows

log = structlog.get_logger(__name__)
#: Tokens embedded at once, about a tenth of a second's work; then entries that wait come first.
AT_ONCE = 64
#: Rest of a message after a failure of its own; it doubles each time.
RETRY_FIRST, RETRY_LONGEST = timedelta(minutes=1), timedelta(hours=1)
#: A provider that does not embed this embeds nothing.
PROBE = "hello"

_STORE = """
UPDATE sessions_app_eventindex i
SET model_id = %s, embedding = new.embedding::halfvec, failures = 0, retry_at = NULL
FROM unnest(%s::bigint[], %s::text[]) AS new (event, embedding) WHERE i.event_id = new.event
"""


@dataclass(frozen=True)
class EventClaim:
    """A message leased to this process, cut to what is embedded."""

    event_id: int
    failures: int
    content: str


class EventEmbedder:
    """The work of one embedder process for messages, and its state between calls."""

    def __init__(self) -> None:
        self._rests_until: datetime | None = None
        self._mended_for: tuple[int, int] | None = None  # model and dimension
        self._outdated: int | None = None  # the message after which discarding goes on; None: done
        self._missing: int | None = 0
        self._is_doubted = False  # no answer last time: the fault of the provider, or of a text?

    def __call__(self, *, now: datetime) -> float:
        """Embed or mend one batch; seconds until the next call, 0 when there is more to do."""
        provider = embeddings.main_provider() if conf.SESSION_EVENT_EMBEDDING else None
        model = model_of(provider) if provider else None
        if self._mend(model):
            return 0.0
        if self._rests_until is not None and now < self._rests_until:
            return (self._rests_until - now).total_seconds()
        if model and self._embed(model, now):
            return 0.0
        self._rests_until = now + conf.SESSION_EVENT_EMBED_INTERVAL
        return conf.SESSION_EVENT_EMBED_INTERVAL.total_seconds()

    def _mend(self, model: EmbeddingModel | None) -> bool:
        """Make missing rows, once a process; discard other embeddings, once a model; whether there was work."""
        if model and self._mended_for != (model.pk, model.dimension):
            self._mended_for, self._outdated = (model.pk, model.dimension), 0
        if self._missing is not None:
            try:
                self._missing = rows.write_missing(self._missing)
            except IntegrityError:  # a message was removed meanwhile: try again
                log.info("messages vanished while their search rows were made")
        elif model and self._outdated is not None:
            self._outdated = rows.discard_outdated(self._outdated, model)
        else:
            return False
        return True

    def _embed(self, model: EmbeddingModel, now: datetime) -> bool:
        """Embed the messages that have waited longest; whether there is more to do at once.

        After no answer the provider is tried with a harmless text. If it answers that, messages are tried one by one,
        and only those it fails on are counted as failed.
        """
        alone = self._is_doubted
        if alone and _embedded([PROBE], use_cache=False) is None:
            return False
        limit = 1 if alone else conf.SESSION_EVENT_EMBED_BATCH
        claims, is_all = _claim(now, limit)
        self._is_doubted = False
        while claims and not self._is_doubted:
            some, claims = _split(claims)
            vectors = _embedded([claim.content for claim in some])
            if vectors is not None:
                _store(some, vectors, model)
            elif alone:
                _count_failure(some[0], now)
            else:
                claims = [*some, *claims]
            self._is_doubted = vectors is None
            if claims and has_queued(now=now):
                break
        _release(claims)
        return bool(self._is_doubted or claims or not is_all)


def _claim(now: datetime, limit: int) -> tuple[Sequence[EventClaim], bool]:
    """The oldest free messages, leased to this process, and whether these are all."""
    waiting = EventIndex.objects.free(now=now).filter(model=None, failures__lt=ATTEMPTS).order_by("event")
    found = waiting.select_related("event").only("failures", "event__content").claim(limit, retry_at=now + LEASE)
    chars = conf.SESSION_EVENT_EMBED_CHARS
    claims = [EventClaim(row.pk, row.failures, text.smart_truncate(row.event.content, chars)) for row in found]
    return claims, len(claims) < limit


def _split(claims: Sequence[EventClaim]) -> tuple[Sequence[EventClaim], Sequence[EventClaim]]:
    """The claims embedded at once, at least one; and the others."""
    used = 0
    for count, claim in enumerate(claims):
        used += text.count_tokens(claim.content)
        if count and used > AT_ONCE:
            return claims[:count], claims[count:]
    return claims, ()


def _embedded(texts: list[str], *, use_cache: bool = True) -> list[list[float]] | None:
    answer = embeddings.embed_passages(texts, seconds=conf.EMBED_WRITE_SECONDS * len(texts), use_cache=use_cache)
    return answer.vectors if answer else None


def _store(claims: Sequence[EventClaim], vectors: Sequence[Sequence[float]], model: EmbeddingModel) -> None:
    """Store the vectors of messages that still exist."""
    with connection.cursor() as cursor:
        cursor.execute(_STORE, [model.pk, [claim.event_id for claim in claims], [*map(dense_literal, vectors)]])


def _release(claims: Sequence[EventClaim]) -> None:
    EventIndex.objects.filter(pk__in=[claim.event_id for claim in claims], model=None).update(retry_at=None)


def _count_failure(claim: EventClaim, now: datetime) -> None:
    """After ATTEMPTS failures it is not tried until an embedder process starts; it is still found by its words."""
    log.info("message_not_embedded", session_event=claim.event_id, failures=claim.failures + 1)
    EventIndex.objects.postpone([claim.event_id], now=now, first=RETRY_FIRST, longest=RETRY_LONGEST)


#: Named in MEMORY_EMBEDDER_WORK.
embed_events = EventEmbedder()
