"""Two workers that come upon the same batch at once carry it out once (F3)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from memories import batches, tasks
from memories.batches import apply
from memories.choices import BatchState, BatchVerb
from memories.models import Change, Entry, Scope, Workspace
from tests.conftest import make_scope
from tests.memories.batches.conftest import create, live, planned, remember, states, step

ROWS = 60
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def entries(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    monkeypatch.setattr(apply, "CHUNK", 5)
    scope = make_scope(workspace)
    return remember(scope, *(f"item number {n} lies in drawer {n}, 第{n}件事" for n in range(ROWS)))


def work(batch_id: int) -> None:
    try:
        tasks.carry_out(batch_id)
        tasks.resume_batches()
    finally:
        connections.close_all()


def test_two_workers_carry_a_batch_out_once(entries: list[Entry]) -> None:
    scope = Scope.objects.get()
    plan = planned(
        scope,
        [
            create(scope, "all drawers were emptied", type="fact", tier=2),
            *(step(BatchVerb.MERGE, entry, into={"position": 1}) for entry in entries),
        ],
    )
    batches.start(plan)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [plan.pk, plan.pk]))
    plan.refresh_from_db()
    assert (plan.state, plan.counts) == (BatchState.APPLIED, {"create": 1, "merge": ROWS})
    assert [state for _verb, state, _note in states(plan)] == ["applied"] * (ROWS + 1)
    assert live(scope) == {"all drawers were emptied"}
    archived = Change.objects.filter(batch_id=plan.pk, table_name="memories_entry", old__has_key="archived_at")
    assert archived.count() == ROWS  # none of them twice
