"""The steps of a plan as they stand in the rows of databases of today: they are read, and written as they were."""

from typing import Any

import pytest
from django.db import connection

from memories import batches
from memories.batches import steps
from memories.batches.steps import CreateStep, EditStep, ErasedStep, EventStep, MergeStep, RestoreStep, UndoStep
from memories.choices import BatchVerb, ChangeState
from memories.entries import daily_events
from memories.models import BatchChange, DailyEvent, Entry, Scope
from tests.conftest import make_draft
from tests.memories.batches.conftest import LATER, SUBJECTS, create, live, planned, remember, states, step

DRAFT = {
    "type": "fact", "content": "我家的猫叫年糕", "source": "compression", "at": "2026-03-01T09:00:00.123456+00:00",
    "subtype": "", "tier": 2, "category": "", "project": "home", "topic": "cats", "importance": 0.5, "pinned": False,
    "expires_at": None, "slots": {"env": "prod"}, "chats": ["qq:group_1"], "origins": ["m1", "m2"],
}  # fmt: skip
TERM = {"expires_at": "2027-03-01T09:00:00+08:00", "importance": None}
DAY = {"date": "2026-03-01", "content": "They baked.", "source": "extraction", "chats": [], "origins": ["m1"]}
#: One row of every shape there has been: its verb, and what its column holds.
STORED: list[tuple[str, dict[str, Any]]] = [
    ("create", DRAFT),
    ("create", DRAFT | TERM),
    ("create", DRAFT | {"rests_on": {"7": 1, "8": 3}, "sources": []}),
    ("create", DRAFT | {"rests_on": {"7": 1}, "sources": [8, 9]}),
    ("change", {"columns": {"content": "the port is 9090"}}),
    (
        "change",
        {"columns": {"pinned": True, "importance": 0.25, "expires_at": None}, "slots": {"env": None, "o": "b"}},
    ),
    ("change", {"columns": {"expires_at": "2026-03-01T09:00:00+00:00"}, "slots": {}}),
    ("change", {"slots": {"env": "prod"}}),
    ("merge", {"into": {"entry": 12}}),
    ("merge", {"into": {"position": 3}}),
    ("supersede", {"into": {"entry": 12}}),
    ("supersede", {"into": {"position": 3}}),
    ("expire", {}),
    ("expire", {"suppress": True}),
    ("archive", {}),
    ("restore", {"term_seconds": None}),
    ("restore", {"term_seconds": 86400.0}),
    ("tell", DAY),
    ("undo", {}),
    ("undo", {"force": True}),
    ("quarantine", {"origins": ["m1", "m2"]}),
    ("purge", {}),
    ("policy", {"about": "weight///MAX_RECALLS", "before": [], "after": [8.0]}),
    ("policy", {"about": "ttl/fact/user/", "before": [None], "after": []}),
]


def row(verb: str, draft: dict[str, Any]) -> BatchChange:
    return BatchChange(verb=verb, draft=draft, entry_id=None if verb in ("create", "tell") else 7)


@pytest.mark.parametrize(("verb", "stored"), STORED)
def test_a_stored_row_is_read_and_written_as_it_was(verb: str, stored: dict[str, Any]) -> None:
    read = steps.step_of(row(verb, stored))
    assert not isinstance(read, ErasedStep)
    assert (read.verb, read.as_json()) == (verb, stored)


def test_every_verb_has_a_shape_and_a_row() -> None:
    assert {verb for verb, _stored in STORED} == set(BatchVerb.values)


@pytest.mark.parametrize("verb", BatchVerb.values)
def test_of_what_was_removed_for_good_nothing_is_left_to_read(verb: str) -> None:
    erased = steps.step_of(BatchChange(verb=verb, draft={}))
    assert isinstance(erased, ErasedStep) and erased.as_json() == {}


def test_a_row_of_an_older_version_need_not_have_every_field_and_may_have_others() -> None:
    few = {name: DRAFT[name] for name in ("type", "content", "source", "at")}
    read = steps.step_of(row("create", few | {"mood": "glad"}))
    assert isinstance(read, CreateStep)
    assert (read.draft.pinned, read.draft.chats, read.rests_on, read.sources) == (False, (), {}, ())


@pytest.mark.parametrize("into", [{}, {"entry": 1, "position": 2}])
def test_a_successor_is_an_entry_or_a_row(into: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="either an entry or a row"):
        steps.step_of(row("merge", {"into": into}))


@pytest.mark.django_db
def test_what_is_read_is_what_was_planned(scope: Scope) -> None:
    (one,) = remember(scope, SUBJECTS[0])
    day = daily_events.EventDraft(scope=scope, local_date=LATER.date(), content="They baked.", origins=("m1",))
    rows = [
        create(scope, SUBJECTS[1], slots={"env": "prod"}, origins=("m1",)),
        step(BatchVerb.MERGE, one, into={"position": 1}),
        step(BatchVerb.CHANGE, one, columns={"pinned": True}, slots={"env": None}),
        step(BatchVerb.RESTORE, one, term_seconds=60),
        batches.PlanRow(step=EventStep.of(day)),
    ]
    plan = planned(scope, rows)
    read = [steps.step_of(change) for change in plan.changes.order_by("position")]
    assert [item.as_json() for item in read] == [row.step.as_json() for row in rows]
    made, merged, edited, restored, tell = read
    assert isinstance(made, CreateStep)
    assert made.draft.in_scope(scope) == make_draft(scope, SUBJECTS[1], slots={"env": "prod"}, origins=("m1",))
    assert isinstance(merged, MergeStep) and merged.into.position == 1
    assert isinstance(edited, EditStep) and edited.values == {"pinned": True}
    assert isinstance(restored, RestoreStep) and restored.term is not None
    assert isinstance(tell, EventStep) and tell.event(scope) == day
    assert not isinstance(read[0], UndoStep)


_RAW = """
    INSERT INTO memories_batchchange
        (workspace_id, batch_id, position, verb, entry_id, expected_version, draft, state, note)
    VALUES (%s, %s, %s, %s, %s, %s, %s::jsonb, 'planned', '')
"""


@pytest.mark.django_db
def test_a_plan_another_version_wrote_down_is_applied(scope: Scope) -> None:
    """Rows as a database holds them whose process was killed before the code was replaced."""
    merged, old, gone = remember(scope, *SUBJECTS[:3])
    plan = planned(scope, [])
    rows: list[tuple[str, int | None, str]] = [
        ("create", None, '{"type": "note", "content": "all in one", "source": "extraction",'
         ' "at": "2026-03-01T09:00:00+00:00", "subtype": "", "tier": null, "category": "", "project": "",'
         ' "topic": "", "importance": null,'
         ' "pinned": false, "expires_at": null, "slots": {}, "chats": [], "origins": [],'
         f' "rests_on": {{"{merged.pk}": {merged.version}}}, "sources": [{old.pk}]}}'),
        ("merge", merged.pk, '{"into": {"position": 1}}'),
        ("change", old.pk, '{"columns": {"topic": "rest", "importance": 0.25}, "slots": {"env": "prod"}}'),
        ("expire", gone.pk, '{"suppress": true}'),
        ("tell", None, '{"date": "2026-03-01", "content": "They baked.", "source": "extraction", "chats": [],'
         ' "origins": ["m1"]}'),
    ]  # fmt: skip
    with connection.cursor() as cursor:
        for position, (verb, entry, draft) in enumerate(rows, start=1):
            cursor.execute(_RAW, [scope.workspace_id, plan.pk, position, verb, entry, 1 if entry else None, draft])
    done = batches.apply_batch(plan, now=LATER)
    assert {state for _verb, state, _note in states(done)} == {ChangeState.APPLIED}, states(done)
    assert live(scope) == {"all in one", SUBJECTS[1]}
    changed = Entry.objects.get(pk=old.pk)
    assert (changed.topic, changed.importance, changed.slots.get().value) == ("rest", 0.25, "prod")
    assert DailyEvent.objects.get(scope=scope).content == "They baked."
