"""From a message to the memories that help to answer it: the one ranking of the platform.

gate → words, vector and dates → one statement → scores and floor → reranker → quotas → answerability → context → events
→ trace

Answers given a moment ago, for the same question under the same walls, are given again (C15). Nothing has to be told to
what keeps them: the versions of the scopes and all numbers of the policy are in the key, so that whatever is written,
expired, restored, indexed or set anew is never answered from before. What a bot's key may see is in it as the places it
may look at. Each process keeps its own.
"""

import time
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import lru_cache, partial
from threading import Lock
from typing import Any
from uuid import UUID

from cachetools import LRUCache
from django.db import OperationalError, connection

from memories import embeddings, reranker
from memories.choices import NeedMode
from memories.conf import conf
from memories.language import persons, text
from memories.language.quoting import notice_in
from memories.models import RecallTrace
from memories.models.policy import Policies
from memories.offline import database, replicas
from memories.recall import traces
from memories.recall.answer import (
    FOUND,
    Answerability,
    add_evidence,
    assess,
    assess_events,
    assess_newest,
    at_least_weak,
    context_text,
    events_text,
    is_noise,
)
from memories.recall.candidates import eligible_candidates, former_matches
from memories.recall.eligibility import Past, as_of, check_moment, has_named
from memories.recall.events import RecalledEvent, apply_to, past_question_of, retrieve_events
from memories.recall.gate import MAY_BE_NOTE, NAMELESS, GateDecision, decide, may_be_note
from memories.recall.people import attributed, is_about_asker, mark_replaced, prefer_corrections
from memories.recall.query import (
    BY_MATCH_ALONE,
    Mode,
    ParsedQuery,
    Query,
    Search,
    SearchScope,
    opening_of,
    searched_part,
)
from memories.recall.question import (
    DateRange,
    asks_for_former,
    asks_what_came_before,
    date_ranges_of,
    event_words,
    has_question_mark_or_word,
    is_remark,
    names_unknown,
    parse_for_match,
    resolve,
    speaks_of_one_of_several,
    without_names,
    words_of,
)
from memories.recall.ranking import (
    Ranked,
    Reranked,
    best_first,
    feature_weights,
    mark_repeated,
    mark_unlikely,
    score,
    serve,
    told_count,
)
from memories.recall.relevance import possible_names
from memories.recall.traces import log_recall
from memories.recall.vector import PENDING, vector_of

__all__ = ["Mode", "SearchScope", "Query", "Recall", "recall"]

#: In `degraded`: files of what is asked are not indexed yet, and are not found.
INDEX_PENDING = "index_pending"
#: The same: the database has no room to write, and the recall leaves no trace.
DISK_FULL = "disk_full"
#: The same: the reranker gave no usable answer in time, and the ranking's own order holds.
RERANK = "rerank"
_HEAD, _GAP = 0.6, " … "  # of what is shown to it of a long text


@dataclass
class Recall:
    """What a recall answers, and what its trace tells."""

    need: GateDecision
    served: list[Ranked] = field(default_factory=list)
    ranked: list[Ranked] = field(default_factory=list)
    context: str = ""
    tokens: int = 0
    degraded: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)  # milliseconds by step
    trace: RecallTrace | None = None
    answerability: Answerability = field(default_factory=Answerability)
    in_history: bool = False  # what bears on the message best is in the messages the client has already
    date_ranges: Sequence[DateRange] = field(default_factory=list)  # that the ranking went by
    events: list[RecalledEvent] = field(default_factory=list)  # of questions about the past
    excluded: list[Ranked] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)
    explained: dict[str, Any] | None = None  # the candidates as the trace keeps them; None: not sampled
    cached_from: UUID | None = None  # the recall this is the answer of
    past: Past | None = None  # of a recall as of a moment
    ends: datetime | None = None  # when the first of what is served is served no longer

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Note the milliseconds a step takes."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.timings[step] = round((time.perf_counter() - begun) * 1000, 3)


def recall(
    query: Query,
    *,
    now: datetime,
    zone: tzinfo = UTC,
    embed_seconds: float | None = None,
    recorded: bool = True,
) -> Recall:
    """The memories that bear on a message, best first, with a trace of the search.

    `embed_seconds` is how long the embedder may take before keywords answer alone; None: as configured. What is not
    `recorded` leaves no trace: it was asked to measure, not to answer.
    """
    if query.as_of is not None:
        replicas.need_primary()  # memory of then is put into temporary tables
    begun = time.perf_counter()
    patience = embeddings.query_seconds() if embed_seconds is None else embed_seconds
    search = Search(query, now, zone, patience, recorded and traces.is_sampled())
    if query.as_of is None:
        query, result, key = _answer(search)
    else:
        check_moment(query.workspace_id, query.as_of, now=now)
        with as_of(query, query.as_of) as then:
            query, result, key = _answer(replace(search, query=then, now=query.as_of))
    result.timings["total"] = round((time.perf_counter() - begun) * 1000, 3)
    if recorded:
        with result.timed("trace"):
            try:
                result.trace = replicas.aside(partial(traces.write, query, result, now))
            except OperationalError as error:  # a database without room keeps nobody from an answer
                is_alone = replicas.reading() is not None or not connection.in_atomic_block
                if not (is_alone and database.is_disk_full(error)):
                    raise
                result.degraded = [*result.degraded, DISK_FULL]  # the list may be that of a kept answer
        log_recall(query, result)
        keep_answer(key, result, now)
    return result


def _answer(search: Search) -> tuple[Query, Recall, Hashable | None]:
    """The query as it was understood, its answer, and where that is kept."""
    begun = time.perf_counter()
    message = search.query.message
    query = resolve(replace(search.query, message=searched_part(message)))
    if query.need == NeedMode.OFF:
        need = GateDecision(True, "off")
    else:
        # projects in which everything is kept that has none are no names
        projects = (name for scope in query.scopes for name in scope.projects if not name.startswith("_"))
        names = (
            name
            for scope in query.scopes
            for name, person in scope.nicknames.items()
            if person and not name.startswith(persons.MY)
        )
        need = decide(query.message, projects=projects, names=names)
        if query.resolved and not need.retrieve and has_question_mark_or_word(query.message):
            need = GateDecision(True, "recent")
        if need.rule in NAMELESS and query.places and has_named(query, search.now, possible_names(query.message)):
            need = GateDecision(True, "name")
    without_note = need  # what is decided where a message in few words finds nothing
    if need.rule in MAY_BE_NOTE and may_be_note(query.message):
        need = GateDecision(True, "note")
    result = Recall(need, past=query.past)
    result.timings["need"] = round((time.perf_counter() - begun) * 1000, 3)
    if query.is_index_pending and need.retrieve:
        result.degraded.append(INDEX_PENDING)
    key = None
    if need.retrieve and query.places:
        with result.timed("policies"):  # as traces have called this step from the first
            opening = opening_of(query, now=search.now)
        if query.adjusted is not None:
            opening = replace(opening, policies=query.adjusted(opening.policies))
        query = replace(query, limit=query.limit or opening.most_recalls)
        search = replace(search, query=query, opening=opening, looks_back=apply_to(query))
        if not (search.looks_back or query.is_index_pending):
            key = answer_key(query, opening.policies, search.zone)
        if (cached := kept_answer(key, search.now)) is None:
            _search(search, result)
        else:
            uid = cached.trace.uid if cached.trace else None
            result = replace(cached, timings=result.timings, cached_from=uid, trace=None)
    if need is not without_note and (result.answerability.verdict != FOUND or not result.served):
        return replace(query, message=message), Recall(without_note, past=query.past, timings=result.timings), None
    return replace(query, message=message), result, key


def _search(search: Search, result: Recall) -> None:
    """Fill in what is found, what of it is served, and why."""
    query = search.query
    ranges: Sequence[DateRange] = []
    if search.looks_back or (query.mode not in BY_MATCH_ALONE and search.policies.weight("DATE_BOOST")):
        with result.timed("dates"):
            ranges = date_ranges_of(query.message, query.scopes, search.now, search.zone)
    search = _parse(search, result, ranges)
    is_open = query.mode not in BY_MATCH_ALONE and asks_what_came_before(query.message)
    has_no_vectors = search.parsed.vector is None or PENDING in result.degraded
    by_time = replace(search, parsed=search.parsed.by_time(search.now))
    if is_open and has_no_vectors and not ranges:
        search = by_time
    _find(search, result)
    if is_open and not (result.served or result.in_history or search.parsed.newest_to):
        search = by_time
        _find(search, result)

    add_evidence(result.served)
    heard = [item for item in result.served if not (query.past and query.past.withholds(item.entry))]
    with result.timed("context"):
        result.context, result.tokens = context_text(
            heard, budget=query.token_budget, zone=search.zone, language=query.language
        )
    if search.looks_back:
        _add_events(search, result, ranges)

    if search.is_sampled or query.explain:
        may_be_passed_over = conf.TRACE_EXCLUDED and (not result.ranked or result.ranked[0].candidate.passed_over)
        if query.explain or may_be_passed_over:
            with result.timed("passed_over"):  # as traces and metrics have called this step from the first
                result.excluded = traces.excluded_candidates(search, result.served)
        result.explained = traces.compact([*result.ranked, *result.excluded], result.weights)


def _find(search: Search, result: Recall) -> None:
    """Fill in what is found and what of it is served, and whether that is enough."""
    query, parsed, policies = search.query, search.parsed, search.policies
    result.date_ranges, result.weights = parsed.date_ranges, search.weights
    history = query.client_history
    repeated: Collection[int] = ()
    if history:
        with result.timed("history"):
            repeated = history.entries(query.workspace_id, query.scope_ids)
    newest = conf.TRACE_EXCLUDED if search.is_sampled else 0
    with result.timed("search"):
        matches = eligible_candidates(search, more=len(repeated), newest=newest)
        is_about_former = not (query.past or parsed.newest_to) and query.mode not in BY_MATCH_ALONE
        is_about_former = is_about_former and asks_for_former(query.message)
        former = former_matches(search) if is_about_former and query.places else []
    with result.timed("rank"):
        result.ranked = score([*matches, *former], search)
    if not parsed.newest_to:
        rerank(query, result)
    if query.mode not in BY_MATCH_ALONE:
        with result.timed("corrections"):
            result.ranked = prefer_corrections(result.ranked, parsed)
            mark_replaced(result.ranked)
    if not parsed.newest_to:
        mark_unlikely(result.ranked, search)
    in_history = mark_repeated(result.ranked, history, repeated)
    with result.timed("quotas"):
        result.served = serve(result.ranked, policies, limit=query.limit, quotas=query.quotas)
        if not result.served and query.nearest:  # nothing is near enough, and what is nearest will do
            for item in result.ranked:
                item.reason = "limit" if item.reason == "floor" else item.reason
            result.served = serve(result.ranked, policies, limit=query.limit, quotas=query.quotas)
    result.ends = min(filter(None, (policies.end_of(item.entry) for item in result.served)), default=None)
    usable = best_first([*result.served, *in_history])
    result.in_history = bool(usable) and usable[0].reason != "served"
    entries = told_count(query, result.ranked)
    if parsed.newest_to:
        result.answerability = assess_newest(usable, parsed, entries)
        return
    with result.timed("evidence"):
        result.answerability = assess(result.ranked, usable, parsed, entries)
    if is_noise(result.answerability) and query.asks_for_anything and has_question_mark_or_word(query.message):
        for item in result.served:  # what a young scope has for lack of anything better would only mislead
            item.reason = "served" if item.is_meant else "unlikely"
        result.served = [item for item in result.served if item.is_meant]
    if any(item.is_meant for item in result.served):
        result.answerability = at_least_weak(result.answerability)


def rerank(query: Query, result: "Recall") -> None:
    """Put the candidates that may be served into the reranker's order; those it is not asked about come after them.

    What is below the floor is not shown to it, and so is not served for its sake. Of a long text it is shown the head
    and the tail: most rerankers read 512 tokens, the question included.
    """
    if query.mode in BY_MATCH_ALONE or not reranker.is_configured():
        return
    items = [item for item in result.ranked if item.reason == "limit"][: conf.RERANK_CANDIDATES]
    if len(items) < 2:
        return
    question = text.last_tokens(query.message, conf.EMBED_QUERY_TOKENS)
    limit, head = conf.RERANK_TEXT_TOKENS, round(conf.RERANK_TEXT_TOKENS * _HEAD)
    texts = [attributed(item.entry, item.sender) for item in items]
    texts = [
        content
        if text.count_tokens(content) <= limit
        else f"{text.first_tokens(content, head)}{_GAP}{text.last_tokens(content, limit - head)}"
        for content in texts
    ]
    with result.timed("rerank"):
        scores = reranker.scores(question, texts, seconds=conf.RERANK_SECONDS)
    if scores is None:
        result.degraded.append(RERANK)
        return
    order = sorted(range(len(items)), key=lambda place: (-scores[place], place))
    for rank, place in enumerate(order, start=1):
        items[place].reranked = Reranked(place + 1, rank, round(scores[place], 4))
    result.ranked = best_first(result.ranked)


def _parse(search: Search, result: Recall, ranges: Sequence[DateRange]) -> Search:
    """The search with what it makes of its query."""
    query = search.query
    with result.timed("words"):
        words = words_of(query)
    weights = feature_weights(search.policies) if speaks_of_one_of_several(words.named, query.scopes) else {}
    message = without_names(query.message, words.name_forms) if weights else query.message
    if query.mode in BY_MATCH_ALONE:
        return replace(search, parsed=parse_for_match(query, words))
    parsed = ParsedQuery(
        words,
        vector_of(search, message, result, is_weighed=bool(weights)),
        ranges if search.policies.weight("DATE_BOOST") else [],
        about_asker=is_about_asker(query.message, words.named, query.scopes, query.asker),
        features=weights,
        is_remark=is_remark(query.message),
        asks_of_days=bool(ranges) and bool(event_words(query.message, ranges)),
        names_unknown=names_unknown(query.message, words),
    )
    return replace(search, parsed=parsed)


def _add_events(search: Search, result: Recall, ranges: Sequence[DateRange]) -> None:
    """The messages of then, beside the memories of them; the words of a memory are not repeated in the context."""
    query, question = search.query, past_question_of(search, ranges)
    with result.timed("events"):
        events = retrieve_events(question, query, result.served, search.now)
    result.events = [event for event in events if not event.in_history]
    result.in_history |= bool(events) and events[0].in_history
    result.answerability = assess_events(
        result.answerability, events, names_days=bool(ranges), about_asker=search.parsed.about_asker
    )
    context_uids = {str(item.entry.uid) for item in result.served if item.in_context}
    more = [event for event in result.events if event.memory not in context_uids]
    notice = "" if result.context else notice_in(query.language, query.token_budget)
    tokens_left = query.token_budget - result.tokens
    lines, tokens = events_text(more, budget=tokens_left, zone=search.zone, notice=notice, language=query.language)
    result.context, result.tokens = "\n".join(filter(None, [result.context, lines])), result.tokens + tokens


@dataclass(frozen=True)
class _Cached:
    answer: "Recall"
    begins: datetime
    ends: datetime


_lock = Lock()


@lru_cache(maxsize=1)
def _answers(size: int) -> LRUCache[Hashable, _Cached]:
    return LRUCache(size)


def answer_key(query: Query, policies: Policies, zone: tzinfo) -> Hashable | None:
    """Equal for questions with the same answer; None when this one is to be answered anew."""
    is_plain = not query.explain and query.among is None and query.as_of is None and query.adjusted is None
    if not (query.cache and conf.ANSWER_CACHE and conf.ANSWER_CACHE_SIZE and is_plain):
        return None
    return (
        query.workspace_id,
        tuple((place.scope.pk, place.scope.version, place.ref) for place in query.places),
        policies.fingerprint(),
        *(query.message, query.language),
        query.asker,
        *(query.limit, query.mode, query.need, query.quotas, query.nearest, query.serve, query.token_budget),
        frozenset(query.scope_lines.items()),
        None if query.types is None else frozenset(query.types),
        frozenset(query.filters.items()),
        *(query.project, query.topic, query.since, query.until, query.before_entry),
        query.client_history,
        query.additions,
        str(zone),
    )


def kept_answer(key: Hashable | None, now: datetime) -> "Recall | None":
    """The answer kept under a key, unless its time is up."""
    if key is None:
        return None
    with _lock:
        cached = _answers(conf.ANSWER_CACHE_SIZE).get(key)
    return cached.answer if cached is not None and cached.begins <= now < cached.ends else None


def keep_answer(key: Hashable | None, answer: "Recall", now: datetime) -> None:
    """Keep an answer until the first of its memories ends, for half a minute at most; a degraded one not at all."""
    if key is None or answer.degraded or answer.cached_from or replicas.is_stale():
        return
    until = now + conf.ANSWER_CACHE_TTL
    light = replace(answer, ranked=[], excluded=[])  # the trace's rows hold all that is shown again
    with _lock:
        _answers(conf.ANSWER_CACHE_SIZE)[key] = _Cached(light, now, min(until, answer.ends or until))


def forget_answers() -> None:
    """Answer everything anew (tests)."""
    with _lock:
        _answers.cache_clear()
