"""Embeddings of messages, made in the background while no entry waits for one (C6, A12, A13).

The embedder process calls, a batch at a time. A message never changes, so no embedding becomes outdated meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, connection

from memories import embeddings
from memories.conf import conf
from memories.embeddings import ModelChange
from memories.index.search_rows import dense_literal
from memories.index.worker import LEASE, has_queued
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
#: What is read of a row and its message.
_CLAIMED = ("failures", "workspace_id", "event__content")

_STORE = """
UPDATE sessions_app_eventindex i
SET model_id = %s, embedding = new.embedding::halfvec, failures = 0, retry_at = NULL
FROM unnest(%s::bigint[], %s::text[]) AS new (event, embedding) WHERE i.event_id = new.event
"""


Models = Mapping[int, EmbeddingModel | None]  # by workspace


@dataclass(frozen=True)
class EventClaim:
    """A message leased to this process, cut to what is embedded."""

    event_id: int
    workspace_id: int
    failures: int
    content: str


class EventEmbedder:
    """The work of one embedder process for messages, and its state between calls."""

    def __init__(self) -> None:
        self._rests_until: datetime | None = None
        self._models: dict[int, EmbeddingModel] = {}  # of each workspace, when vectors were last put right
        self._outdated: int | None = None  # where forgetting goes on; None: it is done
        self._missing: int | None = 0
        self._is_doubted = False  # the provider gave no answer last time: its fault, or that of a text?
        self._prepared: dict[tuple[int, int], int] = {}  # to which message, by workspace and model

    def __call__(self, *, now: datetime) -> float:
        """Do a little; the seconds until there is more, 0 when there is."""
        models = embeddings.writing_models() if conf.SESSION_EVENT_EMBEDDING else {}
        # Once a process, and for every model anew: rows nobody made, and vectors that are not their workspace's
        current = {workspace: model for workspace, model in models.items() if model}
        if not self._models or any(self._models.get(workspace, model) != model for workspace, model in current.items()):
            self._outdated = 0
        self._models = current
        if self._missing is not None:
            try:
                self._missing = rows.write_missing(self._missing)
            except IntegrityError:  # a message was removed meanwhile: try again
                log.info("messages vanished while their search rows were made")
            return 0.0
        if current and self._outdated is not None:
            self._outdated = rows.discard_outdated(self._outdated, current)
            return 0.0
        if self._rests_until is not None and now < self._rests_until:
            return (self._rests_until - now).total_seconds()
        if any(models.values()) and self._embed(models, now):
            return 0.0
        self._rests_until = now + conf.SESSION_EVENT_EMBED_INTERVAL
        return conf.SESSION_EVENT_EMBED_INTERVAL.total_seconds()

    def prepare(self, change: ModelChange) -> bool:
        """Embed a workspace's messages by the model it changes to, into the cache; whether all of them are there.

        So they are found by their words alone for moments, and not for as long as it takes to embed them.
        """
        place = change.workspace.pk, change.new.pk
        rows_ahead = EventIndex.objects.filter(workspace=change.workspace, pk__gt=self._prepared.get(place, 0))
        indexed_rows = rows_ahead.exclude(model=None).order_by("pk").select_related("event").only(*_CLAIMED)
        rows = list(indexed_rows[: conf.SESSION_EVENT_EMBED_BATCH])
        if not (conf.SESSION_EVENT_EMBEDDING and rows):
            return True
        claims = _claims(rows)
        while claims:
            some, claims = _split(claims)
            _vectors_of([claim.content for claim in some], change.new)
        self._prepared[place] = rows[-1].pk
        return False

    def _embed(self, models: Models, now: datetime) -> bool:
        """Embed the messages that have waited longest; whether there is more to do at once.

        After no answer the provider is tried with a harmless text. If it answers that, messages are tried one by one,
        and only those it fails on are counted as failed.
        """
        alone = self._is_doubted
        claims, others, model = _claim_of_one_model(models, now, 1 if alone else conf.SESSION_EVENT_EMBED_BATCH)
        is_all = len(claims) + len(others) < (1 if alone else conf.SESSION_EVENT_EMBED_BATCH)
        if model is None or (alone and _vectors_of([PROBE], model, use_cache=False) is None):
            _release([*claims, *others])
            return False
        self._is_doubted = False
        while claims and not self._is_doubted:
            some, claims = _split(claims)
            vectors = _vectors_of([claim.content for claim in some], model)
            if vectors is not None:
                # Store the vectors of messages that still exist
                with connection.cursor() as cursor:
                    cursor.execute(
                        _STORE, [model.pk, [claim.event_id for claim in some], [*map(dense_literal, vectors)]]
                    )
            elif alone:
                # After ATTEMPTS failures it is not tried until an embedder starts; its words still find it
                log.info("message_not_embedded", session_event=some[0].event_id, failures=some[0].failures + 1)
                EventIndex.objects.postpone([some[0].event_id], now=now, first=RETRY_FIRST, longest=RETRY_LONGEST)
            else:
                claims = [*some, *claims]
            self._is_doubted = vectors is None
            if claims and has_queued(now=now):
                break
        _release([*claims, *others])
        return bool(self._is_doubted or claims or others or not is_all)


def _claim_of_one_model(
    models: Models, now: datetime, limit: int
) -> tuple[Sequence[EventClaim], Sequence[EventClaim], EmbeddingModel | None]:
    """The oldest messages nobody else is at work on, leased to this process: those of one model, and others.

    The model is None when there is nothing to embed, or nobody to do it.
    """
    waiting = EventIndex.objects.free(now=now).filter(model=None, failures__lt=ATTEMPTS).order_by("event")
    rows = waiting.select_related("event").only(*_CLAIMED)
    claims = _claims(rows.claim(limit, retry_at=now + LEASE))
    claim_models = [models[claim.workspace_id] for claim in claims if claim.workspace_id in models]
    model = claim_models[0] if claim_models else None
    of_model = [claim for claim in claims if models.get(claim.workspace_id) == model]
    return of_model, [claim for claim in claims if claim not in of_model], model


def _claims(rows: Sequence[EventIndex]) -> Sequence[EventClaim]:
    chars = conf.SESSION_EVENT_EMBED_CHARS
    return [
        EventClaim(row.pk, row.workspace_id, row.failures, text.smart_truncate(row.event.content, chars))
        for row in rows
    ]


def _split(claims: Sequence[EventClaim]) -> tuple[Sequence[EventClaim], Sequence[EventClaim]]:
    """The claims embedded at once, at least one; and the others."""
    tokens = 0
    for count, claim in enumerate(claims):
        tokens += text.count_tokens(claim.content)
        if count and tokens > AT_ONCE:
            return claims[:count], claims[count:]
    return claims, ()


def _vectors_of(texts: list[str], model: EmbeddingModel, *, use_cache: bool = True) -> list[list[float]] | None:
    seconds, space = conf.EMBED_WRITE_SECONDS * len(texts), embeddings.space_of_model(model)
    answer = embeddings.embed_passages(texts, seconds=seconds, use_cache=use_cache, space=space)
    return answer.vectors if answer else None


def _release(claims: Sequence[EventClaim]) -> None:
    EventIndex.objects.filter(pk__in=[claim.event_id for claim in claims], model=None).update(retry_at=None)


#: Named in MEMORY_EMBEDDER_WORK.
embed_events = EventEmbedder()
