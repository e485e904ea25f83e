"""The embedder's work: give stale entries their vectors, and blend their search rows anew (A13).

A claim is a lease: it is taken in one short transaction, the texts are embedded outside any, and the result is written
in another. A process killed in between leaves the lease to run out, and the next one does the work again.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.db import IntegrityError, connection, transaction

from memories import embeddings
from memories.conf import conf
from memories.embeddings.base import Provider
from memories.index import search_rows
from memories.index.contextual import dense_literal
from memories.models import EmbeddingModel

log = logging.getLogger(__name__)
LEASE = timedelta(minutes=2)
RETRY_FIRST = timedelta(seconds=5)
RETRY_LONGEST = timedelta(minutes=10)
#: So many times the limit is added at most for a text that failed before.
PATIENCE = 9
#: Whoever needs several rows of the work list takes them in this order, as writers do: nobody waits in a circle.
_IN_ORDER = "ORDER BY stale.entry_id FOR UPDATE"


@dataclass(frozen=True)
class Claim:
    """A stale entry this process is about to index."""

    entry_id: int
    workspace_id: int
    since: datetime
    fingerprint: str
    content: str
    has_vector: bool
    failures: int


class Work(Protocol):
    """What stands behind a path in MEMORY_EMBEDDER_WORK: done a little at a time, while no entry waits.

    What packages above have to embed. A call takes no longer than an entry may wait for its vector (A13), and answers
    how many seconds later the next is wanted; 0: there is more to do.
    """

    def __call__(self, *, now: datetime) -> float: ...


def index_stale(*, now: datetime, limit: int | None = None, use_cache: bool = True) -> int:
    """Index the entries that have waited longest; how many were claimed, 0 when nothing waits.

    When the embedder does not answer, keywords are blended all the same and the entries wait for their vectors.
    """
    provider = embeddings.main_model()
    model = model_of(provider) if provider else None
    claims = _claim(model, now, limit or conf.EMBED_BATCH)
    if not claims:
        return 0
    missing = [claim for claim in claims if not claim.has_vector] if model else []
    embedded = _embed_all(missing, model, use_cache) if model else []
    waiting = [claim for claim in missing if claim not in embedded]
    if _blend(claims, embedded, model):
        _release([claim for claim in claims if claim not in waiting])
    _postpone(waiting, now)
    return len(claims)


def is_wanted(*, now: datetime) -> bool:
    """Whether an entry waits that can be indexed now: whoever does other work lets it go first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM memories_indexqueueitem WHERE retry_at IS NULL OR retry_at <= %s)", [now]
        )
        return bool(cursor.fetchone()[0])


def drain(*, now: datetime, use_cache: bool = True) -> int:
    """Index until nothing waits that can be indexed now; how many entries."""
    total = 0
    while claimed := index_stale(now=now, use_cache=use_cache):
        total += claimed
    return total


def model_of(provider: Provider) -> EmbeddingModel:
    """The row of a provider's model, made when it is first used and kept to what the provider says of it."""
    told = {"dimension": provider.dimension, "floor": provider.floor, "ceiling": provider.ceiling}
    model, made = EmbeddingModel.objects.get_or_create(name=provider.model, defaults=told)
    if made or all(getattr(model, name) == value for name, value in told.items()):
        return model
    with transaction.atomic():
        if model.dimension != provider.dimension:
            search_rows.drop_vectors(model.pk)
        EmbeddingModel.objects.filter(pk=model.pk).update(**told)
    model.refresh_from_db()
    return model


def _claim(model: EmbeddingModel | None, now: datetime, limit: int) -> list[Claim]:
    """The oldest entries nobody else is at work on, leased to this process."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            # materialized: a join that asks for the next ones again would get further ones each time
            "WITH next AS MATERIALIZED ("
            " SELECT entry_id FROM memories_indexqueueitem WHERE retry_at IS NULL OR retry_at <= %(now)s"
            " ORDER BY since, entry_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED)"
            " UPDATE memories_indexqueueitem stale SET retry_at = %(until)s FROM next"
            " WHERE stale.entry_id = next.entry_id RETURNING stale.entry_id, stale.since, stale.failures",
            {"until": now + LEASE, "now": now, "limit": limit},
        )
        waits = {entry: (since, failures) for entry, since, failures in cursor.fetchall()}
        cursor.execute(
            "SELECT e.id, e.workspace_id, e.fingerprint, e.content, EXISTS (SELECT 1 FROM memories_entryvector v"
            " WHERE v.entry_id = e.id AND v.model_id = %s AND v.fingerprint = e.fingerprint)"
            " FROM memories_entry e WHERE e.id = ANY(%s) ORDER BY e.id",
            [model.pk if model else None, list(waits)],
        )
        return [
            Claim(entry, workspace, waits[entry][0], fingerprint, content, has_vector, waits[entry][1])
            for entry, workspace, fingerprint, content, has_vector in cursor.fetchall()
        ]


def _embed_all(claims: Sequence[Claim], model: EmbeddingModel, use_cache: bool) -> list[Claim]:
    """The claims that have their vectors now.

    Those that failed before are asked for one by one: a text the embedder chokes on does not hold up the others.
    """
    groups = [[claim for claim in claims if not claim.failures], *([claim] for claim in claims if claim.failures)]
    return [claim for group in groups if group and _embed(group, model, use_cache) for claim in group]


def _embed(claims: Sequence[Claim], model: EmbeddingModel, use_cache: bool) -> bool:
    """Store the raw vectors of these texts; False when no provider answered.

    One that took too long before is given longer: on a machine with much to do a long text would never be done.
    """
    texts = [claim.content for claim in claims]
    patience = sum(1 + min(claim.failures, PATIENCE) for claim in claims)
    answer = embeddings.embed_passages(texts, seconds=conf.EMBED_WRITE_SECONDS * patience, use_cache=use_cache)
    if answer is None:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_entryvector (workspace_id, entry_id, model_id, fingerprint, embedding)"
            " SELECT e.workspace_id, e.id, %s, new.fingerprint, new.embedding::halfvec"
            " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS new (entry, fingerprint, embedding)"
            " JOIN memories_entry e ON e.id = new.entry"
            " ON CONFLICT (entry_id, model_id) DO UPDATE"
            " SET fingerprint = excluded.fingerprint, embedding = excluded.embedding",
            [
                model.pk,
                [claim.entry_id for claim in claims],
                [claim.fingerprint for claim in claims],
                [dense_literal(vector) for vector in answer.vectors],
            ],
        )
    return True


def _blend(claims: Sequence[Claim], embedded: Sequence[Claim], model: EmbeddingModel | None) -> bool:
    """Blend what was claimed, and the neighbours of what has a new vector; False when an entry vanished meanwhile."""
    near = search_rows.neighbours(claim.entry_id for claim in embedded)
    entries = {claim.entry_id for claim in claims}.union(*near.values())
    try:
        search_rows.blend(entries, model_id=model.pk if model else None)
    except IntegrityError:  # the others are claimed again when the lease is over
        log.info("entries vanished while their search rows were made")
        return False
    return True


def _release(claims: Sequence[Claim]) -> None:
    """Take the work off the list, unless it became stale again while it was done."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM memories_indexqueueitem"  # noqa: S608 (constants)
            " WHERE entry_id IN (SELECT entry_id FROM memories_indexqueueitem stale"
            " JOIN unnest(%s::bigint[], %s::timestamptz[]) AS done (entry, since)"
            " ON stale.entry_id = done.entry AND stale.since = done.since"
            f" {_IN_ORDER} OF stale)",
            [[claim.entry_id for claim in claims], [claim.since for claim in claims]],
        )


def _postpone(claims: Sequence[Claim], now: datetime) -> None:
    """Have these wait longer after every failure."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memories_indexqueueitem SET failures = failures + 1,"  # noqa: S608 (constants)
            " retry_at = %s + least(%s, %s * power(2, least(failures, 10))) * interval '1 second'"
            " WHERE entry_id IN (SELECT entry_id FROM memories_indexqueueitem stale WHERE entry_id = ANY(%s)"
            f" {_IN_ORDER})",
            [now, RETRY_LONGEST.total_seconds(), RETRY_FIRST.total_seconds(), [claim.entry_id for claim in claims]],
        )
