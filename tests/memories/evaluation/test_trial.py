"""A plan is tried on last week's questions: what would be answered is told, and nothing of it stays."""

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from memories import batches
from memories import recall as recalls
from memories.batches import PlanRow
from memories.batches.steps import CreateStep, EditStep, ExpireStep
from memories.choices import BatchState
from memories.evaluation import trial
from memories.exceptions import BatchBusy, BatchSettled, ScopeFrozen
from memories.index import worker
from memories.models import Batch, Change, Entry, EntryVector, IndexQueueItem, RecallTrace, Scope
from memories.telemetry import counters
from memories.tenancy.resolver import ScopeRef
from tests.conftest import make_draft
from tests.memories.batches.conftest import remember, state_of_everything

pytestmark = pytest.mark.django_db
QUESTION = "which port does staging have?"


def ask(scope: Scope, message: str, **kwargs: Any) -> recalls.Recall:
    place = recalls.SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))
    kwargs = {"need": "off", "mode": "keyword", "limit": 5, **kwargs}
    query = recalls.Query(workspace_id=scope.workspace_id, message=message, places=[place], **kwargs)
    return recalls.recall(query, now=timezone.now())


def plan(scope: Scope, *rows: PlanRow, run: str = "branch:1", **kwargs: Any) -> Batch:
    now = timezone.now()
    return batches.plan(scope, rows, name="import", run=run, actor="user:ann", now=now, **kwargs)


def tried(batch: Batch) -> trial.Trial:
    return trial.try_plan(batch, now=timezone.now(), zone=UTC)


def words(served: Any) -> list[str]:
    return [one.content for one in served]


@pytest.fixture
def memories(scope: Scope) -> list[Entry]:
    """Two memories of a scope, found by meaning, and a question of today that one of them answers."""
    rows = remember(scope, "the port of staging is 8080", "我家的猫叫年糕")
    worker.drain(now=timezone.now())
    ask(scope, QUESTION)
    return rows


def test_what_would_be_served_stands_beside_what_is(scope: Scope, memories: list[Entry]) -> None:
    changed = plan(scope, PlanRow.of(memories[0], EditStep(columns={"content": "the port of staging is 9090"})))
    (pair,) = tried(changed).pairs
    assert words(pair.went) == ["the port of staging is 8080"] and words(pair.came) == ["the port of staging is 9090"]


def test_a_question_that_would_lose_its_only_memory_is_counted(scope: Scope, memories: list[Entry]) -> None:
    result = tried(plan(scope, PlanRow.of(memories[0], ExpireStep(suppress=True))))
    assert (result.found, result.asked, result.changed, result.lost, result.applied) == (1, 1, 1, 1, 1)


def test_a_plan_that_touches_no_answer_changes_none(scope: Scope, memories: list[Entry]) -> None:
    result = tried(plan(scope, PlanRow.of(memories[1], ExpireStep())))
    assert (result.asked, result.changed, result.applied) == (1, 0, 1)


def test_what_is_new_is_found_by_meaning_and_is_told_as_not_stored(scope: Scope, memories: list[Entry]) -> None:
    ask(scope, "what does the doctor say?", mode="vector")
    new = PlanRow(step=CreateStep(draft=make_draft(scope, "the doctor says rest")))
    pair = next(pair for pair in tried(plan(scope, new)).pairs if pair.trace.message.startswith("what"))
    (came,) = pair.came
    assert came.content == "the doctor says rest" and not came.is_stored
    assert not Entry.objects.filter(pk=came.entry).exists()


def test_a_memory_changed_since_the_plan_is_left_alone_and_counted(scope: Scope, memories: list[Entry]) -> None:
    going = plan(scope, PlanRow.of(memories[0], ExpireStep()))
    Entry.objects.filter(pk=memories[0].pk).update(importance=0.9)
    result = tried(going)
    assert (result.applied, result.left, result.changed) == (0, 1, 0)


def test_a_trial_leaves_nothing_behind(scope: Scope, memories: list[Entry]) -> None:
    batch = plan(
        scope,
        PlanRow.of(memories[0], EditStep(columns={"content": "the port of staging is 9090"})),
        PlanRow.of(memories[1], ExpireStep(suppress=True)),
        PlanRow(step=CreateStep(draft=make_draft(scope, "Bob owes Alice five euros"))),
    )
    tables = (Change, RecallTrace, IndexQueueItem, EntryVector)

    def everything() -> list[Any]:
        scopes, plans = Scope.objects.values(), Batch.objects.values()
        rows = [list(model.objects.order_by("pk").values_list("pk", flat=True)) for model in tables]
        return [state_of_everything(), list(scopes), list(plans), list(batch.changes.order_by("pk").values()), rows]

    before, captured = everything(), counters().captures.labels("created")._value.get()
    assert tried(batch).applied == 3
    assert everything() == before and counters().captures.labels("created")._value.get() == captured


def test_no_answer_of_a_trial_is_ever_given_to_anybody(scope: Scope, memories: list[Entry]) -> None:
    tried(plan(scope, PlanRow.of(memories[0], ExpireStep())))
    assert [item.entry.pk for item in ask(scope, QUESTION, cache=True).served] == [memories[0].pk]
    remember(scope, "tea is better than coffee")  # the version the scope had in the trial
    assert [item.entry.pk for item in ask(scope, QUESTION, cache=True).served] == [memories[0].pk]


def test_what_was_tried_is_then_applied_and_undone_as_any_batch(scope: Scope, memories: list[Entry]) -> None:
    batch = plan(scope, PlanRow.of(memories[0], ExpireStep()))
    before = state_of_everything()
    tried(batch)
    batches.apply_batch(batch, now=timezone.now())
    assert not ask(scope, QUESTION).served
    batches.apply_batch(batches.plan_undo(batch, actor="user:ann", now=timezone.now()), now=timezone.now())
    assert state_of_everything()["memories_entry"] == before["memories_entry"]


def test_a_plan_of_a_machine_that_is_held_is_tried_all_the_same(scope: Scope, memories: list[Entry]) -> None:
    Entry.objects.filter(pk=memories[0].pk).update(pinned=True)
    memories[0].refresh_from_db()
    held = plan(scope, PlanRow.of(memories[0], ExpireStep()), judged=True)
    assert held.held_because and tried(held).lost == 1
    held.refresh_from_db()
    assert held.state == BatchState.PROPOSED


def test_plans_of_a_scope_are_tried_together_the_first_before_the_next(scope: Scope, memories: list[Entry]) -> None:
    (tea,) = remember(scope, "tea is better than coffee")
    ask(scope, "is tea better than coffee?")
    first = plan(scope, PlanRow.of(memories[0], ExpireStep()))
    next_one = plan(scope, PlanRow.of(tea, ExpireStep()), PlanRow.of(memories[0], ExpireStep()), run="branch:2")
    assert tried(first).lost == 1 and trial.others_of(first) == [next_one]
    together = trial.try_plan(first, beside=[next_one], now=timezone.now(), zone=UTC)
    assert (together.lost, together.applied, together.left) == (2, 2, 1)
    assert not Batch.objects.exclude(state=BatchState.PROPOSED).exists()


def test_plans_that_are_too_large_together_are_refused_with_their_number(
    scope: Scope, memories: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (plan(scope, PlanRow.of(entry, ExpireStep()), run=f"r:{entry.pk}") for entry in memories)
    monkeypatch.setattr(trial, "MOST_ROWS", 1)
    with pytest.raises(BatchBusy, match="2 rows; at most 1"):
        trial.try_plan(first, beside=[second], now=timezone.now(), zone=UTC)


def test_only_questions_of_this_scope_and_week_are_asked(scope: Scope, memories: list[Entry]) -> None:
    other = Scope.objects.begin(scope.workspace_id, "telegram:direct_u2", "user")
    ask(other, QUESTION)
    ask(scope, "where do I live?")
    RecallTrace.objects.filter(message="where do I live?").update(created_at=timezone.now() - timedelta(days=8))
    assert tried(plan(scope, PlanRow.of(memories[1], ExpireStep()))).found == 1


def test_what_was_decided_or_is_frozen_is_not_tried(scope: Scope, memories: list[Entry]) -> None:
    batch = plan(scope, PlanRow.of(memories[0], ExpireStep()))
    Scope.objects.filter(pk=scope.pk).update(frozen=True)
    with pytest.raises(ScopeFrozen):
        tried(Batch.objects.get(pk=batch.pk))
    batches.refuse(batch, actor="user:ann", now=timezone.now())
    with pytest.raises(BatchSettled):
        tried(batch)


def test_a_credential_is_told_as_one(scope: Scope) -> None:
    (secret,) = remember(scope, "the password of staging is Tr0ub4dor&3", category="credential")
    ask(scope, "what is the password of staging?")
    (pair,) = tried(plan(scope, PlanRow.of(secret, ExpireStep()))).pairs
    assert [served.is_secret for served in pair.went] == [True]


def test_new_words_there_is_no_time_to_embed_are_found_by_their_words_and_by_meaning_the_next_time(
    scope: Scope, memories: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(scope, "which port has production?")
    new = [PlanRow(step=CreateStep(draft=make_draft(scope, f"production has the port {port}"))) for port in (81, 82)]
    batch = plan(scope, *new)
    monkeypatch.setattr(trial, "EMBED_SECONDS", 0.0)
    result = tried(batch)
    assert result.unembedded == 2
    assert any("production" in word for pair in result.pairs for word in words(pair.came))
    monkeypatch.setattr(trial, "EMBED_SECONDS", 8.0)
    assert tried(batch).unembedded == 0


def test_a_plan_that_takes_too_long_to_apply_is_refused_and_leaves_nothing(
    scope: Scope, memories: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = plan(scope, PlanRow.of(memories[0], EditStep(columns={"content": "the port of staging is 9090"})))
    before = state_of_everything()
    monkeypatch.setattr(trial, "APPLY_SECONDS", -1.0)
    with pytest.raises(BatchBusy, match="fewer rows"):
        tried(batch)
    batch.refresh_from_db()
    assert state_of_everything() == before and batch.state == BatchState.PROPOSED
    monkeypatch.undo()
    assert tried(batch).applied == 1


@pytest.mark.django_db(transaction=True)
def test_who_writes_for_too_long_is_not_waited_for(
    scope: Scope, memories: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = plan(scope, PlanRow.of(memories[0], ExpireStep()))
    monkeypatch.setattr(trial, "_LOCK_MS", 50)
    other = connections["default"].copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT * FROM memories_batch WHERE id = %s FOR UPDATE", [batch.pk])
        with pytest.raises(BatchBusy):
            tried(batch)
    finally:
        other.rollback()
        other.close()
