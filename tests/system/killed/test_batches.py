"""Whoever dies while a batch is applied or undone leaves it between two chunks, never in the middle of one (F3)."""

import pytest

from memories import batches
from memories import entries as store
from memories.choices import BatchState, BatchVerb, ChangeState
from memories.models import Batch, Entry, Scope
from tests.conftest import NOW, make_draft
from tests.memories.batches.conftest import LATER, planned, state_of_everything, step
from tests.support.nursery import start

MEMORIES = 160


def killed_after(chunks: int, plan: Batch) -> None:
    """Another process works at a batch, and is killed in the transaction of that chunk."""
    with start("tests.system.killed.batch_worker", str(plan.pk), LOG_LEVEL="ERROR") as process:
        assert process.stdout
        for _ in range(chunks):
            assert process.stdout.readline() == "in the middle of a transaction\n"
        process.kill()


def applied_rows(plan: Batch) -> int:
    return plan.changes.filter(state=ChangeState.APPLIED).count()


@pytest.mark.django_db(transaction=True)
def test_killed_while_applied_and_while_undone_it_is_exact_in_the_end(scope: Scope) -> None:
    drafts = [make_draft(scope, f"we counted sheep {n} on meadow {n}") for n in range(MEMORIES)]
    entries = [answer.entry for answer in store.remember_many(drafts, now=NOW, actor="t")]
    before = state_of_everything()
    plan = planned(scope, [step(BatchVerb.EXPIRE, entry, suppress=True) for entry in entries])
    for chunks in (1, 3):
        killed_after(chunks, plan)
        assert Entry.objects.filter(expired_at__isnull=False).count() == applied_rows(plan) < MEMORIES
    batches.resume(now=LATER)
    plan.refresh_from_db()
    assert plan.state == BatchState.APPLIED and plan.counts == {"expire": MEMORIES}
    undo = batches.plan_undo(plan, actor="user:ann", now=LATER)
    for chunks in (2, 1):
        killed_after(chunks, undo)
        assert Entry.objects.live().count() == applied_rows(undo) < MEMORIES
    batches.resume(now=LATER)
    undo.refresh_from_db(), plan.refresh_from_db()
    assert (undo.state, plan.state) == (BatchState.APPLIED, BatchState.UNDONE)
    assert state_of_everything() == before
