"""What a bot written for mem0 does, done here by mem0's client: add, search, change, delete."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from memories.index.worker import drain
from memories.models import Batch, Entry, RecallTrace, Workspace
from memories.models.buffer import BufferedTurn
from memories.recall import recall
from memories.recall.traces import query_of
from sessions_app.models import SessionEvent
from tests.conftest import Api, make_key

pytestmark = pytest.mark.django_db
live = pytest.mark.django_db(transaction=True)
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "I moved to Hangzhou in May"},
    {"role": "assistant", "content": [{"type": "text", "text": "Noted: Hangzhou."}]},
    {"role": "user", "content": "My sister is called Lena"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1"}]},
    {"role": "tool", "content": "42", "tool_call_id": "call_1"},
]


def words(answer: Any) -> list[str]:
    return [memory["memory"] for memory in answer["results"]]


def add(mem0: Any, text: str, **whose: Any) -> str:
    """The id of a memory stored as it is."""
    (result,) = mem0.add(text, infer=False, **whose)["results"]
    assert (result["memory"], result["event"]) == (text, "ADD")
    return str(result["id"])


@live
@pytest.mark.thorough
def test_given_our_address_and_nothing_else_it_works(package: Any, live_server: Any, workspace: Workspace) -> None:
    mem0 = package.MemoryClient(make_key(workspace), host=f"{live_server.url}/api/mem0")
    with closing(mem0.client):
        add(mem0, "I like tea", user_id="alice")
        assert words(mem0.search("tea", filters={"user_id": "alice"})) == ["I like tea"]
        mem0.batch_delete([{"memory_id": mem0.get_all(filters={"user_id": "alice"})["results"][0]["id"]}])
        mem0.delete_all(user_id="alice")


def test_messages_are_remembered_as_turns_and_found_again(mem0: Any) -> None:
    day = datetime.now(UTC) - timedelta(days=1)
    metadata = {"source": "chat", "year": 2026, "tags": ["a", None], "code": "007", "user_id": "x"}
    added = mem0.add(TALK, user_id="alice", run_id="r1", metadata=metadata, timestamp=int(day.timestamp()))
    assert [result["event"] for result in added["results"]] == ["ADD", "ADD"]
    assert list(SessionEvent.objects.order_by("position").values_list("kind", flat=True)) == [
        "user",
        "assistant",
        "user",
    ]
    assert BufferedTurn.objects.count() == 2  # for extraction
    results = mem0.search("Who moved to Hangzhou?", filters={"user_id": "alice"}, top_k=1)["results"]
    assert results[0] == mem0.get(added["results"][0]["id"]) | {"score": results[0]["score"]}
    assert results[0]["memory"] == "User: I moved to Hangzhou in May\nAssistant: Noted: Hangzhou."
    assert (results[0]["user_id"], results[0]["run_id"], results[0]["agent_id"]) == ("alice", "r1", None)
    assert results[0]["metadata"] == metadata
    assert results[0]["created_at"].startswith(f"{day:%Y-%m-%dT%H:%M:%S}")
    entry = Entry.objects.get(uid=results[0]["id"])
    assert (entry.scope.key, entry.type, entry.sender_id) == ("mem0:direct_alice", "chat_turn", "alice")


def test_what_is_not_to_be_inferred_is_stored_message_by_message(mem0: Any) -> None:
    texts = ["I like tea", "You like tea, I see"]
    messages = [{"role": role, "content": text} for role, text in zip(("user", "assistant"), texts, strict=True)]
    assert [
        result["memory"] for result in mem0.add(messages, filters={"user_id": "alice"}, infer=False)["results"]
    ] == texts
    assert mem0.add("I like tea", user_id="alice", infer=False)["results"][0]["event"] == "NONE"
    add(mem0, "I like tea", user_id="alice", agent_id="waiter")  # told to another: a memory of its own
    tomorrow = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d}"
    short = add(mem0, "The door code is 4711", user_id="alice", expiration_date=tomorrow)
    assert mem0.get(short)["expiration_date"] == tomorrow
    page = mem0.get_all(filters={"user_id": "alice"}, page=2, page_size=3)
    assert (page["count"], len(page["results"]), page["next"]) == (4, 1, None)
    assert page["previous"].endswith("/api/mem0/v3/memories/?page=1&page_size=3")


def test_a_search_that_nothing_bears_on_gives_what_is_nearest_and_its_page_says_so(
    mem0: Any, api: Api, settings: Any
) -> None:
    settings.MEMORY_MIN_SIMILARITY = 2.5  # no meaning is near enough
    add(mem0, "Eve moved to Hangzhou in May", user_id="alice")
    drain(now=timezone.now())
    question = {"query": "Where to, and in which?", "filters": {"user_id": "alice"}}
    ours = {"scope": "mem0:direct_alice", "message": question["query"], "need": "off", "quotas": False}
    assert api.post("recall", ours).json()["memories"] == []
    (nearest,) = mem0.search(**question)["results"]
    assert nearest["memory"] == "Eve moved to Hangzhou in May"
    assert RecallTrace.objects.latest("created_at").served == [Entry.objects.get(uid=nearest["id"]).pk]
    assert words(mem0.search(**question, threshold=nearest["score"] + 0.01)) == []


@pytest.mark.thorough
def test_a_search_gives_the_best_in_order_down_to_a_threshold(mem0: Any, api: Api) -> None:
    for text in ("The boat is blue", "The boat lies in the harbour", "Lena paints"):
        add(mem0, text, user_id="alice")
    results = mem0.search("blue boat", filters={"user_id": "alice"})["results"]
    assert [result["memory"] for result in results][:2] == ["The boat is blue", "The boat lies in the harbour"]
    ours = {"scope": "mem0:direct_alice", "message": "blue boat", "need": "off", "quotas": False, "limit": 10}
    assert [result["id"] for result in results] == [
        memory["id"] for memory in api.post("recall", ours).json()["memories"]
    ]
    assert words(mem0.search("blue boat", filters={"user_id": "alice"}, top_k=1)) == ["The boat is blue"]
    assert words(mem0.search("blue boat", filters={"user_id": "alice"}, threshold=results[0]["score"])) == [
        "The boat is blue"
    ]
    (brief,) = mem0.search("blue boat", filters={"user_id": "alice"}, top_k=1, fields=["memory"])["results"]
    assert brief.keys() == {"id", "memory"}


@pytest.mark.thorough
def test_a_memory_is_changed_and_its_history_told(mem0: Any, package: Any) -> None:
    uid = add(mem0, "The boat is blue", user_id="alice", metadata={"colour": "blue", "n": 1})
    changed = mem0.update(uid, text="The boat is red", metadata={"colour": "red"}, expiration_date="2190-01-01")
    assert changed == mem0.get(uid)
    assert (changed["memory"], changed["metadata"]) == ("The boat is red", {"colour": "red"})
    assert (changed["expiration_date"], changed["user_id"]) == ("2190-01-01", "alice")
    assert mem0.update(uid, expiration_date=None)["expiration_date"] is None
    mem0.update(uid, metadata={"colour": "crimson"})
    results = [(step["event"], step["old_memory"], step["new_memory"]) for step in mem0.history(uid)]
    blue, red = "The boat is blue", "The boat is red"
    assert results[:2] == [("ADD", None, blue), ("UPDATE", blue, red)] and set(results[2:]) == {("UPDATE", red, red)}
    other = add(mem0, "Lena paints", user_id="alice")
    many = [{"memory_id": uid, "text": "The boat is green"}, {"memory_id": other, "metadata": {"who": "Lena"}}]
    mem0.batch_update(many)
    assert mem0.get(uid)["memory"] == "The boat is green" and mem0.get(other)["metadata"] == {"who": "Lena"}
    with pytest.raises(package.exceptions.ValidationError):
        mem0.batch_update([{"memory_id": uid, "text": "half"}, {"memory_id": "mem_1", "text": "done"}])
    with pytest.raises(package.exceptions.MemoryNotFoundError):
        mem0.batch_delete([{"memory_id": uid}, {"memory_id": str(UUID(int=1))}])
    assert mem0.get(uid)["memory"] == "The boat is green"


@pytest.mark.thorough
def test_what_was_deleted_is_never_returned_and_can_be_restored(mem0: Any, package: Any, api: Api) -> None:
    uid, second, third = (add(mem0, text, user_id="alice") for text in ("The boat is blue", "Lena paints", "Tea"))
    mem0.delete(uid, delete_linked=True)
    mem0.batch_delete([{"memory_id": second}])
    for call in (mem0.get, mem0.history, mem0.delete, lambda uid: mem0.update(uid, text="x"), mem0.feedback):
        with pytest.raises(package.exceptions.MemoryNotFoundError):
            call(uid)
    whose = {"user_id": "alice"}
    assert words(mem0.get_all(filters=whose)) == ["Tea"]
    assert words(mem0.search("Which colour is the blue boat?", filters=whose)) in ([], ["Tea"])
    assert [memory["memory"] for memory in mem0.get_memory_export(filters=whose)["memories"]] == ["Tea"]
    assert api.post(f"entries/{uid}/restore").status_code == 200
    assert words(mem0.get_all(filters=whose)) == ["Tea", "The boat is blue"] and third


def test_all_of_a_filter_is_deleted_as_a_batch_that_can_be_undone(mem0: Any, package: Any) -> None:
    for run in ("r1", "r2"):
        add(mem0, f"We are in {run}", user_id="alice", run_id=run)
    add(mem0, "Bob is here", user_id="bob")
    mem0.delete_all(user_id="alice", run_id="r1")
    everybody = {"user_id": "*"}
    assert set(words(mem0.get_all(filters=everybody))) == {"We are in r2", "Bob is here"}
    mem0.delete_all(package.client.types.DeleteAllMemoryOptions(filters={"user_id": "alice"}))
    assert words(mem0.get_all(filters=everybody)) == ["Bob is here"]
    assert {(batch.name, batch.state) for batch in Batch.objects.all()} == {("expire", "applied")}
    for nobody in (
        {},
        {"filters": "os.getcwd()"},
        {"filters": {1: 2}},
        {"filters": {"user_id": {1}}},
        {"filters": {"user_id": "\0"}},
    ):
        with pytest.raises(package.exceptions.ValidationError):
            mem0.delete_all(**nobody)


@pytest.mark.thorough
def test_users_agents_and_runs_are_listed_and_deleted(mem0: Any) -> None:
    add(mem0, "I like tea", user_id="alice/a b", agent_id="waiter")
    add(mem0, "I rhyme", agent_id="waiter", run_id="r1")
    add(mem0, "Bob is here", user_id="bob")
    listed = {(result["type"], result["name"], result["total_memories"]) for result in mem0.users()["results"]}
    assert listed == {("user", "alice/a b", 1), ("agent", "waiter", 2), ("run", "r1", 1), ("user", "bob", 1)}
    mem0.delete_users(user_id="alice/a b")
    mem0.delete_users(user_id="nobody")
    assert {result["name"] for result in mem0.users()["results"]} == {"waiter", "r1", "bob"}
    mem0.reset()
    assert mem0.users()["results"] == []


def test_feedback_is_kept_with_the_search_that_handed_the_memory_out(mem0: Any, package: Any) -> None:
    uid = add(mem0, "The boat is blue", user_id="alice")
    with pytest.raises(package.exceptions.ValidationError, match="memory_id"):
        mem0.feedback(uid, "POSITIVE")
    assert words(mem0.search("blue boat", filters={"user_id": "alice"})) == ["The boat is blue"]
    mem0.feedback(uid, "positive")
    (trace,) = RecallTrace.objects.all()
    assert trace.used == trace.served
    add(mem0, "The blue boat sinks", user_id="alice")
    again = recall(query_of(trace), now=datetime.now(UTC), recorded=False)  # as operators ask it again
    assert [item.entry.pk for item in again.served] == trace.served
    mem0.feedback(uid, "NEGATIVE", "it is red")
    trace.refresh_from_db()
    assert (trace.used, trace.note) == ([], "NEGATIVE: it is red")
    mem0.search("zebra", filters={"AND": [{"user_id": "alice"}, {"keywords": {"contains": "sinks"}}]})
    nothing = RecallTrace.objects.latest("pk")
    assert nothing.served == [] == recall(query_of(nothing), now=datetime.now(UTC), recorded=False).served


def test_an_export_holds_the_memories_of_its_filter(mem0: Any, package: Any, client: Callable[[str], Any]) -> None:
    add(mem0, "The boat is blue", user_id="alice")
    made = mem0.create_memory_export(schema='{"type": "object"}', user_id="alice")
    export = mem0.get_memory_export(memory_export_id=made["id"])
    assert (export["count"], export["memories"]) == (1, mem0.get_all(filters={"user_id": "alice"})["results"])
    stranger = client(make_key(Workspace.objects.create(name="Charlie's")))
    assert stranger.get_memory_export(memory_export_id=made["id"])["count"] == 0
    with pytest.raises(package.exceptions.MemoryNotFoundError):
        mem0.get_memory_export(memory_export_id=made["id"][:-1])


@live
@pytest.mark.thorough
def test_the_asynchronous_client_does_the_same(package: Any, live_server: Any, workspace: Workspace) -> None:
    key = make_key(workspace)

    async def talk() -> None:
        async with package.AsyncMemoryClient(key, host=f"{live_server.url}/api/mem0") as mem0:
            (added,) = (await mem0.add("I like tea", user_id="alice", infer=False))["results"]
            whose = {"AND": [{"user_id": "alice"}]}
            assert words(await mem0.search("tea", filters=whose)) == words(await mem0.get_all(filters=whose))
            await mem0.update(added["id"], text="I like coffee")
            assert (await mem0.get(added["id"]))["memory"] == "I like coffee"
            assert len(await mem0.history(added["id"])) == 2
            await mem0.feedback(added["id"], "POSITIVE")
            await mem0.batch_update([{"memory_id": added["id"], "text": "I like water"}])
            made = await mem0.create_memory_export(schema="{}", filters=whose)
            assert (await mem0.get_memory_export(memory_export_id=made["id"]))["count"] == 1
            await mem0.batch_delete([{"memory_id": added["id"]}])
            assert (await mem0.users())["results"] == []
            await mem0.add("I like milk", user_id="alice")
            (again,) = (await mem0.get_all(filters=whose))["results"]
            await mem0.delete(again["id"])
            await mem0.delete_all(user_id="alice")
            await mem0.delete_users(user_id="alice")

    asyncio.run(talk())


@pytest.mark.parametrize(
    "filters",
    [
        {"user_id": {"in": [f"u{n}" for n in range(70_000)]}},
        {"AND": [{"user_id": "*"}, {"memory_ids": ["x"] * 1_001}]},
        {"user_id": "u", "metadata": {"a": {"in": ["x"] * 1_001}}},
    ],
    ids=["names", "ids", "texts"],
)
def test_a_filter_of_too_many_values_is_refused_before_anything_is_looked_up(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, filters: Any
) -> None:
    monkeypatch.setattr("channels_app.people.peers.person_of", lambda *_: pytest.fail("looked up"))
    answer = Client().post(
        "/api/mem0/v3/memories/search/",
        {"query": "tea", "filters": filters},
        content_type="application/json",
        headers={"Authorization": f"Token {make_key(workspace)}"},
    )
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "filters")
