"""Whatever is done in batches, taken back in reverse gives the state before; and the index is what a rebuild gives."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from memories.batches import PlanRow
from memories.choices import BatchVerb
from memories.exceptions import BatchSettled, NothingToUndo
from memories.index import search_rows, worker
from memories.models import Batch, EmbeddingModel, Entry, EntryIndex, Scope, Workspace
from tests.conftest import NOW, make_scope
from tests.memories.batches.conftest import (
    SUBJECTS,
    applied,
    create,
    differences,
    remember,
    state_of_everything,
    step,
    undone,
)
from tests.support.properties import examples

#: What is said here and there in one conversation, so that entries have neighbours.
WHERE = {"session_id": "s1", "chat_id": "c1"}
number = st.integers(min_value=0, max_value=len(SUBJECTS) - 1)
words = st.sampled_from([*SUBJECTS, "the port of staging is 9090", "我家的猫叫米饭", "tea"])
ACTIONS = ("remember", "reword", "slot", "pin", "merge", "supersede", "expire", "archive", "restore", "undo")
actions = st.lists(
    st.tuples(
        st.sampled_from(ACTIONS),
        st.lists(number, min_size=1, max_size=4),
        words,
    ),
    min_size=1,
    max_size=8,
)


def furnished() -> Scope:
    """A scope with a conversation in it, and memories that rest on one message."""
    scope = make_scope(Workspace.objects.create(name="Alice's"))
    remember(scope, *SUBJECTS[:8], slots=WHERE)
    remember(scope, *SUBJECTS[8:], origins=("m1",))
    return scope


def planned_of(scope: Scope, action: str, chosen: list[Entry], content: str) -> list[PlanRow]:
    """What an action means for the entries it fell upon."""
    one, others = chosen[0], chosen[1:]
    match action:
        case "remember":
            return [create(scope, content, slots=WHERE | {"env": "dev"}, importance=0.9, origins=("m1",))]
        case "reword":
            return [step(BatchVerb.CHANGE, one, columns={"content": content}, slots={"env": None})]
        case "slot":
            return [step(BatchVerb.CHANGE, entry, slots={"env": content[:20]}) for entry in chosen]
        case "pin":
            return [step(BatchVerb.CHANGE, entry, columns={"pinned": True, "topic": "t"}) for entry in chosen]
        case "merge":
            return [step(BatchVerb.MERGE, entry, into={"entry": one.pk}) for entry in others]
        case "supersede":
            return [create(scope, content), *(step(BatchVerb.SUPERSEDE, e, into={"position": 1}) for e in chosen)]
        case "expire":
            return [step(BatchVerb.EXPIRE, entry, suppress=True) for entry in chosen]
        case "archive":
            return [step(BatchVerb.ARCHIVE, entry) for entry in chosen]
        case _:
            return [step(BatchVerb.RESTORE, entry, term_seconds=60) for entry in chosen]


def states_along(scope: Scope, plan: list[tuple[str, list[int], str]]) -> Iterator[tuple[Batch, dict[str, Any]]]:
    """Carry actions out, each with the state it found."""
    entries = list(Entry.objects.in_scope(scope).order_by("pk"))
    latest: list[Batch] = []
    for turn, (action, numbers, content) in enumerate(plan):
        chosen = list(dict.fromkeys(entries[n % len(entries)] for n in numbers))
        before = state_of_everything()
        if action != "undo":
            done = applied(scope, planned_of(scope, action, chosen, content), run=f"turn:{turn}")
        elif latest and (undo := undone_if_it_can(latest[-1])):
            done = undo
        else:
            continue
        latest.append(done)
        yield done, before


def undone_if_it_can(done: Batch) -> Batch | None:
    """Taken back, unless it changed nothing, or was taken back before."""
    try:
        return undone(done)
    except (NothingToUndo, BatchSettled):
        return None


def without_what_was_made(state: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Entries that batches made are archived, for nothing is ever removed; all others are to be as they were."""
    entries = {pk: row for pk, row in state["memories_entry"].items() if pk in data["memories_entry"]}
    return state | {"memories_entry": entries}


class TestBatches(TestCase):
    """hypothesis begins every example in a transaction of its own."""

    @pytest.mark.thorough
    @examples(10)
    @given(actions)
    def test_undone_in_reverse_everything_is_as_it_was(self, plan: list[tuple[str, list[int], str]]) -> None:
        along = list(states_along(furnished(), plan))
        for done, before in reversed(along):
            undone_if_it_can(done)
            made = [pk for pk in state_of_everything()["memories_entry"] if pk not in before["memories_entry"]]
            assert differences(without_what_was_made(state_of_everything(), before), before) == {}
            assert not Entry.objects.live().filter(pk__in=made).exists()

    @pytest.mark.thorough
    @examples(5)
    @given(actions)
    def test_the_index_is_what_a_rebuild_gives(self, plan: list[tuple[str, list[int], str]]) -> None:
        scope = furnished()
        for _done, _before in states_along(scope, plan):
            pass
        worker.drain(now=NOW)
        stored = rows_of(scope)
        search_rows.rebuild(scope.pk, model_id=EmbeddingModel.objects.get().pk)
        rebuilt = rows_of(scope)
        live = set(Entry.objects.live().values_list("pk", flat=True))
        assert stored.keys() == rebuilt.keys() >= live
        embedded = {entry for entry, (_keywords, embedding) in stored.items() if embedding is not None}
        assert embedded == {entry for entry, (_keywords, embedding) in rebuilt.items() if embedding is not None} >= live
        for entry, (keywords, embedding) in stored.items():
            assert keywords == pytest.approx(rebuilt[entry][0], abs=1e-3)
            assert entry not in embedded or np.allclose(embedding, rebuilt[entry][1], atol=1e-3)


def rows_of(scope: Scope) -> dict[int, tuple[dict[int, float], Any]]:
    rows = EntryIndex.objects.filter(scope=scope)
    return {
        row.entry_id: (
            dict(zip(row.keywords.indices(), row.keywords.values(), strict=True)),
            row.embedding,  # None for what is out of use
        )
        for row in rows
    }
