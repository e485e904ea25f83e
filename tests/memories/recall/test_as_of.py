"""Recall as of a moment gives the answer of then, whatever was done since (F6)."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import InternalError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from memories import entries
from memories.choices import BatchVerb, PolicyKind
from memories.entries.past import as_they_were, count_scope
from memories.index import worker
from memories.lifecycle.access_counting import count_served, count_uncounted
from memories.models import Batch, Entry, EntryAccess, Policy, Scope, Workspace
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.vector import forget_centroids
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, Api, make_draft
from tests.memories.batches.conftest import applied, step
from tests.memories.batches.test_properties import actions, furnished, states_along
from tests.support.properties import examples

QUESTIONS = ("what is the port of staging?", "which drink is better than coffee?", "妈妈的生日是哪一天？")
policies = st.lists(st.tuples(st.sampled_from(["alpha", "min_similarity", "max_recalls"]), st.floats(0, 1)), max_size=2)


def settled(scope: Scope) -> Scope:
    """With its vectors and counts in order, as after a night."""
    worker.drain(now=NOW)
    count_scope(scope)
    worker.drain(now=NOW)
    scope.refresh_from_db()
    forget_centroids()
    return scope


def ask(scope: Scope, message: str, *, now: datetime, as_of: datetime | None = None, **given: Any) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=0, as_of=as_of, **given)
    return recall(query, now=now)


Answer = list[tuple[int, str, dict[str, str], float]]


def answer_of(result: Recall) -> Answer:
    return [(i.entry.pk, i.entry.content, dict(i.candidate.slots), i.score) for i in result.served]


def check_same(answer: Answer, first: Answer) -> None:
    """The same memories in the same words and order, with the same scores but for rounding."""
    assert [row[:3] for row in answer] == [row[:3] for row in first]
    assert [row[3] for row in answer] == pytest.approx([row[3] for row in first], abs=5e-4)


def set_weights(scope: Scope, weights: list[tuple[str, float]]) -> None:
    for name, value in weights:
        data = {"value": round(value * 8) if name == "max_recalls" else value}
        about: dict[str, Any] = {"workspace_id": scope.workspace_id, "kind": PolicyKind.WEIGHT, "name": name}
        Policy.objects.update_or_create(**about, defaults=data)


class TestAsOf(TestCase):
    """hypothesis begins every example in a transaction of its own."""

    @pytest.mark.thorough
    @examples(6)
    @given(actions, policies, actions, policies)
    def test_whatever_is_done_since_the_answer_is_that_of_then(
        self, before: Any, weights: Any, since: Any, changed: Any
    ) -> None:
        scope = furnished()
        list(states_along(scope, before))
        set_weights(scope, weights)
        settled(scope)
        moment = timezone.now()
        first = [answer_of(ask(scope, question, now=moment)) for question in QUESTIONS]
        list(states_along(scope, [(action, numbers, f"{words} now") for action, numbers, words in since]))
        set_weights(scope, changed)
        Policy.objects.filter(workspace_id=scope.workspace_id, name="alpha", value__lt=0.2).delete()
        settled(scope)
        today = [answer_of(ask(scope, question, now=moment)) for question in QUESTIONS]
        later = timezone.now()
        for question, then, now in zip(QUESTIONS, first, today, strict=True):
            check_same(answer_of(ask(scope, question, now=later, as_of=moment)), then)
            check_same(answer_of(ask(scope, question, now=moment)), now)


@pytest.fixture
def diary(scope: Scope) -> Scope:
    entries.remember_many(
        [make_draft(scope, "my bike is parked at the station"), make_draft(scope, "my bike is red")],
        now=timezone.now(),
        actor="test",
    )
    return settled(scope)


@pytest.mark.django_db
def test_what_people_took_out_since_keeps_its_place_and_is_told_without_its_words(diary: Scope, api: Api) -> None:
    moment = timezone.now()
    red = Entry.objects.get(content="my bike is red")
    entries.expire(red, now=timezone.now(), actor="user:ann")
    body = {"scope": diary.key, "message": "what do you know about my bike?", "explain": True}
    now = api.post("recall", body).json()
    then = api.post("recall", body | {"as_of": moment.isoformat()}).json()
    assert [memory["content"] for memory in now["memories"]] == ["my bike is parked at the station"]
    assert (now["as_of"], now["erased_since"]) == (None, None)
    assert {memory["content"] for memory in then["memories"]} == {"my bike is parked at the station", ""}
    assert "red" not in json.dumps(then) and str(red.uid) in json.dumps(then)
    assert datetime.fromisoformat(then["as_of"]) == moment and then["erased_since"] == 0


@pytest.mark.django_db
def test_a_name_is_known_to_the_memory_of_then_alone(diary: Scope) -> None:
    draft = make_draft(diary, "The key for St Jude's hangs at the baker's.", type="fact", tier=2, names=("St Jude's",))
    key = entries.remember(draft, now=timezone.now(), actor="bot:t").entry
    settled(diary)
    moment = timezone.now()
    entries.expire(key, now=timezone.now(), actor="user:ann")
    question = "How do I open the door at St Judes?"
    assert ask(diary, question, now=timezone.now()).need.rule == "world_knowledge"
    then = ask(diary, question, now=timezone.now(), as_of=moment)
    assert then.need.rule == "name" and [item.entry.pk for item in then.served] == [key.pk]


@pytest.mark.django_db
def test_to_look_back_is_traced_and_counts_for_nothing(diary: Scope) -> None:
    moment = timezone.now()
    result = ask(diary, "what colour is my bike?", now=moment, as_of=moment)
    assert result.served and result.trace is not None
    assert datetime.fromisoformat(result.trace.query["as_of"]) == moment
    later = moment + timedelta(hours=1)
    assert count_uncounted(now=later) == {"traces": 1, "entries": 0}
    assert count_served(now=later)["entries"] == 0 and not EntryAccess.objects.exists()


@pytest.mark.django_db
def test_what_was_purged_is_only_counted(diary: Scope) -> None:
    moment = timezone.now()
    rows = list(Entry.objects.in_scope(diary).filter(content__contains="red"))
    for verb in (BatchVerb.EXPIRE, BatchVerb.PURGE):
        applied(diary, [step(verb, row) for row in rows], run=f"t:{verb}")
    Batch.objects.update(applied_at=timezone.now())
    result = ask(diary, "what colour is my bike?", now=timezone.now(), as_of=moment)
    assert [item.entry.content for item in result.served] == ["my bike is parked at the station"]
    assert result.past is not None and result.past.erased_since == 1


@pytest.mark.django_db
@pytest.mark.parametrize(("away", "words"), [(timedelta(days=1), "still to come"), (-timedelta(days=1), "made later")])
def test_a_moment_without_memory_is_refused_by_the_name_of_its_field(
    diary: Scope, api: Api, away: timedelta, words: str
) -> None:
    moment = (timezone.now() + away).isoformat()
    response = api.post("recall", {"scope": diary.key, "message": "my bike?", "as_of": moment})
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert error["attr"] == "as_of" and words in error["detail"]


@pytest.mark.django_db
def test_nothing_stored_can_be_written_while_looking_back_and_all_is_as_before_then(diary: Scope) -> None:
    with (
        pytest.raises(InternalError, match="read-only"),
        as_they_were(diary.workspace_id, [diary.pk], timezone.now(), model_id=None, reworded=[]),
    ):
        Workspace.objects.update(name="another")
    Scope.objects.filter(pk=diary.pk).update(label="written")
    diary.refresh_from_db()
    assert diary.label == "written" and not diary.is_past
