"""A question about the past finds what was said, word for word, with the path that proves it (C3, C5, C6)."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from memories.models import Entry, RecallTrace, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import GROUP, NOW, TELEGRAM, make_key
from tests.memories.recall import diary
from tests.sessions_app.conftest import Talk, clock

pytestmark = pytest.mark.django_db
YESTERDAY = NOW - timedelta(days=1)
LONG_AGO = NOW - timedelta(days=9)


def asked(talk: Talk, message: str, address: dict[str, Any] = TELEGRAM, **more: Any) -> dict[str, Any]:
    answer = talk.post("recall", {"address": address, "message": message, **more}, **clock())
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


def events(talk: Talk, message: str, address: dict[str, Any] = TELEGRAM, **more: Any) -> list[str]:
    return [event["content"] for event in asked(talk, message, address, **more)["events"]]


@pytest.fixture
def chatted(talk: Talk) -> None:
    talk.say("my violin teacher is called Rosa", "a fine name", at=LONG_AGO)
    talk.say("我们把部署窗口定在周四晚上十点", "好的，记下了", at=YESTERDAY)
    talk.say("the boat leaves at noon", "see you there", at=YESTERDAY + timedelta(minutes=5))
    talk.say("good morning", "hello", at=NOW - timedelta(minutes=5))


@pytest.mark.usefixtures("chatted")
@pytest.mark.parametrize("message", ["昨天我们聊了什么", "what did we say yesterday?"])
def test_it_works(talk: Talk, message: str) -> None:
    answer = asked(talk, message)
    assert {event["content"] for event in answer["events"]} == {
        *("我们把部署窗口定在周四晚上十点", "好的，记下了", "the boat leaves at noon", "see you there")
    }
    session = Session.objects.get()
    for event in answer["events"]:
        assert re.fullmatch(rf"session_events/{session.uid}/2/event-\d+", event["path"])
        row = SessionEvent.objects.get(pk=event["path"].rpartition("-")[2])
        assert (row.content, row.kind, event["kind"]) == (event["content"], event["role"], "session_event")
    assert answer["evidence"] == "found"


@pytest.mark.usefixtures("chatted")
@pytest.mark.parametrize("message", ["前天聊了啥", "what did we say the day before yesterday?"])
def test_of_a_day_on_which_nothing_was_said_there_is_not_enough_to_answer(talk: Talk, message: str) -> None:
    answer = asked(talk, message)
    assert (answer["events"], answer["evidence"] in ("weak", "none")) == ([], True)


@pytest.mark.usefixtures("chatted")
@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("What did I tell you about my violin teacher?", "my violin teacher is called Rosa"),
        ("昨天说的部署窗口是什么时候？", "我们把部署窗口定在周四晚上十点"),
        ("还记得部署窗口吗", "我们把部署窗口定在周四晚上十点"),
        ("When did I say yesterday that the boats would leave?", "the boat leaves at noon"),
        ("What did I say yesterday about violins?", "my violin teacher is called Rosa"),  # it was another day
    ],
)
def test_the_words_of_a_question_come_first(talk: Talk, message: str, content: str) -> None:
    assert events(talk, message)[0] == content


@pytest.mark.usefixtures("chatted")
@pytest.mark.parametrize(
    "message", ["where is my violin?", "I went sailing yesterday", "好的", "what shall I do tomorrow?"]
)
def test_other_messages_are_not_answered_with_the_past(talk: Talk, message: str) -> None:
    assert events(talk, message, need="off") == []


@pytest.mark.usefixtures("chatted")
def test_it_can_be_switched_off(talk: Talk, settings: Any) -> None:
    assert events(talk, "what did we say yesterday?", include_session_events=False) == []
    settings.MEMORY_INCLUDE_SESSION_EVENTS = False
    assert events(talk, "what did we say yesterday?") == []
    assert len(events(talk, "what did we say yesterday?", include_session_events=True)) == 4
    settings.MEMORY_RETRIEVERS = []
    assert events(talk, "what did we say yesterday?", include_session_events=True) == []


def test_last_time_is_the_conversation_before_this_one(talk: Talk) -> None:
    talk.say("the roof leaks", "oh no", at=LONG_AGO)
    talk.say("hello again", "welcome back")  # idle for days: another conversation
    assert events(talk, "what did we talk about last time?") == ["oh no", "the roof leaks"]
    assert events(talk, "上次我们聊到哪了？") == ["oh no", "the roof leaks"]


@pytest.mark.thorough
def test_no_more_than_six_are_served(talk: Talk, settings: Any) -> None:
    for n in range(9):
        talk.say(f"note {n} on the harbour", at=YESTERDAY + timedelta(minutes=n))
    assert len(events(talk, "what did I say about the harbour yesterday?")) == 6
    settings.MEMORY_SESSION_EVENTS_MAX_RESULTS = 2
    assert events(talk, "what did I say about the harbour yesterday?") == [
        "note 8 on the harbour",
        "note 7 on the harbour",
    ]


@pytest.mark.usefixtures("chatted")
def test_what_people_took_out_is_not_told_by_its_events(talk: Talk) -> None:
    entry = Entry.objects.get(content__contains="部署窗口")
    assert talk.request("DELETE", f"entries/{entry.uid}").status_code in (200, 204)
    assert "我们把部署窗口定在周四晚上十点" not in events(talk, "昨天我们聊了什么")
    assert events(talk, "还记得部署窗口吗") == []


def test_ambient_talk_and_summaries_are_never_found(talk: Talk) -> None:
    talk.say("hello", address=GROUP, at=YESTERDAY)
    session = Session.objects.get()
    SessionEvent.objects.create(
        workspace=session.workspace, session=session, conversation=1, position=90, kind="ambient",
        content="the coffee is cold", at=YESTERDAY,
    )  # fmt: skip
    SessionEvent.objects.create(
        workspace=session.workspace, session=session, conversation=1, position=91, kind="summary",
        content="somebody spoke of coffee", at=YESTERDAY,
    )  # fmt: skip
    for message in ("what did we say about coffee yesterday?", "what did we say yesterday?"):
        assert not [event for event in events(talk, message, GROUP) if "coffee" in event]


@pytest.mark.thorough
def test_private_messages_are_never_told_in_a_group(talk: Talk, workspace: Workspace) -> None:
    talk.say("the vault opens with swordfish", at=YESTERDAY)
    talk.say("folk music is fine", address=GROUP, at=YESTERDAY)
    for rule in ("none", "same_chat", "all"):
        workspace.channels.update(group_user_recall=rule)
        assert events(talk, "what did I say about the vault yesterday?", GROUP, need="off") in (
            [],
            ["ok", "folk music is fine"],
        )
        assert set(events(talk, "what did we say yesterday?", GROUP)) == {"folk music is fine", "ok"}
    assert "the vault opens with swordfish" in events(talk, "what did I say yesterday?")
    assert events(talk, "what did I say yesterday?", {**TELEGRAM, "peer": "u7", "chat": "c9"}) == []
    assert events(talk, "what did we say yesterday?", {**GROUP, "chat": "g2"}) == []


def test_a_group_that_remembers_nothing_is_not_searched(talk: Talk, workspace: Workspace) -> None:
    talk.say("folk music is fine", address=GROUP, at=YESTERDAY)
    workspace.channels.update(capture_group_memory=False)
    talk.say("still fine", address=GROUP)
    assert events(talk, "what did we say yesterday?", GROUP) == []


@pytest.mark.usefixtures("chatted")
def test_a_bot_of_another_workspace_finds_nothing(stranger: Workspace) -> None:
    assert events(Talk(make_key(stranger)), "what did we say yesterday?") == []


@pytest.mark.usefixtures("chatted")
def test_the_trace_names_them_and_a_memory_that_rests_on_each(talk: Talk) -> None:
    answer = asked(talk, "when does the boat leave, as I said yesterday?")
    result = talk.get(f"recalls/{answer['recall_id']}").json()
    assert [event["path"] for event in result["events"]] == [event["path"] for event in answer["events"]]
    boat = answer["events"][0]
    memory = next(memory for memory in answer["memories"] if memory["id"] == boat["memory"])
    assert "the boat leaves at noon" in memory["content"]
    assert boat["path"] not in answer["context"]  # its words are there already
    assert RecallTrace.objects.get(uid=answer["recall_id"]).timings["events"] >= 0


def test_long_messages_are_shortened_and_say_so(talk: Talk) -> None:
    talk.say("the harbour " + "is old " * 500, at=YESTERDAY)
    event = asked(talk, "what did I say about the harbour yesterday?", token_budget=400)["events"][0]
    assert event["cut"] and len(event["content"]) == 1_000


@pytest.mark.thorough
def test_of_sixty_questions_about_days_nearly_all_are_answered_with_the_day(talk: Talk) -> None:
    """Its messages, or where they are gone its memories, are among the first two."""
    talk_of_weeks(talk)
    missed = []
    for question, first, last in diary.questions():
        if last < (diary.ASKED - timedelta(days=27)).date():
            continue
        answer = talk.post("recall", {"address": TELEGRAM, "message": question}, **clock(diary.ASKED)).json()
        days = [datetime.fromisoformat(event["at"]).astimezone(diary.ZONE).date() for event in answer["events"][:2]]
        if not any(first <= day <= last for day in days):
            missed.append((question, days))
    assert len(missed) <= 2, missed


def talk_of_weeks(talk: Talk) -> None:
    for content, at in diary.diary_lines():
        if at > diary.ASKED - timedelta(days=28):
            talk.say(content, at=at)
