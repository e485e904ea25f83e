"""The trace of a recall: written before it is answered, read and asked again later; why each was served (F5).

Beside it the line and the figures operators count recalls by, and which of the memories it was given an answer rested
on: what the bot says, and what the words tell (A14).
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django.db import connection
from django.db.models import JSONField

from memories import entries, telemetry
from memories.choices import Echo, ScopeKind
from memories.conf import conf
from memories.entries.history import served_versions
from memories.exceptions import NotServed
from memories.language import text
from memories.models import Entry, RecallTrace, Scope
from memories.models.policy import Policies
from memories.models.state import MARKS, State, state_of
from memories.recall.candidates import best_matches
from memories.recall.eligibility import all_of, audience_filter, ineligible_entries, request_filter
from memories.recall.query import BY_MATCH_ALONE, Query, Search, SearchScope, rows_of, searched_part
from memories.recall.ranking import Ranked, Reranked, score
from memories.tenancy.resolver import ScopeRef

if TYPE_CHECKING:
    from memories.recall import Recall


_FIELDS = [field for field in RecallTrace._meta.concrete_fields if not field.primary_key]
#: One statement, and a transaction of its own where it is in none.
_INSERT = f"""
WITH quick AS (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO memories_recalltrace ({", ".join(field.attname for field in _FIELDS)})
SELECT {", ".join(["%s"] * len(_FIELDS))} FROM quick RETURNING id
"""  # noqa: S608 (names of ours)


@dataclass(frozen=True)
class TracedEvent:
    """An event as a trace keeps it: where it is to be read, and why it was served."""

    path: str
    score: float
    memory: str | None = None  # the id of a served memory that rests on it
    words: float | None = None  # share of the question's words it holds
    similarity: float | None = None
    version: int | None = None  # of the event of a day; a message never changes


@dataclass(frozen=True)
class RankChange:
    """One memory, and its place among the served then and now; None: it is not among them."""

    entry_id: int
    before: int | None
    now: int | None

    @property
    def change(self) -> str:
        """«came», «went», «up», «down» or «stayed»."""
        if self.before is None:
            return "came"
        if self.now is None:
            return "went"
        return "stayed" if self.now == self.before else "up" if self.now < self.before else "down"


def write(query: Query, result: "Recall", now: datetime) -> RecallTrace:
    """The trace of a recall. It does not wait for the disk: a crash may lose the last ones, never a memory."""
    trace = RecallTrace(
        workspace_id=query.workspace_id,
        bot_id=query.bot_id,
        scopes=query.scope_ids,
        scope_keys=list(query.scope_keys) or [scope.key for scope in query.scopes],
        session_key=query.session_key,
        message=query.message,
        terms=question_terms(query.message),
        asker=query.asker,
        query=asked_json(query),
        rule=result.need.rule,
        served=[item.entry.pk for item in result.served],
        versions=[item.entry.version for item in result.served],
        evidence=_answerability_json(result),
        candidates=result.explained,
        degraded=result.degraded,
        timings=result.timings,
        tokens=result.tokens,
        created_at=now,
    )
    values = {field: getattr(trace, field.attname) for field in _FIELDS}
    for field, value in values.items():  # the driver takes all but JSON as it is
        if isinstance(field, JSONField) and value is not None:
            values[field] = connection.ops.adapt_json_value(value, None)
    ((trace.pk,),) = rows_of(_INSERT, list(values.values()))
    trace._state.adding = False
    return trace


def question_terms(message: str) -> list[int]:
    """What a trace is found by: the index terms of what is searched of a message, and its Chinese characters."""
    searched = searched_part(message)
    return sorted({*text.terms(searched), *map(text.dimension_of, text.characters(searched))})


def is_sampled() -> bool:
    """Whether the candidates of the next recall are kept."""
    return conf.TRACE_SAMPLE >= 1 or secrets.randbelow(10_000) < conf.TRACE_SAMPLE * 10_000


def events_of(trace: RecallTrace) -> list[TracedEvent]:
    """What a recall found of the past, best first; traces of before know neither words nor similarity."""
    return [TracedEvent(*row) for row in trace.evidence.get("events", [])]


#: Fields of a query that a trace keeps as they are: always, and where they are not left at their default.
_KEPT = ("limit", "mode", "project", "topic", "need", "quotas", "token_budget")
_KEPT_IF_SET = ("nearest", "serve", "serve_source", "always_events")
_DEFAULTS = {field.name: field.default for field in fields(Query)}


def asked_json(query: Query) -> dict[str, Any]:
    """What was asked besides the message; nothing that was left at its default."""
    details = {name: getattr(query, name) for name in _KEPT} | {
        "types": query.types and list(query.types),
        "filters": dict(query.filters),
        "since": query.since and query.since.isoformat(),
        "until": query.until and query.until.isoformat(),
        "narrowed": query.among is not None or None,
        "scope_lines": {str(scope): line for scope, line in query.scope_lines.items()},
        "include_session_events": None if query.include_session_events else False,
        # by scope, of whose memories only a part may be heard in the group: the chat it has to come from; None: any
        "heard": {str(place.scope.pk): place.ref.only_chat for place in query.places if place.ref.in_group},
        "asker": query.asker or None,
        "as_of": query.as_of and query.as_of.isoformat(),
        "resolved": {phrase: list(meaning) for phrase, meaning in query.resolved},
        # not whom they mean: that is a memory's word, which may be taken out
        "relations": [phrase for phrase, _meaning in query.relations],
    }
    details |= {name: value for name in _KEPT_IF_SET if (value := getattr(query, name)) != _DEFAULTS[name]}
    return {name: value for name, value in details.items() if value not in (None, {}, [])}


def _answerability_json(result: "Recall") -> dict[str, Any]:
    """The verdict with its signs, and the days that were understood, each with the words that named them."""
    if not result.need.retrieve:
        return {}
    row = result.answerability.as_json()
    if result.cached_from is not None:
        row |= {"cached_from": str(result.cached_from)}
    if result.events:  # of the retriever that found them; each has the fields of a TracedEvent
        row["events"] = [
            [
                *(event.path, _short(event.score), event.memory, _short(event.covered)),
                *(_short(event.similarity), event.version),
            ]
            for event in result.events
        ]
    return row | {"days": [[day.start.isoformat(), day.end.isoformat(), day.words] for day in result.date_ranges]}


# -- asking again


def query_of(trace: RecallTrace) -> Query:
    """What a trace says was asked, under the same walls; scopes that are gone are not asked again."""
    scopes = Scope.objects.in_workspace(trace.workspace_id).in_bulk(trace.scopes)
    remaining_scopes = [scopes[pk] for pk in trace.scopes if pk in scopes]
    chat = next((scope.key for scope in remaining_scopes if scope.kind == ScopeKind.CHAT), None)
    heard = trace.query.get("heard")
    places = []
    for scope in remaining_scopes:
        if heard is None:  # traces of before do not tell: what a group hears by default
            only_chat, in_group = chat if scope.kind == ScopeKind.USER else None, chat is not None
        else:
            only_chat, in_group = heard.get(str(scope.pk)), str(scope.pk) in heard
        ref = ScopeRef(key=scope.key, kind=scope.kind, only_chat=only_chat, in_group=in_group)
        places.append(SearchScope(scope, ref))
    return query_from(
        trace.query,
        served_pks=trace.served,
        workspace_id=trace.workspace_id,
        places=places,
        message=trace.message,
        session_key=trace.session_key,
        scope_keys=trace.scope_keys,
        bot_id=trace.bot_id,
        asker=trace.query.get("asker", ""),
        explain=True,
    )


def query_from(saved_query: Mapping[str, Any], *, served_pks: Sequence[int], **others: Any) -> Query:
    """The query of what `asked_json` kept, asked of memory as it is; `others` are the fields not kept there."""
    kept = {name: saved_query[name] for name in (*_KEPT, *_KEPT_IF_SET, "types", "filters") if name in saved_query}
    return Query(
        **kept,
        since=moment_from(saved_query.get("since")),
        until=moment_from(saved_query.get("until")),
        # a door's filter is not kept: of what it named, that which was served is asked for again
        among=Entry.objects.filter(pk__in=served_pks) if saved_query.get("narrowed") else None,
        include_session_events=saved_query.get("include_session_events", True),
        resolved=tuple((phrase, tuple(meaning)) for phrase, meaning in saved_query.get("resolved", {}).items()),
        **others,
    )


def rank_changes(trace: RecallTrace, served_items: Sequence[Ranked]) -> list[RankChange]:
    """What is served now in its order, then what no longer is."""
    before = {entry: place for place, entry in enumerate(trace.served, start=1)}
    now = {item.entry.pk: place for place, item in enumerate(served_items, start=1)}
    return [RankChange(entry, before.get(entry), now.get(entry)) for entry in dict.fromkeys([*now, *before])]


def moment_from(iso: str | None) -> datetime | None:
    """A moment that `asked_json` kept."""
    return datetime.fromisoformat(iso) if iso else None


log = structlog.get_logger("memories.recall")


def log_recall(query: Query, result: "Recall") -> None:
    """The line operators count recalls by; words of users only when the owner wants them (A14)."""
    log.info(
        "memory_recall",
        user_id=query.asker,
        scope=query.places[0].scope.key if query.places else "",
        keywords=query.message if conf.LOG_CONTENT else len(text.terms(searched_part(query.message))),
        results_count=len(result.served),
        latency_ms=result.timings["total"],
        store_type="keyword" if "embedding" in result.degraded or query.mode in BY_MATCH_ALONE else "hybrid",
        degraded=result.degraded,
    )
    if query.as_of is not None:  # asked to look back, not to answer
        return
    telemetry.count_recall(
        verdict=result.answerability.verdict if result.need.retrieve else "",
        entries=len(result.served),
        milliseconds=result.timings,
        degraded=result.degraded,
    )


def record_feedback(trace: RecallTrace, used_uids: Sequence[UUID], note: str = "") -> None:
    """Keep what a bot says its answer rested on; the last word counts. Raises NotServed."""
    used_entries = served_ids(trace, used_uids)
    _measure(trace, len(used_entries))
    trace.used, trace.note = list(used_entries.values()), note or trace.note
    trace.save(update_fields=["used", "note"])


def _measure(trace: RecallTrace, used_count: int) -> None:
    """Count what is heard first of a recall; what is heard later corrects the trace only."""
    if trace.used is None and trace.overlap is None:
        telemetry.count_report(served_count=len(trace.served), used_count=used_count)


def served_ids(trace: RecallTrace, uids: Sequence[UUID]) -> dict[UUID, int]:
    """The entries with these ids, all served by this recall. Raises NotServed, naming the first that was not."""
    rows = Entry.objects.filter(workspace_id=trace.workspace_id, pk__in=trace.served, uid__in=uids)
    pk_by_uid = dict(rows.values_list("uid", "pk"))
    for position, uid in enumerate(uids):
        if uid not in pk_by_uid:
            raise NotServed(field=f"used.{position}")
    return {uid: pk_by_uid[uid] for uid in uids}


def record_answer(trace: RecallTrace, *, question: str, answer: str) -> None:
    """Keep which served memories the words of an answer point to, beside what the bot itself may say."""
    entries = Entry.objects.filter(workspace_id=trace.workspace_id).in_bulk(trace.served)
    memories = {pk: version.words for pk, version in served_versions(trace, entries).items()}
    shares = reference_shares(answer, f"{trace.message}\n{question}", memories)
    pointed_to = [pk for pk in trace.served if shares.get(pk, 0.0) >= conf.REFERENCE_SHARE]
    _measure(trace, len(pointed_to))
    trace.overlap = pointed_to
    trace.save(update_fields=["overlap"])


def reference_shares(answer: str, question: str, memories: Mapping[int, str]) -> dict[int, float]:
    """How much of what is new in an answer each memory alone explains, 0–1.

    New are the answer's words (stems, Chinese words and bigrams, without stopwords) that the question did not hold. A
    word that several memories hold counts for each in equal parts, so that what all of them say points to none. From
    REFERENCE_SHARE on a memory counts as used. It is a guess: an answer that says a memory in other words is missed,
    one that meets its words by chance is not told apart. How often it is right shows where bots also name what they
    used (see `precision`).
    """
    new = text.terms(answer).keys() - text.terms(question).keys()
    if not new:
        return {}
    held_terms = {pk: new & text.terms(content).keys() for pk, content in memories.items()}
    holders = Counter(term for terms in held_terms.values() for term in terms)
    return {pk: sum(1 / holders[term] for term in terms) / len(new) for pk, terms in held_terms.items()}


def precision(traces: Sequence[RecallTrace]) -> float | None:
    """Of the entries the words pointed to, the share the bots named too; None when nothing can be compared."""
    both = [trace for trace in traces if trace.used is not None and trace.overlap]
    guessed = sum(len(trace.overlap or []) for trace in both)
    right = sum(len(set(trace.overlap or []) & set(trace.used or [])) for trace in both)
    return right / guessed if guessed else None


_OUT_OF_USE = tuple(state.value for state in MARKS)

#: What can become of a candidate; «history»: the messages the client has say it already. The last six would have
#: ranked, had they been live, in time, heard here, and of the project that was named.
REASONS = (
    *("served", "limit", "quota", "duplicate", "floor", "unlikely", "history", "echo"),
    *(*_OUT_OF_USE, "other_scope", "other_project"),
)
#: What bots do not learn of what may not be served: its words; of what another scope holds also which it is.
WITHHELD = {
    **dict.fromkeys(_OUT_OF_USE, ("content", "slots")),
    "other_scope": (
        *("content", "id", "scope", "type", "created_at", "sender", "sender_name", "slots", "origin", "trust"),
        *("suspect", "score", "relevance", "why"),
    ),
}
#: How candidates are written since traces tell where each retriever ranked them; before they were bare rows of _FIRST.
VERSION = 2
_FIRST = ("entry", "keyword", "similarity", "named", "decay", "score", "fate")


@dataclass(frozen=True, kw_only=True)
class CandidateRecord:
    """One candidate. What a trace does not tell is None."""

    entry: int
    version: int | None = None  # of the entry at the time
    keyword: float | None = None
    keyword_rank: int | None = None  # among what was looked at; None: this retriever did not find it
    vector: float | None = None
    vector_rank: int | None = None
    similarity: float | None = None
    named: bool = False
    date: float | None = None
    fused: float | None = None
    decay: float | None = None
    recency: float | None = None
    speaker_factor: float | None = None
    relevance: float | None = None
    signs: Mapping[str, float] | None = None  # what the relevance is drawn from
    features: Mapping[str, float] | None = None  # what each added to the score
    score: float | None = None
    rerank: Reranked | None = None
    in_context: bool | None = None
    superseded_by: str | None = None  # uid of the newer statement that corrects it
    reason: str = "served"


#: Fields that traces keep under the names they had when the first of them were written.
_STORED_AS = {"reason": "fate", "speaker_factor": "whose"}
_FIELD_OF = {_STORED_AS.get(field.name, field.name): field.name for field in fields(CandidateRecord)}
COLUMNS = tuple(_FIELD_OF)


def record_of(item: Ranked) -> CandidateRecord:
    """A candidate as it is shown."""
    candidate = item.candidate
    return CandidateRecord(
        entry=candidate.entry_id,
        version=item.entry.version,
        keyword=_short(candidate.keyword),
        keyword_rank=item.ranks.get("keyword"),
        vector=_short(candidate.vector),
        vector_rank=item.ranks.get("vector"),
        similarity=_short(item.similarity),
        named=candidate.named,
        date=_short(candidate.date),
        fused=_short(candidate.fused),
        decay=_short(item.decay),
        recency=_short(item.recency),
        speaker_factor=_short(item.speaker_factor),
        relevance=_short(item.relevance),
        signs={name: value for name, value in item.signs.items() if value} or None,
        features={name: round(value, 4) for name, value in item.features.items()} or None,
        score=_short(item.score),
        rerank=item.reranked,
        in_context=item.in_context,
        superseded_by=str(item.superseded_by) if item.superseded_by else None,
        reason=item.reason,
    )


def compact(items: Iterable[Ranked], weights: Mapping[str, float]) -> dict[str, Any]:
    """Candidates as a trace keeps them: the names of the columns once, a row each, and what each part counted for.

    A yes or no takes one character.
    """
    records = map(record_of, items)
    rows = [[int(value) if isinstance(value, bool) else value for value in vars(record).values()] for record in records]
    return {"version": VERSION, "columns": COLUMNS, "weights": dict(weights), "rows": rows}


def records_of(candidates: Any) -> list[CandidateRecord]:
    """The candidates of a trace, of whatever version; none when none were kept."""
    if isinstance(candidates, list):
        return [_read(_FIRST, row) for row in candidates]
    return [_read(candidates["columns"], row) for row in candidates["rows"]] if candidates else []


def weights_of(candidates: Any) -> dict[str, float]:
    """What each part counted for when these were ranked; nothing where that was not kept."""
    return dict(candidates["weights"]) if isinstance(candidates, dict) else {}


def why(line: CandidateRecord, weights: Mapping[str, float]) -> dict[str, Any]:
    """The numbers of a rank as the wire tells them."""
    return {
        "keyword": line.keyword,
        "keyword_rank": line.keyword_rank,
        "vector": line.vector,
        "vector_rank": line.vector_rank,
        "similarity": line.similarity,
        "date": line.date,
        "speaker_named": line.named,
        "boosts": boosts(line, weights),
        "fused": line.fused,
        "decay": line.decay,
        "recency": line.recency,
        "features": dict(line.features or {}),
        "whose": line.speaker_factor,
        "relevance": line.relevance,
        "signs": dict(line.signs or {}),
        "rerank": line.rerank and line.rerank._asdict(),
        "in_context": line.in_context,
    }


def boosts(line: CandidateRecord, weights: Mapping[str, float]) -> dict[str, float]:
    """What was added to the retrievers, because the question names its author, or its day."""
    return {
        "speaker": round(weights.get("boost", 0.0) * line.named, 4),
        "date": round(weights.get("date_boost", 0.0) * (line.date or 0.0), 4),
    }


def _read(names: Sequence[str], row: Sequence[Any]) -> CandidateRecord:
    values = {_FIELD_OF[name]: value for name, value in zip(names, row, strict=True) if name in _FIELD_OF}
    in_context, rerank = values.get("in_context"), values.get("rerank")
    values["named"] = bool(values.get("named"))
    values["in_context"] = None if in_context is None else bool(in_context)
    values["rerank"] = Reranked(*rerank) if rerank else None
    return CandidateRecord(**values)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


# -- excluded candidates: what would have been served, were it live, in time and heard here. A second, small search over
# the newest entries that may not be served. Nobody is answered with what it finds: it goes into the trace, and what a
# bot learns of it has no words.

MAX_EXCLUDED = 5
_CLOSE = 20  # candidates of which the best are shown
_UNHEARD = """
SELECT i.entry_id FROM memories_entryindex i JOIN memories_entry e ON e.id = i.entry_id
WHERE i.entry_id = ANY(%(excluded)s::bigint[]) AND NOT ({heard})
"""


def excluded_candidates(search: Search, served_items: Sequence[Ranked]) -> list[Ranked]:
    """At most five entries that would have been among the served, each with the reason why it may not be."""
    query, policies, now = search.query, search.policies, search.now
    newest = None if query.explain else conf.TRACE_EXCLUDED
    ineligible, parameters = ineligible_entries(query, policies, now, newest=newest)
    where = [f"i.entry_id = ANY(ARRAY({ineligible}))"], parameters
    matches = best_matches(search, all_of(where, request_filter(query)), limit=_CLOSE)
    least = min((item.score for item in served_items), default=0.0) if len(served_items) >= query.limit else 0.0
    ranked = score(matches, search)
    excluded = [item for item in ranked if item.reason != "floor" and item.score >= least][:MAX_EXCLUDED]

    # a person's own memories that the group where it is asked may not hear
    unheard: set[int] = set()
    conditions, parameters = audience_filter(query)
    if conditions and excluded:
        parameters |= {"excluded": [item.entry.pk for item in excluded]}
        unheard = {entry for (entry,) in rows_of(_UNHEARD.format(heard=" AND ".join(conditions)), parameters)}
    for item in excluded:
        item.ranks = {}  # among others than what was looked at
        item.reason = "other_scope" if item.entry.pk in unheard else _reason(item.entry, policies, now)
    return excluded


def _reason(entry: Entry, policies: Policies, now: datetime) -> str:
    if entry.echo == Echo.TURN:
        return "echo"
    state = state_of(entry, policies.end_of(entry), now)
    if state != State.LIVE:
        return State.EXPIRED.value if state == State.DUE else state.value
    is_outdated = entry.tier == 1 and entry.slots.filter(name=entries.CONTRADICTED_BY).exists()
    return "superseded" if is_outdated else "other_project"
