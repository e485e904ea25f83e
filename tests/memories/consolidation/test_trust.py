"""A model is trusted by what people let stand of its work (D5, D6)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import CreateStep
from memories.consolidation import compression, proposals
from memories.models import Batch, Entry, Scope
from tests.conftest import NOW, Api, make_draft
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.compression.conftest import live, past_event
from tests.memories.consolidation.compression.conftest import model as model
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.llm.fake_server import FakeModel

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=2)


def made(scope: Scope, count: int, run: str = "extract:9", model: str = "small", **kwargs: Any) -> Batch:
    """A batch of facts a model found."""
    contents = [f"{word} {run} is in room {n}" for n, word in enumerate(["box", "jar", "tin", "pot"] * 5)][:count]
    rows = [
        PlanRow(step=CreateStep(draft=make_draft(scope, content, type="fact", tier=2, **kwargs)))
        for content in contents
    ]
    batch = batches.plan(scope, rows, name="extract", run=run, actor="job:extract", now=NOW, judged=True)
    Batch.objects.filter(pk=batch.pk).update(cost={"model": model})
    return batches.apply_batch(batch, now=NOW)


def figure(scope: Scope) -> tuple[int, int]:
    (one,) = proposals.figures(scope.workspace_id, now=LATER)
    return one.rows, one.taken_back


def test_what_people_let_stand_speaks_for_it(scope: Scope) -> None:
    made(scope, 12)
    assert figure(scope) == (12, 0) and proposals.is_trusted(scope.workspace_id, "small", now=LATER)


def test_what_they_take_out_of_use_speaks_against_it_and_what_jobs_do_does_not(scope: Scope) -> None:
    made(scope, 12)
    found = list(Entry.objects.in_scope(scope).live().order_by("pk"))
    for entry in found[:3]:
        entries.expire(entry, now=LATER, actor="user:ann")
    entries.expire(found[3], now=LATER, actor="job:expire", suppress=False)
    assert figure(scope) == (12, 3)
    assert not proposals.is_trusted(scope.workspace_id, "small", now=LATER)
    assert proposals.is_trusted(scope.workspace_id, "another", now=LATER)


def test_what_they_refuse_speaks_against_it_and_what_a_newer_plan_replaced_does_not(scope: Scope) -> None:
    made(scope, 2)
    for run, actor in (("compress:1", "user:ann"), ("compress:2", "job:compress")):
        row = PlanRow(step=CreateStep(draft=make_draft(scope, f"{run} is blue", type="fact", tier=2)))
        plan = batches.plan(scope, [row], name="compress-doubts", run=run, actor="job:compress", now=NOW)
        Batch.objects.filter(pk=plan.pk).update(cost={"model": "small"})
        batches.refuse(plan, actor=actor, now=NOW)
    assert figure(scope) == (3, 1)


def test_few_rows_and_old_ones_say_nothing(scope: Scope) -> None:
    batches.apply_batch(batches.plan_undo(made(scope, 9), actor="user:ann", now=NOW), now=NOW)
    assert figure(scope) == (9, 9) and proposals.is_trusted(scope.workspace_id, "small", now=LATER)
    batches.apply_batch(batches.plan_undo(made(scope, 9, run="extract:10"), actor="user:ann", now=NOW), now=NOW)
    assert not proposals.is_trusted(scope.workspace_id, "small", now=LATER)
    assert proposals.figures(scope.workspace_id, now=NOW + timedelta(days=91)) == []


@pytest.mark.thorough
def test_a_model_nobody_trusts_only_quotes(scope: Scope, model: FakeModel, api: Api, settings: Any) -> None:
    settings.MEMORY_LLM_CALLS, settings.TEST_CLOCK = 1, True
    batches.apply_batch(batches.plan_undo(made(scope, 12), actor="user:ann", now=NOW), now=NOW)
    past_event(scope, "米娅的猫叫年糕。")
    counts = compression.compress_days(scope.workspace_id, clock=lambda: NOW, run="compress-days:1")
    assert (counts["facts"], counts["untrusted"], counts["verified"]) == (1, 1, 0)
    say(api, "The kettle is green.", "Noted.")
    model.script = [answering(fact("The kettle is green."))]
    assert extract(NOW + QUIET)["verified"] == 0
    facts = Entry.objects.live().filter(type="fact")
    assert set(facts.values_list("verification", flat=True)) == {"quoted"}
    assert live(scope) >= {"米娅的猫叫年糕。"}
