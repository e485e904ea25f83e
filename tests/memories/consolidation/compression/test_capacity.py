"""A scope holds so much and no more, and what goes first is what passes (D1, D4)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import batches
from memories.choices import Category, decay
from memories.lifecycle import expiry
from memories.models import Batch, Entry, EntryAccess, Scope
from tests.conftest import NOW
from tests.memories.consolidation.compression.conftest import facts, live

pytestmark = pytest.mark.django_db


def keep_within(scope: Scope, run: str = "capacity:1:2026-03-01") -> dict[str, int]:
    return expiry.enforce_capacity(scope.workspace_id, now=NOW, run=run)


def many(scope: Scope, count: int, **kwargs: Any) -> list[Entry]:
    kind = kwargs.get("category", Category.CONFIG)
    return facts(scope, *(f"{kind} 第{n}号：drawer {n} of {kind}" for n in range(count)), **kwargs)


def test_what_has_faded_to_nothing_is_archived(scope: Scope) -> None:
    many(scope, 60)
    facts(scope, "gone: the tunnel is open", category=Category.TEMP, importance=0.2, days_ago=31)
    facts(scope, "still: the tunnel is closed", category=Category.TEMP, importance=0.2, days_ago=30)
    facts(scope, "old event", category=Category.EVENT, importance=0.01, days_ago=3_000)
    assert keep_within(scope)["faded"] == 1
    assert [entry.content for entry in Entry.objects.archived()] == ["gone: the tunnel is open"]


def test_what_was_recalled_lately_has_not_faded_and_what_is_pinned_never_does(scope: Scope) -> None:
    (used,) = facts(scope, "used", category=Category.TEMP, days_ago=99)
    facts(scope, "pinned", category=Category.DEBUG, days_ago=99, pinned=True)
    EntryAccess.objects.create(
        entry=used, workspace_id=scope.workspace_id, access_count=1, last_accessed=NOW - timedelta(days=3)
    )
    assert keep_within(scope)["faded"] == 0


@pytest.mark.parametrize("category", [Category.TEMP, Category.EVENT])
@pytest.mark.parametrize("days", [0, 1, 31, 40_000])
def test_sql_and_python_agree_what_a_fact_is_worth(scope: Scope, category: str, days: int) -> None:
    facts(scope, "something", category=category, importance=0.4, days_ago=days)
    weighed = Entry.objects.annotate(relevance=expiry.relevance(category, NOW)).get()
    assert weighed.relevance == pytest.approx(0.4 * decay(category, days), abs=1e-9)


def test_too_much_fading_at_once_waits_for_a_person_and_is_proposed_once(scope: Scope) -> None:
    many(scope, 12, category=Category.TEMP, days_ago=99)
    assert keep_within(scope)["held"] == 1
    assert keep_within(scope, run="capacity:1:2026-03-02")["held"] == 0
    assert Batch.objects.count() == 1 and len(live(scope)) == 12


def test_beyond_the_most_the_least_relevant_that_pass_are_archived(scope: Scope, settings: Any) -> None:
    settings.MEMORY_FACTS_MOST = 20
    lasting = many(scope, 17)
    events = [
        facts(scope, f"event of day {n}", category=Category.EVENT, importance=0.5, days_ago=n)[0] for n in (1, 9, 30)
    ]
    facts(scope, "a passing thing", category=Category.TEMP, importance=0.9, days_ago=0)
    facts(scope, "one event more", category=Category.CONVERSATION, importance=0.5, days_ago=2)
    counts = keep_within(scope)
    assert counts["crowded_out"] == 2
    gone = set(Entry.objects.archived().values_list("content", flat=True))
    assert gone == {"a passing thing", events[2].content}
    assert live(scope) >= {fact.content for fact in lasting}
    assert keep_within(scope, run="next")["crowded_out"] == 0


def test_what_lasts_no_machine_chooses_from(scope: Scope, settings: Any) -> None:
    settings.MEMORY_FACTS_MOST = 20
    many(scope, 22, category=Category.DECISION)
    facts(scope, "an old decision of no weight", category=Category.DECISION, importance=0.1, days_ago=200)
    assert keep_within(scope)["proposed"] == 1
    assert len(live(scope)) == 23
    proposal = Batch.objects.get(name="capacity-rest")
    assert "23" in batches.approval_reasons(proposal)[0]
    assert proposal.changes.count() == 3
    assert proposal.changes.filter(entry__content="an old decision of no weight").exists()
    assert keep_within(scope, run="next").get("proposed", 0) == 0  # it waits already


def test_more_than_is_aimed_at_is_counted(scope: Scope, settings: Any) -> None:
    settings.MEMORY_FACTS_AIM = 5
    many(scope, 6)
    assert keep_within(scope)["above_aim"] == 1


def test_undo_brings_everything_back(scope: Scope) -> None:
    many(scope, 60)
    many(scope, 5, category=Category.DEBUG, days_ago=99)
    keep_within(scope)
    assert len(live(scope)) == 60
    batches.apply_batch(batches.plan_undo(Batch.objects.get(), actor="user:ann", now=NOW), now=NOW)
    assert len(live(scope)) == 65


def test_a_frozen_scope_is_left_as_it_is(scope: Scope) -> None:
    many(scope, 3, category=Category.DEBUG, days_ago=99)
    Scope.objects.update(frozen=True)
    assert keep_within(scope)["faded"] == 0 and len(live(scope)) == 3
