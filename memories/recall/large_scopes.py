"""Candidates of scopes that are too large to be compared row by row: by their index, and by the rarest words.

They are ranked like all others, by the same statement. Whatever this cannot narrow down well is searched whole, as any
other scope: full text and words as typed, a question without a vector, filters that leave few.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from memories.conf import conf
from memories.index.large_scopes import ScopeIndex, indexes_of
from memories.recall.eligibility import Condition, all_of, scope_filter
from memories.recall.query import BY_MATCH_ALONE, Search, term_frequencies
from memories.recall.vector import CentredQuery

#: Where search rows are read from, in SQL, with its parameters.
Rows = tuple[str, dict[str, Any]]
ALL_ROWS: Rows = ("memories_entryindex", {})

NEAREST = 300  # by vector, of each scope; as many again of a speaker and of the days that are named
PROBED, PROBED_LEAST = 0.02, 10  # share of the lists of an index that is read first
PROBED_MOST = 4  # times as many where filters leave few
READ_FOR_WORDS = 3_000  # entries of a scope that hold the rarest words, or two of the others together, at a guess
READ_FOR_ONE = 20_000  # where no word is that rare, so many for the rarest; beyond, the scope is searched whole
_PAIRED = 8  # of the other words

_NEAREST = """
    SELECT i.entry_id FROM memories_entryindex i JOIN memories_entry e ON e.id = i.entry_id
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
    SELECT * FROM memories_entryindex WHERE entry_id = ANY(%(candidates)s::bigint[])
    UNION ALL SELECT * FROM memories_entryindex WHERE scope_id = ANY(%(whole_scopes)s::bigint[]))
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
            with connection.cursor() as cursor:
                cursor.execute(_HOLDING, [scope.workspace_id, scope.pk, words.rare, pairs, READ_FOR_ONE])
                candidates.update(cursor.fetchone()[0])
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
    for n, named in enumerate(parsed.date_ranges):
        days = f"e.created_at >= %(asked_from{n})s AND e.created_at < %(asked_to{n})s"
        legs.append(([days], {f"asked_from{n}": named.start, f"asked_to{n}": named.end}))

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
    left, rare, common = READ_FOR_WORDS, list[int](), list[int]()
    for term in terms:
        if counts[term] <= left:
            left -= counts[term]
            rare.append(term)
        else:
            common.append(term)

    # of the others the pairs that the rest of the reading is enough for, the rarest first
    others = common[:_PAIRED]
    pairs = [(first, second) for n, first in enumerate(others) for second in others[n + 1 :]]
    by_chance = {(first, second): counts[first] * counts[second] / max(entries, 1) for first, second in pairs}
    taken = []
    for pair in sorted(pairs, key=lambda pair: (by_chance[pair], pair)):
        if by_chance[pair] > left:
            break
        left -= round(by_chance[pair])
        taken.append(pair)
    return QuestionWords(rare, taken)
