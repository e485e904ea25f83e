"""GET /recalls/{id}: why the bot said that (F5)."""

from typing import Any

import pytest

from memories.models import BotKey, Entry, RecallTrace, Workspace
from tests.conftest import GROUP, NOW, TELEGRAM, Api, make_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def recall_answer(api: Api) -> dict[str, Any]:
    for text in ("my cat is called Mochi", "my dog is called Rex", "the tea is green"):
        api.post("turns", {"address": TELEGRAM, "user": text, "assistant": "ok"})
    Entry.objects.filter(content__contains="Rex").update(expired_at=NOW)
    answer = api.post("recall", {"address": TELEGRAM, "message": "what is my cat called?", "explain": True}).json()
    return dict(answer)


def test_it_tells_what_was_told_with_the_answer(api: Api, recall_answer: dict[str, Any]) -> None:
    answer = api.get(f"recalls/{recall_answer['recall_id']}").json()
    assert [memory["why"] for memory in answer["memories"]] == [memory["why"] for memory in recall_answer["memories"]]
    assert [memory["id"] for memory in answer["memories"]] == [memory["id"] for memory in recall_answer["memories"]]
    assert {(memory["id"], memory["reason"]) for memory in answer["left_out"]} == {
        (memory["id"], memory["reason"]) for memory in recall_answer["left_out"]
    }
    assert (answer["message"], answer["bot"], answer["scopes"]) == (
        "what is my cat called?",
        "bot",
        ["telegram:direct_u42"],
    )
    assert (answer["mode"], answer["rule"], answer["sampled"]) == ("hybrid", "question", True)
    assert answer["evidence"]["verdict"] == recall_answer["evidence"] and answer["timings"]["search"] > 0
    assert answer["weights"]["date_boost"] == 0.2


def test_what_is_no_longer_served_is_told_without_its_words(api: Api, recall_answer: dict[str, Any]) -> None:
    (gone,) = [memory for memory in recall_answer["left_out"] if memory["reason"] == "expired"]
    assert gone["content"] is None and gone["id"] == str(Entry.objects.get(content__contains="Rex").uid)
    Entry.objects.filter(content__contains="Mochi").update(suppressed_at=NOW)
    response = api.get(f"recalls/{recall_answer['recall_id']}")
    assert "Rex" not in response.content.decode() and "Mochi" not in response.content.decode()


def test_of_what_a_group_may_not_hear_only_that_there_is_something(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "my cat is called Mochi", "assistant": "ok"})
    answer = api.post("recall", {"address": GROUP, "message": "what is my cat called?", "explain": True}).json()
    (hidden,) = answer["left_out"]
    assert hidden == dict.fromkeys(hidden) | {"reason": "other_scope"}
    response = api.get(f"recalls/{answer['recall_id']}")
    (item,) = response.json()["left_out"]
    assert item == dict.fromkeys(item) | {"reason": "other_scope"} and "Mochi" not in response.content.decode()


def test_what_the_answer_rested_on_is_told_too(api: Api, recall_answer: dict[str, Any]) -> None:
    used = [recall_answer["memories"][0]["id"]]
    api.post(f"recalls/{recall_answer['recall_id']}/feedback", {"used": used, "note": "good"})
    answer = api.get(f"recalls/{recall_answer['recall_id']}").json()
    assert (answer["used"], answer["pointed_to"], answer["note"]) == (used, None, "good")


def test_old_and_unsampled_traces_are_told_as_far_as_they_go(api: Api, recall_answer: dict[str, Any]) -> None:
    trace = RecallTrace.objects.get()
    RecallTrace.objects.update(candidates=[[trace.served[0], 0.5, 0.9, 0, 1.0, 0.4, "served"]])
    (memory,) = api.get(f"recalls/{recall_answer['recall_id']}").json()["memories"][:1]
    assert (memory["score"], memory["why"]["keyword"], memory["why"]["vector"]) == (0.4, 0.5, None)
    RecallTrace.objects.update(candidates=None)
    answer = api.get(f"recalls/{recall_answer['recall_id']}").json()
    assert answer["sampled"] is False and answer["left_out"] == [] and answer["memories"][0]["score"] is None


def test_a_key_that_reaches_less_never_sees_it(
    workspace: Workspace, stranger: Workspace, recall_answer: dict[str, Any]
) -> None:
    narrow = Api(make_key(workspace, name="narrow", scope_patterns=["lark:*"]))
    writer = Api(make_key(workspace, name="writer", permissions=["write"]))
    assert narrow.get(f"recalls/{recall_answer['recall_id']}").status_code == 404
    assert Api(make_key(stranger)).get(f"recalls/{recall_answer['recall_id']}").status_code == 404
    assert writer.get(f"recalls/{recall_answer['recall_id']}").status_code == 403
    assert BotKey.objects.count() == 4


def test_it_takes_as_many_statements_for_many_memories_as_for_one(
    api: Api, recall_answer: dict[str, Any], django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(10):
        api.get(f"recalls/{recall_answer['recall_id']}")
