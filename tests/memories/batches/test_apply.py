"""A batch is planned, then applied row by row, and says what became of each (F3)."""

from typing import Any

import pytest

from memories import batches
from memories import entries as store
from memories.batches import apply
from memories.batches.steps import EventStep, PlanRow
from memories.choices import BatchState, BatchVerb
from memories.entries import Edit, daily_events
from memories.exceptions import BatchSettled, InvalidDraft, ScopeFrozen
from memories.models import Batch, BatchChange, Change, DailyEvent, Entry, Link, Scope, Slot, Suppression
from tests.conftest import NOW, make_draft
from tests.memories.batches.conftest import LATER, SUBJECTS, applied, create, live, planned, remember, states, step

pytestmark = pytest.mark.django_db


def test_a_plan_changes_nothing(scope: Scope) -> None:
    one, two = remember(scope, *SUBJECTS[:2])
    plan = planned(scope, [step(BatchVerb.EXPIRE, one), step(BatchVerb.ARCHIVE, two), create(scope, "new")])
    assert plan.state == BatchState.PROPOSED and plan.counts == {"expire": 1, "archive": 1, "create": 1}
    assert live(scope) == set(SUBJECTS[:2])


def test_every_verb_does_what_it_says_and_is_told_as_done_by_the_batch(scope: Scope) -> None:
    gone, old, outdated, kept, tagged, twin = remember(scope, *SUBJECTS[:6])
    steps = [
        step(BatchVerb.EXPIRE, gone),
        step(BatchVerb.ARCHIVE, old),
        create(scope, "the port of staging is 9090"),
        step(BatchVerb.SUPERSEDE, outdated, into={"position": 3}),
        step(BatchVerb.CHANGE, tagged, columns={"category": "config", "pinned": True}, slots={"env": "prod"}),
        step(BatchVerb.MERGE, twin, into={"entry": kept.pk}),
    ]
    done = applied(scope, steps)
    assert done.state == BatchState.APPLIED and {state for _verb, state, _note in states(done)} == {"applied"}
    assert live(scope) == {"the port of staging is 9090", kept.content, tagged.content}
    rows = Entry.objects.in_bulk()
    made = done.changes.get(position=3).entry
    assert rows[gone.pk].expired_at == LATER and rows[old.pk].archived_at == LATER
    assert rows[outdated.pk].superseded_by == made
    assert rows[tagged.pk].pinned and Slot.objects.get(entry=tagged).value == "prod"
    kinds = set(Link.objects.values_list("kind", "from_entry", "to_entry"))
    assert {("supersedes", made.pk, outdated.pk), ("merged_from", kept.pk, twin.pk)} <= kinds
    assert not Suppression.objects.exists()
    changes = Change.objects.filter(batch_id=done.pk)
    assert set(changes.values_list("actor", "run")) == {("job:test", "test:1")}


def test_what_a_person_expires_in_a_batch_stays_out(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0], origins=("m1",))
    (other,) = remember(scope, SUBJECTS[1], origins=("m1",))
    applied(scope, [step(BatchVerb.EXPIRE, item, suppress=True)])
    other.refresh_from_db()
    assert other.suppressed_at == LATER
    applied(scope, [step(BatchVerb.RESTORE, item, term_seconds=86_400)], run="test:2")
    assert live(scope) == set(SUBJECTS[:2])
    assert not Suppression.objects.exists()


def test_what_was_merged_counts_for_what_stays(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0], chats=("c1",), origins=("m1",), importance=0.2)
    (going,) = remember(scope, SUBJECTS[1], chats=("c2",), origins=("m2",), importance=0.9)
    applied(scope, [step(BatchVerb.MERGE, going, into={"entry": item.pk})])
    item.refresh_from_db()
    assert (item.chats, item.origins, item.importance) == (["c1", "c2"], ["m1", "m2"], 0.9)


def test_where_one_source_came_from_nobody_knows_no_chat_is_told(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0], chats=("c1",))
    (going,) = remember(scope, SUBJECTS[1])
    applied(scope, [step(BatchVerb.MERGE, going, into={"entry": item.pk})])
    item.refresh_from_db()
    assert item.chats == []


def test_rows_changed_since_the_plan_are_left_alone_and_say_so(scope: Scope) -> None:
    one, two, three = remember(scope, *SUBJECTS[:3])
    plan = planned(scope, [step(BatchVerb.EXPIRE, entry) for entry in (one, two, three)])
    store.update(one, Edit(columns={"content": "the port of staging is 8081"}), now=NOW, actor="user:ann")
    store.expire(two, now=NOW, actor="user:ann")
    done = batches.apply_batch(plan, now=LATER)
    assert states(done) == [("expire", "left", "changed"), ("expire", "left", "changed"), ("expire", "applied", "")]
    assert live(scope) == {"the port of staging is 8081"}
    assert done.counts == {"expire": 1}


def test_what_is_so_already_is_left_alone(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    store.expire(item, now=NOW, actor="user:ann")
    assert states(applied(scope, [step(BatchVerb.EXPIRE, item)])) == [("expire", "left", "already")]


def test_words_that_cannot_be_stored_hold_nothing_else_up(scope: Scope) -> None:
    done = applied(scope, [create(scope, " "), create(scope, SUBJECTS[1])])
    assert [state for _verb, state, _note in states(done)] == ["left", "applied"]
    assert states(done)[0][2].startswith("unstorable: ")


def test_a_row_whose_successor_was_never_made_is_left_alone(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    done = applied(scope, [create(scope, ""), step(BatchVerb.MERGE, item, into={"position": 1})])
    assert states(done)[1] == ("merge", "left", "no_successor")
    assert live(scope) == {SUBJECTS[0]}


def test_what_people_took_out_a_plan_does_not_bring_back(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    store.expire(item, now=NOW, actor="user:ann")
    done = applied(scope, [create(scope, SUBJECTS[0], source="compression")])
    assert states(done) == [("create", "left", "suppressed")]
    assert live(scope) == set()


def test_a_run_plans_once_and_is_applied_once(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    first = applied(scope, [step(BatchVerb.EXPIRE, item)])
    again = applied(scope, [create(scope, "something else")])
    assert again.pk == first.pk and BatchChange.objects.count() == 1
    assert live(scope) == set()


def test_a_killed_run_goes_on_where_it_was_left(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = remember(scope, *SUBJECTS[:7])
    monkeypatch.setattr(apply, "CHUNK", 2)
    plan = planned(scope, [step(BatchVerb.ARCHIVE, entry) for entry in entries])
    calls = iter(range(2))
    expire_many = store.expire_many

    def until_killed(*args: Any, **kwargs: Any) -> Any:
        if next(calls, None) is None:
            raise ConnectionAbortedError
        return expire_many(*args, **kwargs)

    with monkeypatch.context() as crash, pytest.raises(ConnectionAbortedError):
        crash.setattr(store, "expire_many", until_killed)
        batches.apply_batch(plan, now=LATER)
    plan.refresh_from_db()
    assert plan.state == BatchState.APPLYING and len(live(scope)) == 3
    assert batches.resume(now=LATER) == {"resumed": 1, "waiting": 0}
    plan.refresh_from_db()
    assert plan.state == BatchState.APPLIED and plan.counts == {"archive": 7}
    assert batches.resume(now=LATER) == {"resumed": 0, "waiting": 0}


def test_nothing_is_planned_for_a_frozen_scope(scope: Scope) -> None:
    Scope.objects.update(frozen=True)
    with pytest.raises(ScopeFrozen):
        planned(scope, [create(scope, "x")])
    assert not Batch.objects.exists()


def test_a_batch_whose_scope_froze_meanwhile_waits(scope: Scope) -> None:
    plan = planned(scope, [create(scope, "tea")])
    Batch.objects.update(state=BatchState.APPLYING)
    Scope.objects.update(frozen=True)
    assert batches.resume(now=LATER) == {"resumed": 0, "waiting": 1}
    Scope.objects.update(frozen=False)
    batches.resume(now=LATER)
    plan.refresh_from_db()
    assert plan.state == BatchState.APPLIED


def test_a_proposed_batch_can_be_edited_row_by_row(scope: Scope) -> None:
    (one, two) = remember(scope, *SUBJECTS[:2])
    steps = [
        create(scope, "the cat is called Rice"),
        step(BatchVerb.MERGE, one, into={"position": 1}),
        step(BatchVerb.CHANGE, two, columns={"topic": "cats"}),
    ]
    plan = planned(scope, steps)
    batches.edit_step(plan, 3, "我家的猫叫米饭")
    with pytest.raises(InvalidDraft):
        batches.edit_step(plan, 2, "no words here")
    with pytest.raises(InvalidDraft):
        batches.edit_step(plan, 1, "  ")
    assert batches.remove_steps(plan, [1]) == [1, 2]  # what would be merged into it stays, too
    done = batches.apply_batch(plan, now=LATER)
    assert states(done) == [("create", "left", "removed"), ("merge", "left", "removed"), ("change", "applied", "")]
    assert live(scope) == {SUBJECTS[0], "我家的猫叫米饭"}
    with pytest.raises(BatchSettled):
        batches.edit_step(plan, 3, "too late")


@pytest.mark.thorough
def test_many_alike_changes_cost_few_queries(scope: Scope, django_assert_max_num_queries: Any) -> None:
    drafts = [make_draft(scope, f"we counted sheep number {n}") for n in range(200)]
    entries = [answer.entry for answer in store.remember_many(drafts, now=NOW, actor="t")]
    steps = [step(BatchVerb.CHANGE, entry, columns={"category": "event"}) for entry in entries]
    plan = planned(scope, steps)
    with django_assert_max_num_queries(40):
        batches.apply_batch(plan, now=LATER)
    assert Entry.objects.filter(category="event").count() == 200


def test_an_event_that_cannot_be_stored_is_skipped_and_the_others_are_written(scope: Scope) -> None:
    (day,) = daily_events.write([event(scope, "Mia moved.")], now=NOW, actor="t")
    rows = [PlanRow(step=EventStep.of(event(scope, words))) for words in ("\u200b", "米娅的猫叫年糕。")]
    rows.append(PlanRow(step=EventStep.of(event(scope, "\ufeff")), event_id=day.pk, version=day.version))
    done = applied(scope, rows)
    unstorable = ("tell", "left", "unstorable: An empty memory says nothing.")
    assert states(done) == [unstorable, ("tell", "applied", ""), unstorable]
    contents = DailyEvent.objects.in_use().filter(scope=scope).order_by("pk").values_list("content", flat=True)
    assert (done.state, list(contents)) == (BatchState.APPLIED, ["Mia moved.", "米娅的猫叫年糕。"])


def event(scope: Scope, content: str) -> daily_events.EventDraft:
    return daily_events.EventDraft(scope=scope, local_date=NOW.date(), content=content)
