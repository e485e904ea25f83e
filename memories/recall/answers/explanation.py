"""Why a memory was served or excluded: every number of its rank, as traces keep it and as it is told (F5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import connection

from memories import entries
from memories.choices import Echo
from memories.conf import conf
from memories.models import Entry
from memories.models.policy import Policies
from memories.models.state import MARKS, State, state_of
from memories.recall.question.query import ParsedQuery, Query
from memories.recall.ranking.scoring import Ranked, Reranked, score
from memories.recall.retrieval.filters import all_of, audience_filter, ineligible_entries, request_filter
from memories.recall.retrieval.statement import search

_OUT_OF_USE = tuple(state.value for state in MARKS)

#: What can become of a candidate; «history»: the messages the client has say it already. The last six would have
#: ranked, had they been live, in time, heard here, and of the project that was named.
REASONS = (
    *("served", "limit", "quota", "duplicate", "floor", "history", "echo"),
    *(*_OUT_OF_USE, "other_scope", "other_project"),
)
#: What bots are not told of what may not be served: its words; of what another scope holds also which it is.
WITHHELD = {
    **dict.fromkeys(_OUT_OF_USE, ("content", "slots")),
    "other_scope": (
        *("content", "id", "scope", "type", "created_at", "sender", "sender_name", "slots", "score", "why"),
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
    features: Mapping[str, float] | None = None  # what each added to the score
    score: float | None = None
    rerank: Reranked | None = None
    in_context: bool | None = None
    superseded_by: str | None = None  # uid of the newer statement that corrects it
    reason: str = "served"


#: Fields that traces keep under the names they had when the first of them were written.
_STORED_AS = {"reason": "fate", "speaker_factor": "whose"}
COLUMNS = tuple(_STORED_AS.get(field.name, field.name) for field in fields(CandidateRecord))
_NAMES = tuple(field.name for field in fields(CandidateRecord))
_FIELD_OF = {_STORED_AS.get(field.name, field.name): field.name for field in fields(CandidateRecord)}


def record_of(item: Ranked) -> CandidateRecord:
    """A candidate as it is told."""
    return CandidateRecord(**dict(zip(_NAMES, _values(item), strict=True)))


def _values(item: Ranked) -> tuple[Any, ...]:
    """What is told of a candidate, in the order of the fields of its record."""
    found = item.candidate
    return (
        found.entry_id,
        item.entry.version,
        _short(found.keyword),
        item.ranks.get("keyword"),
        _short(found.vector),
        item.ranks.get("vector"),
        _short(item.similarity),
        found.named,
        _short(found.date),
        _short(found.fused),
        _short(item.decay),
        _short(item.recency),
        _short(item.speaker_factor),
        {name: round(value, 4) for name, value in item.features.items()} or None,
        _short(item.score),
        item.reranked,
        item.in_context,
        str(item.superseded_by) if item.superseded_by else None,
        item.reason,
    )


def compact(items: Iterable[Ranked], weights: Mapping[str, float]) -> dict[str, Any]:
    """Candidates as a trace keeps them: the names of the columns once, a row each, and what each part counted for."""
    return {
        "version": VERSION,
        "columns": COLUMNS,
        "weights": dict(weights),
        "rows": [[_cell(value) for value in _values(item)] for item in items],
    }


def records_of(kept: Any) -> list[CandidateRecord]:
    """The candidates of a trace, of whatever version; none when none were kept."""
    if isinstance(kept, list):
        return [_read(_FIRST, row) for row in kept]
    return [_read(kept["columns"], row) for row in kept["rows"]] if kept else []


def weights_of(kept: Any) -> dict[str, float]:
    """What each part counted for when these were ranked; nothing where that was not kept."""
    return dict(kept["weights"]) if isinstance(kept, dict) else {}


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
        "rerank": line.rerank and line.rerank._asdict(),
        "in_context": line.in_context,
    }


def boosts(line: CandidateRecord, weights: Mapping[str, float]) -> dict[str, float]:
    """What was added to the retrievers, because the question names who said it, or when."""
    return {
        "speaker": round(weights.get("boost", 0.0) * line.named, 4),
        "date": round(weights.get("date_boost", 0.0) * (line.date or 0.0), 4),
    }


def _read(names: Sequence[str], row: Sequence[Any]) -> CandidateRecord:
    told = {_FIELD_OF[name]: value for name, value in zip(names, row, strict=True) if name in _FIELD_OF}
    in_context, rerank = told.get("in_context"), told.get("rerank")
    told["named"] = bool(told.get("named"))
    told["in_context"] = None if in_context is None else bool(in_context)
    told["rerank"] = Reranked(*rerank) if rerank else None
    return CandidateRecord(**told)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _cell(value: Any) -> Any:
    """A yes or no takes one character."""
    return int(value) if isinstance(value, bool) else value


# -- excluded candidates: what would have been served, were it live, in time and heard here. A second, small search over
# the newest entries that may not be served. Nobody is answered with what it finds: it goes into the trace, and what a
# bot is told of it has no words.

MAX_EXCLUDED = 5
_CLOSE = 20  # candidates of which the best are told


def excluded_candidates(
    query: Query,
    parsed: ParsedQuery,
    weights: Mapping[str, float],
    policies: Policies,
    served: Sequence[Ranked],
    now: datetime,
) -> list[Ranked]:
    """At most five entries that would have been among the served, each with the reason why it may not be."""
    newest = None if query.explain else conf.TRACE_EXCLUDED
    ineligible, parameters = ineligible_entries(query, policies, now, newest=newest)
    where = [f"i.entry_id = ANY(ARRAY({ineligible}))"], parameters
    matches = search(query, parsed, weights, all_of(where, request_filter(query)), limit=_CLOSE)
    least = min((item.score for item in served), default=0.0) if len(served) >= query.limit else 0.0
    ranked = score(matches, query, parsed, weights, now)
    excluded = [item for item in ranked if item.reason != "floor" and item.score >= least][:MAX_EXCLUDED]
    unheard = _not_heard_here(query, excluded)
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


def _not_heard_here(query: Query, items: Sequence[Ranked]) -> set[int]:
    """Those of a person's own memories that the group where it is asked may not hear."""
    conditions, parameters = audience_filter(query)
    if not (conditions and items):
        return set()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT i.entry_id FROM memories_entryindex i JOIN memories_entry e ON e.id = i.entry_id"  # noqa: S608 (conditions of ours)
            f" WHERE i.entry_id = ANY(%(missed)s::bigint[]) AND NOT ({' AND '.join(conditions)})",
            parameters | {"missed": [item.entry.pk for item in items]},
        )
        return {entry for (entry,) in cursor.fetchall()}
