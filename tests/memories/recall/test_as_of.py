"""Recall as of a moment gives the answer of then, whatever was done since (F6)."""

from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from memories import entries
from memories.choices import PolicyKind
from memories.entries.recount import count_scope
from memories.index import worker
from memories.models import Policy, Scope
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.similarity import forget_centroids
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft
from tests.memories.batches.conftest import SUBJECTS
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


Told = list[tuple[int, str, dict[str, str], float]]


def told(result: Recall) -> Told:
    return [(i.entry.pk, i.entry.content, dict(i.candidate.slots), i.score) for i in result.served]


def check_same(answer: Told, first: Told) -> None:
    """The same memories in the same words and order, with the same scores but for rounding."""
    assert [row[:3] for row in answer] == [row[:3] for row in first]
    assert [row[3] for row in answer] == pytest.approx([row[3] for row in first], abs=5e-4)


def set_weights(scope: Scope, weights: list[tuple[str, float]]) -> None:
    for name, value in weights:
        given = {"value": round(value * 8) if name == "max_recalls" else value}
        about = {"workspace_id": scope.workspace_id, "kind": PolicyKind.WEIGHT, "name": name}
        Policy.objects.update_or_create(**about, defaults=given)


class TestAsOf(TestCase):
    """hypothesis begins every example in a transaction of its own."""

    @pytest.mark.thorough
    @examples(50)
    @given(actions, policies, actions, policies)
    def test_whatever_is_done_since_the_answer_is_that_of_then(
        self, before: Any, weights: Any, since: Any, changed: Any
    ) -> None:
        scope = furnished()
        list(states_along(scope, before))
        set_weights(scope, weights)
        settled(scope)
        moment = timezone.now()
        first = [told(ask(scope, question, now=moment)) for question in QUESTIONS]
        list(states_along(scope, [(action, numbers, f"{words} now") for action, numbers, words in since]))
        set_weights(scope, changed)
        Policy.objects.filter(workspace_id=scope.workspace_id, name="alpha", value__lt=0.2).delete()
        settled(scope)
        today = [told(ask(scope, question, now=moment)) for question in QUESTIONS]
        later = timezone.now()
        for question, then, now in zip(QUESTIONS, first, today, strict=True):
            check_same(told(ask(scope, question, now=later, as_of=moment)), then)
            check_same(told(ask(scope, question, now=moment)), now)
