"""The one statement of recall: both legs over the scopes, what may be served, and the fused score (A7, A9, E5).

Exact within the scope: an approximate index over all scopes loses most answers of a small one.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from memories.blending import dense_literal, sparse_literal
from memories.choices import Category, EntryType, Fusion, ScopeKind
from memories.conf import conf
from memories.drafts import COLUMN_SLOTS
from memories.models.entry import LIVE_SQL
from memories.models.policy import Policies
from memories.retrieval.modes import Mode, Sought
from memories.retrieval.nearness import Direction
from memories.retrieval.projects import own_facts
from memories.retrieval.query import Query
from memories.retrieval.when import dated


@dataclass(frozen=True)
class Candidate:
    """An entry the legs found, with every part of its score."""

    entry_id: int
    scope_id: int
    keyword: float  # how much of the question's words a text has; 1: all, again and again (or see Mode)
    vector: float | None  # nearness on the ranking's scale; None: no vector, ranked as the average
    named: bool
    fused: float
    date: float = 0.0  # 1: said on days the question names, falling to 0 in the days after
    cosine: float | None = None


#: With OFFSET, so that what is sorted are numbers and not the vectors they were computed from.
_SCORED = """
    SELECT i.entry_id, i.scope_id,
        {keyword} AS keyword,
        {vector} AS vector,
        (i.scope_id, e.speaker) IN (SELECT * FROM unnest(%(named_in)s::bigint[], %(named)s::text[])) AS named,
        {date} AS date
    FROM memories_entryindex i
    JOIN memories_entry e ON e.id = i.entry_id
    WHERE {conditions}
    OFFSET 0
"""
#: Told to be doubles: as decimals, which literals are, they take a fifth of the whole statement's time.
_BOOSTS = "%(boost)s::float8 * named::int + %(date_boost)s::float8 * date"
_COVERAGE = "greatest(-(i.keywords <#> %(keywords)s::sparsevec), 0)"
#: Folded once a row (OFFSET keeps the planner from doing it once a word); the labels of a turn are no words of it. To
#: normalise the width of every text takes three times as long: Latin words are looked for in both widths instead.
_AS_THEY_STAND = (
    "(SELECT count(*) FROM (SELECT lower({content}) AS said OFFSET 0) folded,"
    " unnest(%(needles)s::text[], %(wide)s::text[]) AS n (needle, wide)"
    " WHERE strpos(said, needle) > 0 OR (wide <> needle AND strpos(said, wide) > 0))::float8 / %(needed)s"
)
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_UNLABELLED = "regexp_replace(e.content, '^(User|Assistant): ', '', 'ng')"
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
        + {boosts} AS fused
    FROM ({scored}) scored WHERE %(alpha)s > 0 OR keyword > 0 OR named OR date > 0
    ORDER BY fused DESC, entry_id DESC LIMIT %(limit)s
) best JOIN memories_entryindex i ON i.entry_id = best.entry_id ORDER BY fused DESC, best.entry_id DESC
"""
_RRF = """
WITH scored AS MATERIALIZED ({scored}), ranked AS (
    SELECT *, rank() OVER (ORDER BY keyword DESC) AS keyword_rank,
        rank() OVER (ORDER BY vector DESC NULLS LAST) AS vector_rank
    FROM scored WHERE keyword > 0 OR vector > %(of_average)s OR named OR date > 0
)
SELECT ranked.entry_id, ranked.scope_id, keyword, vector, named,
    (CASE WHEN keyword > 0 THEN (1 - %(alpha)s::float8) / (%(k)s + keyword_rank) ELSE 0 END
     + CASE WHEN vector > %(of_average)s THEN %(alpha)s::float8 / (%(k)s + vector_rank) ELSE 0 END)
    * (%(k)s + 1) + {boosts} AS fused, date, {cosine} AS cosine
FROM ranked JOIN memories_entryindex i ON i.entry_id = ranked.entry_id
ORDER BY fused DESC, ranked.entry_id DESC LIMIT %(limit)s
"""


def candidates(query: Query, sought: Sought, policies: Policies, now: datetime) -> list[Candidate]:
    """The best entries of the query's scopes that may be served at this moment, best first."""
    return found(query, sought, policies, both(eligible(query, sought, policies, now), asked_for(query)))


def found(query: Query, sought: Sought, policies: Policies, where: "Part", limit: int | None = None) -> list[Candidate]:
    """The best entries of the query's scopes under a condition, best first."""
    conditions, parameters = both(within(query), where, _own_words(sought))
    date, date_parameters = dated(sought.moments)
    near, near_parameters = _near(sought.direction)
    keyword, keyword_parameters = _keyword(query, sought)
    parameters |= near_parameters | date_parameters | keyword_parameters
    parameters |= weights_of(query, sought, policies) | {
        "named_in": [scope for scope, _ in sought.words.named],
        "named": [speaker for _, speaker in sought.words.named],
        "k": conf.RRF_K,
        "limit": limit or sought.limit or max(conf.RECALL_CANDIDATES, query.limit * 2),
    }
    statement = _RRF if conf.FUSION == Fusion.RRF else _RELATIVE
    parts = {"scored": _SCORED, "boosts": _BOOSTS}
    parts |= {"date": date, "keyword": keyword, "conditions": " AND ".join(conditions)}
    for name, part in (parts | near).items():
        statement = statement.replace(f"{{{name}}}", part)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [Candidate(*row) for row in cursor.fetchall()]


def weights_of(query: Query, sought: Sought, policies: Policies) -> dict[str, float]:
    """What each leg and boost counts for in this search; a leg that cannot run weighs nothing."""
    of_vectors = 1.0 if query.mode == Mode.VECTOR else policies.weight("ALPHA")
    return {
        "alpha": of_vectors if sought.direction else 0.0,
        "boost": policies.weight("SPEAKER_BOOST"),
        "date_boost": policies.weight("DATE_BOOST"),
        "recency": policies.weight("RECENCY"),
        "floor": policies.weight("MIN_SIMILARITY"),
    }


def _keyword(query: Query, sought: Sought) -> tuple[str, dict[str, Any]]:
    """The keyword leg, in SQL: how much of the question a row covers, or how many of its words stand in the text."""
    shares = sought.words.shares
    if query.mode == Mode.FTS and sought.needles:
        single = _needles(sought) | {"needed": 1 / max(shares.values(), default=1.0)}
        content = _AS_THEY_STAND.replace("{content}", "e.content")
        return f"{_COVERAGE} + {content}", single | {"keywords": sparse_literal(shares)}
    if query.mode != Mode.KEYWORD:
        return _COVERAGE, {"keywords": sparse_literal(shares)}
    labels = any(needle in label for needle in sought.needles for label in ("user:", "assistant:"))
    content = _UNLABELLED if labels else "e.content"
    return _AS_THEY_STAND.replace("{content}", content), _needles(sought) | {"needed": max(len(sought.needles), 1)}


def _needles(sought: Sought) -> dict[str, Any]:
    return {"needles": list(sought.needles), "wide": [needle.translate(_WIDE) for needle in sought.needles]}


def _own_words(sought: Sought) -> "Part":
    if not sought.terms:
        return [], {}
    single = "".join(f" OR strpos(e.content, %(single{n})s) > 0" for n in range(len(sought.needles)))
    singles = {f"single{n}": needle for n, needle in enumerate(sought.needles)}
    return [f"(e.terms && %(terms)s::int[]{single})"], {"terms": list(sought.terms)} | singles


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


Part = tuple[list[str], dict[str, Any]]


def both(*parts: Part) -> Part:
    """Conditions that all have to hold, with their parameters."""
    conditions = [condition for part in parts for condition in part[0]]
    return conditions, {name: value for part in parts for name, value in part[1].items()}


def within(query: Query) -> Part:
    """Nothing is looked at outside of the query's workspace and scopes."""
    return ["i.workspace_id = %(workspace)s", "i.scope_id = ANY(%(scopes)s::bigint[])"], {
        "workspace": query.workspace_id,
        "scopes": [scope.pk for scope in query.scopes],
        "user_scopes": [place.scope.pk for place in query.places if place.scope.kind == ScopeKind.USER],
    }


def eligible(query: Query, sought: Sought, policies: Policies, now: datetime) -> Part:
    """What may be served, and of facts those of the project that is named (D1)."""
    here = servable(query, policies, now)
    return both(here, own_facts(query, sought, both(within(query), here, asked_for(query))))


def servable(query: Query, policies: Policies, now: datetime) -> Part:
    """What may be served: live, in time, and heard where it is asked for."""
    return both(([LIVE_SQL], {}), _in_time(policies, now), heard_here(query))


def _in_time(policies: Policies, now: datetime) -> Part:
    """Past its time to live nothing is served, even before any job ran (A9)."""
    cases: list[str] = []
    parameters: dict[str, Any] = {"now": now}
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


def heard_here(query: Query) -> Part:
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


def asked_for(query: Query) -> Part:
    """The request's own filters, applied before anything is ranked (A2)."""
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    if query.types is not None:
        conditions.append("e.type = ANY(%(types)s::text[])")
        parameters["types"] = list(query.types)
    for column, operator, value in (
        ("e.project", "=", query.project),
        ("e.topic", "=", query.topic),
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
