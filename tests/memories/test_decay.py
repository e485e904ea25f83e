"""How memories fade by what they are about (D4), how long they live (A9), and what they weigh (D2)."""

import math
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import TextChoices
from hypothesis import given
from hypothesis import strategies as st

from memories.choices import (
    FLUSHED,
    LASTING,
    PASSING,
    SECRET,
    Category,
    CategoryRule,
    EntryType,
    ScopeKind,
    category_rule,
    decay,
)
from memories.models.policy import Policies

STEADY = [Category.IDENTITY, Category.CONFIG, Category.CREDENTIAL]
SLOW = [Category.DECISION, Category.SOLUTION]
MEDIUM = [Category.EVENT, Category.CONVERSATION]
FAST = [Category.TEMP, Category.DEBUG]
DAYS = [0, 1, 7, 30, 365, 3_650]


@pytest.mark.parametrize("days", DAYS)
@pytest.mark.parametrize("category", STEADY)
def test_who_somebody_is_never_fades(category: str, days: float) -> None:
    assert decay(category, days) == 1


@pytest.mark.parametrize("days", DAYS)
@pytest.mark.parametrize("category", SLOW)
def test_decisions_fade_slowly_to_three_tenths(category: str, days: float) -> None:
    assert decay(category, days) == pytest.approx(0.3 + 0.7 * math.exp(-0.004 * days))


@pytest.mark.parametrize("days", DAYS)
@pytest.mark.parametrize("category", MEDIUM)
def test_events_fade_in_months_to_a_tenth(category: str, days: float) -> None:
    assert decay(category, days) == pytest.approx(0.1 + 0.9 * math.exp(-0.023 * days))


@pytest.mark.parametrize("days", DAYS)
@pytest.mark.parametrize("category", FAST)
def test_temporary_things_fade_in_days_to_nothing(category: str, days: float) -> None:
    assert decay(category, days) == pytest.approx(math.exp(-0.099 * days))


@pytest.mark.parametrize(
    ("category", "days", "left"),
    [
        (Category.DECISION, 173, 0.65),  # half of what fades at all is gone
        (Category.EVENT, 30, 0.551),
        (Category.TEMP, 7, 0.5),
        (Category.TEMP, 46, 0.01),  # archived from here on (D6)
    ],
)
def test_fading_has_the_measures_people_expect(category: str, days: float, left: float) -> None:
    assert decay(category, days) == pytest.approx(left, abs=0.002)


def test_every_category_has_its_rule_and_none_can_be_declared_without() -> None:
    assert all(isinstance(category.rule, CategoryRule) for category in Category)
    for kind in (Category, EntryType):
        with pytest.raises(TypeError, match="rule"):
            without_rule(kind)


def without_rule(kind: Any) -> None:
    """One more member, made as those of this kind are."""

    class Newcomer(TextChoices):
        __new__ = kind.__new_member__
        NEW = "new", "New"


def test_what_a_category_decides_is_read_from_its_rule() -> None:
    assert {Category.CREDENTIAL} == set(SECRET)
    assert {*STEADY, *SLOW} == set(LASTING)
    assert {*STEADY, *SLOW, Category.EVENT} - set(SECRET) == set(FLUSHED)
    assert (tuple(FAST), tuple(MEDIUM)) == PASSING
    assert all(len({category.rule.curve for category in together}) == 1 for together in PASSING)


@given(st.sampled_from(Category.values), st.floats(-10, 1e5), st.floats(-10, 1e5))
def test_memories_only_ever_fade(category: str, days: float, more: float) -> None:
    sooner, later = sorted([days, more])
    assert 0 <= decay(category, later) <= decay(category, sooner) <= 1


def test_a_clock_that_went_back_makes_nothing_stronger() -> None:
    assert decay(Category.TEMP, -5) == 1


def test_what_has_no_category_does_not_fade() -> None:
    assert decay("", 1_000) == 1


@pytest.mark.parametrize(
    ("category", "importance"),
    [(Category.IDENTITY, 1.0), (Category.DECISION, 0.8), (Category.EVENT, 0.5), (Category.TEMP, 0.2), ("", 0.5)],
)
def test_importance_comes_from_what_a_memory_is_about(category: str, importance: float) -> None:
    assert category_rule(category).importance == importance


@pytest.mark.parametrize(
    ("entry_type", "kind", "days"),
    [
        (EntryType.CHAT_TURN, ScopeKind.USER, 30),
        (EntryType.CHAT_TURN, ScopeKind.CHAT, 14),
        (EntryType.AUTO_CAPTURE, ScopeKind.USER, 90),
        (EntryType.AUTO_CAPTURE, ScopeKind.CHAT, 90),
        (EntryType.WORKFLOW_TRACE, ScopeKind.USER, 180),
    ],
)
def test_what_was_captured_lives_for_its_time(entry_type: EntryType, kind: str, days: int) -> None:
    assert entry_type.rule.ttls[kind] == timedelta(days=days)
    assert Policies([]).ttl(entry_type, kind) == timedelta(days=days)


@pytest.mark.parametrize("kind", ScopeKind.values)
@pytest.mark.parametrize("entry_type", [EntryType.USER_EXPLICIT, EntryType.FACT, EntryType.NOTE])
def test_what_was_saved_on_purpose_never_ends_by_itself(entry_type: str, kind: str) -> None:
    assert Policies([]).ttl(entry_type, kind) is None


@pytest.mark.parametrize(
    ("entry_type", "kind", "places"),
    [
        (EntryType.USER_EXPLICIT, ScopeKind.USER, 2),
        (EntryType.CHAT_TURN, ScopeKind.USER, 2),
        (EntryType.CHAT_TURN, ScopeKind.CHAT, 2),
        (EntryType.AUTO_CAPTURE, ScopeKind.USER, 3),
        (EntryType.AUTO_CAPTURE, ScopeKind.CHAT, 1),
        (EntryType.WORKFLOW_TRACE, ScopeKind.USER, 1),
        (EntryType.FACT, ScopeKind.USER, 5),
        (EntryType.NOTE, ScopeKind.USER, 2),
    ],
)
def test_every_kind_has_its_places_in_a_recall(entry_type: EntryType, kind: str, places: int) -> None:
    assert entry_type.rule.quotas[kind] == Policies([]).quota(entry_type, kind) == places
