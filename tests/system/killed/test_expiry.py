"""A night whose process is killed: taken up where it was left, every memory expired once, the batches say the same."""

import random
import time

import pytest

from memories import batches
from memories.models import Batch, BatchChange, Change, Entry, Scope, Workspace
from tests.conftest import NOW, make_scope
from tests.memories.lifecycle.conftest import live, remember
from tests.support.nursery import Process, start

EACH = 800
pytestmark = pytest.mark.django_db(transaction=True)


def night(workspace: Workspace) -> Process:
    return start("tests.system.killed.expiry_worker", str(workspace.pk))


def many(scope: Scope) -> None:
    """The one row that the door made, many times over."""
    (first,) = remember(scope, f"the first of {scope.key}")
    columns = {field.attname: getattr(first, field.attname) for field in Entry._meta.concrete_fields}
    for name in ("id", "uid", "content"):
        columns.pop(name)
    Entry.objects.bulk_create(Entry(content=f"line {n} of {scope.key}", **columns) for n in range(EACH - 1))


def test_killed_at_random_points_it_expires_every_memory_once(workspace: Workspace, scope: Scope) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    for place in (scope, other):
        many(place)
    remember(scope, "说昨天的事", days_ago=1)
    pick, killed = random.Random(7), 0
    for wait_for in ("begun", "told", "told", "told"):
        with night(workspace) as process:
            assert process.stdout is not None
            while (line := process.stdout.readline()) and not line.startswith(wait_for):
                pass
            time.sleep(pick.uniform(0, 0.08))
            process.kill()
            killed += "done" not in line
        check_so_far()
    with night(workspace) as last:
        assert last.wait(120) == 0
    assert killed == 4
    assert (live(scope), live(other)) == ({"说昨天的事"}, set())
    assert {done.counts["expire"] for done in Batch.objects.all()} == {EACH}
    assert set(Batch.objects.values_list("state", flat=True)) == {"applied"}
    changes = Change.objects.filter(table_name="memories_entry", op="U")
    assert changes.count() == changes.values("row_id").distinct().count() == 2 * EACH
    check_so_far()
    for done in Batch.objects.all():
        batches.apply_batch(batches.plan_undo(done, actor="user:ann", now=NOW), now=NOW)
    assert not Entry.objects.expired().exists()


def check_so_far() -> None:
    """What is expired is what the batches say they have applied, whenever one looks."""
    applied = BatchChange.objects.filter(verb="expire", state="applied").values_list("entry_id", flat=True)
    assert sorted(applied) == sorted(Entry.objects.expired().values_list("pk", flat=True))
