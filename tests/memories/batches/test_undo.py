"""Whatever a batch did can be taken back, in whole or in part; and so can taking it back (F3)."""

import pytest

from memories import batches, entries
from memories.choices import BatchState, BatchVerb
from memories.entries import Edit
from memories.exceptions import BatchBusy, BatchSettled, NothingToUndo
from memories.index import worker
from memories.models import BatchChange, Change, EmbeddingCache, Entry, EntryVector, Link, Scope, Slot, Suppression
from memories.recall import Query, SearchScope, recall
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft
from tests.memories.batches.conftest import (
    LATER,
    SUBJECTS,
    applied,
    create,
    live,
    planned,
    remember,
    state_of_everything,
    states,
    step,
    terms_of,
    undone,
)

pytestmark = pytest.mark.django_db


def everything(scope: Scope) -> list[batches.PlanRow]:
    """A plan with every verb in it."""
    gone, old, outdated, kept, tagged, twin = remember(scope, *SUBJECTS[:6])
    Slot.objects.create(workspace=scope.workspace, entry=tagged, name="env", value="staging")
    Slot.objects.create(workspace=scope.workspace, entry=tagged, name="service", value="api")
    entries.expire(old, now=NOW, actor="user:ann")
    return [
        step(BatchVerb.EXPIRE, gone, suppress=True),
        step(BatchVerb.RESTORE, old),
        create(scope, "the port of staging is 9090", slots={"env": "x"}),
        step(BatchVerb.SUPERSEDE, outdated, into={"position": 3}),
        step(BatchVerb.CHANGE, tagged, columns={"content": "服务器搬到了杭州"}, slots={"env": "prod", "service": None}),
        step(BatchVerb.MERGE, twin, into={"entry": kept.pk}),
    ]


def test_it_gives_back_the_state_before_row_for_row(scope: Scope) -> None:
    steps = everything(scope)
    before, words = state_of_everything(), terms_of(scope)
    done = applied(scope, steps)
    undo = undone(done)
    made = done.changes.get(position=3).entry
    after = state_of_everything()
    archived = after["memories_entry"].pop(made.pk)  # nothing is ever removed: what the batch made is archived
    assert '"archived_at": null' not in archived
    assert after == before
    counted = terms_of(scope)
    assert {term: counted.get(term, 0) - (term in made.terms) for term in words} == words
    done.refresh_from_db()
    assert (done.state, done.closed_at, undo.undoes_id) == (BatchState.UNDONE, LATER, done.pk)
    assert {state for _verb, state, _note in states(done)} == {"undone"}


@pytest.mark.thorough
def test_an_undo_can_be_undone_and_that_again(scope: Scope) -> None:
    steps = everything(scope)
    done = applied(scope, steps)
    in_effect = state_of_everything()
    undo = undone(done)
    out_of_effect = state_of_everything()
    redo = undone(undo)
    assert state_of_everything() == in_effect
    done.refresh_from_db(), undo.refresh_from_db()
    assert (done.state, undo.state, redo.state) == (BatchState.APPLIED, BatchState.UNDONE, BatchState.APPLIED)
    assert {state for _verb, state, _note in states(done)} == {"applied"}
    undone(redo)
    assert state_of_everything() == out_of_effect
    done.refresh_from_db(), undo.refresh_from_db()
    assert (done.state, undo.state) == (BatchState.UNDONE, BatchState.APPLIED)


@pytest.mark.thorough
def test_a_batch_that_was_undone_and_done_again_can_be_undone_again(scope: Scope) -> None:
    steps = everything(scope)
    done = applied(scope, steps)
    undone(undone(done))
    done.refresh_from_db()
    last = undone(done)
    assert {state for _verb, state, _note in states(last)} == {"applied"}
    assert SUBJECTS[0] in live(scope)
    done.refresh_from_db()
    assert done.state == BatchState.UNDONE


def test_what_was_changed_since_is_named_and_left_alone(scope: Scope) -> None:
    one, two = remember(scope, *SUBJECTS[:2])
    done = applied(scope, [step(BatchVerb.CHANGE, entry, columns={"category": "event"}) for entry in (one, two)])
    entries.update(one, Edit(columns={"topic": "ports"}), now=NOW, actor="user:ann")
    assert batches.changed_since(done) == [one.pk]
    undo = undone(done)
    assert states(undo) == [("undo", "left", "changed"), ("undo", "applied", "")]
    done.refresh_from_db()
    assert done.state == BatchState.APPLIED
    assert states(done) == [("change", "applied", ""), ("change", "undone", "")]
    assert Entry.objects.get(pk=one.pk).category == "event"


def test_what_was_changed_since_can_be_taken_back_on_request(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    done = applied(scope, [step(BatchVerb.CHANGE, item, columns={"category": "event"})])
    entries.update(item, Edit(columns={"topic": "ports"}), now=NOW, actor="user:ann")
    undone(done, force=True)
    item.refresh_from_db()
    assert (item.category, item.topic) == ("", "ports")  # what others changed beside it stays
    done.refresh_from_db()
    assert done.state == BatchState.UNDONE


def test_raw_sql_since_counts_as_changed(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    done = applied(scope, [step(BatchVerb.CHANGE, item, columns={"category": "event"})])
    Entry.objects.filter(pk=item.pk).update(importance=0.9)
    assert states(undone(done)) == [("undo", "left", "changed")]


def test_a_part_can_be_undone_and_the_rest_later(scope: Scope) -> None:
    entries = remember(scope, *SUBJECTS[:3])
    before = state_of_everything()
    done = applied(scope, [step(BatchVerb.EXPIRE, entry, suppress=True) for entry in entries])
    undone(done, positions=[2])
    assert live(scope) == {SUBJECTS[1]}
    assert set(Suppression.objects.values_list("entry", flat=True)) == {entries[0].pk, entries[2].pk}
    done.refresh_from_db()
    assert done.state == BatchState.APPLIED
    undone(done)
    assert state_of_everything() == before
    done.refresh_from_db()
    assert done.state == BatchState.UNDONE
    with pytest.raises(BatchSettled):
        batches.plan_undo(done, actor="user:ann", now=LATER)


def test_undoing_a_merge_row_gives_the_merged_one_back(scope: Scope) -> None:
    kept, one, two = remember(scope, *SUBJECTS[:3])
    done = applied(scope, [step(BatchVerb.MERGE, entry, into={"entry": kept.pk}) for entry in (one, two)])
    undone(done, positions=[1])
    assert live(scope) == {SUBJECTS[0], SUBJECTS[1]}
    assert set(Link.objects.values_list("to_entry", flat=True)) == {two.pk}


def test_undoing_what_was_made_gives_back_what_became_part_of_it(scope: Scope) -> None:
    one, two = remember(scope, *SUBJECTS[:2])
    steps = [create(scope, "one and two"), step(BatchVerb.MERGE, one, into={"position": 1})]
    done = applied(scope, [*steps, step(BatchVerb.EXPIRE, two)])
    undone(done, positions=[1])
    assert live(scope) == {SUBJECTS[0]}


def test_an_entry_freed_by_a_partial_undo_may_be_used_again(scope: Scope) -> None:
    (turn,) = remember(scope, SUBJECTS[0], origins=("m1",))
    (fact,) = remember(scope, SUBJECTS[1], origins=("m1",))
    done = applied(scope, [step(BatchVerb.EXPIRE, turn, suppress=True)])
    assert live(scope) == set()
    undone(done, positions=[1])
    assert live(scope) == {turn.content, fact.content}


def test_only_what_was_applied_can_be_undone_and_only_once_at_a_time(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    plan = planned(scope, [step(BatchVerb.EXPIRE, item)])
    with pytest.raises(BatchSettled):
        batches.plan_undo(plan, actor="user:ann", now=LATER)
    batches.apply_batch(plan, now=LATER)
    batches.plan_undo(plan, actor="user:ann", now=LATER)
    with pytest.raises(BatchBusy):
        batches.plan_undo(plan, actor="user:bo", now=LATER)


def test_who_took_it_back_is_in_the_history(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    undo = undone(applied(scope, [step(BatchVerb.EXPIRE, item)]))
    change = Change.objects.filter(row_id=item.pk, table_name="memories_entry").latest("id")
    assert (change.actor, change.batch_id) == ("user:ann", undo.pk)


def test_no_text_is_embedded_again(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    worker.drain(now=NOW)
    done = applied(scope, [step(BatchVerb.CHANGE, item, columns={"content": "something else entirely"})])
    worker.drain(now=NOW)
    count = EmbeddingCache.objects.count()
    undone(done)
    worker.drain(now=NOW)
    assert EmbeddingCache.objects.count() == count
    assert EntryVector.objects.get(entry=item).fingerprint == Entry.objects.get(pk=item.pk).fingerprint


def test_words_that_came_back_are_found_at_once(scope: Scope) -> None:
    (row,) = remember(scope, "我家的猫叫年糕")
    done = applied(scope, [step(BatchVerb.CHANGE, row, columns={"content": "我家的狗叫豆腐"})])
    undone(done)
    scope.refresh_from_db()
    place = SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))
    result = recall(Query(message="年糕是谁?", places=[place], workspace_id=scope.workspace_id, limit=8), now=LATER)
    assert [item.entry.content for item in result.served] == ["我家的猫叫年糕"]


def test_a_batch_that_said_something_again_is_taken_back(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0], importance=0.2)
    before = state_of_everything()
    done = applied(scope, [create(scope, SUBJECTS[0], importance=0.9, at=LATER)])
    assert states(done) == [("create", "applied", "skipped")]
    assert Entry.objects.get().importance == 0.9
    undone(done)
    assert state_of_everything() == before


def test_planning_an_undo_of_nothing_is_refused(scope: Scope) -> None:
    result = make_draft(scope, SUBJECTS[0])
    entry = entries.remember(result, now=NOW, actor="t").entry
    entries.expire(entry, now=NOW, actor="t")
    done = applied(scope, [step(BatchVerb.EXPIRE, entry)])
    assert BatchChange.objects.get().state == "left"
    with pytest.raises(NothingToUndo):
        batches.plan_undo(done, actor="user:ann", now=LATER)
