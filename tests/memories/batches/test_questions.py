"""What waits for a person comes in one order: what would do most harm if it were wrong comes first (F4)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import batches
from memories.choices import BatchState, BatchVerb
from memories.exceptions import BatchSettled
from memories.models import Batch, Entry, Scope, Workspace
from tests.conftest import NOW, make_scope
from tests.memories.batches.conftest import LATER, create, planned, remember, states, step

pytestmark = pytest.mark.django_db


def one(scope: Scope, content: str, **kwargs: Any) -> Entry:
    """A fact of a machine, unless told otherwise."""
    fact = {"type": "fact", "tier": 2, "source": "extraction", "importance": 0.5}
    (entry,) = remember(scope, content, **(fact | kwargs))
    return entry


def order(*workspaces: Workspace) -> list[str]:
    """The runs of the questions, the first first."""
    result = batches.open_questions([workspace.pk for workspace in workspaces] if workspaces else None)
    runs = dict(Batch.objects.values_list("pk", "run"))
    return [runs[question.batch] for question in result]


def test_the_most_harmful_comes_first(scope: Scope) -> None:
    expiring = {
        "little": one(scope, "the bicycle is green", importance=0.2),
        "important": one(scope, "我对花生过敏", importance=0.9),
        "pinned": one(scope, "the keys are under the mat", importance=0.1, pinned=True),
        "written": one(scope, "妈妈的生日是五月三日", importance=0.1, source="manual"),
        "gone for good": one(scope, "the wifi is called Lantern", importance=0.1),
    }
    into = one(scope, "Carol sings in a choir")
    merged = one(scope, "Carol sings every Monday", importance=0.9)
    planned(scope, [create(scope, "the office moved to Hangzhou")], "new")
    planned(scope, [step(BatchVerb.MERGE, merged, into={"entry": into.pk})], "merged")
    for run in ("little", "important", "pinned", "gone for good"):
        verb = BatchVerb.PURGE if run == "gone for good" else BatchVerb.EXPIRE
        planned(scope, [step(verb, expiring[run])], run)
    several = [expiring["written"], one(scope, "tea is better than coffee", source="tool")]
    planned(scope, [step(BatchVerb.EXPIRE, entry) for entry in several], "two of people")
    assert order() == ["gone for good", "two of people", "pinned", "important", "little", "merged", "new"]


def test_of_equal_ones_the_oldest_comes_first(scope: Scope) -> None:
    for run in ("first", "second"):
        planned(scope, [step(BatchVerb.EXPIRE, one(scope, f"{run} of two things", importance=0.4))], run)
    assert order() == ["first", "second"]
    Batch.objects.filter(run="second").update(created_at=NOW - timedelta(days=1))
    assert order() == ["second", "first"]


def test_what_was_changed_or_taken_out_since_harms_nothing_any_more(scope: Scope) -> None:
    gone, fact = one(scope, "服务器在上海机房", importance=1.0), one(scope, "the bicycle is green", importance=0.1)
    planned(scope, [step(BatchVerb.EXPIRE, gone)], "of old")
    planned(scope, [step(BatchVerb.EXPIRE, fact)], "of today")
    assert order() == ["of old", "of today"]
    batches.apply_batch(planned(scope, [step(BatchVerb.ARCHIVE, gone)], "done"), now=LATER)
    assert order() == ["of today", "of old"]


def test_only_what_waits_in_these_workspaces_is_asked(scope: Scope, stranger: Workspace) -> None:
    theirs = make_scope(stranger)
    for where, run in ((scope, "ours"), (scope, "refused"), (theirs, "theirs")):
        planned(where, [step(BatchVerb.EXPIRE, one(where, f"{run} is a thing"))], run)
    batches.refuse(Batch.objects.get(run="refused"), actor="user:ann", now=LATER)
    assert order(scope.workspace) == ["ours"]
    assert batches.open_questions([]) == []
    assert set(order()) == {"ours", "theirs"}


def test_all_of_them_cost_one_query(scope: Scope) -> None:
    for n in range(12):
        planned(scope, [step(BatchVerb.EXPIRE, one(scope, f"sheep number {n} is in field {n}"))], f"run {n}")
    with CaptureQueriesContext(connection) as queries:
        assert len(batches.open_questions(None)) == 12
    assert len(queries) == 1


def test_a_refusal_is_taken_back_by_whom_it_is_of(scope: Scope) -> None:
    plan = planned(scope, [step(BatchVerb.EXPIRE, one(scope, "the bicycle is green"))])
    batches.refuse(plan, actor="user:ann", now=LATER)
    with pytest.raises(BatchSettled):
        batches.reopen(plan, actor="user:ben")
    batches.reopen(plan, actor="user:ann")
    assert (plan.state, plan.decided_by, plan.closed_at) == (BatchState.PROPOSED, "", None)
    batches.approve(plan, actor="user:ann", now=LATER)
    with pytest.raises(BatchSettled):
        batches.reopen(plan, actor="user:ann")


def test_rows_that_were_taken_out_are_put_back(scope: Scope) -> None:
    entries = [one(scope, text) for text in ("the bicycle is green", "年假还剩六天")]
    plan = planned(scope, [step(BatchVerb.EXPIRE, entry) for entry in entries])
    assert batches.remove_steps(plan, [2]) == [2]
    assert plan.counts == {"expire": 1}
    assert batches.put_back_steps(plan, [1, 2]) == 1
    assert plan.counts == {"expire": 2}
    assert states(plan) == [("expire", "planned", ""), ("expire", "planned", "")]
    done = batches.apply_batch(plan, now=LATER)
    with pytest.raises(BatchSettled):
        batches.put_back_steps(done, [1])
