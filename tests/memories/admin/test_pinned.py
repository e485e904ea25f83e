"""Pinned tests: made in the lab, run every day, and told of when their answers are others (F6)."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.evaluation import pinned
from memories.models import Entry, PinnedState, PinnedTest, RecallTrace
from memories.models.policy import Policies
from memories.tenancy.roles import Role
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db
QUESTION = "what do I drink with marmalade?"


def pin(client: Client, house: House, **fields: Any) -> Any:
    body = {"do": "pin", "of": house.workspace.pk, "message": QUESTION, "whom": house.session.key, "mode": "hybrid"}
    return client.post(reverse("lab"), body | fields)


@pytest.fixture
def test_of_tea(alice: Client, mine: House) -> PinnedTest:
    PinnedTest.objects.all().delete()  # the one every house has
    assert pin(alice, mine, **{f"row_{mine.entry.pk}": "must"}, must_not_words="coffee\n").status_code == 302
    return PinnedTest.objects.get(message=QUESTION)


def problems(house: House, policies: Policies | None = None) -> list[list[tuple[str, Any]]]:
    return [run.problems for run in pinned.run_pinned(house.workspace, policies, now=timezone.now())]


def test_what_is_ticked_is_asked_again_as_the_same_chat(alice: Client, mine: House, test_of_tea: PinnedTest) -> None:
    before = RecallTrace.objects.count()
    assert test_of_tea.must_entries == [mine.entry.pk] and test_of_tea.must_not_words == ["coffee"]
    assert test_of_tea.whom["asker"] == mine.trace.query["asker"]
    assert pinned.check_all(mine.workspace.pk, now=timezone.now()) == {"tests": 1, "failing": 0}
    test_of_tea.refresh_from_db()
    assert test_of_tea.state == PinnedState.PASSING and RecallTrace.objects.count() == before
    shown = alice.get(reverse("admin:memories_pinnedtest_change", args=[test_of_tea.pk])).content.decode()
    assert "I like marmalade with tea" in shown and "coffee" in shown


def test_one_that_is_answered_otherwise_fails_on_the_home_page(
    alice: Client, mine: House, test_of_tea: PinnedTest
) -> None:
    entries.expire(Entry.objects.get(pk=mine.entry.pk), now=timezone.now(), actor="user:ann")
    listed = reverse("admin:memories_pinnedtest_changelist")
    alice.post(listed, {"action": "run_now", "_selected_action": [test_of_tea.pk]})
    test_of_tea.refresh_from_db()
    assert (test_of_tea.state, test_of_tea.problems) == (PinnedState.FAILING, [["missing", mine.entry.pk]])
    assert "1 pinned test does not pass" in alice.get(reverse("admin:index")).content.decode()
    assert "is not returned" in alice.get(listed).content.decode()


def test_one_whose_memory_was_removed_for_good_says_so(alice: Client, mine: House, test_of_tea: PinnedTest) -> None:
    PinnedTest.objects.filter(pk=test_of_tea.pk).update(must_entries=[2**40], must_not_words=[])
    pinned.check_all(mine.workspace.pk, now=timezone.now())
    assert list(pinned.failing_pinned_tests([mine.workspace.pk])) == [test_of_tea]
    shown = alice.get(reverse("admin:memories_pinnedtest_change", args=[test_of_tea.pk])).content.decode()
    assert "Cannot be run" in shown and "removed for good" in shown


def test_policies_nobody_has_saved_yet_are_tried_on_them(mine: House, test_of_tea: PinnedTest) -> None:
    assert problems(mine) == []
    none_near = {("weight", "", "", "min_similarity"): 1.0, ("weight", "", "", "max_recalls"): 0.0}
    for kind in ("user", "chat"):
        none_near["quota", "chat_turn", kind, ""] = 0.0
    assert problems(mine, Policies.of_values(none_near)) == [[("missing", mine.entry.pk)]]
    test_of_tea.refresh_from_db()
    assert test_of_tea.state == PinnedState.NEW


def test_only_who_curates_may_pin_and_only_what_the_chat_may_hear(alice: Client, mine: House, theirs: House) -> None:
    viewer = enter(make_user("vera", workspace=mine.workspace, role=Role.VIEWER, is_staff=True))
    assert pin(viewer, mine, must_words="tea").status_code == 200
    refused = pin(alice, mine, **{f"row_{theirs.entry.pk}": "must"})
    assert "Tick what must" in refused.content.decode()
    assert not PinnedTest.objects.filter(message=QUESTION).exists()
