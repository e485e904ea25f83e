"""Which memories an answer rested on: told by the bot, or by the words of its answer (A14)."""

from typing import Any

import pytest

from memories.models import RecallTrace, Workspace
from memories.recall import traces
from tests.conftest import TELEGRAM, Api, make_key

pytestmark = pytest.mark.django_db
SCOPE = "telegram:direct_u42"
UNKNOWN = "019a0000-0000-7000-8000-000000000000"


@pytest.fixture
def recall_answer(api: Api) -> dict[str, Any]:
    for content in ("My cat is called Rice", "My dog is called Bone", "My parrot is called Jasmine"):
        api.post("entries", {"scope": SCOPE, "content": content})
    answer = api.post("recall", {"address": TELEGRAM, "message": "what are my pets called?"}).json()
    assert len(answer["memories"]) == 3
    return answer


def id_of(recall_answer: dict[str, Any], word: str) -> str:
    return next(memory["id"] for memory in recall_answer["memories"] if word in memory["content"])


def named(recall_answer: dict[str, Any], pks: list[int] | None) -> list[str] | None:
    """The ids clients know of the entries a trace names."""
    served = RecallTrace.objects.get(uid=recall_answer["recall_id"]).served
    return None if pks is None else [recall_answer["memories"][served.index(pk)]["id"] for pk in pks]


def trace_of(recall_answer: dict[str, Any]) -> RecallTrace:
    return RecallTrace.objects.get(uid=recall_answer["recall_id"])


def test_it_works(api: Api, recall_answer: dict[str, Any]) -> None:
    rice = id_of(recall_answer, "Rice")
    answer = api.post(f"recalls/{recall_answer['recall_id']}/feedback", {"used": [rice], "note": "she smiled"})
    assert answer.status_code == 200
    assert answer.json() == {"recall_id": recall_answer["recall_id"], "used": [rice], "note": "she smiled"}
    assert named(recall_answer, trace_of(recall_answer).used) == [rice]


def test_nobody_has_said_anything_until_they_do(recall_answer: dict[str, Any]) -> None:
    assert (trace_of(recall_answer).used, trace_of(recall_answer).overlap) == (None, None)


def test_that_nothing_was_of_use_is_an_answer_too(api: Api, recall_answer: dict[str, Any]) -> None:
    assert api.post(f"recalls/{recall_answer['recall_id']}/feedback", {"used": []}).status_code == 200
    assert trace_of(recall_answer).used == []


def test_the_last_word_counts(api: Api, recall_answer: dict[str, Any]) -> None:
    for word in ("Rice", "Bone"):
        api.post(f"recalls/{recall_answer['recall_id']}/feedback", {"used": [id_of(recall_answer, word)] * 2})
    assert named(recall_answer, trace_of(recall_answer).used) == [id_of(recall_answer, "Bone")]


def test_what_was_not_served_cannot_have_been_used(api: Api, recall_answer: dict[str, Any]) -> None:
    other = api.post("entries", {"scope": SCOPE, "content": "The extraction batch comes on Friday"}).json()["id"]
    used = [id_of(recall_answer, "Rice"), other]
    answer = api.post(f"recalls/{recall_answer['recall_id']}/feedback", {"used": used})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "used.1")
    assert trace_of(recall_answer).used is None


@pytest.mark.parametrize(
    "body", [{}, {"used": None}, {"used": ["x"]}, {"used": "x"}, {"used": [], "note": 3}, {"used": [UNKNOWN] * 51}]
)
def test_feedback_that_cannot_be_read_is_refused(api: Api, recall_answer: dict[str, Any], body: dict[str, Any]) -> None:
    assert api.post(f"recalls/{recall_answer['recall_id']}/feedback", body).status_code == 400


def test_a_recall_of_a_stranger_does_not_exist(
    stranger: Workspace, workspace: Workspace, recall_answer: dict[str, Any]
) -> None:
    path = f"recalls/{recall_answer['recall_id']}/feedback"
    assert Api(make_key(stranger)).post(path, {"used": []}).status_code == 404
    assert Api(make_key(workspace, scope_patterns=["lark:*"])).post(path, {"used": []}).status_code == 404
    assert Api(make_key(workspace)).post(f"recalls/{UNKNOWN}/feedback", {"used": []}).status_code == 404


def test_an_answer_points_to_the_memory_whose_words_it_took(api: Api, recall_answer: dict[str, Any]) -> None:
    turn = {
        "address": TELEGRAM,
        "user": "what are my pets called?",
        "assistant": "Your cat is Rice.",
        "recall_id": recall_answer["recall_id"],
    }
    assert api.post("turns", turn).status_code == 201
    assert named(recall_answer, trace_of(recall_answer).overlap) == [id_of(recall_answer, "Rice")]
    assert trace_of(recall_answer).used is None


def test_an_answer_from_elsewhere_points_to_nothing(api: Api, recall_answer: dict[str, Any]) -> None:
    api.post(
        "turns", {"address": TELEGRAM, "user": "hi", "assistant": "Hello!", "recall_id": recall_answer["recall_id"]}
    )
    assert trace_of(recall_answer).overlap == []


def test_a_turn_may_name_what_its_answer_used(api: Api, recall_answer: dict[str, Any]) -> None:
    bone = id_of(recall_answer, "Bone")
    turn = {
        "address": TELEGRAM,
        "user": "?",
        "assistant": "Rice.",
        "recall_id": recall_answer["recall_id"],
        "used": [bone],
    }
    assert api.post("turns", turn).status_code == 201
    assert named(recall_answer, trace_of(recall_answer).used) == [bone]
    assert named(recall_answer, trace_of(recall_answer).overlap) == [id_of(recall_answer, "Rice")]


def test_a_turn_that_names_what_was_not_served_is_not_stored(api: Api, recall_answer: dict[str, Any]) -> None:
    turn = {
        "address": TELEGRAM,
        "user": "?",
        "assistant": "!",
        "recall_id": recall_answer["recall_id"],
        "used": [UNKNOWN],
    }
    assert api.post("turns", turn).status_code == 400
    assert api.get("entries", type="chat_turn").json()["results"] == []


def test_a_turn_cannot_use_memories_of_no_recall(api: Api) -> None:
    answer = api.post("turns", {"address": TELEGRAM, "user": "?", "assistant": "!", "used": []})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "recall_id")


def test_a_turn_outlives_the_trace_of_its_recall(api: Api, recall_answer: dict[str, Any]) -> None:
    turn = {"address": TELEGRAM, "user": "I moved", "assistant": "Noted.", "recall_id": UNKNOWN, "used": [UNKNOWN]}
    assert api.post("turns", turn).status_code == 201


def test_words_of_the_question_prove_nothing() -> None:
    assert (
        traces.reference_shares("My cat is called Rice?", "is my cat called Rice", {1: "My cat is called Rice"}) == {}
    )


def test_a_word_that_all_memories_hold_points_to_none_of_them() -> None:
    memories = {n: f"Hangzhou trip number {n}" for n in range(10)}
    shares = traces.reference_shares("Hangzhou, with the train and a bicycle", "where?", memories)
    assert max(shares.values()) < 0.2


def test_two_memories_that_say_the_same_are_both_used() -> None:
    memories = {1: "User: I moved to Hangzhou\nAssistant: Noted.", 2: "The user lives in Hangzhou", 3: "likes tea"}
    shares = traces.reference_shares("You live in Hangzhou.", "where do I live?", memories)
    assert (shares[1], shares[2], shares[3]) == (0.5, 0.5, 0.0)


def test_chinese_answers_point_to_their_memories_too() -> None:
    memories = {1: "我的猫叫年糕，三岁了", 2: "我住在杭州西湖边"}
    shares = traces.reference_shares("你的猫叫年糕。", "我的猫叫什么名字？", memories)
    assert shares[1] >= 0.5 > shares[2]


def test_how_often_the_words_are_right_is_known_where_bots_named_what_they_used() -> None:
    assert traces.precision([]) is None
    both = [
        RecallTrace(served=[1, 2, 3], used=[1], overlap=[1, 2]),
        RecallTrace(served=[4], used=[4], overlap=[4]),
        RecallTrace(served=[5], used=None, overlap=[5]),
        RecallTrace(served=[6], used=[6], overlap=None),
    ]
    assert traces.precision(both) == pytest.approx(2 / 3)
