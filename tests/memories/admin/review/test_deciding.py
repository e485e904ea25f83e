"""Every question of the review is answered by one key, the last answer is taken back; looking decides nothing (F4)."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import batches, tasks
from memories.batches import PlanRow
from memories.batches.steps import PurgeStep
from memories.choices import BatchState
from memories.models import Batch, Scope
from tests.memories.admin.conftest import SECRET, House, dismiss_all
from tests.memories.admin.review.conftest import REVIEW, answer, ask, expiring, fact, in_use, replacing, state, undo

pytestmark = pytest.mark.django_db


def test_approving_applies_it_and_shows_the_next_question(alice: Client, mine: House, tea: Batch, home: Batch) -> None:
    shown = answer(alice, home, "approve")
    assert shown.context["batch"] == tea and shown.context["count"] == 1
    assert "Approved:" in shown.content.decode()
    home.refresh_from_db()
    assert (home.state, home.decided_by) == (BatchState.APPLIED, "user:alice")
    assert in_use(mine.scope) == {"米娅住在杭州。", "Mia likes tea.", "Mia does not like tea."}
    assert "Nothing waits for you." in answer(alice, tea, "approve").content.decode()


def test_refusing_changes_nothing_and_shows_the_next_question(
    alice: Client, mine: House, tea: Batch, home: Batch
) -> None:
    before = in_use(mine.scope)
    shown = answer(alice, home, "refuse")
    assert shown.context["batch"] == tea and "Refused: nothing was changed:" in shown.content.decode()
    assert (state(home), in_use(mine.scope)) == (BatchState.REFUSED, before)


def test_a_refusal_is_taken_back_and_asked_again(alice: Client, tea: Batch, home: Batch) -> None:
    answer(alice, home, "refuse")
    alice.get(REVIEW, {"at": tea.pk})  # leafing on forgets nothing
    shown = undo(alice)
    assert shown.context["batch"] == home and shown.context["last"] is None
    assert (state(home), shown.context["count"]) == (BatchState.PROPOSED, 2)


@pytest.mark.thorough
def test_an_approval_is_taken_back_and_that_too(alice: Client, mine: House, home: Batch) -> None:
    before = in_use(mine.scope)
    answer(alice, home, "approve")
    assert in_use(mine.scope) != before
    assert "everything is as it was" in undo(alice).content.decode()
    assert (in_use(mine.scope), state(home)) == (before, BatchState.UNDONE)
    assert "Applied again:" in undo(alice).content.decode()
    assert in_use(mine.scope) == {"米娅住在杭州。"}
    undo(alice)
    assert in_use(mine.scope) == before


def test_one_row_is_left_as_it_is_and_the_others_wait_on(alice: Client, mine: House) -> None:
    facts = [fact(mine.scope, text) for text in ("the deploy runs on Fridays", "年假还剩六天", "the bicycle is green")]
    batch = expiring(facts, "three")
    shown = alice.post(REVIEW, {"batch": batch.pk, "remove": "2"}, follow=True)
    assert shown.context["batch"] == batch and len(shown.context["pairs"]) == 2
    assert "Taken out of the plan" in shown.content.decode()
    assert len(undo(alice).context["pairs"]) == 3
    alice.post(REVIEW, {"batch": batch.pk, "remove": "2"})
    answer(alice, batch, "approve")
    assert in_use(mine.scope) == {"年假还剩六天"}


def test_a_plan_of_which_nothing_is_left_is_refused(alice: Client, mine: House, tea: Batch, home: Batch) -> None:
    shown = alice.post(REVIEW, {"batch": home.pk, "remove": "1"}, follow=True)
    assert (state(home), shown.context["batch"]) == (BatchState.REFUSED, tea)
    shown = undo(alice)
    assert (state(home), shown.context["batch"], len(shown.context["pairs"])) == (BatchState.PROPOSED, home, 1)


def test_what_cannot_be_taken_back_is_asked_once_more(alice: Client, mine: House) -> None:
    gone = fact(mine.scope, "the wifi is called Lantern")
    batch = ask(mine.scope, [PlanRow.of(gone, PurgeStep())], "purge")
    assert "1 memory is removed for good." in alice.get(REVIEW).content.decode()
    shown = answer(alice, batch, "approve")
    assert shown.request["PATH_INFO"] == reverse("admin:memories_batch_approve", args=[batch.pk])
    assert (state(batch), in_use(mine.scope)) == (BatchState.PROPOSED, {gone.content})


def test_what_is_settled_or_frozen_says_so(alice: Client, mine: House, tea: Batch, home: Batch) -> None:
    Scope.objects.update(frozen=True)
    shown = answer(alice, home, "approve")
    assert "This scope is frozen" in shown.content.decode() and shown.context["batch"] == home
    batches.refuse(home, actor="user:bo", now=timezone.now())
    assert "This batch is past that" in answer(alice, home, "refuse").content.decode()
    assert alice.get(REVIEW).context["last"] is None


def test_what_is_large_is_left_to_the_worker(alice: Client, tea: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "INLINE_ROWS", 0)
    assert "the worker carries it out" in answer(alice, tea, "approve").content.decode()
    assert state(tea) == BatchState.APPLYING


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [{"do": "approve"}, {"do": "refuse"}, {"remove": "1"}, {"do": "undo"}])
def test_looking_decides_nothing(asked: dict[str, str], alice: Client, mine: House, tea: Batch) -> None:
    answer(alice, replacing(fact(mine.scope, "A is 1"), fact(mine.scope, "A is 2"), "a"), "refuse")
    before = (in_use(mine.scope), list(Batch.objects.order_by("pk").values()))
    assert alice.get(REVIEW, {"batch": tea.pk, "at": tea.pk, **asked}).status_code == 200
    assert (in_use(mine.scope), list(Batch.objects.order_by("pk").values())) == before
    assert answer(alice, tea, "something else").context["batch"] == tea
    assert list(Batch.objects.order_by("pk").values()) == before[1]
    assert alice.put(REVIEW).status_code == 405


def test_a_form_of_another_site_decides_nothing(mine: House, alice: Client, tea: Batch) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = alice.cookies
    assert strict.post(REVIEW, {"batch": tea.pk, "do": "approve"}).status_code == 403
    assert state(tea) == BatchState.PROPOSED


# who may


def test_strangers_see_and_decide_nothing(alice: Client, charlie: Client, tea: Batch, theirs: House) -> None:
    old = fact(theirs.scope, f"{SECRET} is in London")
    foreign = replacing(old, fact(theirs.scope, f"{SECRET} is in Paris"), "theirs")
    assert charlie.get(REVIEW).context["batch"] == foreign
    shown = alice.get(REVIEW, {"at": foreign.pk})
    assert (shown.context["batch"], shown.context["count"]) == (tea, 1)
    assert SECRET not in shown.content.decode()
    for posted in ({"do": "approve"}, {"do": "refuse"}, {"remove": "1"}):
        assert SECRET not in alice.post(REVIEW, {"batch": foreign.pk, **posted}, follow=True).content.decode()
    assert (state(foreign), in_use(theirs.scope)) == (BatchState.PROPOSED, {old.content, f"{SECRET} is in Paris"})


def test_who_lost_the_workspace_takes_nothing_back(alice: Client, mine: House, tea: Batch) -> None:
    answer(alice, tea, "approve")
    dismiss_all(mine.workspace)
    assert alice.post(REVIEW, {"do": "undo"}).status_code == 403
    assert state(tea) == BatchState.APPLIED


def test_who_is_a_member_of_nothing_is_not_asked(dora: Client, owner: Client, tea: Batch) -> None:
    assert dora.get(REVIEW).status_code == 403
    assert f'href="{REVIEW}"' not in dora.get(reverse("admin:index")).content.decode()
    assert owner.get(REVIEW).context["batch"] == tea
    assert Client().get(REVIEW).status_code == 302
