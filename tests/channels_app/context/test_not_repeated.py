"""What /context hands out as the open conversation is not told again beside it,, and the verdict knows (C9, C13)."""

from datetime import timedelta
from typing import Any

import pytest

from memories.models import Entry, RecallTrace, Workspace
from sessions_app.models import Session
from tests.channels_app.context.test_context import USER, context, know
from tests.conftest import GROUP, NOW
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
LONG_AGO = NOW - timedelta(days=9)
LATELY = NOW - timedelta(hours=2)


def end(talk: Talk) -> None:
    """Close the open conversation; what was said stays remembered."""
    talk.post(f"sessions/{Session.objects.latest('id').uid}/reset")


def sail(talk: Talk, count: int, *, at: Any, address: Any = None, begin: int = 0) -> None:
    for n in range(begin, begin + count):
        talk.say(f"the boat number {n} sails on day {n * 7}", "aye", at=at + timedelta(minutes=n), address=address)


def contents(given: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in given["memories"]]


def history_contents(data: dict[str, Any]) -> set[str]:
    return {message["content"] for message in data["history"]}


@pytest.mark.thorough
@pytest.mark.parametrize("address", [None, GROUP])
def test_its_places_go_to_other_memories(talk: Talk, address: Any) -> None:
    """In a group neither the speaker's copy nor the chat's is told again."""
    sail(talk, 6, at=LONG_AGO, address=address)
    end(talk)
    sail(talk, 12, at=LATELY, address=address, begin=6)
    result = context(talk, "when does the boat sail?", **({"address": address} if address else {}))
    assert len(result["history"]) == 24
    answer = contents(result)
    assert answer and all(f"number {n} " not in memory for n in range(6, 18) for memory in answer)
    assert len({memory for memory in answer for n in range(6) if f"number {n} " in memory}) == 6
    assert not [
        memory
        for memory in answer
        if memory in result["text"] and any(history_content in memory for history_content in history_contents(result))
    ]


def test_a_fact_and_a_saved_memory_that_say_the_same_are_not_told_again(talk: Talk) -> None:
    talk.say("Please remember: my locker is number 4471. 我的猫叫年糕", at=LATELY)
    turn = Entry.objects.get()
    talk.post("entries", {"scope": USER, "content": "My locker is number 4471"})
    talk.post("entries", {"scope": USER, "content": "我的猫叫年糕"})
    talk.post("entries", {"scope": USER, "content": "My locker at the pool is number 12"})
    know(talk, "The locker of the user has the number 4471", tier=2)
    Entry.objects.filter(type="fact").update(origins=turn.origins)
    assert contents(context(talk, "what is the number of my locker?")) == ["My locker at the pool is number 12"]
    assert not [memory for memory in contents(context(talk, "我的猫叫什么名字？")) if "年糕" in memory]


def test_what_was_only_asked_hides_no_memory(talk: Talk) -> None:
    talk.post("entries", {"scope": USER, "content": "I live in Hangzhou"})
    talk.say("Do I live in Hangzhou?", "I cannot tell.", at=LATELY)
    assert contents(context(talk, "which city do I live in?")) == ["I live in Hangzhou"]


@pytest.mark.parametrize(
    ("question", "memory", "later"),
    [
        ("我是不是住在罗马", "住在罗马", "我住在哪个城市？"),
        ("谁对花生过敏", "对花生过敏", "花生可以吃吗？"),
        ("有没有谁的猫叫年糕。", "猫叫年糕", "我的猫叫什么名字？"),
    ],
)
def test_a_question_without_a_mark_hides_no_memory(talk: Talk, question: str, memory: str, later: str) -> None:
    talk.post("entries", {"scope": USER, "content": memory})
    talk.say(question, "我不知道。", at=LATELY)
    assert contents(context(talk, later)) == [memory]


def test_what_was_stated_with_a_word_of_a_question_is_not_told_again(talk: Talk) -> None:
    talk.post("entries", {"scope": USER, "content": "我家有几只猫"})
    talk.say("我家有几只猫，都很乖", "真好。", at=LATELY)
    assert contents(context(talk, "我家的猫乖吗？")) == []


def test_what_has_another_source_as_well_is_told(talk: Talk) -> None:
    talk.say("my bike is red", at=LONG_AGO)
    end(talk)
    talk.say("the bike got a new bell", at=LATELY)
    know(talk, "The red bike has a new bell", tier=2)
    origins = [origin for entry in Entry.objects.filter(type="chat_turn") for origin in entry.origins]
    Entry.objects.filter(type="fact").update(origins=origins)
    assert "The red bike has a new bell" in contents(context(talk, "what do we know of my bike?"))


@pytest.mark.thorough
def test_what_the_budget_or_a_summary_cut_out_of_the_history_is_recalled(talk: Talk) -> None:
    talk.say("the harbour master is called Rosa", at=LATELY)
    for n in range(12):
        talk.say(f"a long story number {n} " + "about nothing at all " * 12, "la " * 40, at=LATELY)
    result = context(talk, "who is the harbour master?", token_budget=1_200)
    assert "the harbour master is called Rosa" not in history_contents(result)
    assert any("Rosa" in memory for memory in contents(result))
    assert not [
        memory
        for memory in contents(result)
        for history_content in history_contents(result)
        if history_content in memory
    ]
    whole = context(talk, "who is the harbour master?", token_budget=20_000)
    assert "the harbour master is called Rosa" in history_contents(whole) and not any(
        "Rosa" in content for content in contents(whole)
    )


@pytest.mark.thorough
def test_a_longer_history_never_reaches_back_to_what_is_told_already(talk: Talk) -> None:
    for n in range(40):
        talk.say(f"boat {n} sails to island {n * 3} with crew {n * 11}", "aye " * 30, at=LATELY + timedelta(minutes=n))
    for budget in (600, 1_000, 1_500, 2_500, 4_000):
        result = context(talk, "to which island does the boat sail with its crew?", token_budget=budget)
        assert not [
            memory
            for memory in contents(result)
            for history_content in history_contents(result)
            if "boat" in history_content and history_content in memory
        ]
        assert contents(result) or len(result["history"]) == 80
        assert result["history"][-1]["position"] == 80 and result["tokens"] <= budget


@pytest.mark.thorough
@pytest.mark.parametrize(("language", "words"), [("en", "this conversation itself"), ("zh-hans", "本次对话")])
def test_an_answer_that_stands_in_the_history_is_no_lack_of_evidence(
    talk: Talk, workspace: Workspace, language: str, words: str
) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language=language)
    talk.say("my violin teacher is called Rosa", at=LATELY)
    talk.say("我的小提琴老师叫罗莎", at=LATELY)
    for message in ("What did I tell you about my violin teacher?", "你还记得我的小提琴老师叫什么吗？"):
        result = context(talk, message)
        assert (result["memories"], result["events"]) == ([], [])
        assert result["evidence"] == "found" and result["in_history"]
        assert words in result["directives"][0]["instruction"] and words in result["text"]
        trace = RecallTrace.objects.get(uid=result["recall_id"])
        assert "history" in {row[-1] for row in trace.candidates["rows"]}
    result = context(talk, "what did I tell you about quantum chromodynamics?")
    assert result["directives"] and (result["evidence"] != "none" or words in result["directives"][0]["instruction"])


@pytest.mark.thorough
def test_events_give_their_places_to_earlier_ones(talk: Talk) -> None:
    sail(talk, 8, at=LONG_AGO)
    end(talk)
    sail(talk, 60, at=LATELY - timedelta(hours=1), begin=8)
    result = context(talk, "what did I say about the boat?", token_budget=20_000)
    assert len(result["history"]) == 120
    contents = {event["content"] for event in result["events"]}
    assert len(contents) == 6 and not contents & history_contents(result)


def test_recall_alone_tells_all_of_it(talk: Talk) -> None:
    sail(talk, 2, at=LATELY)
    answer = talk.post(
        "recall", {"address": {**GROUP, "is_group": False, "chat": "c7"}, "message": "when do boats sail?"}
    )
    assert len(answer.json()["memories"]) == 2


@pytest.mark.thorough
def test_a_request_may_bring_a_budget_of_the_history(talk: Talk) -> None:
    for n in range(20):
        talk.say(f"story {n}", "once upon a time " * 10, at=LATELY)
    result = context(talk, "good morning to you", max_tokens=200)
    assert sum(len(message["content"].split()) for message in result["history"]) < 200 < result["session"]["tokens"]
    assert result["session"]["max_tokens"] == 200
    assert [directive["kind"] for directive in result["directives"]] == ["flush_required"]
    whole = context(talk, "good morning to you")
    assert len(whole["history"]) == 40 and whole["directives"] == []
    refused = talk.post("context", {"address": GROUP, "message": "hello", "max_tokens": 5})
    assert (refused.status_code, refused.json()["errors"][0]["attr"]) == (400, "max_tokens")


@pytest.mark.thorough
@pytest.mark.parametrize("message", ["/reset", "  /reset ", "@mybot /reset"])
@pytest.mark.parametrize(("language", "reply"), [("en", "cleared"), ("zh-hans", "已清空对话历史")])
def test_a_reset_is_known_before_a_model_is_asked(
    talk: Talk, workspace: Workspace, message: str, language: str, reply: str
) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language=language)
    talk.say("the boat sails at noon", at=LATELY)
    before = RecallTrace.objects.count()
    result = context(talk, message)
    (directive,) = result["directives"]
    assert directive["kind"] == "reset" and reply in result["reply"] and result["reply"] in directive["instruction"]
    assert (result["recall_id"], result["memories"], result["history"], result["text"]) == (None, [], [], "")
    assert RecallTrace.objects.count() == before
    assert len(context(talk, "good morning to you")["history"]) == 2  # asking has cleared nothing
    assert context(talk, "what does /reset do?")["reply"] is None


def test_a_reset_that_is_switched_off_is_a_message(talk: Talk, settings: Any) -> None:
    settings.MEMORY_RESET_COMMAND = False
    assert context(talk, "/reset")["directives"] == []


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_text_names_a_tool_that_is_not_there(talk: Talk, workspace: Workspace, language: str) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language=language)
    result = context(talk, "昨天我们聊了什么？ what did we say yesterday?")
    (directive,) = result["directives"]
    assert "memory_" not in directive["instruction"] + result["text"]


def test_what_the_bot_keeps_and_sends_itself_is_not_told_and_what_it_does_not_is(talk: Talk) -> None:
    talk.say("my locker at the pool is number 4471", "Noted.", at=LATELY)
    talk.say("my locker at work is number 12", "Fine.", at=LATELY + timedelta(minutes=1))
    messages = [
        {"role": "user", "content": "my locker at work is number 12"},
        {"role": "assistant", "content": "Fine."},
    ]
    result = context(talk, "what is the number of my locker?", client_history=messages, max_tokens=1_000)
    assert result["history"] == [] and "4471" in result["text"] and "number 12" not in result["text"]
    alone = context(talk, "what is the number of my locker?", client_history=[])
    assert alone["history"] == [] and "4471" in alone["text"] and "number 12" in alone["text"]
    assert "4471" not in context(talk, "what is the number of my locker?")["text"]


def test_a_bot_that_keeps_the_conversation_is_not_asked_to_flush(talk: Talk) -> None:
    talk.say("my locker is number 4471 " * 60, at=LATELY)
    assert [directive["kind"] for directive in context(talk, "hm", max_tokens=600)["directives"]] == ["flush_required"]
    assert context(talk, "hm", max_tokens=600, client_history=[])["directives"] == []
