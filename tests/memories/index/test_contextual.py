"""A search row carries an entry and what was said around it: arithmetic (E5)."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.conf import conf
from memories.index.search_rows import (
    blend_embedding,
    blend_keywords,
    bm25_weights,
    dense_literal,
    full_match,
    normalise,
    sparse_literal,
)
from memories.language.text import DIMENSIONS

COUNTS = st.dictionaries(st.integers(1, 60), st.integers(1, 9), max_size=30).map(Counter)
VECTORS = st.lists(st.floats(-10, 10), min_size=3, max_size=3)


def test_a_term_weighs_what_bm25_says() -> None:
    # k1 = 1.2, b = 0.5: twice in a text of the average length is 2·2.2 / (2 + 1.2)
    assert bm25_weights(Counter({7: 2}), length=10, average=10) == {7: pytest.approx(4.4 / 3.2)}
    # a text twice as long as the average: 1.2·(0.5 + 0.5·2) = 1.8
    assert bm25_weights(Counter({7: 2}), length=20, average=10) == {7: pytest.approx(4.4 / 3.8)}


def test_in_an_empty_scope_length_does_not_count() -> None:
    assert bm25_weights(Counter({7: 1}), length=10, average=0) == {7: pytest.approx(1.0)}


@given(st.integers(1, 50), st.floats(1, 500), st.floats(1, 500), st.floats(1, 500))
def test_a_repeat_counts_more_and_a_longer_text_less(count: int, length: float, longer: float, average: float) -> None:
    once = bm25_weights(Counter({1: count}), length, average)[1]
    assert bm25_weights(Counter({1: count + 1}), length, average)[1] > once
    assert bm25_weights(Counter({1: count}), length + longer, average)[1] < once < conf.BM25_K1 + 1


def test_an_entry_alone_weighs_twice_its_own_words() -> None:
    own = Counter({1: 1, 2: 3})
    assert blend_keywords(own, [], 4.0) == {
        term: pytest.approx(2 * weight) for term, weight in bm25_weights(own, 4, 4.0).items()
    }


def test_a_neighbours_word_is_lent_and_weighs_less_than_an_own_one() -> None:
    weights = blend_keywords(Counter({1: 1}), [Counter({2: 1})], 1.0)
    assert weights.keys() == {1, 2}
    # of one text of both, twice as long as the average of one: 2.2 / (1 + 1.2)
    assert weights[2] == pytest.approx(1.0)
    assert weights[1] == pytest.approx(2.0)


def test_a_word_said_twice_around_an_entry_says_less_than_twice_as_much() -> None:
    once = blend_keywords(Counter({1: 1}), [Counter({2: 1}), Counter({3: 1})], 1.0)[2]
    twice = blend_keywords(Counter({1: 1}), [Counter({2: 1}), Counter({2: 1})], 1.0)[2]
    assert once < twice < 2 * once


def test_a_row_keeps_128_terms_and_its_own_first() -> None:
    own = Counter(dict.fromkeys(range(100), 1))
    loud = Counter(dict.fromkeys(range(1_000, 1_100), 50))
    weights = blend_keywords(own, [loud], 100.0)
    assert len(weights) == conf.INDEX_TERMS == 128
    assert set(own) <= weights.keys()


def test_of_too_many_own_terms_the_heaviest_are_kept() -> None:
    own = Counter({term: 1 + term % 7 for term in range(400)})
    weights = blend_keywords(own, [Counter({999: 90})], 100.0)
    assert len(weights) == 128
    assert 999 not in weights
    assert min(own[term] for term in weights) >= max(own[term] for term in own.keys() - weights.keys()) > 1


def test_the_number_of_terms_can_be_set(settings: Any) -> None:
    settings.MEMORY_INDEX_TERMS = 2
    assert blend_keywords(Counter({1: 1, 2: 9, 3: 5}), [Counter({4: 9})], 5.0).keys() == {2, 3}


@pytest.mark.thorough
@given(COUNTS, st.lists(COUNTS, max_size=4), st.just(0.0) | st.floats(0.01, 100))
def test_no_text_matches_better_than_a_full_match(own: Counter[int], near: list[Counter[int]], average: float) -> None:
    before = Counter(own)
    weights = blend_keywords(own, near, average)
    assert own == before
    assert all(0 < weight < full_match(1.0) for weight in weights.values())
    assert weights.keys() <= own.keys() | set().union(*near)


@pytest.mark.thorough
@given(COUNTS, st.lists(COUNTS, min_size=2, max_size=2))
def test_the_order_of_neighbours_does_not_matter(own: Counter[int], near: list[Counter[int]]) -> None:
    there, back = blend_keywords(own, near, 5.0), blend_keywords(own, near[::-1], 5.0)
    assert there == pytest.approx(back)


@pytest.mark.thorough
@given(VECTORS, st.lists(VECTORS, max_size=4))
def test_a_blended_embedding_has_length_one(own: list[float], near: list[list[float]]) -> None:
    length = math.hypot(*blend_embedding(own, near))
    assert length == pytest.approx(1) or length < 1e-6


def test_an_embedding_takes_half_of_its_neighbours_mean() -> None:
    blended = blend_embedding([1.0, 0.0], [[0.0, 1.0], [0.0, 1.0]])
    assert blended == pytest.approx(normalise([1.0, 0.5]))


def test_an_embedding_without_neighbours_is_its_own() -> None:
    assert blend_embedding([3.0, 4.0], []) == pytest.approx([0.6, 0.8])


def test_nothing_has_no_direction() -> None:
    assert normalise([0.0, 0.0]) == [0.0, 0.0]


def test_vectors_of_different_models_are_never_mixed() -> None:
    with pytest.raises(ValueError, match="zip"):
        blend_embedding([1.0, 0.0], [[1.0, 0.0, 0.0]])


def test_vectors_are_written_as_the_database_reads_them() -> None:
    assert sparse_literal({9: 0.123456, 2: 1.0}) == f"{{2:1,9:0.1235}}/{DIMENSIONS}"
    assert sparse_literal({}) == f"{{}}/{DIMENSIONS}"
    assert dense_literal([0.123456789, -1.0]) == "[0.12346,-1]"
