"""A branch of a memory: plans and policies tried together, merged as one batch that can be undone, or dropped."""

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memories import batches
from memories.batches import PlanRow, branch
from memories.batches.quarantine import affected_by, quarantine, suspect_entries
from memories.batches.steps import CreateStep, EditStep, ExpireStep, MergeStep, Successor
from memories.choices import BatchState, ChangeState
from memories.exceptions import BatchSettled
from memories.models import Batch, Change, Entry, Policy, RecallTrace, Scope
from memories.models.policy import Subject
from tests.conftest import make_draft
from tests.memories.batches.conftest import remember, state_of_everything
from tests.memories.evaluation.test_trial import QUESTION, ask, plan, tried, words

pytestmark = pytest.mark.django_db
MOST: Subject = ("weight", "", "", "max_recalls")


def begin(scope: Scope, name: str = "tidy up") -> Batch:
    return branch.begin(scope, name, actor="user:ann", now=timezone.now())


def take_in(one: Batch, *plans: Batch) -> int:
    return branch.take_in(one, plans, actor="user:ann", now=timezone.now())


def merge(one: Batch) -> Batch:
    batches.approve(Batch.objects.get(pk=one.pk), actor="user:ann", now=timezone.now())
    return batches.apply_batch(one, now=timezone.now())


def undo(batch: Batch, **how: Any) -> Batch:
    undone = batches.plan_undo(batch, actor="user:ann", now=timezone.now(), **how)
    return batches.apply_batch(undone, now=timezone.now())


def policies(scope: Scope) -> dict[Subject, float | None]:
    return Policy.objects.of(scope.workspace_id).values


def contents(scope: Scope) -> set[str]:
    return set(Entry.objects.live().in_scope(scope).values_list("content", flat=True))


@pytest.fixture
def three(scope: Scope) -> list[Entry]:
    rows = remember(scope, "the port of staging is 8080", "staging listens on port 8080", "我家的猫叫年糕")
    ask(scope, QUESTION)
    return rows


def test_plans_that_are_taken_in_are_one_batch_and_name_each_other_as_before(scope: Scope, three: list[Entry]) -> None:
    edit = plan(scope, PlanRow.of(three[2], EditStep(columns={"content": "我家的狗叫豆包"})))
    new = CreateStep(draft=make_draft(scope, "staging listens on 8080"))
    merges = [PlanRow.of(entry, MergeStep(into=Successor(position=1))) for entry in three[:2]]
    merging = plan(scope, PlanRow(step=new), *merges, run="merge")
    one = begin(scope)
    assert take_in(one, edit, merging) == 4
    assert set(Batch.objects.exclude(pk=one.pk).values_list("state", flat=True)) == {BatchState.REFUSED}
    before = state_of_everything()["memories_entry"]
    merged = merge(one)
    assert merged.counts == {"change": 1, "create": 1, "merge": 2}
    assert contents(scope) == {"我家的狗叫豆包", "staging listens on 8080"}
    undo(merged)
    assert contents(scope) == {entry.content for entry in three}
    after = state_of_everything()["memories_entry"]
    assert {pk: after[pk] for pk in before} == before


def test_a_branch_is_tried_with_its_policies_and_nothing_holds_before_it_is_merged(
    scope: Scope, three: list[Entry]
) -> None:
    one, untrusted = begin(scope), {("trust", "", "", f"{three[0].trust}_direct"): 0.0}
    assert branch.add_policies(one, untrusted) == 1
    result = tried(one)
    assert result.lost == 1 and words(result.pairs[0].went)
    assert policies(scope) == {}
    merged = merge(one)
    assert policies(scope) == untrusted and merged.counts == {"policy": 1}
    assert Policy.objects.get().reason == "tidy up"
    assert Change.objects.filter(batch_id=one.pk, table_name="memories_policy").exists()
    back = undo(merged)
    assert policies(scope) == {} and Batch.objects.get(pk=one.pk).state == BatchState.UNDONE
    undo(back)
    assert policies(scope) == untrusted and Batch.objects.get(pk=one.pk).state == BatchState.APPLIED


def test_who_asked_for_as_many_as_the_policy_says_is_answered_by_as_many_as_it_would_say(
    scope: Scope, three: list[Entry]
) -> None:
    RecallTrace.objects.all().delete()
    ask(scope, QUESTION, limit=8)
    one = begin(scope)
    branch.add_policies(one, {MOST: 1.0})
    (pair,) = tried(one).pairs
    assert (len(pair.before), len(pair.after)) == (2, 1)


def test_a_policy_somebody_changed_since_is_left_alone_by_merge_and_undo(scope: Scope, three: list[Entry]) -> None:
    one, other = begin(scope), begin(scope, "another")
    for row in (one, other):
        branch.add_policies(row, {MOST: 3.0})
    branch.add_policies(one, {MOST: 1.0})
    assert one.changes.count() == 1  # in place of the one before
    Policy.objects.put(scope.workspace_id, {MOST: 5.0}, reason="meanwhile")
    merge(one)
    assert policies(scope) == {MOST: 5.0} and one.changes.get().state == ChangeState.LEFT
    Policy.objects.put(scope.workspace_id, {}, reason="back")
    merged = merge(other)
    Policy.objects.put(scope.workspace_id, {MOST: 4.0}, reason="later")
    assert undo(merged).changes.get().state == ChangeState.LEFT and policies(scope) == {MOST: 4.0}
    Batch.objects.filter(undoes=merged).delete()
    undo(merged, force=True)
    assert policies(scope) == {}


def test_a_policy_that_is_to_stay_as_it_holds_is_taken_off_and_others_stay(scope: Scope, three: list[Entry]) -> None:
    Policy.objects.put(scope.workspace_id, {MOST: 30.0}, reason="before")
    days: Subject = ("ttl", "fact", "user", "")
    one, untrusted = begin(scope), {("trust", "", "", f"{three[0].trust}_direct"): 0.0}
    take_in(one, plan(scope, PlanRow.of(three[0], ExpireStep())))
    branch.add_policies(one, {MOST: 60.0, days: 90.0} | untrusted)
    assert branch.add_policies(one, {MOST: 30.0, ("weight", "", "", "half_life"): 5.0}) == 1
    assert one.changes.filter(draft__about="weight///max_recalls").exists()  # nobody spoke of it
    assert branch.add_policies(one, {MOST: 30.0}, about=[MOST, days]) == 0
    one.refresh_from_db()
    assert one.counts == {"expire": 1, "policy": 2}
    merge(one)
    assert policies(scope) == {MOST: 30.0, ("weight", "", "", "half_life"): 5.0} | untrusted


def test_what_is_dropped_changes_nothing_and_is_decided_on_once(scope: Scope, three: list[Entry]) -> None:
    one = begin(scope)
    take_in(one, plan(scope, PlanRow.of(three[0], ExpireStep())))
    before = state_of_everything()
    batches.refuse(one, actor="user:ann", now=timezone.now())
    assert state_of_everything() == before
    with pytest.raises(BatchSettled):
        branch.add_policies(one, {MOST: 1.0})
    with pytest.raises(BatchSettled):
        take_in(one, plan(scope, PlanRow.of(three[1], ExpireStep()), run="next"))


def test_other_branches_undos_and_plans_of_other_memories_are_not_taken_in(scope: Scope, three: list[Entry]) -> None:
    one, other = begin(scope), begin(scope, "another")
    elsewhere = Scope.objects.begin(scope.workspace_id, "telegram:direct_u2", "user")
    far = plan(elsewhere, PlanRow.of(remember(elsewhere, "tea is good")[0], ExpireStep()), run="far")
    applied = batches.apply_batch(plan(scope, PlanRow.of(three[0], ExpireStep())), now=timezone.now())
    undoing = batches.plan_undo(applied, actor="user:ann", now=timezone.now())
    assert branch.others(one) == []
    for refused in (other, far, undoing):
        with pytest.raises(BatchSettled):
            take_in(one, refused)
    assert not one.changes.exists() and Batch.objects.get(pk=far.pk).state == BatchState.PROPOSED


def test_what_was_put_into_quarantine_meanwhile_is_neither_tried_nor_merged(scope: Scope, three: list[Entry]) -> None:
    resting = CreateStep(draft=make_draft(scope, "staging is on 8080, they say"), rests_on={three[0].pk: 1})
    rows = [PlanRow.of(three[0], EditStep(columns={"content": "the port of staging is 9090"})), PlanRow(step=resting)]
    one = begin(scope)
    take_in(one, plan(scope, *rows))
    suspect = suspect_entries(scope.workspace_id, [three[0]], "a wrong port")
    quarantine(affected_by(suspect), actor="user:ann", reason="", now=timezone.now())
    result = tried(one)
    assert (result.applied, result.left, result.changed) == (0, 2, 0)
    merge(one)
    assert contents(scope) == {three[1].content, three[2].content}


def test_a_branch_is_asked_about_by_no_page_of_review(scope: Scope, three: list[Entry]) -> None:
    one = begin(scope)
    take_in(one, plan(scope, PlanRow.of(three[0], ExpireStep())))
    assert batches.open_questions(None) == []


def test_the_database_takes_no_verb_it_does_not_know(scope: Scope) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT convalidated FROM pg_constraint WHERE conname IN ('batchchange_verb_known',"
            " 'batchchange_names_its_entry')"
        )
        assert cursor.fetchall() == [(True,), (True,)]
