"""A conversation that was closed is remembered by its turns and as a whole; nobody is told the same twice (A8, B4)."""

from datetime import timedelta
from typing import Any

import pytest

from memories.models import Entry, RecallTrace
from sessions_app import conversations
from sessions_app.models import EventKind, Session, SessionEvent
from sessions_app.summaries import TurnEvents, without_echoes
from tests.conftest import GROUP, NOW, TELEGRAM
from tests.sessions_app.conftest import LATER, Talk, clock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("turns_are_read")]
SAID = [("my cat is called Mochi", "what is my cat called?"), ("我的猫叫年糕", "我的猫叫什么名字？")]


def ask(talk: Talk, message: str, *, at: Any = LATER, address: Any = TELEGRAM, path: str = "recall") -> dict[str, Any]:
    body = {"address": address, "message": message}
    more = {"cache": False, "explain": True} if path == "recall" else {}
    answer = talk.post(path, {**body, **more}, **clock(at))
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


def types(answer: dict[str, Any]) -> list[str]:
    return [memory["type"] for memory in answer["memories"]]


@pytest.mark.thorough
@pytest.mark.parametrize(("statement", "question"), SAID)
@pytest.mark.parametrize("path", ["recall", "context"])
def test_a_conversation_of_one_turn_is_told_once(path: str, statement: str, question: str, talk: Talk) -> None:
    talk.say(statement, "A nice name.")
    assert conversations.sweep(now=LATER) == {"closed": 1, "left": 0}
    assert sorted(Entry.objects.live().values_list("type", flat=True)) == ["auto_capture", "chat_turn"]
    answer = ask(talk, question, path=path)
    assert types(answer) == ["chat_turn"]
    assert Entry.objects.live().count() == 2


@pytest.mark.thorough
@pytest.mark.parametrize(("statement", "question"), SAID)
def test_what_was_left_out_says_why(statement: str, question: str, talk: Talk) -> None:
    talk.say(statement, "A nice name.")
    conversations.sweep(now=LATER)
    answer = ask(talk, question)
    assert [(memory["type"], memory["reason"]) for memory in answer["left_out"]] == [("auto_capture", "duplicate")]
    assert len(RecallTrace.objects.get().served) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(("statement", "question"), SAID)
def test_when_the_turn_is_gone_the_conversation_still_tells_it(statement: str, question: str, talk: Talk) -> None:
    talk.say(statement, "A nice name.")
    conversations.sweep(now=LATER)
    assert types(ask(talk, question, at=NOW + timedelta(days=29))) == ["chat_turn"]
    assert types(ask(talk, question, at=NOW + timedelta(days=31))) == ["auto_capture"]


def test_a_turn_people_took_out_is_not_told_by_the_conversation_instead(talk: Talk) -> None:
    talk.say("my cat is called Mochi", "A nice name.")
    conversations.sweep(now=LATER)
    turn = Entry.objects.get(type="chat_turn")
    assert talk.request("DELETE", f"entries/{turn.uid}").status_code in (200, 204)
    assert types(ask(talk, "what is my cat called?")) == []


def test_of_a_long_conversation_the_whole_is_told_beside_some_of_its_turns(talk: Talk) -> None:
    for words in ("my cat is called Mochi", "Mochi is a cat of three years", "the cat Mochi likes tuna", "it rains"):
        talk.say(words, "I see.")
    conversations.sweep(now=LATER)
    assert "auto_capture" in types(ask(talk, "what is my cat called?"))


def test_what_was_only_reported_as_messages_has_no_turns_and_is_told(talk: Talk) -> None:
    talk.say("hello")
    session = Session.objects.get()
    talk.log(session, "user: my cat is called Mochi", "assistant: A nice name.")
    conversations.sweep(now=LATER)
    assert types(ask(talk, "what is my cat called?")) == ["auto_capture"]


def test_in_a_group_each_hears_it_once(talk: Talk) -> None:
    address = {**GROUP, "peer": "ann"}
    talk.say("my cat is called Mochi", "A nice name.", address=address)
    conversations.sweep(now=LATER)
    assert Entry.objects.live().count() == 4  # hers and the chat's, of the turn and of the conversation
    assert types(ask(talk, "what is the cat called?", address=address)) == ["chat_turn"]
    assert types(ask(talk, "what is the cat called?", address={**GROUP, "peer": "ben"})) == ["chat_turn"]


def test_what_was_only_asked_is_left_out_of_it() -> None:
    def turn_events(*pairs: tuple[str, str]) -> list[TurnEvents]:
        kinds = (EventKind.USER, EventKind.ASSISTANT)
        return [
            TurnEvents([SessionEvent(kind=kind, content=one) for kind, one in zip(kinds, pair, strict=True)])
            for pair in pairs
        ]

    turns = turn_events(
        ("I moved to Porto.", "Noted."),
        ("Where do I live?", "As far as I remember: you moved to Porto."),
        ("What is the capital of Mongolia?", "I don't know."),
        ("我对花生过敏。", "好的。"),
    )
    assert without_echoes(turns) == [turns[0], turns[3]]
    assert without_echoes(turns[2:3]) == turns[2:3]
