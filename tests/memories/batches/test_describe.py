"""A row of a batch is told with the words before and after, whether it is planned, applied or taken back."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from memories import batches, tasks
from memories.batches import Description, apply
from memories.choices import BatchState, BatchVerb
from memories.models import Batch, BatchChange, Entry, Scope
from tests.memories.batches.conftest import (
    LATER,
    SUBJECTS,
    applied,
    create,
    live,
    planned,
    remember,
    states,
    step,
    undone,
)

pytestmark = pytest.mark.django_db
NEW = "我家的猫叫米饭"


def descriptions_of(done: Batch) -> list[Description]:
    done.refresh_from_db()
    return batches.describe(done, list(done.changes.order_by("position").select_related("entry")))


def rewording(scope: Scope) -> list[batches.PlanRow]:
    (item,) = remember(scope, SUBJECTS[1], slots={"env": "prod", "mood": "fine"})
    changes = {"columns": {"content": NEW, "category": "identity"}, "slots": {"env": "test", "mood": None}}
    return [step(BatchVerb.CHANGE, item, **changes)]


def test_a_change_is_told_the_same_before_and_after_it_is_made(scope: Scope) -> None:
    plan = planned(scope, rewording(scope))
    (before,) = descriptions_of(plan)
    (after,) = descriptions_of(batches.apply_batch(plan, now=LATER))
    for row in (before, after):
        assert (row.before, row.after) == (SUBJECTS[1], NEW)
        assert row.columns == {"category": ("", "identity")}
        assert row.slots == {"env": ("prod", "test"), "mood": ("fine", None)}


def test_an_undo_is_told_by_what_comes_back(scope: Scope) -> None:
    done = applied(scope, rewording(scope))
    plan = batches.plan_undo(done, actor="user:ann", now=LATER)
    (before,) = descriptions_of(plan)
    (after,) = descriptions_of(batches.apply_batch(plan, now=LATER))
    for row in (before, after):
        assert (row.before, row.after, row.columns) == (NEW, SUBJECTS[1], {"category": ("identity", "")})


def test_what_becomes_one_is_told_with_its_sources(scope: Scope) -> None:
    one, two, three = remember(scope, *SUBJECTS[:3])
    steps = [
        create(scope, "all of it in one"),
        step(BatchVerb.MERGE, one, into={"position": 1}),
        step(BatchVerb.MERGE, two, into={"entry": three.pk}),
    ]
    made, first, second = descriptions_of(planned(scope, steps))
    assert (made.after, [entry.pk for entry in made.sources]) == ("all of it in one", [one.pk])
    assert (first.into_position, first.into, first.into_content) == (1, None, "all of it in one")
    assert (second.before, second.into) == (SUBJECTS[1], three)


def test_what_became_of_a_row_is_a_word_and_a_sentence(scope: Scope) -> None:
    (item,) = remember(scope, SUBJECTS[0])
    done = applied(scope, [create(scope, " "), create(scope, SUBJECTS[0]), step(BatchVerb.EXPIRE, item)])
    with translation.override("zh-hans"):
        unstorable, again, _taken = [row.note for row in descriptions_of(done)]
    assert unstorable and again
    assert (unstorable[0], again[0]) == ("unstorable", "skipped")
    assert again[1] == "已有一条记忆说的完全相同。"


def test_many_rows_cost_no_more_queries_than_few(scope: Scope) -> None:
    entries = remember(scope, *SUBJECTS)
    costs = []
    for run, some in (("few", entries[:2]), ("many", entries)):
        steps = [create(scope, f"a row of {run}"), *(step(BatchVerb.MERGE, e, into={"position": 1}) for e in some)]
        steps += [step(BatchVerb.CHANGE, e, slots={"env": run}) for e in some]
        plan = planned(scope, steps, run)
        with CaptureQueriesContext(connection) as queries:
            assert len(descriptions_of(plan)) == len(steps)
        costs.append(len(queries))
    assert costs[0] == costs[1] <= 6


# what the worker does with them


def test_a_small_batch_is_carried_out_at_once_and_a_large_one_by_the_worker(
    scope: Scope, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    results: list[Any] = []
    monkeypatch.setattr(tasks, "async_task", lambda *what, **_group: results.append(what))
    monkeypatch.setattr(tasks, "INLINE_ROWS", 2)
    entries = remember(scope, *SUBJECTS[:5])
    with django_capture_on_commit_callbacks(execute=True):
        small = planned(scope, [step(BatchVerb.EXPIRE, entry) for entry in entries[:2]], "small")
        assert tasks.apply_or_queue(small, now=LATER)
        large = planned(scope, [step(BatchVerb.EXPIRE, entry) for entry in entries[2:]], "large")
        assert not tasks.apply_or_queue(large, now=LATER)
    assert results == [("memories.tasks.carry_out", large.pk)]
    large.refresh_from_db()
    assert (large.state, len(live(scope))) == (BatchState.APPLYING, 3)
    tasks.carry_out(large.pk)
    tasks.carry_out(large.pk)  # a task that is run again does nothing
    large.refresh_from_db()
    assert (large.state, large.counts, len(live(scope))) == (BatchState.APPLIED, {"expire": 3}, 0)


def test_the_worker_applies_nothing_the_safety_limit_holds(scope: Scope) -> None:
    entries = remember(scope, *SUBJECTS)
    Entry.objects.filter(pk=entries[0].pk).update(pinned=True)
    plan = planned(scope, [step(BatchVerb.EXPIRE, entry) for entry in entries], judged=True)
    assert plan.held_because
    tasks.apply_or_queue(plan, now=LATER)
    tasks.carry_out(plan.pk)
    plan.refresh_from_db()
    assert (plan.state, len(live(scope))) == (BatchState.PROPOSED, len(SUBJECTS))


def test_what_a_dead_process_left_is_gone_on_with_and_a_frozen_scope_waits(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "CHUNK", 2)
    plan = planned(scope, [step(BatchVerb.ARCHIVE, entry) for entry in remember(scope, *SUBJECTS[:5])])
    batches.start(plan)
    BatchChange.objects.filter(batch=plan, position=1).update(state="applied")
    Scope.objects.filter(pk=scope.pk).update(frozen=True)
    tasks.carry_out(plan.pk)
    assert tasks.resume_batches() == {"resumed": 0, "waiting": 1}
    Scope.objects.filter(pk=scope.pk).update(frozen=False)
    assert tasks.resume_batches() == {"resumed": 1, "waiting": 0}
    assert [state for _verb, state, _note in states(plan)] == ["applied"] * 5
    assert tasks.resume_batches() == {"resumed": 0, "waiting": 0}


def test_taken_back_it_is_told_as_it_was(scope: Scope) -> None:
    done = applied(scope, rewording(scope))
    undone(done)
    (row,) = descriptions_of(done)
    assert (row.before, row.after) == (SUBJECTS[1], NEW)
