"""A turn, its copy and the fact drawn from it tell one thing: it is served once, and stands out as before (C3)."""

from typing import Any

import pytest
from django.utils import timezone

from memories.index.worker import drain
from memories.models import Entry
from tests.conftest import TELEGRAM, Api
from tests.memories.consolidation.buffer.conversations import extract, say

pytestmark = pytest.mark.django_db
TOLD = [
    "I shoot with a Fujifilm X-T5.",
    "I live in Lisbon.",
    "I'm allergic to latex.",
    "我住在成都。",
    "我对芒果过敏。",
]


@pytest.fixture
def told(api: Api, bundled_model: None, settings: Any) -> Api:
    settings.TEST_CLOCK = True
    for sentence in TOLD:
        say(api, sentence, "Okay, noted.")
    drain(now=timezone.now())
    return api


def ask(api: Api, message: str) -> dict[str, Any]:
    return api.post("recall", {"address": TELEGRAM, "message": message}).json()


def draw_facts() -> None:
    extract()
    drain(now=timezone.now())
    assert Entry.objects.live().filter(type="fact").count() >= 3


@pytest.mark.parametrize(("question", "answer"), [("Where do I live?", "Lisbon"), ("我对什么过敏？", "芒果")])
def test_what_is_found_as_a_turn_is_found_as_a_fact_and_served_once(told: Api, question: str, answer: str) -> None:
    before = ask(told, question)
    draw_facts()
    after = ask(told, question)
    assert (before["evidence"], before["memories"][0]["type"]) == ("found", "chat_turn")
    assert (after["evidence"], after["memories"][0]["type"]) == ("found", "fact")
    assert answer in after["memories"][0]["content"]
    assert sum(answer in memory["content"] for memory in after["memories"]) == 1
    assert after["memories"][0]["relevance"] >= before["memories"][0]["relevance"] - 0.1


def test_a_turn_that_tells_more_than_its_facts_is_served_beside_them(api: Api, settings: Any) -> None:
    settings.TEST_CLOCK = True
    say(api, "I live in Lisbon. The kiln is hot again.", "Okay, noted.")
    say(api, "I live in Porto now.", "Porto is lovely, and the Douro runs through it.")
    drain(now=timezone.now())
    draw = Entry.objects.live().filter(type="fact")
    extract()
    drain(now=timezone.now())
    assert draw.exists()
    contents = [memory["content"] for memory in ask(api, "What about the kiln in Lisbon, and the Douro?")["memories"]]
    assert any("kiln" in content for content in contents) and any("Douro" in content for content in contents)


@pytest.mark.parametrize(
    ("note", "told_sentence"),
    [
        ("animals at home", "I have two cats and a tortoise."),
        ("current city of residence", "I live in Lisbon."),
        ("籍贯", "我是温州人。"),
        ("居住地", "我住在成都。"),
        ("diet", "I'm a vegetarian."),
    ],
)
def test_a_few_words_are_a_search_where_something_answers_them(
    api: Api, bundled_model: None, note: str, told_sentence: str
) -> None:
    say(api, told_sentence, "Okay, noted.")
    drain(now=timezone.now())
    answer = ask(api, note)
    assert answer["need"] == {"retrieve": True, "rule": "note"} and answer["evidence"] == "found"
    assert told_sentence in answer["memories"][0]["content"]


@pytest.mark.parametrize(
    "remark",
    ["good bread everywhere", "such heavy rain", "天气真好", "run all tests", "summarize", "okay", "画一只猫", "👍"],
)
def test_a_remark_in_a_few_words_is_none(told: Api, remark: str) -> None:
    answer = ask(told, remark)
    assert answer["need"]["retrieve"] is False and answer["memories"] == [] and not answer["degraded"]


def test_who_says_k8s_has_named_kubernetes(api: Api, bundled_model: None) -> None:
    say(api, "Our k8s cluster is on 1.29.", "Okay, noted.")
    drain(now=timezone.now())
    answer = ask(api, "Which version of Kubernetes are we running?")
    assert answer["evidence"] != "none" and "1.29" in answer["memories"][0]["content"]
