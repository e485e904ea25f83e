"""The one statement of recall: both legs over the scopes, what may be served, and the fused score (A7, A9, E5).

Exact within the scope: an approximate index over all scopes loses most answers of a small one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from memories.blending import dense_literal, sparse_literal
from memories.choices import Category, EntryType, Fusion, ScopeKind
from memories.conf import conf
from memories.drafts import COLUMN_SLOTS
from memories.models.policy import Policies
from memories.retrieval.nearness import Direction
from memories.retrieval.query import Query, Words
from memories.retrieval.when import Moment, dated


@dataclass(frozen=True)
class Sought:
    """What the search makes of a query: its words, where it points, the days it names."""

    words: Words
    direction: Direction | None
    moments: Sequence[Moment]


@dataclass(frozen=True)
class Candidate:
    """An entry the legs found, with every part of its score."""

    entry_id: int
    scope_id: int
    keyword: float  # how much of the question's words a text has; 1: all, again and again
    vector: float | None  # nearness on the ranking's scale; None: no vector, ranked as the average
    named: bool
    fused: float
    date: float = 0.0  # 1: said on days the question names, falling to 0 in the days after
    cosine: float | None = None


_LIVE = "e.expired_at IS NULL AND e.archived_at IS NULL AND e.superseded_by_id IS NULL AND e.suppressed_at IS NULL"

#: Materialised, so that what is sorted are numbers and not the vectors they were computed from.
_SCORED = """
WITH scored AS MATERIALIZED (
    SELECT i.entry_id, i.scope_id,
        greatest(-(i.keywords <#> %(keywords)s::sparsevec), 0) AS keyword,
        {vector} AS vector,
        e.speaker = ANY(%(named)s::text[]) AS named,
        {date} AS date
    FROM memories_entryindex i
    JOIN memories_entry e ON e.id = i.entry_id
    WHERE i.workspace_id = %(workspace)s AND i.scope_id = ANY(%(scopes)s::bigint[]) AND {conditions}
)
"""
#: Inner products, for the question is moved and no longer of length 1.
_VECTOR = (
    "CASE WHEN i.model_id = %(model)s THEN"
    " (-(i.embedding::halfvec({dimension}) <#> %(aimed)s::halfvec({dimension})) - %(zero)s) / %(span)s END"
)
_COSINE = (
    "CASE WHEN i.model_id = %(model)s THEN -(i.embedding::halfvec({dimension}) <#> %(asked)s::halfvec({dimension})) END"
)
_RELATIVE = """
SELECT best.entry_id, best.scope_id, keyword, vector, named, fused, date, {cosine} AS cosine FROM (
    SELECT *, (1 - %(alpha)s) * keyword + %(alpha)s * coalesce(vector, %(of_average)s)
        + %(boost)s * named::int + %(date_boost)s * date AS fused
    FROM scored WHERE %(alpha)s > 0 OR keyword > 0 OR named OR date > 0
    ORDER BY fused DESC, entry_id DESC LIMIT %(limit)s
) best JOIN memories_entryindex i ON i.entry_id = best.entry_id ORDER BY fused DESC, best.entry_id DESC
"""
_RRF = """
, ranked AS (
    SELECT *, rank() OVER (ORDER BY keyword DESC) AS keyword_rank,
        rank() OVER (ORDER BY vector DESC NULLS LAST) AS vector_rank
    FROM scored WHERE keyword > 0 OR vector > %(of_average)s OR named OR date > 0
)
SELECT ranked.entry_id, ranked.scope_id, keyword, vector, named,
    (CASE WHEN keyword > 0 THEN (1 - %(alpha)s::float8) / (%(k)s + keyword_rank) ELSE 0 END
     + CASE WHEN vector > %(of_average)s THEN %(alpha)s::float8 / (%(k)s + vector_rank) ELSE 0 END)
    * (%(k)s + 1) + %(boost)s * named::int + %(date_boost)s * date AS fused, date, {cosine} AS cosine
FROM ranked JOIN memories_entryindex i ON i.entry_id = ranked.entry_id
ORDER BY fused DESC, ranked.entry_id DESC LIMIT %(limit)s
"""


def candidates(query: Query, sought: Sought, policies: Policies, now: datetime) -> list[Candidate]:
    """The best entries of the query's scopes that may be served at this moment, best first."""
    conditions, parameters = _eligible(query, policies, now)
    near, near_parameters = _near(sought.direction)
    date, date_parameters = dated(sought.moments)
    parameters |= near_parameters | date_parameters
    parameters |= {
        "keywords": sparse_literal(sought.words.shares),
        "named": sought.words.named,
        "alpha": _alpha(query, policies, has_vector=sought.direction is not None),
        "boost": policies.weight("SPEAKER_BOOST"),
        "date_boost": conf.DATE_BOOST,
        "k": conf.RRF_K,
        "limit": max(conf.RECALL_CANDIDATES, query.limit * 2),
    }
    statement = _SCORED + (_RRF if conf.FUSION == Fusion.RRF else _RELATIVE)
    for name, part in (near | {"date": date, "conditions": " AND ".join(conditions)}).items():
        statement = statement.replace(f"{{{name}}}", part)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [Candidate(*row) for row in cursor.fetchall()]


def _near(direction: Direction | None) -> tuple[dict[str, str], dict[str, Any]]:
    """The vector leg, in SQL; the plain cosine is computed for the best alone."""
    if direction is None:
        return {"vector": "NULL::float8", "cosine": "NULL::float8"}, {"of_average": 0.0}
    parts = {"vector": _VECTOR, "cosine": _COSINE}
    dimension = str(int(direction.model.dimension))
    return {name: part.replace("{dimension}", dimension) for name, part in parts.items()}, {
        "model": direction.model.pk,
        "asked": dense_literal(direction.asked),
        "aimed": dense_literal(direction.aimed),
        "zero": direction.zero,
        "span": direction.span,
        "of_average": direction.of_average,
    }


def _alpha(query: Query, policies: Policies, *, has_vector: bool) -> float:
    """The weight of the vector leg; a leg that cannot run weighs nothing."""
    if query.mode == "keyword" or not has_vector:
        return 0.0
    return 1.0 if query.mode == "vector" else policies.weight("ALPHA")


def _eligible(query: Query, policies: Policies, now: datetime) -> tuple[list[str], dict[str, Any]]:
    """What may be served: live, in time, heard where it is asked for, and within the filters."""
    conditions = [_LIVE]
    parameters: dict[str, Any] = {
        "workspace": query.workspace_id,
        "scopes": [scope.pk for scope in query.scopes],
        "now": now,
    }
    for part in (_in_time(query, policies, now), _heard_here(query), _filtered(query)):
        conditions += part[0]
        parameters |= part[1]
    return conditions, parameters


_Part = tuple[list[str], dict[str, Any]]


def _in_time(query: Query, policies: Policies, now: datetime) -> _Part:
    """Past its time to live nothing is served, even before any job ran (A9)."""
    user = [place.scope.pk for place in query.places if place.scope.kind == ScopeKind.USER]
    cases: list[str] = []
    parameters: dict[str, Any] = {"user_scopes": user}
    for n, (entry_type, kind) in enumerate((t, k) for t in EntryType for k in ScopeKind):
        ttl = policies.ttl(entry_type, kind)
        if ttl is not None:
            side = "" if kind == ScopeKind.USER else "NOT "
            cases.append(
                f"WHEN e.type = '{entry_type}' AND {side}i.scope_id = ANY(%(user_scopes)s::bigint[]) THEN %(cut{n})s"
            )
            parameters[f"cut{n}"] = now - ttl
    cutoff = f"CASE {' '.join(cases)} END" if cases else "NULL::timestamptz"
    return [
        "CASE WHEN e.expires_at IS NOT NULL THEN e.expires_at > %(now)s WHEN e.pinned THEN true"
        f" ELSE coalesce(e.stated_at > ({cutoff}), true) END"
    ], parameters


def _heard_here(query: Query) -> _Part:
    """In a group a person's own memories are served only as far as the group may hear them (A3)."""
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    for n, place in enumerate(query.places):
        if not (place.ref.in_group and place.ref.kind == ScopeKind.USER):
            continue
        parameters[f"guarded{n}"] = place.scope.pk
        heard = [f"e.category <> '{Category.CREDENTIAL}'"]
        if place.ref.only_chat is not None:
            heard.append(f"e.chats <> '{{}}' AND e.chats <@ ARRAY[%(only{n})s::varchar]")
            heard.append("e.tier IS DISTINCT FROM 1")
            parameters[f"only{n}"] = place.ref.only_chat
        conditions.append(f"(i.scope_id <> %(guarded{n})s OR ({' AND '.join(heard)}))")
    return conditions, parameters


def _filtered(query: Query) -> _Part:
    """The request's own filters, applied before anything is ranked (A2)."""
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    if query.types is not None:
        conditions.append("e.type = ANY(%(types)s::text[])")
        parameters["types"] = list(query.types)
    for column, operator, value in (
        ("e.project", "=", query.project),
        ("e.created_at", ">=", query.since),
        ("e.created_at", "<", query.until),
        ("e.id", "<", query.before_entry),
    ):
        if value is not None:
            name = f"f{len(parameters)}"
            conditions.append(f"{column} {operator} %({name})s")
            parameters[name] = value
    for n, (slot, value) in enumerate(query.filters.items()):
        conditions.append(_slot_filter(slot, n))
        parameters |= {f"slot{n}": slot, f"value{n}": value}
    return conditions, parameters


def _slot_filter(slot: str, n: int) -> str:
    if slot in COLUMN_SLOTS or slot in ("type", "source"):
        return f"e.{slot} = %(value{n})s"
    if slot == "scope":
        return f"(%(value{n})s = 'user') = (i.scope_id = ANY(%(user_scopes)s::bigint[]))"
    return (
        "EXISTS (SELECT 1 FROM memories_slot s WHERE s.entry_id = e.id"  # noqa: S608 (n is a number of ours)
        f" AND s.name = %(slot{n})s AND s.value = %(value{n})s)"
    )
