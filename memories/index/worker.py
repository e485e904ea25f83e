"""The embedder's work: give stale entries their vectors, and blend their search rows anew (A13)."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.db import IntegrityError, transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef

from memories import embeddings
from memories.conf import conf
from memories.index import search_rows
from memories.index.search_rows import indexed_text, write_vectors
from memories.models import EmbeddingModel, Entry, EntryVector, IndexQueueItem
from memories.models.state import LIVE

log = logging.getLogger(__name__)
#: After a kill, or when the database went away in the middle, so long nobody takes the entries up.
LEASE = timedelta(seconds=45)
RETRY_FIRST = timedelta(seconds=5)
RETRY_LONGEST = timedelta(minutes=10)
#: So many times the limit is added at most for a text that failed before.
PATIENCE = 9


@dataclass(frozen=True)
class EntryClaim:
    """A stale entry this process is about to index."""

    item: IndexQueueItem
    fingerprint: str
    content: str
    needs_vector: bool

    @property
    def entry_id(self) -> int:
        return self.item.entry_id


class EmbedderWork(Protocol):
    """What stands behind a path in MEMORY_EMBEDDER_WORK: done a little at a time, while no entry waits.

    What packages above have to embed. A call takes no longer than an entry may wait for its vector (A13), and answers
    how many seconds later the next is wanted; 0: there is more to do. Work with a true `is_urgent` is also done between
    two batches of entries.
    """

    def __call__(self, *, now: datetime) -> float: ...


def index_queued(*, now: datetime, limit: int | None = None, use_cache: bool = True) -> int:
    """Index the entries that have waited longest; how many were claimed, 0 when nothing waits.

    When the embedder does not answer, keywords are blended all the same and the entries wait for their vectors.
    """
    items = IndexQueueItem.objects.free(now=now).order_by("since", "entry")
    claimed = items.claim(limit or conf.EMBED_BATCH, retry_at=now + LEASE)
    _index(claimed, now, use_cache)
    return len(claimed)


def index_these(entries: Collection[int], *, now: datetime) -> int:
    """Index those of these entries that wait, in the transaction of whoever wrote them; how many."""
    waiting = list(IndexQueueItem.objects.filter(entry__in=entries).order_by("since", "entry"))
    _index(waiting, now, use_cache=True)
    return len(waiting)


def _index(claimed: Sequence[IndexQueueItem], now: datetime, use_cache: bool) -> None:
    models = embeddings.writing_models(item.workspace_id for item in claimed)
    for model in dict.fromkeys(models.values()):
        of_model = {item.entry_id: item for item in claimed if models[item.workspace_id] == model}
        # What is to be indexed, as it is worded now; what is out of use is served to nobody
        vectors = EntryVector.objects.filter(entry=OuterRef("pk"), model=model, fingerprint=OuterRef("fingerprint"))
        needs_vector = ExpressionWrapper(LIVE & ~Exists(vectors), BooleanField())
        entries = Entry.objects.filter(pk__in=of_model).annotate(needs_vector=needs_vector).order_by("pk")
        columns = ("pk", "fingerprint", "content", "echo", "path", "heading", "needs_vector")
        claims = [
            EntryClaim(of_model[pk], fingerprint, indexed_text(content, echo, path, heading), is_without)
            for pk, fingerprint, content, echo, path, heading, is_without in entries.values_list(*columns)
        ]
        missing = [claim for claim in claims if claim.needs_vector] if model else []
        # Those that failed before are asked for one by one: a text the embedder chokes on does not hold up the others
        groups = [[claim for claim in missing if not claim.item.failures]]
        groups += [[claim] for claim in missing if claim.item.failures]
        embedded: list[EntryClaim] = []
        for group in groups:
            if group and model and _embed(group, model, use_cache):
                embedded += group
        waiting = [claim for claim in missing if claim not in embedded]
        # Blend what was claimed, and what the new vectors count for besides
        near = search_rows.neighbours(claim.entry_id for claim in embedded)
        blended = {claim.entry_id for claim in claims}.union(search_rows.keepers_of(near), *near.values())
        try:
            search_rows.blend(blended, model_id=model.pk if model else None)
        except IntegrityError:  # the others are claimed again when the lease is over
            log.info("entries vanished while their search rows were made")
        else:
            # The work is done, unless it became stale again while it was
            since = {claim.entry_id: claim.item.since for claim in claims if claim not in waiting}
            with transaction.atomic():
                rows = IndexQueueItem.objects.filter(pk__in=since).lock()
                unchanged = [row.pk for row in rows if row.since == since[row.pk]]
                IndexQueueItem.objects.filter(pk__in=unchanged).delete()
        IndexQueueItem.objects.postpone(
            [claim.entry_id for claim in waiting], now=now, first=RETRY_FIRST, longest=RETRY_LONGEST
        )


def has_queued(*, now: datetime) -> bool:
    """Whether an entry waits that can be indexed now: whoever does other work lets it go first."""
    return IndexQueueItem.objects.free(now=now).exists()


def drain(*, now: datetime, use_cache: bool = True) -> int:
    """Index until nothing waits that can be indexed now; how many entries."""
    total = 0
    while claimed := index_queued(now=now, use_cache=use_cache):
        total += claimed
    return total


def _embed(claims: Sequence[EntryClaim], model: EmbeddingModel, use_cache: bool) -> bool:
    """Store the raw vectors of these texts; False when no provider answered.

    One that took too long before is given longer: on a machine with much to do a long text would never be done.
    """
    patience = sum(1 + min(claim.item.failures, PATIENCE) for claim in claims)
    answer = embeddings.embed_passages(
        [claim.content for claim in claims],
        seconds=conf.EMBED_WRITE_SECONDS * patience,
        use_cache=use_cache,
        space=embeddings.space_of_model(model),
    )
    if answer is not None:
        texts = [(claim.entry_id, claim.fingerprint) for claim in claims]
        write_vectors(texts, answer.vectors, model_id=model.pk)
    return answer is not None
