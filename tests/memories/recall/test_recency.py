"""What was just said comes before what is as good and older; age never hides the only answer (C15)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.models import Policy, Scope
from memories.recall import Query, Recall, SearchScope, recall, vector
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_is_kept_of_other_tests() -> None:
    vector.forget_centroids()


def remember(scope: Scope, content: str, *, days: float, **kwargs: Any) -> None:
    entries.remember(make_draft(scope, content, at=NOW - timedelta(days=days), **kwargs), now=NOW, actor="test")
    scope.refresh_from_db()


def ask(scope: Scope, message: str, **kwargs: Any) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    return recall(
        Query(workspace_id=scope.workspace_id, places=places, message=message, limit=8, quotas=False, **kwargs), now=NOW
    )


def test_of_two_that_match_alike_the_fresh_one_comes_first(scope: Scope) -> None:
    remember(scope, "the green boat, seen in Bergen", days=0)
    remember(scope, "the green boat, seen in Lisbon", days=90)  # stored later, so that order of arrival decides nothing
    fresh, old = ask(scope, "where is the green boat?").served
    assert "Bergen" in fresh.entry.content
    assert fresh.recency == pytest.approx(1.02) and old.recency == pytest.approx(1, abs=1e-6)


def test_it_fades_to_a_third_in_a_week(scope: Scope) -> None:
    remember(scope, "the green boat", days=7)
    (item,) = ask(scope, "where is the green boat?").served
    assert item.recency == pytest.approx(1 + 0.02 / 2.71828, abs=1e-5)
    assert item.score == pytest.approx(item.candidate.fused * item.recency)


@pytest.mark.thorough
def test_an_old_turn_that_is_the_only_answer_stays_first(scope: Scope) -> None:
    remember(scope, "the cat was named Mochi by my grandmother", days=1_000)
    for n in range(20):
        remember(scope, f"the cat ate fish {'x' * n}", days=0)
    assert "grandmother" in ask(scope, "who named the cat, was it my grandmother?").served[0].entry.content


def test_what_is_said_again_is_fresh_again(scope: Scope) -> None:
    remember(scope, "the green boat", days=300)
    remember(scope, "the green boat", days=0)
    (item,) = ask(scope, "where is the green boat?").served
    assert item.recency == pytest.approx(1.02)


def test_an_operator_sets_how_much_it_counts(scope: Scope) -> None:
    remember(scope, "the green boat", days=0)
    Policy.objects.create(workspace=scope.workspace, kind="weight", name="recency", value=0)
    assert ask(scope, "where is the green boat?").served[0].recency == 1


def test_an_operator_sets_what_a_named_day_counts(scope: Scope) -> None:
    remember(scope, "the green boat", days=1)
    assert ask(scope, "where was the green boat yesterday?").served[0].candidate.date >= 1
    Policy.objects.create(workspace=scope.workspace, kind="weight", name="date_boost", value=0)
    result = ask(scope, "where was the green boat yesterday?")
    assert result.date_ranges == [] and result.served[0].candidate.date == 0
