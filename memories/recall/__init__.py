"""From a message to the memories that help to answer it: the one ranking of the platform.

need → words, direction and days → one statement → decay → floor → quotas → evidence → context → trace
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeVar
from uuid import UUID

import structlog

from memories import embeddings, metrics
from memories.choices import NeedMode
from memories.conf import conf
from memories.embeddings.base import Provider, typical_of, unrelated_of
from memories.language import text
from memories.models import EmbeddingModel, Policy, RecallTrace
from memories.models.policy import Policies
from memories.recall import answer_cache, explanation, retrievers, traces
from memories.recall.answerability import Answerability, assess, assess_about_asker, is_noise
from memories.recall.centroids import centroid_of
from memories.recall.client_history import mark_repeated, repeated
from memories.recall.context import context_text, events_text
from memories.recall.date_ranges import DateRange, date_ranges_of
from memories.recall.excluded import excluded_candidates
from memories.recall.gate.decision import GateDecision, decide
from memories.recall.limits import searched_part
from memories.recall.modes import BY_MATCH_ALONE, Mode, ParsedQuery, parse_for_match
from memories.recall.past_questions import has_question_mark_or_word
from memories.recall.pending_vectors import pending_wait
from memories.recall.query import Place, Query, words_of
from memories.recall.quotas import Ranked, serve
from memories.recall.ranking import eligible_candidates, ranking_weights
from memories.recall.scoring import about_asker, holds_words_of_others, weigh
from memories.recall.similarity import CentredQuery, centre_query, is_cjk

__all__ = ["Mode", "Place", "Query", "Recall", "recall"]

log = structlog.get_logger(__name__)
T = TypeVar("T")
#: In `degraded`: what was said seconds ago has no vector yet, and is found by its words alone.
PENDING = "embedding_pending"


@dataclass
class Recall:
    """What a recall answers, and what its trace tells."""

    need: GateDecision
    served: list[Ranked] = field(default_factory=list)
    ranked: list[Ranked] = field(default_factory=list)
    context: str = ""
    tokens: int = 0
    degraded: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    trace: RecallTrace | None = None
    evidence: Answerability = field(default_factory=Answerability)
    in_history: bool = False  # what bears on the message best is said by the messages that are handed out
    date_ranges: list[DateRange] = field(default_factory=list)
    events: list[retrievers.RecalledEvent] = field(default_factory=list)  # what was said, of questions about the past
    excluded: list[Ranked] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)
    explained: dict[str, Any] | None = None  # the candidates as the trace keeps them; None: not sampled
    cached_from: UUID | None = None  # the recall this is the answer of
    ends: datetime | None = None  # when the first of what is served is served no longer

    def timed(self, step: str, call: Callable[[], T]) -> T:
        """Run a step and note the milliseconds it took."""
        begun = time.perf_counter()
        try:
            return call()
        finally:
            self.timings[step] = round((time.perf_counter() - begun) * 1000, 3)


def recall(
    query: Query,
    *,
    now: datetime,
    zone: tzinfo = UTC,
    embed_seconds: float | None = None,
    recorded: bool = True,
    policies: Policies | None = None,
) -> Recall:
    """The memories that bear on a message, best first, with a trace of the search.

    `embed_seconds` is how long the embedder may take before keywords answer alone; None: as configured. What is not
    `recorded` leaves no trace: it was asked to measure, not to answer. `policies` are those of the workspace, of
    whoever has read them for this call already.
    """
    begun = time.perf_counter()
    asked, query = query, replace(query, message=searched_part(query.message))
    result = Recall(_need(query))
    result.timings["need"] = _since(begun)
    key = None
    if result.need.retrieve and query.places:
        policies = policies or result.timed("policies", lambda: Policy.objects.of(query.workspace_id))
        key = None if retrievers.retrievers_apply(query) else answer_cache.key_of(query, policies, zone)
        if (known := answer_cache.find(key, now)) is None:
            _search(query, result, policies, now, zone, embed_seconds, sampled=recorded and traces.is_sampled())
        else:
            result = _again(known, result)
    result.timings["total"] = _since(begun)
    if recorded:
        result.trace = result.timed("trace", lambda: traces.write(asked, result, now))
        _log(query, result)
        answer_cache.keep(key, result, now)
    return result


def _need(query: Query) -> GateDecision:
    return GateDecision(True, "off") if query.need == NeedMode.OFF else decide(query.message, projects=_projects(query))


def _since(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 3)


def _again(known: Recall, asked: Recall) -> Recall:
    """An answer of a moment ago, with the time it took this time."""
    told_by = known.trace.uid if known.trace else None
    return replace(known, timings=asked.timings, cached_from=told_by, trace=None)


def _search(
    query: Query,
    result: Recall,
    policies: Policies,
    now: datetime,
    zone: tzinfo,
    embed_seconds: float | None,
    *,
    sampled: bool,
) -> None:
    """Fill in what is found, what of it is served, and why."""
    words = result.timed("words", lambda: words_of(query))
    if query.mode in BY_MATCH_ALONE:
        parsed = parse_for_match(query.mode, query.message, words)
    else:
        result.date_ranges = result.timed("dates", lambda: _moments(query, policies, now, zone))
        parsed = ParsedQuery(words, _direction(query, result, embed_seconds, now), result.date_ranges)
    result.weights = ranking_weights(query, parsed, policies)
    told = result.timed("history", lambda: _told(query)) if query.client_history else set()
    found = result.timed("search", lambda: eligible_candidates(query, parsed, policies, now, more=len(told)))
    result.ranked = result.timed("rank", lambda: weigh(found, query, parsed, policies, now))
    mark_repeated(result.ranked, query.client_history, told)
    result.served = result.timed(
        "quotas", lambda: serve(result.ranked, policies, limit=query.limit, quotas=query.quotas)
    )
    result.ends = min(filter(None, (policies.end_of(item.entry) for item in result.served)), default=None)
    known = sorted([*result.served, *repeated(result.ranked)], key=lambda item: (-item.score, -item.entry.pk))
    result.in_history = bool(known) and known[0].reason != "served"
    result.evidence = result.timed("evidence", lambda: _evidence(query, result, known, parsed))
    if is_noise(result.evidence) and query.asks_for_anything and has_question_mark_or_word(query.message):
        _serve_nothing(result)
    result.context, result.tokens = result.timed(
        "context", lambda: context_text(result.served, budget=query.token_budget, zone=zone)
    )
    if retrievers.retrievers_apply(query):
        _ask_retrievers(query, result, parsed, policies, now, zone)
    if sampled or query.explain:
        _explain(query, result, parsed, policies, now)


def _told(query: Query) -> set[int]:
    """The entries that say nothing but what is handed out beside the answer."""
    scopes = [scope.pk for scope in query.scopes]
    return query.client_history.entries(query.workspace_id, scopes) if query.client_history else set()


def _serve_nothing(result: Recall) -> None:
    """A young scope that does not answer: what it has for lack of anything better would only mislead."""
    for item in result.served:
        item.reason = "floor"
    result.served = []


def _evidence(query: Query, result: Recall, known: Sequence[Ranked], parsed: ParsedQuery) -> Answerability:
    is_of_asker = holds_words_of_others(result.ranked) and about_asker(query, parsed)
    judge = assess_about_asker if is_of_asker else assess
    entries = sum(scope.entry_count for scope in query.scopes)
    return judge(result.ranked, known, parsed.words, entries)


def _moments(query: Query, policies: Policies, now: datetime, zone: tzinfo) -> list[DateRange]:
    return date_ranges_of(query, now, zone) if policies.weight("DATE_BOOST") else []


def _ask_retrievers(
    query: Query, result: Recall, parsed: ParsedQuery, policies: Policies, now: datetime, zone: tzinfo
) -> None:
    """What was said then, beside what is remembered of it; the words of a memory are not repeated in the context."""
    moments = result.date_ranges or result.timed("dates", lambda: date_ranges_of(query, now, zone))
    own = about_asker(query, parsed)
    about = query.asker if own else None
    asked = retrievers.past_question_of(query, moments, parsed.direction, result.weights, policies, about=about)
    found = result.timed("events", lambda: retrievers.retrieve_events(asked, query, result.served, now))
    result.events = [event for event in found if not event.in_history]
    result.in_history |= bool(found) and found[0].in_history
    result.evidence = retrievers.with_events(result.evidence, found, names_days=bool(moments), about_asker=own)
    shown = {str(item.entry.uid) for item in result.served if item.in_context}
    more = [event for event in result.events if event.memory not in shown]
    lines, tokens = events_text(more, budget=query.token_budget - result.tokens, zone=zone)
    result.context, result.tokens = "\n".join(filter(None, [result.context, lines])), result.tokens + tokens


def _explain(query: Query, result: Recall, parsed: ParsedQuery, policies: Policies, now: datetime) -> None:
    """What else there would have been, and all of it as a trace keeps it."""
    if query.explain or conf.TRACE_EXCLUDED:
        result.excluded = result.timed(
            "passed_over", lambda: excluded_candidates(query, parsed, policies, result.served, now)
        )
    result.explained = explanation.compact([*result.ranked, *result.excluded], result.weights)


def _projects(query: Query) -> list[str]:
    """Projects known where the message is asked; those in which everything is kept that has none are no names."""
    return [name for scope in query.scopes for name in scope.projects if not name.startswith("_")]


def _direction(query: Query, result: Recall, embed_seconds: float | None, now: datetime) -> CentredQuery | None:
    """Where the message points; None when nobody embeds in time."""
    asked = text.last_tokens(query.message, conf.EMBED_QUERY_TOKENS)
    seconds = conf.EMBED_RECALL_SECONDS if embed_seconds is None else embed_seconds
    embedded = result.timed("embedding", lambda: embeddings.embed_query(asked, seconds=seconds))
    if embedded is None:
        result.degraded.append("embedding")
        return None
    is_patient = conf.EMBED_PENDING_SECONDS > 0
    if is_patient and result.timed("pending", lambda: _lacks_vectors(query, embedded.provider, now)):
        result.degraded.append(PENDING)
    model = EmbeddingModel.objects.filter(name=embedded.provider.model, dimension=embedded.provider.dimension).first()
    if model is None:  # nothing is indexed yet
        return None
    average = result.timed("average", lambda: centroid_of(query.scopes, model))
    known = unrelated_of(embedded.provider), typical_of(embedded.provider)
    return centre_query(embedded.vectors[0], average, model, *known, cjk=is_cjk(query.message))


def _lacks_vectors(query: Query, provider: Provider, now: datetime) -> bool:
    """Whether something was said just now that has no vector yet, after a moment of waiting."""
    scopes = [scope.pk for scope in query.scopes]
    return pending_wait.wait(scopes, provider, now=now, seconds=conf.EMBED_PENDING_SECONDS)


def _log(query: Query, result: Recall) -> None:
    """The line operators count recalls by; words of users only when the owner wants them (A14)."""
    log.info(
        "memory_recall",
        user_id=query.places[0].scope.key if query.places else "",
        keywords=query.message if conf.LOG_CONTENT else len(text.terms(query.message)),
        results_count=len(result.served),
        latency_ms=result.timings["total"],
        store_type="keyword" if "embedding" in result.degraded or query.mode in BY_MATCH_ALONE else "hybrid",
        degraded=result.degraded,
    )
    metrics.recalled(
        verdict=result.evidence.verdict if result.need.retrieve else "",
        served=len(result.served),
        milliseconds=result.timings,
        degraded=result.degraded,
    )
