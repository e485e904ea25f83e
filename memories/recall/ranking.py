"""The one statement of recall: both retrievers over the scopes, what may be served, and the fused score (A7, A9, E5).

Exact within the scope: an approximate index over all scopes loses most answers of a small one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from memories.choices import Fusion
from memories.conf import conf
from memories.index.contextual import dense_literal, sparse_literal
from memories.models import Entry
from memories.models.policy import Policies
from memories.models.state import MARKS
from memories.recall.credentials import credential_guard
from memories.recall.date_ranges import date_score_sql
from memories.recall.filters import Condition, all_of, eligible_filter, request_filter, scope_filter
from memories.recall.literals import as_a_whole
from memories.recall.modes import Mode, ParsedQuery
from memories.recall.query import Query
from memories.recall.similarity import CentredQuery


@dataclass(frozen=True)
class Candidate:
    """An entry the retrievers found, with every part of its score."""

    entry_id: int
    scope_id: int
    keyword: float  # how much of the question's words a text has; 1: all, again and again (or see Mode)
    vector: float | None  # nearness on the ranking's scale; None: no vector, ranked as the average
    named: bool
    fused: float
    date: float = 0.0  # 1 or more: said on days the question names; falling to 0 in the days after
    cosine: float | None = None
    typical: float | None = None  # cosine of the text and the questions people ask; None: nobody knows
    last_accessed: datetime | None = None


Match = tuple[Candidate, Entry]

#: What is read of the entries of the best; all else is read of those that are asked for it.
_READ = {
    "id", "uid", "type", "subtype", "scope_id", "content", "origins", "fingerprint", "importance", "category",
    "created_at", "stated_at", "expires_at", "pinned", *MARKS.values(),
    "channel", "chat_id", "session_id", "sender_id", "speaker", "thread_id",
    "version",
}  # fmt: skip
_COLUMNS = [field.column for field in Entry._meta.concrete_fields if field.column in _READ]  # as an entry is read

#: With OFFSET, so that what is sorted are numbers and not the vectors they were computed from.
_SCORED = """
    SELECT i.entry_id, i.scope_id,
        {keyword} AS keyword,
        {vector} AS vector,
        {named} AS named,
        {date} AS date
    FROM memories_entryindex i
    JOIN memories_entry e ON e.id = i.entry_id
    WHERE {conditions}
    OFFSET 0
"""
_NAMED = "(i.scope_id, e.speaker) IN (SELECT * FROM unnest(%(named_in)s::bigint[], %(named)s::text[]))"
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
#: Words as somebody typed them: first what most of them stand in, then where more of them are no parts of others.
_AS_TYPED = (
    "(SELECT coalesce(sum(CASE WHEN strpos(said, needle) > 0 THEN 1 + %(extra)s::float8 * (said ~ whole)::int"
    " WHEN wide <> needle AND strpos(said, wide) > 0 THEN 1 + %(extra)s::float8 ELSE 0 END), 0)"
    " FROM (SELECT lower({content}) AS said OFFSET 0) folded,"
    " unnest(%(needles)s::text[], %(wide)s::text[], %(whole)s::text[]) AS n (needle, wide, whole))::float8 / %(needed)s"
)
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_UNLABELLED = "regexp_replace(e.content, '^(User|Assistant): ', '', 'ng')"
#: Inner products, for the question is moved and no longer of length 1. Rows of one model are of one dimension: to cast
#: them to it would take as long as to compare them.
_VECTOR = "CASE WHEN i.model_id = %(model)s THEN (-(i.embedding <#> %(aimed)s::halfvec) - %(zero)s) / %(span)s END"
_COSINE = "CASE WHEN i.model_id = %(model)s THEN -(i.embedding <#> %(asked)s::halfvec) END"
_TYPICAL = "CASE WHEN i.model_id = %(model)s THEN -(i.embedding <#> %(typical)s::halfvec) END"
_RELATIVE = """
    SELECT *, (1 - %(alpha)s) * keyword + %(alpha)s * coalesce(vector, %(of_average)s)
        + {boosts} AS fused
    FROM ({scored}) scored WHERE %(alpha)s > 0 OR keyword > 0 OR named OR date > 0
"""
_RRF = """
    SELECT *,
        (CASE WHEN keyword > 0 THEN (1 - %(alpha)s::float8) / (%(k)s + keyword_rank) ELSE 0 END
         + CASE WHEN vector > %(of_average)s THEN %(alpha)s::float8 / (%(k)s + vector_rank) ELSE 0 END)
        * (%(k)s + 1) + {boosts} AS fused
    FROM (
        SELECT *, rank() OVER (ORDER BY keyword DESC) AS keyword_rank,
            rank() OVER (ORDER BY vector DESC NULLS LAST) AS vector_rank
        FROM ({scored}) scored WHERE keyword > 0 OR vector > %(of_average)s OR named OR date > 0
    ) ranked
"""
#: The best, with what there is to be known of them: in one statement, for they cannot change between two.
_BEST = """
SELECT {read}, keyword, vector, named, fused, date, {cosine} AS cosine, {typical} AS typical,
    a.last_accessed
FROM ({fused} ORDER BY fused DESC, entry_id DESC LIMIT %(limit)s) best
JOIN memories_entryindex i ON i.entry_id = best.entry_id
JOIN memories_entry e ON e.id = best.entry_id
LEFT JOIN memories_entryaccess a ON a.entry_id = best.entry_id
ORDER BY fused DESC, best.entry_id DESC
"""


def eligible_candidates(
    query: Query, parsed: ParsedQuery, policies: Policies, now: datetime, *, more: int = 0
) -> list[Match]:
    """The best entries of the query's scopes that may be served at this moment, best first.

    `more` of them than usual, where so many will be left out.
    """
    where = all_of(eligible_filter(query, parsed, policies, now), request_filter(query))
    best = search(query, parsed, policies, where, limit=_most(query, parsed) + more)
    guard = credential_guard(query.workspace_id, query.scopes if best else [])
    return [match for match in best if not guard.holds(match[1].content, match[1].origins)]


def _most(query: Query, parsed: ParsedQuery) -> int:
    return parsed.limit or max(conf.RECALL_CANDIDATES, query.limit * 2)


def search(
    query: Query, parsed: ParsedQuery, policies: Policies, where: Condition, limit: int | None = None
) -> list[Match]:
    """The best entries of the query's scopes under a condition, with every part of their scores, best first."""
    conditions, parameters = all_of(scope_filter(query), where, _own_terms_filter(parsed))
    date, date_parameters = date_score_sql(parsed.date_ranges)
    near, near_parameters = _vector_sql(parsed.direction)
    keyword, keyword_parameters = _keyword_sql(query, parsed)
    parameters |= near_parameters | date_parameters | keyword_parameters
    parameters |= ranking_weights(query, parsed, policies) | {
        "named_in": [scope for scope, _ in parsed.words.named],
        "named": [speaker for _, speaker in parsed.words.named],
        "k": conf.RRF_K,
        "limit": limit or _most(query, parsed),
    }
    parts = {
        "fused": _RRF if conf.FUSION == Fusion.RRF else _RELATIVE,
        "scored": _SCORED,
        "boosts": _BOOSTS,
        "read": ", ".join(f"e.{column}" for column in _COLUMNS),
        "named": _NAMED if parsed.words.named else "false",
        "date": date,
        "keyword": keyword,
        "conditions": " AND ".join(conditions),
    }
    statement = _BEST
    for name, part in (parts | near).items():
        statement = statement.replace(f"{{{name}}}", part)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [_match(row) for row in cursor.fetchall()]


def _match(row: Sequence[Any]) -> Match:
    entry = Entry.from_db(connection.alias, _COLUMNS, row[: len(_COLUMNS)])
    return Candidate(entry.pk, entry.scope_id, *row[len(_COLUMNS) :]), entry


def ranking_weights(query: Query, parsed: ParsedQuery, policies: Policies) -> dict[str, float]:
    """What each retriever and boost counts for in this search; a retriever that cannot run weighs nothing."""
    of_vectors = 1.0 if query.mode == Mode.VECTOR else policies.weight("ALPHA")
    return {
        "alpha": of_vectors if parsed.direction else 0.0,
        "boost": policies.weight("SPEAKER_BOOST"),
        "date_boost": policies.weight("DATE_BOOST"),
        "recency": policies.weight("RECENCY"),
        "floor": policies.weight("MIN_SIMILARITY"),
    }


def _keyword_sql(query: Query, parsed: ParsedQuery) -> tuple[str, dict[str, Any]]:
    """The keyword retriever, in SQL: how much of the question a row covers, or how many of its words the text has."""
    shares = parsed.words.shares
    if query.mode == Mode.FTS and parsed.needles:
        single = _substrings(parsed) | {"needed": 1 / max(shares.values(), default=1.0)}
        content = _AS_THEY_STAND.replace("{content}", "e.content")
        return f"{_COVERAGE} + {content}", single | {"keywords": sparse_literal(shares)}
    if query.mode != Mode.KEYWORD:
        return _COVERAGE, {"keywords": sparse_literal(shares)}
    labels = any(needle in label for needle in parsed.needles for label in ("user:", "assistant:"))
    content = _UNLABELLED if labels else "e.content"
    extra = 1 / (len(parsed.needles) + 1)  # all of them whole are less than one more of them
    typed = {
        "whole": [as_a_whole(needle) for needle in parsed.needles],
        "extra": extra,
        "needed": max(len(parsed.needles), 1) * (1 + extra),
    }
    return _AS_TYPED.replace("{content}", content), _substrings(parsed) | typed


def _substrings(parsed: ParsedQuery) -> dict[str, Any]:
    return {"needles": list(parsed.needles), "wide": [needle.translate(_WIDE) for needle in parsed.needles]}


def _own_terms_filter(parsed: ParsedQuery) -> Condition:
    if not parsed.terms:
        return [], {}
    single = "".join(f" OR strpos(e.content, %(single{n})s) > 0" for n in range(len(parsed.needles)))
    singles = {f"single{n}": needle for n, needle in enumerate(parsed.needles)}
    return [f"(e.terms && %(terms)s::int[]{single})"], {"terms": list(parsed.terms)} | singles


def _vector_sql(direction: CentredQuery | None) -> tuple[dict[str, str], dict[str, Any]]:
    """The vector retriever, in SQL; the plain cosine is computed for the best alone."""
    if direction is None:
        return {"vector": "NULL::float8", "cosine": "NULL::float8", "typical": "NULL::float8"}, {"of_average": 0.0}
    is_known = direction.typical_question is not None
    return {"vector": _VECTOR, "cosine": _COSINE, "typical": _TYPICAL if is_known else "NULL::float8"}, {
        "model": direction.model.pk,
        "asked": dense_literal(direction.asked),
        "typical": dense_literal(direction.typical_question or ()),
        "aimed": dense_literal(direction.centred),
        "zero": direction.zero,
        "span": direction.span,
        "of_average": direction.centroid_similarity,
    }
