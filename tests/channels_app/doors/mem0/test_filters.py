"""Filters of mem0's client: what they name, and whose memory they never name."""

from collections.abc import Callable
from typing import Any

import pytest

from memories import entries
from memories.models import Scope, Workspace
from tests.channels_app.doors.mem0.test_memories import add, words
from tests.conftest import NOW, Api, make_draft, make_key

pytestmark = pytest.mark.django_db

#: What is there: words, and for whom they were added.
THERE: dict[str, dict[str, Any]] = {
    "tea": {"user_id": "alice"},
    "milk": {"user_id": "alice", "agent_id": "waiter", "run_id": "r1", "metadata": {"n": 1, "kind": "drink"}},
    "wine": {"user_id": "bob", "agent_id": "waiter", "metadata": {"n": "1", "kind": "drinks"}},
    "rhymes": {"agent_id": "waiter", "timestamp": "2024-01-31T12:00:00Z"},
    "menu": {"agent_id": "waiter", "run_id": "r1"},
    "logs": {"app_id": "42"},
}
ALICE = {"user_id": "alice"}
FILTERS: list[tuple[Any, str]] = [
    (ALICE, "tea milk"),
    ({"user_id": {"in": ["alice", "bob", "nobody"]}}, "tea milk wine"),
    ({"user_id": ["alice", "bob"]}, "tea milk wine"),
    ({"user_id": "*"}, "tea milk wine"),
    ({"user_id": {"ne": "alice"}}, "wine rhymes menu logs"),
    # an agent's own memories are not those of its users
    ({"agent_id": "waiter"}, "rhymes menu"),
    ({"agent_id": "waiter", "run_id": "r1"}, "menu"),
    ({"run_id": "r1"}, "menu"),
    ({"app_id": "42"}, "logs"),
    ({"agent_id": {"ne": "waiter"}}, "logs"),
    ({"AND": [{"user_id": "*"}, {"agent_id": "waiter"}]}, "milk wine"),
    ({"AND": [ALICE, {"run_id": "*"}]}, "milk"),
    ({"OR": [ALICE, {"agent_id": "waiter"}]}, "tea milk rhymes menu"),
    ({"AND": [{"OR": [ALICE, {"user_id": "bob"}]}, {"OR": [{"agent_id": "waiter"}, {"run_id": "r9"}]}]}, "milk wine"),
    ({"AND": [{"user_id": "*"}, {"NOT": {"OR": [ALICE, {"run_id": "r1"}]}}]}, "wine"),
    ({"AND": [{"agent_id": "waiter"}, {"NOT": [{"user_id": "zoe"}]}]}, "rhymes menu"),
    ({"AND": [{"user_id": "*"}, {"metadata": {"n": 1}}]}, "milk"),
    ({"AND": [{"user_id": "*"}, {"metadata": {"kind": {"contains": "drink"}}}]}, "milk wine"),
    ({"AND": [ALICE, {"metadata": {"n": {"ne": 1}}}]}, "tea"),
    ({"AND": [ALICE, {"keywords": {"icontains": "MIL"}}]}, "milk"),
    ({"AND": [ALICE, {"keywords": {"contains": "MIL"}}]}, ""),
    ({"AND": [ALICE, {"categories": {"in": ["finance"]}}]}, ""),
    ({"AND": [ALICE, {"memory_ids": ["mem_1"]}]}, ""),
    ({"agent_id": "waiter", "created_at": {"gte": "2024-01-31", "lte": "2024-01-31"}}, "rhymes"),
    ({"agent_id": "waiter", "created_at": {"gt": "2024-01-31"}}, "menu"),
    ({"agent_id": "waiter", "updated_at": {"lt": "2024-01-31T12:00:00Z"}}, ""),
    ({"agent_id": "waiter", "timestamp": 1_706_702_400}, "rhymes"),
]
WRONG: list[Any] = [
    {},
    {"categories": ["finance"]},
    {"NOT": [ALICE]},
    {"user_id": {">=": "a"}},
    {"user_id": {"contains": "a"}},
    {"user_id": 7},
    {"user_id": "alice", "colour": "red"},
    {"user_id": "alice", "created_at": {"gte": "yesterday"}},
    {"user_id": "alice", "created_at": {"in": ["2024-01-31"]}},
    {"OR": ["user_id"]},
    {"OR": [ALICE] * 101},
]


@pytest.mark.thorough
def test_a_filter_names_what_it_says_in_lists_and_in_searches(mem0: Any, package: Any) -> None:
    for text, how in THERE.items():
        add(mem0, f"{text} for the table", **how)
    for filters, expected in FILTERS:
        named = {f"{text} for the table" for text in expected.split()}
        assert set(words(mem0.get_all(filters=filters))) == named, filters
        assert set(words(mem0.search("table", filters=filters))) == named, filters
    for filters in WRONG:
        with pytest.raises(package.exceptions.ValidationError) as refused:
            mem0.get_all(filters=filters)
        assert refused.value.message, filters


@pytest.mark.thorough
def test_a_key_sees_nothing_beyond_its_scopes(mem0: Any, package: Any, client: Callable[[str], Any]) -> None:
    workspace = Workspace.objects.get()
    uid = add(mem0, "I like tea", user_id="alice")
    add(mem0, "Bob is here", user_id="bob")
    narrow = client(make_key(workspace, scope_patterns=["mem0:direct_bob"]))
    stranger = client(make_key(Workspace.objects.create(name="Charlie's")))
    for other, seen in ((narrow, ["Bob is here"]), (stranger, [])):
        assert words(other.get_all(filters={"user_id": "*"})) == seen
        assert words(other.search("Who is here and likes tea?", filters={"user_id": "alice"})) == []
        assert {result["name"] for result in other.users()["results"]} == ({"bob"} if seen else set())
        other.delete_all(user_id="alice")
        with pytest.raises(package.exceptions.MemoryNotFoundError):
            other.get(uid)
    with pytest.raises(package.exceptions.MemoryNotFoundError):
        narrow.add("I like milk", user_id="alice")
    reader = client(make_key(workspace, permissions=["read"]))
    with pytest.raises(package.exceptions.AuthenticationError):
        reader.delete(uid)
    assert mem0.get(uid)["memory"] == "I like tea"


def test_in_a_memory_of_all_platforms_only_what_was_added_here_is_meant(mem0: Any, api: Api, settings: Any) -> None:
    settings.MEMORY_DM_SCOPE = "main"
    turn = {"address": {"platform": "telegram", "peer": "u1"}, "user": "The boat is blue", "assistant": "Noted."}
    assert api.post("turns", turn).json()["entries"][0]["scope"] == "main"
    add(mem0, "Rice is a cat", user_id="42")
    assert Scope.objects.get().key == "main"
    for filters in ({"user_id": "42"}, {"user_id": "*"}):
        assert words(mem0.get_all(filters=filters)) == ["Rice is a cat"]
    mem0.reset()
    assert [result["state"] for result in api.get("entries").json()["results"]] == ["expired", "live"]


def test_facts_belong_to_whom_their_memory_was_added_for(mem0: Any, workspace: Workspace) -> None:
    """What extraction writes has no ids of its own."""
    for whose in ({"user_id": "alice", "run_id": "r1"}, {"agent_id": "waiter"}):
        add(mem0, "The harbour", **whose)
        scope = Scope.objects.latest("pk")
        entries.remember(make_draft(scope, "The boat is blue", type="fact", tier=2), now=NOW, actor="job")
    (alices,) = mem0.search("boat", filters={"user_id": "alice"})["results"]
    (waiters,) = mem0.search("boat", filters={"agent_id": "waiter"})["results"]
    assert (alices["user_id"], alices["run_id"]) == ("alice", None)
    assert (waiters["user_id"], waiters["agent_id"]) == (None, "waiter")
