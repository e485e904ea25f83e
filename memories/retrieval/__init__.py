"""From a message to the memories that help to answer it: the one ranking of the platform.

need → words, direction and days → one statement → decay → floor → quotas → evidence → context → receipt
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TypeVar

import structlog

from memories import embeddings, measures, text
from memories.choices import EntryType, NeedMode
from memories.conf import conf
from memories.decay import decay
from memories.embeddings.base import unrelated_of
from memories.models import EmbeddingModel, Entry, Policy, Receipt
from memories.models.policy import Policies
from memories.retrieval import receipts
from memories.retrieval.averages import average_of
from memories.retrieval.context import context_text
from memories.retrieval.evidence import Evidence, evidence_of
from memories.retrieval.nearness import Direction, direction_of, similarity
from memories.retrieval.need import Need, need_of
from memories.retrieval.query import Place, Query, words_of
from memories.retrieval.quotas import Ranked, serve
from memories.retrieval.statement import Candidate, Sought, candidates
from memories.retrieval.when import Moment, moments_of

__all__ = ["Place", "Query", "Recall", "recall"]

log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass
class Recall:
    """What a recall answers, and what its receipt tells."""

    need: Need
    served: list[Ranked] = field(default_factory=list)
    ranked: list[Ranked] = field(default_factory=list)
    context: str = ""
    tokens: int = 0
    degraded: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    receipt: Receipt | None = None
    evidence: Evidence = field(default_factory=Evidence)
    moments: list[Moment] = field(default_factory=list)

    def timed(self, step: str, call: Callable[[], T]) -> T:
        """Run a step and note the milliseconds it took."""
        begun = time.perf_counter()
        try:
            return call()
        finally:
            self.timings[step] = round((time.perf_counter() - begun) * 1000, 3)


def recall(
    query: Query, *, now: datetime, zone: tzinfo = UTC, embed_seconds: float | None = None, recorded: bool = True
) -> Recall:
    """The memories that bear on a message, best first, with a receipt of the search.

    `embed_seconds` is how long the embedder may take before keywords answer alone; None: as configured. What is not
    `recorded` leaves no trace: it was asked to measure, not to answer.
    """
    begun = time.perf_counter()
    need = Need(True, "off") if query.need == NeedMode.OFF else need_of(query.message, projects=_projects(query))
    result = Recall(need)
    if need.retrieve and query.places:
        policies = result.timed("policies", lambda: Policy.objects.of(query.workspace_id))
        words = result.timed("words", lambda: words_of(query))
        result.moments = moments_of(query, now, zone)
        sought = Sought(words, _direction(query, result, embed_seconds), result.moments)
        found = result.timed("search", lambda: candidates(query, sought, policies, now))
        result.ranked = _rank(found, query, sought, policies, now)
        result.served = serve(result.ranked, policies, limit=query.limit, quotas=query.quotas)
        entries = sum(scope.entry_count for scope in query.scopes)
        result.evidence = evidence_of(result.ranked, result.served, words, entries)
        result.context, result.tokens = context_text(result.served, budget=query.token_budget, zone=zone)
    result.timings["total"] = round((time.perf_counter() - begun) * 1000, 3)
    if recorded:
        result.receipt = receipts.write(query, result, now)
        _log(query, result)
    return result


def _projects(query: Query) -> list[str]:
    """Projects known where the message is asked; those in which everything is kept that has none are no names."""
    return [name for scope in query.scopes for name in scope.projects if not name.startswith("_")]


def _direction(query: Query, result: Recall, embed_seconds: float | None) -> Direction | None:
    """Where the message points; None when no vector leg is wanted, or nobody embeds in time."""
    if query.mode == "keyword":
        return None
    asked = text.last_tokens(query.message, conf.EMBED_QUERY_TOKENS)
    seconds = conf.EMBED_RECALL_SECONDS if embed_seconds is None else embed_seconds
    embedded = result.timed("embedding", lambda: embeddings.embed_query(asked, seconds=seconds))
    if embedded is None:
        result.degraded.append("embedding")
        return None
    model = EmbeddingModel.objects.filter(name=embedded.provider.model, dimension=embedded.provider.dimension).first()
    if model is None:  # nothing is indexed yet
        return None
    average = result.timed("average", lambda: average_of(query.scopes, model))
    return direction_of(embedded.vectors[0], average, model, unrelated_of(embedded.provider))


#: Of fifty candidates only these columns are read.
_READ = (
    "uid", "type", "scope_id", "content", "fingerprint", "importance", "category", "created_at", "stated_at",
    "access__last_accessed",
)  # fmt: skip


def _rank(found: Sequence[Candidate], query: Query, sought: Sought, policies: Policies, now: datetime) -> list[Ranked]:
    """Candidates with their entries; facts weighed by their importance and by how long nobody used them (D4)."""
    entries = Entry.objects.select_related("access").only(*_READ).in_bulk([candidate.entry_id for candidate in found])
    scopes = {place.scope.pk: place.scope for place in query.places}
    floor = policies.weight("MIN_SIMILARITY")
    by_word = query.mode != "vector" or sought.direction is None  # keywords answer when vectors cannot (A12)
    ranked = []
    for candidate in found:
        entry = entries.get(candidate.entry_id)
        if entry is None:
            continue  # purged since the statement ran
        entry.scope = scopes[candidate.scope_id]
        weight = _relevance(entry, now)
        score = candidate.fused * weight if candidate.fused > 0 else candidate.fused
        item = Ranked(candidate, entry, entry.scope.kind, weight, score)
        if sought.direction and candidate.cosine is not None:
            item.similarity = similarity(sought.direction, candidate.cosine, query.message, entry.content)
        if not _is_near(item, floor, by_word=by_word):
            item.fate = "floor"
        ranked.append(item)
    return sorted(ranked, key=lambda item: (-item.score, -item.entry.pk))


def _is_near(item: Ranked, floor: float, *, by_word: bool) -> bool:
    """Whether anything but its rank speaks for a candidate: a word, its speaker, its day, or its meaning."""
    found = item.candidate
    return (
        (by_word and found.keyword > 0)
        or found.named
        or found.date > 0
        or (item.similarity is not None and item.similarity >= floor)
    )


def _relevance(entry: Entry, now: datetime) -> float:
    if entry.type != EntryType.FACT:
        return 1.0
    access = getattr(entry, "access", None)
    used_at = max(filter(None, [entry.stated_at, access and access.last_accessed]))
    return entry.importance * decay(entry.category, (now - used_at).total_seconds() / 86_400)


def _log(query: Query, result: Recall) -> None:
    """The line operators count recalls by; words of users only when the owner wants them (A14)."""
    log.info(
        "memory_recall",
        user_id=query.places[0].scope.key if query.places else "",
        keywords=query.message if conf.LOG_CONTENT else len(text.terms(query.message)),
        results_count=len(result.served),
        latency_ms=result.timings["total"],
        store_type="keyword" if "embedding" in result.degraded or query.mode == "keyword" else "hybrid",
        degraded=result.degraded,
    )
    measures.recalled(
        retrieved=result.need.retrieve,
        served=len(result.served),
        milliseconds=result.timings,
        degraded=result.degraded,
    )
