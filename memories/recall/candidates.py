"""The one statement of recall: both retrievers over the scopes, what may be served, and the fused score (A7, A9, E5).

Exact within the scope: an approximate index over all scopes loses most answers of a small one. In a large one the rows
that lead the ranking before anything is read of entries are looked at first, for what may not be served shows in the
entry alone: to ask it of every entry of a scope costs as much as to compare them with the question, to ask it of the
few that lead costs nothing. Where too few of these may be served, every entry is asked after all, and for a while the
scope is asked that way at once: one of which most is out of use. Of a scope too large to be compared row by row its
candidates alone are ranked (`rows_to_rank`).
"""

import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any

from cachetools import LRUCache
from django.db import connection, transaction
from django.db.models.base import ModelState

from memories.choices import Fusion
from memories.conf import conf
from memories.index.large_scopes import ScopeIndex, indexes_of
from memories.index.search_rows import sparse_literal
from memories.language import text
from memories.language.compare import corrects
from memories.language.confidential import asks_for_several, is_value_alone, named_kinds
from memories.language.quoting import sides_of, telling_sentences
from memories.language.secret_forms import vendors_of
from memories.models import Entry
from memories.models.entry import SECRET_SUBTYPE
from memories.models.state import MARKS, State, live_sql
from memories.recall.eligibility import (
    Condition,
    all_of,
    asks_for_secrets,
    audience_filter,
    credential_guard,
    echo_filter,
    eligible_filter,
    in_time_filter,
    ineligible_entries,
    recognised_filter,
    request_filter,
    scope_filter,
    secret_filter,
)
from memories.recall.query import BY_MATCH_ALONE, Mode, ParsedQuery, Query, Search, rows_of, sql_parts, term_frequencies
from memories.recall.question import NAMED_EXACTLY
from memories.recall.vector import CentredQuery

_READ = {
    "id", "uid", "type", "subtype", "scope_id", "content", "origins", "fingerprint", "importance", "category",
    "created_at", "stated_at", "read_at", "expires_at", "pinned", *MARKS.values(),
    "channel", "chat_id", "session_id", "sender_id", "speaker", "thread_id",
    "version", "echo", "verification", "suspect", "path", "line_from", "heading", "source", "names", "origin",
    "trust", "subject",
}  # fmt: skip
COLUMNS = [field.attname for field in Entry._meta.concrete_fields if field.column in _READ]  # in the order of a row


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry of a row that begins with COLUMNS, as `Entry.from_db` makes it, in a quarter of the time."""
    entry = Entry.__new__(Entry)
    entry._state = ModelState()
    entry._state.adding, entry._state.db = False, connection.alias
    entry.__dict__.update(zip(COLUMNS, row, strict=False))
    return entry


TAILS = 4  # after so many times DATE_TAIL nothing is left of the boost


#: So many times as many as are wanted.
LEADING_TIMES = 4
#: Entries of a scope from which on it pays.
LEADING_LEAST_ENTRIES = 5_000
TOO_FEW_SECONDS = 600.0  # a scope is asked whole after its leading rows were too few
SCOPES_CACHED = 512  # scopes a process remembers that of

_too_few: LRUCache[int, float] = LRUCache(SCOPES_CACHED)  # until when, by the monotonic clock
_lock = Lock()


def may_be_enough(search: Search, limit: int) -> bool:
    """Whether the leading rows are likely to hold the best: nothing but words and meaning ranks, and nothing is asked
    of entries that few of them would meet."""
    query, parsed = search.query, search.parsed
    ranks_entries = parsed.words.named or parsed.date_ranges or parsed.features or conf.FUSION != Fusion.RELATIVE
    if ranks_entries or query.mode in BY_MATCH_ALONE or search.weights["alpha"] <= 0:
        return False
    if query.past is not None or request_filter(query)[0]:
        return False
    entries = query.entry_count
    if entries < max(LEADING_LEAST_ENTRIES, LEADING_TIMES * limit):
        return False
    with _lock:
        return all(_too_few.get(scope, 0.0) <= time.monotonic() for scope in query.scope_ids)


def forget_leading() -> None:
    """Ask the leading rows of every scope again (tests)."""
    with _lock:
        _too_few.clear()


@dataclass(frozen=True)
class Candidate:
    """An entry the retrievers found, with every part of its score."""

    entry_id: int
    scope_id: int
    keyword: float  # how much of the question's words a text has; 1: all, again and again (or see Mode)
    vector: float | None  # similarity on the ranking's scale; None: no vector, ranked as the average
    named: bool
    fused: float
    date: float = 0.0  # 1 or more: of days the question names; falling to 0 in the days after
    cosine: float | None = None
    last_accessed: datetime | None = None
    own_vector: float | None = None  # similarity of the text alone, without its neighbours
    vector_rank: int | None = None  # among all rows of the search
    previous: str | None = None  # the line before it in its session
    embedding: bytes | None = None  # of the text alone, in half precision as PostgreSQL sends it
    slots: Mapping[str, str] = field(default_factory=dict)  # besides those that are columns
    passed_over: bool = False  # whether entries that may not be served were there too; of any, it is the same of all


Match = tuple[Candidate, Entry]
#: Where search rows are read from, in SQL, with its parameters.
Rows = tuple[str, dict[str, Any]]
ALL_ROWS: Rows = ("memories_entryindex", {})
#: Of several secrets the ones within this share of the closest are served.
CLOSE_ENOUGH = 0.8
#: Of secrets of one kind of which no word says which is meant.
MEANT_AT_MOST = 2

_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_PARTS = sql_parts("candidates")
_NONE = "NULL::float8"


def eligible_candidates(search: Search, *, more: int = 0, newest: int = 0) -> list[Match]:
    """The best entries of the query's scopes that may be served at this moment, best first.

    `more` of them than usual, where so many will be left out. They tell whether there are any that may not, among so
    many of the `newest`.
    """
    query, parsed = search.query, search.parsed
    eligible = eligible_filter(query, search.policies, search.now)
    where = all_of(eligible, request_filter(query), echo_filter(query), secret_filter(query))
    limit = (parsed.limit or max(conf.RECALL_CANDIDATES, query.limit * 2)) + more
    rows = rows_to_rank(search, where, least=limit)
    passed_over = "false"
    if newest:
        ineligible, parameters = ineligible_entries(query, search.policies, search.now, newest=newest)
        passed_over, where = f"EXISTS ({ineligible})", all_of(where, ([], parameters))
    find = partial(best_matches, search, where=where, limit=limit, passed_over=passed_over, among=rows)
    with on_one_processor(rows):
        is_enough = may_be_enough(search, limit)
        best = find(is_leading=True) if is_enough else []
        if len(best) < limit:
            if is_enough:
                with _lock:  # all entries of these scopes are asked for a while
                    _too_few.update(dict.fromkeys(query.scope_ids, time.monotonic() + TOO_FEW_SECONDS))
            best = find()
    if asks_for_secrets(query) and (len(best) >= limit or parsed.vector is None):
        # the secrets of the kind that is asked for, in other words
        ids = {entry.pk for _candidate, entry in best}
        secrets = find(where=all_of(where, recognised_filter(query)), among=ALL_ROWS, is_every=True)
        best += [match for match in secrets if match[1].pk not in ids]
    guard = credential_guard(query.workspace_id, query.scopes if best else [])
    heard = [match for match in best if not guard.reveals(match[1].content, match[1].origins)]
    return _with_closest_secrets(heard, query)


#: Of what was replaced, so many beside what took its place.
FORMER_MOST = 5


def former_matches(search: Search) -> list[Match]:
    """What something newer took the place of, for a question about what held before; never a secret.

    What people took out, and what is past its time, stays out.
    """
    query = search.query
    others = " AND ".join(f"e.{column} IS NULL" for state, column in MARKS.items() if state != State.SUPERSEDED)
    replaced = f"e.superseded_by_id IS NOT NULL AND {others} AND NOT starts_with(e.subtype, '{SECRET_SUBTYPE}')"
    in_time = in_time_filter(query, search.policies, search.now)
    where = all_of(([replaced], {}), in_time, audience_filter(query), request_filter(query), echo_filter(query))
    guard = credential_guard(query.workspace_id, query.scopes)
    matches = best_matches(search, where, limit=FORMER_MOST)
    return [match for match in matches if not guard.reveals(match[1].content, match[1].origins)]


def _with_closest_secrets(matches: list[Match], query: Query) -> list[Match]:
    """Of several secrets those that are meant, and what changes one of them since, whatever words it says so in.

    Meant are those that share most words with the question: «the wifi password» is no other password. The more of them
    hold a word, the less it says; whose a key is counts as its word. Where no word is one's alone, the best few of the
    kind that is named are meant, unless several are asked for. What is looked for by its value has to hold it.
    """
    secrets = [match for match in matches if match[1].subtype.startswith(SECRET_SUBTYPE)]
    question_terms = set(text.terms(query.message))
    terms = {
        entry.pk: question_terms & {*text.terms(entry.content), *text.terms(" ".join(vendors_of(entry.content)))}
        for _candidate, entry in secrets
    }
    holders = Counter(term for shared in terms.values() for term in shared)
    shares = {pk: sum(1 / holders[term] ** 2 for term in shared) for pk, shared in terms.items()}
    closest = max(shares.values(), default=0.0)
    if closest >= 1 or is_value_alone(query.message):
        meant_matches = [match for match in secrets if shares[match[1].pk] >= max(CLOSE_ENOUGH * closest, 0.01)]
    elif asks_for_several(query.message) or not asks_for_secrets(query):
        return matches
    else:
        kinds = named_kinds(query.message)
        of_kind = [match for match in secrets if kinds & set(match[1].subtype.removeprefix(SECRET_SUBTYPE).split(","))]
        best = sorted(of_kind or secrets, key=lambda match: (-shares[match[1].pk], -match[0].fused))
        meant_matches = best[:MEANT_AT_MOST]
    others = {entry.pk for _candidate, entry in secrets}.difference(entry.pk for _candidate, entry in meant_matches)
    return [
        match
        for match in matches
        if match[1].pk not in others or any(_changes(match[1], entry) for _candidate, entry in meant_matches)
    ]


def _changes(secret: Entry, older: Entry) -> bool:
    """Whether a secret is given anew: «I changed it, it is … now», which may share fewer words with the question."""
    if secret.stated_at < older.stated_at:
        return False
    sides = [(sides_of(entry.content) or (entry.content,))[0] for entry in (secret, older)]
    return corrects(*("\n".join(telling_sentences(side)) for side in sides))


def best_matches(
    search: Search,
    where: Condition,
    *,
    limit: int,
    passed_over: str = "false",
    among: Rows = ALL_ROWS,
    is_leading: bool = False,
    is_every: bool = False,
) -> list[Match]:
    """The best entries of the query's scopes under a condition, with every part of their scores, best first.

    `among`: the search rows of which any may be best. `is_leading`: only those of them are looked at that lead the
    ranking before anything is read of entries. `is_every`: also those that hold no word, where there is no vector.
    """
    query, parsed = search.query, search.parsed
    conditions, parameters = all_of(scope_filter(query), where)
    if parsed.terms:  # one of them has to be a word of the entry's own, or one of the characters in its text
        single = "".join(f" OR strpos(e.content, %(single{n})s) > 0" for n in range(len(parsed.substrings)))
        conditions.append(f"(e.terms && %(terms)s::int[]{single})")
        parameters |= {"terms": list(parsed.terms)}
        parameters |= {f"single{n}": character for n, character in enumerate(parsed.substrings)}
    keyword, of_keyword = _keyword_sql(query.mode, parsed)
    date, of_date = _date_sql(parsed)
    parameters |= {**of_date, **of_keyword, **among[1], **search.weights}
    parameters |= parsed.vector.sql_parameters() if parsed.vector else {"centroid_similarity": 0.0}
    parameters |= {
        "named_in": [scope for scope, _ in parsed.words.named],
        "named": [speaker for _, speaker in parsed.words.named],
        **{"k": conf.RRF_K, "limit": limit, "every": is_every, "leading": LEADING_TIMES * limit},
    }
    vector, rows = _PARTS["vector"] if parsed.vector else _NONE, f"{among[0]} i"
    if is_leading:
        echoes = " AND ".join(echo_filter(query)[0]) or "true"
        rows = _PARTS["leading_rows"].format(keyword=keyword, vector=vector, among=among[0], echoes=echoes)
    parts = {"keyword": keyword, "vector": vector, "date": date, "rows": rows, "conditions": " AND ".join(conditions)}
    scored = _PARTS["scored"].format(named=_PARTS["named"] if parsed.words.named else "false", **parts)
    return [_match(row) for row in rows_of(_best_of(scored, parsed, passed_over), parameters)]


def _best_of(scored: str, parsed: ParsedQuery, passed_over: str) -> str:
    """The statement that ranks what is scored, and reads all parts of the best."""
    with_ranks = parsed.features and parsed.vector
    ranked = _PARTS["scored_with_ranks"].format(scored=scored) if with_ranks else scored
    return _PARTS["candidates"].format(
        columns=", ".join(f"e.{column}" for column in COLUMNS),
        cosine=_PARTS["cosine"] if parsed.vector else _NONE,
        own_vector=_PARTS["own_vector"] if with_ranks else _NONE,
        vector_rank="vector_rank" if with_ranks else "NULL::int",
        previous=_PARTS["previous"].format(is_live=live_sql("p")) if parsed.features else "NULL::text",
        embedding=_PARTS["embedding"] if parsed.vector else "NULL::bytea",
        passed_over=passed_over,
        fused=_PARTS["fused_by_ranks" if conf.FUSION == Fusion.RRF else "fused"].format(scored=scored, ranked=ranked),
    )


def _match(row: Sequence[Any]) -> Match:
    entry = entry_of(row)
    *scores, slots, passed_over = row[len(COLUMNS) :]
    return Candidate(entry.pk, entry.scope_id, *scores, dict(slots), passed_over), entry  # type: ignore[call-arg]


def _date_sql(parsed: ParsedQuery) -> tuple[str, dict[str, Any]]:
    """SQL of what an entry's time counts for: its day where days are named, or how new it is.

    1 on a named day, more where it is asked about; the day after counts as one day late. What is far off costs one
    comparison; without days nothing is computed. How new it is, is never 0, and below what a named day counts for.
    """
    if parsed.newest_to:
        return _PARTS["newness"], {"newest_to": parsed.newest_to}
    if not (ranges := parsed.date_ranges):
        return "0::float8", {}
    tail = conf.DATE_TAIL
    parameters: dict[str, Any] = {
        "dated_from": min(dates.start for dates in ranges),
        "dated_to": max(dates.end for dates in ranges) + TAILS * tail,
        "dated_tail": tail.total_seconds() or 1.0,
        "dated_cut": TAILS * tail,
    }
    cases = []
    for n, dates in enumerate(ranges):
        parameters |= {f"from{n}": dates.start, f"to{n}": dates.end}
        parameters |= {f"weight{n}": dates.weight}
        core = ""
        if dates.core:
            parameters |= {f"core_from{n}": dates.core[0], f"core_to{n}": dates.core[1]}
            core = (
                f" WHEN e.created_at >= %(core_from{n})s AND e.created_at < %(core_to{n})s"
                f" THEN %(weight{n})s * {NAMED_EXACTLY}"
            )
        cases.append(
            f"CASE WHEN e.created_at < %(from{n})s THEN 0{core} WHEN e.created_at < %(to{n})s THEN %(weight{n})s"
            f" WHEN e.created_at < %(to{n})s + %(dated_cut)s"
            f" THEN exp(-(extract(epoch FROM e.created_at - %(to{n})s)::float8 + 86400) / %(dated_tail)s) ELSE 0 END"
        )
    return (
        "CASE WHEN e.created_at >= %(dated_from)s AND e.created_at < %(dated_to)s"
        f" THEN greatest({', '.join(cases)}) ELSE 0 END::float8"
    ), parameters


def _keyword_sql(mode: str, parsed: ParsedQuery) -> tuple[str, dict[str, Any]]:
    """The keyword retriever, in SQL: how much of the question a row covers, or how many of its words the text has."""
    shares, substrings = parsed.words.shares, list(parsed.substrings)
    parameters: dict[str, Any] = {"substrings": substrings, "wide": [word.translate(_WIDE) for word in substrings]}
    if mode == Mode.FTS and substrings:
        parameters |= {"needed": 1 / max(shares.values(), default=1.0), "keywords": sparse_literal(shares)}
        return _PARTS["keyword_and_characters"], parameters
    if mode != Mode.KEYWORD:
        return _PARTS["keyword"], {"keywords": sparse_literal(shares)}

    # patterns of PostgreSQL's for words that are no part of others: 42 of «#42», and not of «1420» or «4.2»
    whole = []
    for word in substrings:
        before = r"(?<![a-z\d_])" if re.match(r"[a-z\d_]", word) else ""
        after = r"(?![a-z\d_+#]|\.\d)" if re.search(r"[a-z\d_]$", word) else ""
        whole.append(before + re.sub(r"([^a-z\d\u0080-\U0010ffff])", r"\\\1", word) + after)
    names_labels = any(word in label for word in substrings for label in ("user:", "assistant:"))
    content = _PARTS["content_without_labels"] if names_labels else "e.content"
    extra = 1 / (len(substrings) + 1)  # all of them whole are less than one more of them
    parameters |= {"whole": whole, "extra": extra, "needed": max(len(substrings), 1) * (1 + extra)}
    return _PARTS["keyword_as_typed"].format(content=content), parameters


def full_text_ranks(entries: Mapping[int, Entry], parsed: ParsedQuery) -> dict[int, float]:
    """How well texts match, 0–1: the share of the question they hold, and how close together it stands in them.

    PostgreSQL is given terms in place of words, so that it has nothing to parse: to its own parser a Chinese sentence
    is one word. Of each text it ranks the terms it holds, all of them together; any of them alone would say nothing
    about how close they stand.
    """
    terms = frozenset(parsed.terms)
    positions = {pk: text.term_positions(entry.content, terms) for pk, entry in entries.items()}
    matching = [pk for pk, places in positions.items() if places]
    rows = rows_of(
        "SELECT entry, ts_rank_cd('{1, 1, 1, 1}', vector::tsvector, wanted::tsquery, 32)"
        " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS texts (entry, vector, wanted)",
        [
            matching,
            [
                " ".join(f"{term}:{','.join(map(str, sorted(at)))}" for term, at in positions[pk].items())
                for pk in matching
            ],
            [" & ".join(map(str, positions[pk])) for pk in matching],
        ],
    )
    close = dict(rows)
    shares = parsed.words.shares
    coverage = {pk: sum(shares[term] for term in positions[pk]) / sum(shares.values()) for pk in matching}
    return {pk: coverage[pk] * (1 + math.sqrt(close[pk])) / 2 for pk in matching}


# -- scopes that are too large to be compared row by row: their candidates, by an index of vectors and by the rarest
# words, are ranked like all others, by the same statement. Whatever this cannot narrow down well is searched whole, as
# any other scope: full text and words as typed, a question without a vector, filters that leave few.

NEAREST = 300  # by vector, of each scope; as many again of a speaker and of the days that are named
PROBED, PROBED_LEAST = 0.02, 10  # share of the lists of an index that is read first
PROBED_MOST = 4  # times as many where filters leave few
READ_FOR_WORDS = 3_000  # entries of a scope that hold the rarest words, or two of the others together, at a guess
READ_FOR_ONE = 20_000  # where no word is that rare, so many for the rarest; beyond, the scope is searched whole
_PAIRED = 8  # of the other words

_NEAREST = """
    SELECT i.entry_id FROM memories_entryindex i
    JOIN memories_entry e ON e.id = i.entry_id AND e.workspace_id = %(workspace)s
    WHERE i.scope_id = {scope} AND i.model_id = {model} AND {conditions}
    ORDER BY (i.embedding::halfvec({dimension})) <#> %(centred)s::halfvec({dimension}) LIMIT {most}
"""
#: Without sorting there is no way but the index; how many rows conditions leave is guessed too badly to choose one.
_SETTINGS = """
    SELECT set_config('ivfflat.probes', %s, true), set_config('ivfflat.max_probes', %s, true),
        set_config('ivfflat.iterative_scan', 'relaxed_order', true), set_config('enable_sort', 'off', true)
"""
_ALONE = "SELECT set_config('max_parallel_workers_per_gather', '0', true)"
_HOLDING = "SELECT memplatform_entries_holding(%s, %s, %s::int[], %s::int[], %s)"
_NARROWED = """(
    SELECT * FROM memories_entryindex
    WHERE workspace_id = %(workspace)s AND entry_id = ANY(%(candidates)s::bigint[])
    UNION ALL SELECT * FROM memories_entryindex
    WHERE workspace_id = %(workspace)s AND scope_id = ANY(%(whole_scopes)s::bigint[]))
"""


def rows_to_rank(search: Search, where: Condition, *, least: int) -> Rows:
    """The rows a search compares: those of its scopes, of a large one only the candidates.

    Where an index brings less than `least` that may be served, its scope is searched whole. Of scopes that are not
    large nothing is asked.
    """
    query, parsed = search.query, search.parsed
    if (vector := parsed.vector) is None or query.mode in BY_MATCH_ALONE or not conf.LARGE_SCOPE_ENTRIES:
        return ALL_ROWS
    large = [scope for scope in query.scopes if scope.entry_count >= conf.LARGE_SCOPE_ENTRIES / 4 and not scope.is_past]
    indexes = indexes_of([scope.pk for scope in large], vector.model.pk) if large else {}
    candidates: set[int] = set()
    narrowed: set[int] = set()
    for scope in large:
        if (index := indexes.get(scope.pk)) is None:
            continue
        counts = term_frequencies([scope], terms := sorted(parsed.words.shares))
        words = rarest({term: counts[scope.pk, term] for term in terms}, scope.entry_count)
        nearest = [] if words.are_common else _nearest(search, vector, index, where)
        if len(nearest) < least:
            continue
        narrowed.add(scope.pk)
        candidates.update(nearest)
        if words.rare or words.pairs:  # entries that hold the rarest words of the question, or two of the others
            pairs = [[first for first, _ in words.pairs], [second for _, second in words.pairs]]
            parameters = [scope.workspace_id, scope.pk, words.rare, pairs, READ_FOR_ONE]
            candidates.update(rows_of(_HOLDING, parameters)[0][0])
    if not narrowed:
        return ALL_ROWS
    whole = [pk for pk in query.scope_ids if pk not in narrowed]
    return _NARROWED, {"candidates": sorted(candidates), "whole_scopes": whole}


@contextmanager
def on_one_processor(rows: Rows) -> Iterator[None]:
    """Read candidates without parallel workers: to start them for a few thousand rows takes longer than to read those.

    Nothing is written inside. What is searched whole is left to the planner.
    """
    if rows is ALL_ROWS:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_ALONE)
        yield
        transaction.set_rollback(True)  # of the setting


def _nearest(search: Search, vector: CentredQuery, index: ScopeIndex, where: Condition) -> list[int]:
    """The entries of a scope nearest to the question; as many again of what is boosted there, by its speaker or its
    day, of which some has to be a candidate. What may not be served is not among them."""
    query, parsed = search.query, search.parsed
    legs: list[Condition] = [([], {})]
    if speakers := [speaker for named_in, speaker in parsed.words.named if named_in == index.scope_id]:
        legs.append((["e.speaker = ANY(%(asked_speakers)s::text[])"], {"asked_speakers": speakers}))
    for n, dates in enumerate(parsed.date_ranges):
        days = f"e.created_at >= %(asked_from{n})s AND e.created_at < %(asked_to{n})s"
        legs.append(([days], {f"asked_from{n}": dates.start, f"asked_to{n}": dates.end}))

    probes = max(round(index.lists * PROBED), min(PROBED_LEAST, index.lists))
    nearest: list[int] = []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_SETTINGS, [str(probes), str(min(probes * PROBED_MOST, index.lists))])
        for leg in legs:
            conditions, parameters = all_of(scope_filter(query), where, leg)
            statement = _NEAREST.format(
                scope=index.scope_id,
                model=index.model_id,
                dimension=vector.model.dimension,
                conditions=" AND ".join(conditions),
                most=NEAREST,
            )
            cursor.execute(statement, parameters | vector.sql_parameters())
            nearest += [entry for (entry,) in cursor.fetchall()]
        transaction.set_rollback(True)  # of the settings; nothing was written
    return nearest


@dataclass(frozen=True)
class QuestionWords:
    """Terms of a question by how many entries of a scope hold them."""

    rare: list[int]  # all their entries are read
    pairs: list[tuple[int, int]]  # of the others, those that are rare together
    are_common: bool = False  # too many entries hold any of them


def rarest(counts: dict[int, int], entries: int) -> QuestionWords:
    """Which terms are so rare that READ_FOR_WORDS entries hold any of them, and which pairs of the others.

    `counts` tells in how many of so many entries a term occurs; of a pair it is guessed as if they met by chance.
    """
    terms = sorted(filter(counts.get, counts), key=lambda term: (counts[term], term))
    if terms and counts[terms[0]] > READ_FOR_WORDS:
        return QuestionWords(terms[:1], [], counts[terms[0]] > READ_FOR_ONE)
    room, rare, common = READ_FOR_WORDS, list[int](), list[int]()
    for term in terms:
        if counts[term] <= room:
            room -= counts[term]
            rare.append(term)
        else:
            common.append(term)

    # of the others the pairs that the rest of the reading is enough for, the rarest first
    others = common[:_PAIRED]
    pairs = [(first, second) for n, first in enumerate(others) for second in others[n + 1 :]]
    by_chance = {(first, second): counts[first] * counts[second] / max(entries, 1) for first, second in pairs}
    rare_pairs = []
    for pair in sorted(pairs, key=lambda pair: (by_chance[pair], pair)):
        if by_chance[pair] > room:
            break
        room -= round(by_chance[pair])
        rare_pairs.append(pair)
    return QuestionWords(rare, rare_pairs)
