"""A question asked again within half a minute, nothing having changed, is not searched again (C15)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import PolicyKind
from memories.entries import changes
from memories.entries.changes import Edit
from memories.index import worker
from memories.models import Entry, Policy, RecallTrace, Scope, Workspace
from memories.recall import Query, Recall, SearchScope, forget_answers, recall, vector
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, TELEGRAM, Api, make_draft, make_key

pytestmark = pytest.mark.django_db
MESSAGE = "what is my cat called?"
SOON = NOW + timedelta(seconds=5)


@pytest.fixture(autouse=True)
def nothing_is_kept_of_other_tests() -> None:
    vector.forget_centroids()
    forget_answers()


@pytest.fixture
def cat(scope: Scope) -> Entry:
    return entries.remember(make_draft(scope, "my cat is called Mochi"), now=NOW, actor="test").entry


def ask(scope: Scope, message: str = MESSAGE, *, now: datetime = NOW, **kwargs: Any) -> Recall:
    scope.refresh_from_db()
    data: dict[str, Any] = {"limit": 8, "cache": True, **kwargs}
    data.setdefault("places", [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))])
    return recall(Query(workspace_id=scope.workspace_id, message=message, **data), now=now)


def test_the_same_question_is_searched_once(scope: Scope, cat: Entry) -> None:
    first, again = ask(scope), ask(scope, now=SOON)
    assert first.trace and again.trace and again.cached_from == first.trace.uid
    assert [item.entry.pk for item in again.served] == [cat.pk]
    assert (again.context, again.tokens, again.answerability) == (first.context, first.tokens, first.answerability)
    assert "search" in first.timings and "search" not in again.timings


def test_an_answer_given_again_writes_a_trace_of_its_own(scope: Scope, cat: Entry) -> None:
    ask(scope)
    ask(scope, now=SOON)
    first, again = RecallTrace.objects.order_by("pk")
    assert again.uid != first.uid and again.created_at == SOON
    assert again.evidence["cached_from"] == str(first.uid) and "cached_from" not in first.evidence
    assert (again.served, again.candidates) == (first.served, first.candidates)


def test_it_saves_more_statements_than_it_costs(scope: Scope, cat: Entry, django_assert_num_queries: Any) -> None:
    ask(scope)
    with django_assert_num_queries(3):  # the scope, what a recall goes by, the trace
        ask(scope, now=SOON)


CHANGES: dict[str, Callable[[Entry], Any]] = {
    "saved": lambda cat: entries.remember(make_draft(cat.scope, "my other cat is Rice"), now=SOON, actor="test"),
    "said again": lambda cat: entries.remember(make_draft(cat.scope, cat.content), now=SOON, actor="test"),
    "edited": lambda cat: entries.update(cat, Edit(columns={"content": "my cat is Mo"}), now=SOON, actor="test"),
    "given a slot": lambda cat: entries.update(cat, Edit(slots={"env": "home"}), now=SOON, actor="test"),
    "expired": lambda cat: entries.expire(cat, now=SOON, actor="test"),
    "restored": lambda cat: entries.restore(cat, now=SOON, actor="test"),
    "indexed": lambda cat: worker.drain(now=NOW + timedelta(days=2_000)),
    "policy": lambda cat: Policy.objects.create(
        workspace=cat.workspace, kind=PolicyKind.WEIGHT, name="alpha", value=0.1
    ),
    "taken out by a batch": lambda cat: changes.expire_many(cat.scope, {cat.pk: None}, now=SOON, actor="test"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_it_is_searched_anew(scope: Scope, cat: Entry, change: str) -> None:
    ask(scope)
    CHANGES[change](cat)
    assert ask(scope, now=SOON).cached_from is None


DIFFERENT: dict[str, dict[str, Any]] = {
    "message": {"message": "what is my dog called?"},
    "mode": {"mode": "keyword"},
    "limit": {"limit": 3},
    "types": {"types": ["fact"]},
    "filters": {"filters": {"env": "prod"}},
    "since": {"since": NOW},
    "need": {"need": "off"},
    "quotas": {"quotas": False},
    "budget": {"token_budget": 10},
    "asked for an explanation": {"explain": True},
    "not to be kept": {"cache": False},
    "half a minute later": {"now": NOW + timedelta(seconds=30)},
    "before it was asked": {"now": NOW - timedelta(seconds=1)},
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", DIFFERENT)
def test_another_question_is_another_answer(scope: Scope, cat: Entry, name: str) -> None:
    ask(scope)
    assert ask(scope, **{"now": SOON, **DIFFERENT[name]}).cached_from is None


def test_what_a_group_hears_is_never_what_its_member_hears(scope: Scope, cat: Entry) -> None:
    assert len(ask(scope).served) == 1
    group = [
        SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind, only_chat="telegram:mybot:group_g1", in_group=True))
    ]
    assert ask(scope, now=SOON, places=group).served == []


def test_no_answer_outlives_the_first_of_its_memories(scope: Scope, cat: Entry) -> None:
    Entry.objects.filter(pk=cat.pk).update(expires_at=NOW + timedelta(seconds=10))
    ask(scope)
    assert len(ask(scope, now=NOW + timedelta(seconds=9)).served) == 1
    late = ask(scope, now=NOW + timedelta(seconds=10))
    assert late.served == [] and late.cached_from is None


def test_a_degraded_answer_is_not_kept(scope: Scope, cat: Entry, settings: Any) -> None:
    settings.MEMORY_EMBEDDERS = []
    assert ask(scope).degraded == ["embedding"]
    assert ask(scope, now=SOON).cached_from is None


def test_a_process_keeps_no_more_than_it_may(scope: Scope, cat: Entry, settings: Any) -> None:
    settings.MEMORY_ANSWER_CACHE_SIZE = 2
    for name in ("one", "two", "three"):
        ask(scope, f"what is cat {name} called?")
    assert ask(scope, "what is cat one called?", now=SOON).cached_from is None
    assert ask(scope, "what is cat three called?", now=SOON).cached_from is not None


def test_an_operator_may_switch_it_off(scope: Scope, cat: Entry, settings: Any) -> None:
    settings.MEMORY_ANSWER_CACHE = False
    ask(scope)
    assert ask(scope, now=SOON).cached_from is None


def test_a_bot_is_told_and_may_decline(api: Api, workspace: Workspace) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "my cat is called Mochi", "assistant": "ok"})
    data = {"address": TELEGRAM, "message": MESSAGE}
    first, again, anew = (api.post("recall", {**data, **more}).json() for more in ({}, {}, {"cache": False}))
    assert [first["cached"], again["cached"], anew["cached"]] == [False, True, False]
    assert first["memories"] == again["memories"] and first["recall_id"] != again["recall_id"]
    assert api.get(f"recalls/{again['recall_id']}").json()["cached_from"] == first["recall_id"]


def test_a_key_that_reaches_less_is_not_answered_from_what_another_saw(api: Api, workspace: Workspace) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "my cat is called Mochi", "assistant": "ok"})
    data = {"scope": "telegram:direct_u42", "message": MESSAGE}
    assert api.post("recall", data).status_code == 200
    narrow = Api(make_key(workspace, name="narrow", scope_patterns=["lark:*"]))
    assert narrow.post("recall", data).status_code == 404
