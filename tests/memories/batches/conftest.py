"""What the tests of batches share: memories to work on, plans, and the state of a scope to compare."""

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, get_args

from django.db import connection

from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import CreateStep, PlannedStep
from memories.choices import BatchVerb
from memories.models import Batch, Entry, Scope
from tests.conftest import NOW, make_draft

LATER = NOW + timedelta(hours=1)
SUBJECTS = (
    "the port of staging is 8080", "我家的猫叫年糕", "the deploy runs on Fridays", "妈妈的生日是五月三日",
    "tea is better than coffee", "the office moved to Hangzhou", "服务器在上海机房", "Bob owes Alice five euros",
    "the bicycle is green", "会议改到周四下午", "the keys are under the mat", "我对花生过敏",
    "the wifi is called Lantern", "年假还剩六天", "Carol sings in a choir",
)  # fmt: skip


def remember(scope: Scope, *contents: str, **kwargs: Any) -> list[Entry]:
    drafts = [make_draft(scope, content, **kwargs) for content in contents]
    return [answer.entry for answer in entries.remember_many(drafts, now=NOW, actor="bot:t")]


_STEPS = {kind.model_fields["verb"].default: kind for kind in get_args(PlannedStep)}


def step(verb: BatchVerb, entry: Entry, **fields: Any) -> PlanRow:
    return PlanRow.of(Entry.objects.get(pk=entry.pk), _STEPS[verb](**fields))


def create(scope: Scope, content: str, **kwargs: Any) -> PlanRow:
    return PlanRow(step=CreateStep(draft=make_draft(scope, content, **kwargs)))


def planned(scope: Scope, steps: Iterable[PlanRow], run: str = "test:1", **kwargs: Any) -> Batch:
    return batches.plan(scope, steps, name="test", run=run, actor="job:test", now=NOW, **kwargs)


def applied(scope: Scope, steps: Iterable[PlanRow], run: str = "test:1", **kwargs: Any) -> Batch:
    return batches.apply_batch(planned(scope, steps, run, **kwargs), now=LATER)


def undone(done: Batch, **kwargs: Any) -> Batch:
    return batches.apply_batch(batches.plan_undo(done, actor="user:ann", now=LATER, **kwargs), now=LATER)


def states(done: Batch) -> list[tuple[str, str, str]]:
    return list(done.changes.order_by("position").values_list("verb", "state", "note"))


def live(scope: Scope) -> set[str]:
    return set(Entry.objects.in_scope(scope).live().values_list("content", flat=True))


#: Counters and the moment of the last change are not part of the state an undo gives back.
_STATE = {
    "memories_entry": "to_jsonb(t) - 'version' - 'updated_at'",
    "memories_slot": "to_jsonb(t) - 'version'",
    "memories_link": "to_jsonb(t) - 'version'",
    "memories_suppression": "to_jsonb(t) - 'version'",
}


def state_of_everything() -> dict[str, dict[int, str]]:
    """Every row of what an undo puts back, as text."""
    with connection.cursor() as cursor:
        data = {}
        for table, columns in _STATE.items():
            cursor.execute(f"SELECT id, ({columns})::text FROM {table} t")
            data[table] = dict(cursor.fetchall())
    return data


def differences(one: dict[str, dict[int, str]], other: dict[str, dict[int, str]]) -> dict[str, Any]:
    """What differs between two states, value by value."""
    data: dict[str, Any] = {}
    for table in one:
        for pk in one[table].keys() | other[table].keys():
            here, there = (json.loads(state[table].get(pk, "{}")) for state in (one, other))
            changed = {name: (here.get(name), there.get(name)) for name in here | there}
            if values := {name: pair for name, pair in changed.items() if pair[0] != pair[1]}:
                data[f"{table} {pk}"] = values
    return data


def terms_of(scope: Scope) -> dict[int, int]:
    """How many entries hold each word, those with none left out."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT term, entries FROM memories_scopeterm WHERE scope_id = %s AND entries <> 0", [scope.pk])
        return dict(cursor.fetchall())
