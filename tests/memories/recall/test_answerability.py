"""Whether what was found is enough to answer with (C3)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memories.choices import ScopeKind
from memories.language.text import terms
from memories.models import Entry
from memories.recall.answer import Answerability, assess_all, is_noise, strength_of
from memories.recall.candidates import Candidate
from memories.recall.query import ParsedQuery, Words
from memories.recall.question import DateRange
from memories.recall.ranking import Ranked

CAT = terms("cat").keys()


def item(similarity: float | None, content: str = "my cat", date: float = 0.0) -> Ranked:
    candidate = Candidate(1, 1, 0.5, 0.5, False, 0.5, date)
    return Ranked(candidate, Entry(pk=1, content=content), ScopeKind.USER, 1.0, 0.5, "served", similarity)


def asked(content: str, *, unheard: float = 0.0, named: list[str] | None = None) -> Words:
    return Words({}, [(1, name) for name in named or []], dict.fromkeys(terms(content), 1.0), unheard)


def verdict(*items: Ranked, words: Words, entries: int = 100) -> str:
    return assess_all(items, items, ParsedQuery(words), entries).verdict


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [(-0.4, "none"), (0.2, "none"), (0.39, "weak"), (0.45, "found"), (2.0, "found")],
)
def test_the_nearer_the_best_the_better_the_verdict(similarity: float, expected: str) -> None:
    assert verdict(item(similarity), words=asked("cat")) == expected


def test_nothing_served_is_no_evidence() -> None:
    assert assess_all([item(0.9)], [], ParsedQuery(asked("cat")), 100).verdict == "none"


def test_words_nobody_ever_said_weaken_it() -> None:
    assert verdict(item(0.45), words=asked("cat")) == "found"
    assert verdict(item(0.45), words=asked("cat", unheard=9.0)) == "weak"


def test_among_many_the_best_is_near_by_chance() -> None:
    assert verdict(item(0.45), words=asked("cat"), entries=10_000) == "weak"


@pytest.mark.parametrize("sign", ["speaker", "date"])
def test_a_speaker_or_a_day_that_is_named_strengthens_it(sign: str) -> None:
    plain = Answerability(similarity=0.3, entries=100)
    stronger = strength_of(replace(plain, **{sign: True}))
    assert stronger is not None and stronger > (strength_of(plain) or 0)


def spoken(keyword: float, *, named: bool) -> Ranked:
    candidate = Candidate(1, 1, keyword, 0.5, named, 0.5, 0.0)
    return Ranked(candidate, Entry(pk=1, content="my cat"), ScopeKind.USER, 1.0, 0.5, "served", 0.6)


@pytest.mark.parametrize(
    ("ann", "bob", "expected"), [(0.5, 0.4, "found"), (0.4, 0.5, "weak"), (0.3, 0.9, "none"), (None, 0.9, "found")]
)
def test_what_somebody_else_said_is_weak_evidence_of_what_ann_said(
    ann: float | None, bob: float, expected: str
) -> None:
    items = [spoken(bob, named=False), *([spoken(ann, named=True)] if ann is not None else [])]
    assert verdict(*items, words=asked("cat", named=["Ann"], unheard=1.0)) == expected
    assert verdict(*items, words=asked("cat", unheard=1.0)) == "found", "nobody is named"


def within(days: int) -> ParsedQuery:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return ParsedQuery(asked("cat"), date_ranges=[DateRange(start, start + timedelta(days=days), "then")])


def test_a_day_counts_when_something_was_said_on_it() -> None:
    on_it = assess_all([item(0.3, date=1.0)], [item(0.3)], within(1), 100)
    after = assess_all([item(0.3, date=0.7)], [item(0.3)], within(1), 100)
    assert on_it.date and not after.date


@pytest.mark.parametrize(
    ("relevance", "entries", "asks_of_days", "expected"),
    [(0.05, 70, True, "weak"), (0.4, 70, True, "found"), (0.05, 70, False, "found"), (0.05, 900, True, "found")],
)
def test_of_a_day_something_else_than_was_asked_is_a_weak_answer(
    relevance: float, entries: int, asks_of_days: bool, expected: str
) -> None:
    """«What did I cook on May 5?», of a day on which a film was spoken of."""
    parsed = replace(within(1), asks_of_days=asks_of_days)
    of_day = item(0.9, date=1.0)
    of_day.relevance = relevance
    assert assess_all([of_day], [of_day], parsed, entries).verdict == expected


def test_a_year_counts_where_not_all_was_said_in_it() -> None:
    in_it, before = item(0.3, date=1.0), item(0.3, date=0.0)
    assert assess_all([in_it, before], [in_it], within(365), 100).date
    assert not assess_all([in_it, in_it], [in_it], within(365), 100).date, "«how old is it this year?»"


@pytest.mark.parametrize(("unheard", "expected"), [(0.0, "found"), (2.0, "weak"), (9.0, "none")])
def test_without_vectors_the_words_decide(unheard: float, expected: str) -> None:
    assert verdict(item(None), words=asked("cat", unheard=unheard)) == expected


def test_a_fresh_memory_that_says_it_all_is_found_before_it_has_a_vector() -> None:
    assert verdict(item(None), item(-0.5), words=asked("cat")) == "found"


def young(relevance: float, *, entries: int = 3, similarity: float = 0.8, words: float = 0.0) -> Answerability:
    return Answerability(similarity=similarity, relevance=relevance, entries=entries, words=words)


def test_in_a_young_scope_the_relevance_of_the_best_counts() -> None:
    likely, unlikely = strength_of(young(0.8)), strength_of(young(0.05))
    assert likely is not None and unlikely is not None
    assert likely > 0.6 > 0.45 > unlikely, "though both are as near as anything here"


def test_with_more_entries_a_scope_speaks_for_itself() -> None:
    strengths = [strength_of(young(0.05, entries=entries)) or 0.0 for entries in (1, 30, 60, 120, 1_000)]
    assert strengths[0] < 0.45 and strengths == sorted(strengths[:4]) + strengths[4:]
    old = strength_of(replace(young(0.05, entries=1_000), relevance=None))
    assert strengths[-1] == pytest.approx(old, abs=1e-3)


def test_a_name_that_nobody_here_ever_said_weakens_it() -> None:
    answerability = Answerability(similarity=0.5, entries=100)
    assert (strength_of(replace(answerability, unknown_name=True)) or 0) < (strength_of(answerability) or 0)


@pytest.mark.parametrize(
    ("verdict", "entries", "words", "date", "noise"),
    [
        ("none", 3, 0.1, False, True),
        ("weak", 3, 0.1, False, False),
        ("none", 3, 0.9, False, False),
        ("none", 3, 0.1, True, False),
        ("none", 300, 0.1, False, False),
    ],
)
def test_what_answers_nothing_is_noise_in_a_young_scope_alone(
    verdict: str, entries: int, words: float, date: bool, noise: bool
) -> None:
    assert is_noise(replace(young(0.0, entries=entries, words=words), verdict=verdict, date=date)) is noise


def test_a_trace_keeps_the_signs() -> None:
    result = assess_all([item(0.45)], [item(0.45)], ParsedQuery(asked("cat", named=["Ann"])), 100).as_json()
    assert result["verdict"] == "found" and result["speaker"] is True and result["words"] == 1.0
    signs = {"similarity", "words", "speaker", "lead", "others", "date", "entries", "about_asker"}
    signs |= {"relevance", "unknown_name"}
    assert set(result) == {"verdict", "strength"} | signs
