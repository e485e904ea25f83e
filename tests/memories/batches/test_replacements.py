"""What others would be out of use without stays when a batch is taken back; what stood so before goes again (F3)."""

import pytest

from memories import batches
from memories.choices import BatchVerb
from memories.models import Batch, Entry, Scope
from tests.memories.batches.conftest import SUBJECTS, applied, live, remember, state_of_everything, states, step, undone

pytestmark = pytest.mark.django_db
KEPT, ONE, TWO = SUBJECTS[:3]


def merged(scope: Scope, entry: Entry, into: Entry, run: str) -> Batch:
    return applied(scope, [step(BatchVerb.MERGE, entry, into={"entry": into.pk})], run)


def restored(scope: Scope, entry: Entry) -> Batch:
    return applied(scope, [step(BatchVerb.RESTORE, entry, term_seconds=60)], f"restore:{entry.pk}")


def test_what_became_part_of_it_before_is_as_it_was_when_a_restoring_is_taken_back(scope: Scope) -> None:
    kept, one, two = remember(scope, KEPT, ONE, TWO)
    merged(scope, two, one, "first")
    merged(scope, one, kept, "second")
    before = state_of_everything()
    back = restored(scope, one)
    assert live(scope) == {KEPT, ONE}
    assert batches.undo_blockers(back) == {}
    undone(back)
    assert state_of_everything() == before


def test_so_it_is_when_what_took_its_place_was_out_of_use_itself(scope: Scope) -> None:
    one, two = remember(scope, ONE, TWO)
    merged(scope, two, one, "first")
    applied(scope, [step(BatchVerb.ARCHIVE, one)], "second")
    before = state_of_everything()
    back, other = restored(scope, one), restored(scope, two)
    undone(other)
    undone(back)
    assert state_of_everything() == before


def test_what_became_part_of_it_since_holds_it(scope: Scope) -> None:
    one, two = remember(scope, ONE, TWO)
    applied(scope, [step(BatchVerb.ARCHIVE, one)], "first")
    back = restored(scope, one)
    since = merged(scope, two, one, "second")
    named = f"…{since.uid.hex[-8:]}"
    assert batches.undo_blockers(back) == {one.pk: named}
    for force in (False, True):
        undo = undone(back, force=force)
        assert states(undo) == [("undo", "left", f"stands: {named}")]
        assert live(scope) == {ONE}
    undone(since)
    undone(back)
    assert live(scope) == {TWO}


def test_so_does_what_became_part_of_it_in_the_same_batch(scope: Scope) -> None:
    one, two = remember(scope, ONE, TWO)
    applied(scope, [step(BatchVerb.ARCHIVE, one)], "first")
    steps = [step(BatchVerb.RESTORE, one), step(BatchVerb.MERGE, two, into={"entry": one.pk})]
    done = applied(scope, steps, "second")
    undone(done, positions=[1])
    assert live(scope) == {ONE}
    undone(done)
    assert live(scope) == {TWO}
