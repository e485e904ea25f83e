"""The page of a batch: read what was done or is planned, decide, take it back, and take that back."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories import batches, tasks
from memories import entries as store
from memories.admin.policies import fingerprint, versions_of
from memories.batches import PlanRow
from memories.batches.steps import CreateStep, EditStep, ExpireStep, MergeStep, Successor
from memories.choices import BatchState
from memories.models import Batch, Entry, Policy, Scope
from memories.staff.roles import Role
from tests.conftest import NOW, make_draft
from tests.memories.admin.conftest import House, enter, make_user
from tests.memories.admin.test_entries import LIST, remember

pytestmark = pytest.mark.django_db
WHY = {"confirmed": "yes", "reason": "it was wrong"}


def page_of(done: Batch, *rest: str) -> str:
    return "/".join([f"/admin/memories/batch/{done.pk}", *(rest or ("change",)), ""])


def expiring(entries: list[Entry], run: str, **kwargs: Any) -> Batch:
    steps = [PlanRow.of(entry, ExpireStep(suppress=True)) for entry in entries]
    return batches.plan(entries[0].scope, steps, name="sweep", run=run, actor="job:sweep", now=timezone.now(), **kwargs)


def in_use(scope: Scope) -> set[str]:
    return set(Entry.objects.in_scope(scope).live().values_list("content", flat=True))


@pytest.fixture
def entries(mine: House) -> list[Entry]:
    texts = ("the port of staging is 8080", "我家的猫叫年糕", "the deploy runs on Fridays", "tea is better than coffee")
    return [remember(mine.scope, text) for text in texts]


@pytest.fixture
def waiting_batch(mine: House, entries: list[Entry]) -> Batch:
    """What a machine judged and may not do by itself."""
    Entry.objects.filter(pk=entries[1].pk).update(pinned=True)
    made = make_draft(mine.scope, "the port of staging is 9090")
    steps = [
        PlanRow(step=CreateStep(draft=made)),
        PlanRow(step=MergeStep(into=Successor(position=1)), entry_id=entries[0].pk),
        PlanRow(step=EditStep(columns={"content": "我家的猫叫米饭"}), entry_id=entries[1].pk),
    ]
    return batches.plan(
        mine.scope, steps, name="compress", run="night", actor="job:compress", now=timezone.now(), judged=True
    )


@pytest.fixture
def applied_batch(entries: list[Entry]) -> Batch:
    return batches.apply_batch(expiring(entries, "r"), now=timezone.now())


# reading


def test_a_held_batch_says_why_and_shows_the_words_that_go_and_come(alice: Client, waiting_batch: Batch) -> None:
    shown = alice.get(page_of(waiting_batch)).content.decode()
    assert "Pinned memories it would change: 1." in shown and "a person has to decide" in shown
    for words in ("<del>8080</del>", "<ins>9090</ins>", "<del>年糕</del>", "<ins>米饭</ins>", "becomes part of"):
        assert words in shown
    waiting = alice.get(reverse("admin:memories_batch_changelist")).content.decode()
    home = alice.get(reverse("admin:index")).content.decode()
    assert all("1 batch waits for you" in item for item in (waiting, home))
    assert "The safety limit holds 1 of them." in home


@pytest.mark.thorough
def test_rows_are_narrowed_and_paged(alice: Client, mine: House) -> None:
    many = [remember(mine.scope, f"thing number {n} is in drawer {n}") for n in range(60)]
    batches.apply_batch(expiring(many[:1], "first"), now=timezone.now())
    done = batches.apply_batch(expiring(many, "second"), now=timezone.now())
    shown = alice.get(page_of(done))
    assert len(shown.context["rows"]) == 50 and "1–50 of 60" in shown.content.decode()
    assert len(alice.get(page_of(done), {"page": "2"}).context["rows"]) == 10
    (left,) = alice.get(page_of(done), {"state": "left"}).context["rows"]
    assert left.description.note == ("changed", "It was changed meanwhile.")
    assert len(alice.get(page_of(done), {"verb": "weather", "page": "x"}).context["rows"]) == 50


@pytest.mark.thorough
def test_a_page_costs_the_same_for_more_rows(alice: Client, mine: House, entries: list[Entry]) -> None:
    costs = []
    for run, some in (("few", entries[:2]), ("many", entries)):
        done = batches.apply_batch(expiring(some, run), now=timezone.now())
        alice.get(page_of(done))
        with CaptureQueriesContext(connection) as queries:
            assert alice.get(page_of(done)).status_code == 200
        costs.append(len(queries))
        batches.apply_batch(batches.plan_undo(done, actor="t", now=timezone.now()), now=timezone.now())
        for entry in entries:
            entry.refresh_from_db()
    assert costs[0] == costs[1]


def test_nothing_is_posted_to_the_page_itself(alice: Client, waiting_batch: Batch) -> None:
    assert alice.post(page_of(waiting_batch), {"state": "applied"}).status_code == 405


# deciding


def test_approving_asks_first_then_applies(alice: Client, mine: House, waiting_batch: Batch) -> None:
    page = alice.get(page_of(waiting_batch, "approve")).content.decode()
    assert "Pinned memories it would change: 1." in page and "Merge: 1" in page
    waiting_batch.refresh_from_db()
    assert waiting_batch.state == BatchState.PROPOSED
    done = alice.post(page_of(waiting_batch, "approve"), {"confirmed": "yes"}, follow=True).content.decode()
    assert "Applied:" in done
    waiting_batch.refresh_from_db()
    assert (waiting_batch.state, waiting_batch.decided_by) == (BatchState.APPLIED, "user:alice")
    assert {"the port of staging is 9090", "我家的猫叫米饭"} <= in_use(mine.scope)
    again = alice.post(page_of(waiting_batch, "approve"), {"confirmed": "yes"}, follow=True).content.decode()
    assert "This batch is past that" in again


def test_refusing_asks_first_and_changes_nothing(alice: Client, mine: House, waiting_batch: Batch) -> None:
    before = in_use(mine.scope)
    assert alice.post(page_of(waiting_batch, "refuse"), {}).status_code == 200
    alice.post(page_of(waiting_batch, "refuse"), {"confirmed": "yes"})
    waiting_batch.refresh_from_db()
    assert (waiting_batch.state, in_use(mine.scope)) == (BatchState.REFUSED, before)


def test_a_plan_is_changed_row_by_row(alice: Client, mine: House, waiting_batch: Batch) -> None:
    alice.post(page_of(waiting_batch, "plan"), {"position": "3", "content": "我家的猫叫花卷"})
    assert "<ins>花卷</ins>" in alice.get(page_of(waiting_batch)).content.decode()
    empty = alice.post(page_of(waiting_batch, "plan"), {"position": "3", "content": " "}, follow=True).content.decode()
    assert "An empty memory says nothing." in empty
    removed = alice.post(
        page_of(waiting_batch, "plan"), {"position": ["1", "x", "9" * 30]}, follow=True
    ).content.decode()
    assert "2 rows were taken out of the plan." in removed  # with the one that rests on it
    alice.post(page_of(waiting_batch, "approve"), {"confirmed": "yes"})
    assert "the port of staging is 8080" in in_use(mine.scope) and "我家的猫叫花卷" in in_use(mine.scope)
    assert alice.get(page_of(waiting_batch, "plan")).status_code == 405


def test_a_frozen_scope_is_told_and_left(alice: Client, waiting_batch: Batch) -> None:
    Scope.objects.update(frozen=True)
    shown = alice.post(page_of(waiting_batch, "approve"), {"confirmed": "yes"}, follow=True).content.decode()
    assert "This scope is frozen" in shown
    waiting_batch.refresh_from_db()
    assert waiting_batch.state == BatchState.PROPOSED


def test_what_is_large_is_left_to_the_worker(
    alice: Client, waiting_batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "INLINE_ROWS", 1)
    shown = alice.post(page_of(waiting_batch, "approve"), {"confirmed": "yes"}, follow=True).content.decode()
    assert "the worker carries it out" in shown and "It is being applied" in shown


# taking back


@pytest.mark.thorough
def test_an_undo_asks_why_and_can_be_undone(
    alice: Client, mine: House, entries: list[Entry], applied_batch: Batch
) -> None:
    before = in_use(mine.scope)
    assert "Nothing of it was changed since." in alice.get(page_of(applied_batch, "undo")).content.decode()
    assert alice.post(page_of(applied_batch, "undo"), {"confirmed": "yes", "reason": " "}).status_code == 200
    assert in_use(mine.scope) == before
    shown = alice.post(page_of(applied_batch, "undo"), WHY, follow=True)
    assert {entry.content for entry in entries} <= in_use(mine.scope)
    undo = Batch.objects.get(undoes=applied_batch)
    assert shown.request["PATH_INFO"] == page_of(undo)
    page = shown.content.decode()
    assert "Undone: Put back: 4." in page and "Undo this undo" in page and "it was wrong" in page
    alice.post(page_of(undo, "undo"), WHY)
    assert in_use(mine.scope) == before


def test_ticked_rows_alone_are_taken_back(
    alice: Client, mine: House, entries: list[Entry], applied_batch: Batch
) -> None:
    page = alice.post(page_of(applied_batch, "undo"), {"position": ["1", "2"]}).content.decode()
    assert "Undo 2 rows" in page and 'name="position" value="2"' in page
    alice.post(page_of(applied_batch, "undo"), WHY | {"position": ["1", "2"]})
    assert in_use(mine.scope) & {e.content for e in entries} == {e.content for e in entries[:2]}
    applied_batch.refresh_from_db()
    assert applied_batch.state == BatchState.APPLIED


@pytest.mark.thorough
@pytest.mark.parametrize(("choice", "comes_back"), [("leave", False), ("take", True), ("", False)])
def test_what_was_changed_since_is_named_and_left_or_taken(
    choice: str, comes_back: bool, alice: Client, mine: House, entries: list[Entry], applied_batch: Batch
) -> None:
    store.update(entries[0], store.Edit(columns={"topic": "ports"}), now=timezone.now(), actor="user:bo")
    page = alice.get(page_of(applied_batch, "undo")).content.decode()
    assert "1 memory was changed since" in page and entries[0].content in page and entries[2].content not in page
    shown = alice.post(page_of(applied_batch, "undo"), WHY | {"changed": choice}, follow=True).content.decode()
    assert (entries[0].content in in_use(mine.scope)) == comes_back
    assert ("1 row was left alone" in shown) != comes_back
    assert Entry.objects.get(pk=entries[0].pk).topic == "ports"


# several entries together


def ticked(action: str, entries: list[Entry]) -> dict[str, Any]:
    return {"action": action, "_selected_action": [entry.pk for entry in entries]}


def test_after_a_bulk_action_undo_is_two_clicks_away(alice: Client, mine: House, entries: list[Entry]) -> None:
    shown = alice.post(reverse(LIST), ticked("expire_chosen", entries) | WHY, follow=True).content.decode()
    done = Batch.objects.latest("pk")
    assert f'href="{page_of(done)}"' in shown
    assert "Undo" in alice.get(page_of(done)).content.decode()


def test_several_become_one(alice: Client, mine: House, entries: list[Entry]) -> None:
    merging = ticked("merge_chosen", entries[:3])
    page = alice.post(reverse(LIST), merging).content.decode()
    assert "Which one stays" in page and entries[2].content in page
    answer = WHY | {"stays": str(entries[1].pk), "content": "年糕是猫；port 8080"}
    assert alice.post(reverse(LIST), merging | answer | {"stays": "0"}).status_code == 200  # none of these
    planned = alice.post(reverse(LIST), merging | answer | {"plan_only": "on"}, follow=True)
    assert "<ins>" in planned.content.decode() and entries[0].content in in_use(mine.scope)
    alice.post(reverse(LIST), merging | answer)
    assert in_use(mine.scope) & {e.content for e in entries} == {entries[3].content}
    assert "年糕是猫；port 8080" in in_use(mine.scope)


def test_memories_of_two_scopes_are_never_merged(alice: Client, mine: House, entries: list[Entry]) -> None:
    other = Scope.objects.create(workspace=mine.workspace, key="telegram:direct_x", kind="user")
    across = [entries[0], remember(other, "of another")]
    shown = alice.post(reverse(LIST), ticked("merge_chosen", across) | WHY, follow=True).content.decode()
    assert "never cross from one to another" in shown
    gone = batches.apply_batch(expiring(entries[:2], "gone"), now=timezone.now())
    assert gone.counts == {"expire": 2}
    shown = alice.post(reverse(LIST), ticked("merge_chosen", entries[:2]) | WHY, follow=True).content.decode()
    assert "Only entries that are in use can be merged." in shown


@pytest.mark.thorough
def test_several_are_pinned_unpinned_and_filed(alice: Client, mine: House, entries: list[Entry]) -> None:
    chosen = [entry.pk for entry in entries]
    alice.post(reverse(LIST), ticked("pin_chosen", entries) | WHY)
    assert Entry.objects.filter(pk__in=chosen, pinned=True).count() == 4
    alice.post(reverse(LIST), ticked("unpin_chosen", entries[:1]) | WHY)
    assert Entry.objects.filter(pk__in=chosen, pinned=True).count() == 3
    filing = ticked("file_chosen", entries)
    assert "There is nothing to change." in alice.post(reverse(LIST), filing | WHY).content.decode()
    alice.post(reverse(LIST), filing | WHY | {"category": "config", "project": "apollo"})
    assert Entry.objects.filter(pk__in=chosen, category="config", project="apollo").count() == 4
    alice.post(reverse(LIST), filing | WHY | {"category": "none", "project": ""})
    assert Entry.objects.filter(pk__in=chosen, category="", project="apollo").count() == 4


def test_strangers_decide_nothing(charlie: Client, waiting_batch: Batch) -> None:
    for what in ("change", "approve", "refuse", "undo"):
        assert charlie.get(page_of(waiting_batch, what)).status_code == 404
    for what in ("approve", "refuse", "undo", "plan"):
        assert charlie.post(page_of(waiting_batch, what), WHY | {"position": "1"}).status_code == 404
    waiting_batch.refresh_from_db()
    assert waiting_batch.state == BatchState.PROPOSED


def test_runs_that_changed_nothing_are_listed_only_when_asked_for(alice: Client, mine: House) -> None:
    empty = Batch.objects.create(
        workspace=mine.workspace, scope=mine.scope, name="compress", actor="job:compress", created_at=NOW,
        state="applied", counts={}, cost={"judged": ["_global/pets/u"], "calls": 3},
    )  # fmt: skip
    address = reverse("admin:memories_batch_changelist")
    assert empty not in alice.get(address).context["cl"].result_list
    assert empty in alice.get(address, {"empty": "shown"}).context["cl"].result_list
    words = alice.get(reverse("admin:memories_batch_change", args=[empty.pk])).content.decode()
    assert "groups of facts that were compared" in words and "_global/pets" not in words


# trying


def test_a_plan_is_tried_and_the_questions_stand_side_by_side(alice: Client, mine: House) -> None:
    entry = mine.entry
    batch = batches.plan(
        mine.scope,
        [PlanRow.of(entry, EditStep(columns={"content": f"I like {mine.word} with coffee"}))],
        name="expire", run="branch", actor="user:alice", now=timezone.now(),
    )  # fmt: skip
    mine.trace.__class__.objects.filter(pk=mine.trace.pk).update(created_at=timezone.now())
    assert page_of(batch, "try") in alice.get(page_of(batch)).content.decode()
    shown = alice.get(page_of(batch, "try")).content.decode()
    assert mine.trace.message in shown and "with another answer: 1" in shown
    assert "As it would be" in shown and f"I like {mine.word} with coffee" in shown
    entry.refresh_from_db()
    assert "with tea" in entry.content and "coffee" not in entry.content


def test_the_other_plans_of_the_scope_are_offered_and_those_ticked_are_tried_with_it(
    alice: Client, waiting_batch: Batch, entries: list[Entry]
) -> None:
    other = expiring([entries[2]], "other")
    alone = alice.get(page_of(waiting_batch, "try")).content.decode()
    assert "Try them together" in alone and page_of(waiting_batch, "approve") in alone
    together = alice.get(page_of(waiting_batch, "try"), {"with": other.pk}).content.decode()
    assert f'value="{other.pk}" checked' in together and page_of(waiting_batch, "approve") not in together
    assert "would retire 1" in together and entries[2].content in in_use(entries[2].scope)


def test_what_was_decided_is_not_offered_to_be_tried(alice: Client, applied_batch: Batch) -> None:
    assert page_of(applied_batch, "try") not in alice.get(page_of(applied_batch)).content.decode()
    answer = alice.get(page_of(applied_batch, "try"), follow=True)
    assert answer.redirect_chain[-1][0].startswith(page_of(applied_batch))


def test_nobody_tries_the_plan_of_others(charlie: Client, waiting_batch: Batch) -> None:
    assert charlie.get(page_of(waiting_batch, "try")).status_code == 404


# branches


@pytest.fixture
def branch(alice: Client, mine: House) -> Batch:
    """Begun on the page of a scope, as a curator does."""
    page = reverse("admin:memories_scope_change", args=[mine.scope.pk])
    begin = reverse("admin:memories_scope_branch", args=[mine.scope.pk])
    assert begin in alice.get(page).content.decode()
    alice.post(begin, {"name": "less tea", "confirmed": "yes"})
    begun = Batch.objects.get(name="branch")
    assert "branch “less tea”" in alice.get(page).content.decode()
    return begun


def test_a_branch_takes_plans_in_is_merged_as_one_batch_and_undone(
    alice: Client, branch: Batch, mine: House, entries: list[Entry]
) -> None:
    first, second = (expiring([entry], f"plan-{entry.pk}") for entry in entries[:2])
    shown = alice.get(page_of(branch)).content.decode()
    assert f'name="plan" value="{first.pk}"' in shown and f'name="plan" value="{second.pk}"' in shown
    alice.post(page_of(branch, "take_in"), {"plan": [first.pk, second.pk]})
    shown = alice.get(page_of(branch)).content.decode()
    assert "would retire 2" in shown and "Merge" in shown and "Drop" in shown and 'name="plan"' not in shown
    assert "Taken into the branch" in alice.get(page_of(first)).content.decode()
    assert "Merge: branch “less tea”" in alice.get(page_of(branch, "approve")).content.decode()
    alice.post(page_of(branch, "approve"), {"confirmed": "yes"})
    gone = {entry.content for entry in entries[:2]}
    assert not gone & set(in_use(mine.scope))
    alice.post(page_of(branch, "undo"), {"confirmed": "yes", "reason": "more tea"})
    assert gone <= set(in_use(mine.scope))


def test_a_branch_with_nothing_on_it_is_dropped_and_not_merged(
    alice: Client, branch: Batch, entries: list[Entry]
) -> None:
    shown = alice.get(page_of(branch)).content.decode()
    assert page_of(branch, "approve") not in shown and page_of(branch, "refuse") in shown
    assert "ticked rows" not in shown
    alice.post(page_of(branch, "approve"), {"confirmed": "yes"})
    branch.refresh_from_db()
    assert branch.state == "proposed"
    alice.post(page_of(branch, "take_in"), {"plan": [expiring(entries[:1], "plan").pk]})
    assert page_of(branch, "approve") in alice.get(page_of(branch)).content.decode()


def test_a_number_put_back_to_what_holds_is_taken_off_the_branch(alice: Client, branch: Batch, mine: House) -> None:
    at = f"?of={mine.workspace.pk}"
    weights, terms = (reverse("admin:memories_policy_set", args=[kind]) + at for kind in ("weight", "ttl"))
    on_branch = {"to_branch": "yes", "branch": branch.pk}
    there = Policy.objects.filter(workspace=mine.workspace, kind="weight")
    present = {policy.name: f"{policy.value:g}" for policy in there}
    leaving = "Have this branch leave them as they are"
    assert leaving not in alice.post(weights, present).content.decode()
    alice.post(weights, present | {"max_recalls": "3"} | on_branch)
    alice.post(terms, {"fact-user": "90"} | on_branch)
    alice.post(weights, present | {"unread_turn_days": "9"} | on_branch)  # beside the other
    assert set(branch.changes.values_list("draft__about", flat=True)) == {
        "weight///max_recalls", "ttl/fact/user/", "weight///unread_turn_days",
    }  # fmt: skip
    assert leaving in alice.post(weights, present).content.decode()
    answer = alice.post(weights, present | on_branch, follow=True)
    assert "The branch no longer changes these numbers." in answer.content.decode()
    assert branch.changes.get().draft["about"] == "ttl/fact/user/"

    for number in ("5", "4"):
        before = fingerprint(Policy.objects.of(mine.workspace.pk).values)
        alice.post(
            weights, present | {"max_recalls": number, "confirmed": "yes", "before": before, "reason": "by hand"}
        )
    older = versions_of(mine.workspace.pk)[1].number
    alice.post(reverse("admin:memories_policy_go_back", args=[older]) + at, on_branch)
    assert branch.changes.get().draft["about"] == "weight///max_recalls"


def test_policies_are_put_on_a_branch_from_their_preview_and_merged_by_who_may_set_them(
    alice: Client, branch: Batch, mine: House
) -> None:
    form = reverse("admin:memories_policy_set", args=["weight"]) + f"?of={mine.workspace.pk}"
    numbers = {"max_recalls": "3"}
    assert "Put it on this branch instead" in alice.post(form, numbers).content.decode()
    alice.post(form, numbers | {"to_branch": "yes", "branch": branch.pk})
    shown = alice.get(page_of(branch)).content.decode()
    assert "of the workspace&#x27;s policies" in shown and "<ins>3</ins>" in shown
    policies = Policy.objects.filter(workspace=mine.workspace, name="max_recalls")
    assert not policies.exists()
    curator = enter(make_user("dora", workspace=mine.workspace, role=Role.CURATOR, is_staff=True))
    assert page_of(branch, "approve") not in curator.get(page_of(branch)).content.decode()
    assert curator.post(page_of(branch, "approve"), WHY).status_code == 403
    assert "hold in all memories" in alice.get(page_of(branch, "approve")).content.decode()
    alice.post(page_of(branch, "approve"), WHY)
    assert policies.get().value == 3
    alice.post(page_of(branch, "undo"), WHY)
    assert not policies.exists()
