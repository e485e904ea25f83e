"""Pinned tests: made in the lab, run every day, and told of when their answers are others (F6)."""

import re
from html import unescape
from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.evaluation import pinned
from memories.models import Entry, PinnedState, PinnedTest, RecallTrace, Workspace
from memories.models.policy import Policies
from memories.staff.roles import Role
from tests.conftest import NOW, make_draft
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db
QUESTION = "what do I drink with marmalade?"


def pin(client: Client, house: House, **fields: Any) -> Any:
    body = {"do": "pin", "of": house.workspace.pk, "message": QUESTION, "whom": house.session.key, "mode": "hybrid"}
    return client.post(reverse("lab"), body | fields)


def ask(client: Client, house: House, **fields: Any) -> Any:
    body = {"of": house.workspace.pk, "message": QUESTION, "whom": house.session.key, "mode": "hybrid"}
    return client.post(reverse("lab"), body | fields)


def pin_page(client: Client, page: Any, **ticked: Any) -> PinnedTest:
    """Pinned by the form that stands on a page of the lab, with all that it sends by itself."""
    form = page.content.decode().partition('name="do" value="pin"')[2]
    sent: dict[str, Any] = {"do": "pin"} | ticked
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form):
        sent.setdefault(name, []).append(unescape(value))
    saved = client.post(reverse("lab"), sent)
    assert saved.status_code == 302, saved.context["form"].errors
    return PinnedTest.objects.latest("created_at")


def served(page: Any) -> list[int]:
    return [row.entry_id for row in page.context["answers"][0][1].served]


def kept(test: PinnedTest) -> list[int]:
    return [pk for pk, _version in test.answer or ()]


def served_again(test: PinnedTest) -> list[int]:
    return list(pinned.run_one(test, Workspace.objects.get(pk=test.workspace_id), now=timezone.now()).served)


def remember_teas(house: House) -> None:
    for n in range(3):
        entries.remember(make_draft(house.scope, f"I drink marmalade tea number {n}"), now=timezone.now(), actor="test")


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


def test_it_keeps_and_shows_the_answer_that_stood_on_the_page(alice: Client, mine: House) -> None:
    remember_teas(mine)
    page = ask(alice, mine)
    reworded, edit = Entry.objects.get(pk=mine.entry.pk), entries.Edit(columns={"content": "I like marmalade with rum"})
    entries.update(reworded, edit, now=NOW, actor="test")
    entries.remember(make_draft(mine.scope, "I drink marmalade cola"), now=timezone.now(), actor="test")
    test = pin_page(alice, page, must_words="marmalade")
    assert kept(test) == served(page)
    shown = alice.get(reverse("admin:memories_pinnedtest_change", args=[test.pk])).content.decode()
    answer = shown.partition("The answer it was made from")[2]
    assert "I like marmalade with tea" in answer and "reworded since" in answer
    assert "with rum" not in answer and "cola" not in answer


def test_it_asks_again_all_that_the_recall_asked_it_was_begun_from(alice: Client, mine: House) -> None:
    remember_teas(mine)
    narrow = {**mine.trace.query, "limit": 2, "types": ["user_explicit"]}
    RecallTrace.objects.filter(pk=mine.trace.pk).update(query=narrow)
    page = ask(alice, mine, trace=mine.trace.pk)
    test = pin_page(alice, page, must_words="marmalade")
    assert len(served(page)) == 2 and served_again(test) == served(page) == kept(test)


def test_one_of_a_past_moment_goes_on_asking_memory_as_it_was_then(alice: Client, mine: House) -> None:
    moment = timezone.localtime(timezone.now())
    entries.expire(Entry.objects.get(pk=mine.entry.pk), now=timezone.now(), actor="user:ann")
    page = ask(alice, mine, at=moment.isoformat())
    test = pin_page(alice, page, must_words="with tea")
    assert mine.entry.pk in served(page) and served_again(test) == served(page)
    assert mine.entry.pk not in served(ask(alice, mine))


def test_words_it_wants_may_stand_in_what_was_said_as_they_may_on_the_page(alice: Client, mine: House) -> None:
    question = "what did I say before about marmalade?"
    page = ask(alice, mine, message=question)
    (answer,) = [answer for _name, answer in page.context["answers"]]
    contents = [event.content for event in answer.result.events]
    assert contents
    test = pin_page(alice, page, must_words=contents[0][:40])
    assert pinned.run_one(test, mine.workspace, now=timezone.now()).problems == []


def test_one_pinned_before_what_it_asks_was_kept_asks_memories_alone(alice: Client, mine: House) -> None:
    remember_teas(mine)
    message = "what did I say before about marmalade?"
    test = pin_page(alice, ask(alice, mine, message=message), must_words="marmalade")
    PinnedTest.objects.filter(pk=test.pk).update(asked={}, answer=None)
    test.refresh_from_db()
    with patch.object(pinned, "recall", wraps=pinned.recall) as asked:
        run = pinned.run_one(test, mine.workspace, now=timezone.now())
    (query,) = asked.call_args.args
    assert run.problems == [] and (query.limit, query.quotas, query.include_session_events) == (0, True, False)


def test_what_was_filled_in_stands_there_still_when_pinning_is_refused(alice: Client, mine: House) -> None:
    filled = {"at": timezone.localtime(timezone.now()).isoformat(), "max_recalls": "1", "always": "on"}
    refused = pin(alice, mine, **filled)
    assert "Tick what must" in refused.content.decode()
    assert len(refused.context["answers"]) == 2 and filled.items() <= dict(refused.context["asked"]).items()


def test_a_question_memory_cannot_answer_as_of_then_is_not_pinned(alice: Client, mine: House) -> None:
    before = mine.workspace.created_at.replace(year=2000).isoformat()
    assert pin(alice, mine, at=before, must_words="tea").context["form"].errors["at"]
    assert not PinnedTest.objects.filter(message=QUESTION).exists()


def test_the_answer_holds_only_what_the_chat_may_hear(alice: Client, mine: House, theirs: House) -> None:
    answer = [f"{theirs.entry.pk}.1", f"{mine.entry.pk}.1", f"{mine.entry.pk}.99", "x", "1.", f"{10**19}.1"]
    assert pin(alice, mine, answer=answer, must_words="tea").status_code == 302
    assert PinnedTest.objects.get(message=QUESTION).answer == [[mine.entry.pk, 1]]
