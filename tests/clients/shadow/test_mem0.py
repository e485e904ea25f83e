"""mem0's library as before, and its writes and answers beside memplatform's."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memories.models import Entry, Workspace
from sessions_app.models import SessionEvent
from tests.clients.shadow.conftest import Line
from tests.conftest import make_key

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]
ANN = {"user_id": "ann"}
TALK = [{"role": "user", "content": "My sister paints."}, {"role": "assistant", "content": "How nice."}]


def live() -> set[str]:
    return set(Entry.objects.filter(expired_at=None).values_list("content", flat=True))


def outcomes(lines: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(line["op"], line["outcome"]) for line in lines]


def test_facts_the_store_keeps_are_mirrored_changed_and_deleted_here(
    mem0: Any, begin: Any, noted: Callable[..., Any]
) -> None:
    shadow = begin()
    memory = shadow.around(mem0)
    added = memory.add(TALK, **ANN, metadata={"source": "chat"}, infer=True)
    assert [result["memory"] for result in added["results"]] == ["Ann's sister is called Lena", "Lena paints boats"]
    (tea,) = memory.add("Ann likes tea", **ANN, infer=False)["results"]
    shadow.wait(30)
    assert live() == {"Ann's sister is called Lena", "Lena paints boats", "Ann likes tea"}
    assert memory.update(tea["id"], text="Ann likes coffee") == {"message": "Memory updated successfully!"}
    memory.delete(added["results"][1]["id"])
    shadow.wait(30)
    assert live() == {"Ann's sister is called Lena", "Ann likes coffee"}
    memory.delete_all(**ANN)
    writes = noted(shadow, "write")
    assert live() == set() == set(memory.get_all(filters=ANN)["results"])
    kinds = ["add", "add", "add", "change", "delete", "delete_all"]
    assert outcomes(writes) == [(op, "mirrored") for op in kinds]
    assert {entry.scope.key for entry in Entry.objects.select_related("scope")} == {"mem0:direct_ann"}


def test_an_answer_is_compared_with_the_one_here_and_is_not_touched(
    mem0: Any, begin: Any, noted: Callable[..., Any]
) -> None:
    memory = (shadow := begin()).around(mem0)
    mem0.add("Ann likes tea", **ANN, infer=False)  # before the shadow
    memory.add("Ann's boat is called Wren", **ANN, infer=False)
    result = memory.search("Ann's boat called Wren", filters=ANN, top_k=5)
    assert result == mem0.search("Ann's boat called Wren", filters=ANN, top_k=5)
    listed = memory.get_all(filters=ANN)
    assert listed == mem0.get_all(filters=ANN) and len(listed["results"]) == 2
    search, whole = noted(shadow, "read")
    assert [row["text"] for row in search["there"]] == ["Ann's boat is called Wren", "Ann likes tea"]
    assert [row["text"] for row in search["here"]] == ["Ann's boat is called Wren"]
    assert search["pairs"] == whole["pairs"][:1] == [[0, 0, "mirrored"]] or whole["pairs"] == [[1, 0, "mirrored"]]
    tea = search["there"][1]["id"]
    assert search["why_missed"] == whole["why_missed"] == {tea: "unknown"}
    assert (search["limit"], whole["limit"], whole["why_here"]) == (5, 20, {})


def test_messages_are_mirrored_and_facts_that_rest_on_them_are_found_deleted_and_corrected(
    mem0: Any, begin: Any, noted: Callable[..., Any]
) -> None:
    memory = (shadow := begin(mirror="messages")).around(mem0)
    sister, boats = memory.add(TALK, **ANN)["results"]
    memory.search("Who paints?", filters=ANN)
    memory.delete(boats["id"])
    memory.update(sister["id"], text="Ann's sister is called Mia")
    *_, read = noted(shadow, "read")
    assert {how for _there, _here, how in read["pairs"]} == {"mirrored"} and len(read["pairs"]) == 2
    assert SessionEvent.objects.count() == 2
    assert live() == {"User: My sister paints.\nAssistant: How nice.", "Ann's sister is called Mia"}
    assert outcomes(noted(shadow, "write")) == [("add", "mirrored"), ("delete", "kept"), ("change", "mirrored")]
    memory.delete(sister["id"])
    noted(shadow)
    assert live() == {"User: My sister paints.\nAssistant: How nice."}


def test_a_memory_from_before_is_found_by_its_words_when_it_is_changed(
    mem0: Any, begin: Any, noted: Callable[..., Any], line: Line
) -> None:
    """As after `manage.py import` of the old history: the ids there and here are strangers."""
    first = begin("earlier")
    old = first.around(mem0).add("Ann likes tea", **ANN, infer=False)["results"][0]["id"]
    first.wait(30)
    memory = (shadow := begin()).around(mem0)
    assert memory.get(old)["memory"] == "Ann likes tea"
    memory.update(old, text="Ann likes coffee")
    hidden = mem0.add("Nobody has seen this", **ANN, infer=False)["results"][0]["id"]
    memory.delete(hidden)
    assert outcomes(noted(shadow, "write")) == [("change", "mirrored"), ("delete", "not_known")]
    assert live() == {"Ann likes coffee"} and Entry.objects.count() == 1


def test_a_memory_from_before_that_stands_here_is_not_told_as_missing(
    mem0: Any, begin: Any, noted: Callable[..., Any]
) -> None:
    first = begin("earlier")
    for text in ("Lena paints boats", "Ann sails"):
        first.around(mem0).add(text, **ANN, infer=False)
    first.wait(30)
    memory = (shadow := begin()).around(mem0)
    listed = memory.search("Who sails?", filters=ANN, top_k=2, threshold=0.0)["results"]
    (read,) = noted(shadow, "read")
    missed = {row["memory"]: read["why_missed"].get(row["id"]) for row in listed}
    assert missed == {"Ann sails": None, "Lena paints boats": "held_back"} and len(read["here"]) == 1
    memory.delete(listed[1]["id"])
    assert outcomes(noted(shadow, "write")) == [("delete", "mirrored")] and len(live()) == 1


def test_one_of_two_memories_that_are_one_here_can_be_deleted(mem0: Any, begin: Any, noted: Callable[..., Any]) -> None:
    memory = (shadow := begin()).around(mem0)
    one, other = (memory.add("Ann likes tea", **ANN, infer=False)["results"][0]["id"] for _ in range(2))
    memory.delete(one)
    assert outcomes(noted(shadow, "write")) == [("add", "mirrored"), ("add", "known"), ("delete", "kept")]
    assert live() == {"Ann likes tea"}
    memory.delete(other)
    noted(shadow)
    assert live() == set()


def test_the_asynchronous_library_is_watched_as_well(
    package: Any, config: dict[str, Any], begin: Any, noted: Callable[..., Any]
) -> None:
    async def talk() -> Any:
        async with package.AsyncMemory.from_config(config) as plain:
            memory = shadow.around(plain)
            await memory.add("王芳喜欢喝龙井茶", user_id="王芳", infer=False)
            with pytest.raises(ValueError, match="Invalid query"):
                await memory.search(" ", filters={"user_id": "王芳"})
            return await memory.search("王芳喜欢喝什么茶", filters={"user_id": "王芳"})

    shadow = begin()
    assert asyncio.iscoroutinefunction(shadow.around(package.AsyncMemory).search)
    assert [result["memory"] for result in asyncio.run(talk())["results"]] == ["王芳喜欢喝龙井茶"]
    write, error, read = noted(shadow)
    assert (write["outcome"], read["pairs"]) == ("mirrored", [[0, 0, "mirrored"]])
    assert (error["call"], error["error"]) == ("search", "ValueError")


def test_the_client_of_the_hosted_service_is_watched_as_well(
    package: Any, begin: Any, noted: Callable[..., Any], live_server: Any, workspace: Workspace, stranger: Workspace
) -> None:
    """Its store is memplatform here too, in another workspace: it speaks as the service does."""
    plain = package.MemoryClient(make_key(stranger), host=f"{live_server.url}/api/mem0")
    memory = (shadow := begin()).around(plain)
    options = package.client.types.AddMemoryOptions(filters=ANN, infer=False)
    one = memory.add("Ann likes tea", options=options)["results"][0]["id"]
    memory.batch_update([{"memory_id": one, "text": "Ann likes coffee"}])
    memory.search("What does Ann like?", filters=ANN)
    memory.batch_delete([{"memory_id": one}])
    memory.delete_users(user_id="ann")
    plain.client.close()
    lines = noted(shadow)
    assert [line.get("op", line["kind"]) for line in lines] == ["add", "change", "read", "delete", "delete_all"]
    assert lines[2]["limit"] == 10
    assert list(Entry.objects.filter(workspace=workspace, expired_at=None)) == []
