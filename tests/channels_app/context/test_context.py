"""POST /context: everything a bot needs before it answers, in one call (C9, C13, B5, D1)."""

from datetime import timedelta
from typing import Any

import pytest

from memories.entries import daily_events
from memories.models import Entry, RecallTrace, Scope, Workspace
from sessions_app.models import Session
from tests.conftest import GROUP, NOW, TELEGRAM, make_key
from tests.sessions_app.conftest import Talk, clock

pytestmark = pytest.mark.django_db
USER, CHAT = "telegram:direct_u42", "telegram:mybot:group_g1"
YESTERDAY = NOW - timedelta(days=1)


def context(
    talk: Talk, message: str = "where do I live?", address: Any = TELEGRAM, *, at: Any = NOW, **more: Any
) -> dict[str, Any]:
    answer = talk.post("context", {"address": address, "message": message, **more}, **clock(at))
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


def know(talk: Talk, content: str, *, scope: str = USER, **more: Any) -> None:
    entry = {"scope": scope, "type": "fact", "tier": 1, "content": content, **more}
    assert talk.post("entries", entry).status_code == 201


def note(scope: str, content: str, *, days_ago: int = 0) -> None:
    where = Scope.objects.get(key=scope)
    day = daily_events.EventDraft(
        scope=where, local_date=NOW.date() - timedelta(days=days_ago), content=content, chats=(scope,)
    )
    daily_events.write([day], now=NOW, actor="test")


def test_it_works(talk: Talk) -> None:
    talk.say("I moved to Hangzhou", "Noted.", at=NOW - timedelta(days=5))
    know(talk, "Prefers short answers")
    note(USER, "Went to the dentist.")
    talk.say("good morning", "hello", at=NOW - timedelta(minutes=1))
    result = context(talk, "which city did I move to?")
    assert [fact["content"] for fact in result["profile"]] == ["Prefers short answers"]
    assert "I moved to Hangzhou" in result["memories"][0]["content"]
    assert [(m["role"], m["content"]) for m in result["history"]] == [("user", "good morning"), ("assistant", "hello")]
    assert result["notes"] == [] and not result["session"]["is_first_turn"]
    for text in ("Prefers short answers", "I moved to Hangzhou"):
        assert text in result["text"]
    assert "good morning" not in result["text"]
    assert RecallTrace.objects.get(uid=result["recall_id"]).served
    assert 0 < result["tokens"] <= 4_000


def test_an_address_never_heard_of_has_an_empty_context(talk: Talk) -> None:
    for address in (TELEGRAM, GROUP, {"platform": "cli"}):
        result = context(talk, address=address)
        for part in ("profile", "memories", "events", "notes", "recent_chat", "history", "directives"):
            assert result[part] == [], part
        assert (result["text"], result["tokens"], result["session"]["id"]) == ("", 0, None)
    assert not Scope.objects.exists() and not Session.objects.exists()


def test_asking_changes_nothing_of_the_conversation(talk: Talk) -> None:
    talk.say("hello")
    before = Session.objects.values().get()
    context(talk)
    context(talk, at=NOW + timedelta(days=9))
    assert Session.objects.values().get() == before


def test_a_message_that_needs_no_memory_still_has_its_profile(talk: Talk) -> None:
    talk.say("I moved to Hangzhou")
    know(talk, "叫小美")
    result = context(talk, "好的")
    assert (result["need"]["retrieve"], result["memories"]) == (False, [])
    assert [fact["content"] for fact in result["profile"]] == ["叫小美"]


def test_the_profile_has_the_most_important_and_no_passwords(talk: Talk, settings: Any) -> None:
    settings.MEMORY_PROFILE_MAX = 2
    know(talk, "Lives in Lisbon", importance=0.6)
    know(talk, "Is called Mei", importance=1.0)
    know(talk, "Has a cat", importance=0.8)
    know(talk, "The vault opens with swordfish", category="credential", importance=1.0)
    know(talk, "Used to smoke", importance=1.0)
    Entry.objects.filter(content="Used to smoke").update(expires_at=NOW - timedelta(days=1))
    assert [fact["content"] for fact in context(talk)["profile"]] == ["Is called Mei", "Has a cat"]


def test_what_the_profile_says_is_not_said_twice(talk: Talk) -> None:
    know(talk, "Lives in Lisbon")
    result = context(talk, "in which city do I live, Lisbon?")
    assert result["text"].count("Lives in Lisbon") == 1 and result["memories"] == []


@pytest.mark.thorough
@pytest.mark.parametrize(("rule", "heard"), [("none", []), ("same_chat", []), ("all", ["Is called Mei"])])
def test_a_group_reads_a_profile_only_where_it_may_hear_all(
    talk: Talk, workspace: Workspace, rule: str, heard: list[str]
) -> None:
    talk.say("hello", address=GROUP)
    know(talk, "Is called Mei")
    know(talk, "The vault opens with swordfish", category="credential")
    Entry.objects.filter(type="fact").update(chats=[CHAT])
    workspace.channels.update(group_user_recall=rule)
    assert [fact["content"] for fact in context(talk, address=GROUP)["profile"]] == heard


def test_notes_come_with_the_first_turn_and_not_again(talk: Talk) -> None:
    Scope.objects.create(workspace=Workspace.objects.get(), key=USER, kind="user")
    note(USER, "去了牙医。")
    note(USER, "Bought tickets.", days_ago=1)
    note(USER, "Long ago.", days_ago=2)
    first = context(talk, "good morning to you")
    assert [(n["date"], n["content"]) for n in first["notes"]] == [
        ("2026-03-01", "去了牙医。"),
        ("2026-02-28", "Bought tickets."),
    ]
    assert "去了牙医。" in first["text"]
    talk.say("good morning")
    assert context(talk)["notes"] == []
    later = context(talk, at=NOW + timedelta(hours=50))  # idle for two days: another conversation
    assert later["session"] | {"id": None, "key": ""} == {
        "id": None, "key": "", "conversation": 2, "tokens": 0, "max_tokens": 32_000, "is_first_turn": True,
    }  # fmt: skip
    assert later["history"] == []


def test_after_a_reset_the_conversation_begins_with_notes(talk: Talk) -> None:
    talk.say("good morning")
    note(USER, "去了牙医。")
    assert context(talk)["notes"] == []
    talk.say("/reset")
    result = context(talk)
    assert len(result["notes"]) == 1 and result["history"] == []


def test_notes_are_cut_by_day_and_in_all(talk: Talk, settings: Any) -> None:
    talk.say("/reset")
    for scope in (USER,):
        for n in range(5):
            note(scope, f"{n}" * 900)
            note(scope, "长" * 2_500, days_ago=1)
    today, yesterday = context(talk, "hello there", token_budget=20_000)["notes"]
    assert today["content"] == f"{'3' * 900}\n{'4' * 900}" and today["cut"]
    assert len(yesterday["content"]) == 2_000 and yesterday["cut"]
    settings.MEMORY_NOTES_CHARS = 2_100
    cut = context(talk, "hello there", token_budget=20_000)["notes"]
    assert sum(len(n["content"]) for n in cut) <= 2_100


def test_the_notes_are_those_of_the_place(talk: Talk) -> None:
    talk.say("hello", address=GROUP)
    note(USER, "Private dentist.")
    note(CHAT, "The group met.")
    talk.post(f"sessions/{Session.objects.get().uid}/reset")
    assert [n["content"] for n in context(talk, address=GROUP)["notes"]] == ["The group met."]
    assert [n["content"] for n in context(talk)["notes"]] == ["Private dentist."]
    narrow = Talk(make_key(Workspace.objects.get(), name="narrow", scope_patterns=["telegram:direct_*"]))
    result = context(narrow, address=GROUP)  # its key does not reach the group's memory
    assert (result["notes"], result["history"], result["recent_chat"], result["session"]["id"]) == ([], [], [], None)


def test_only_groups_have_recent_talk(talk: Talk) -> None:
    for address in (GROUP, TELEGRAM):
        session = Session.objects.get(uid=talk.say("hello", address=address)["session"]["id"])
        talk.log(session, *(f"ambient: 第{n}句" for n in range(30)))
    assert [m["content"] for m in context(talk, address=GROUP)["recent_chat"]] == [f"第{n}句" for n in range(5, 30)]
    result = context(talk)
    assert result["recent_chat"] == [] and "第" not in result["text"]


def test_a_new_member_with_a_session_of_their_own_reads_the_talk_too(talk: Talk, workspace: Workspace) -> None:
    talk.say("hello", address=GROUP)
    workspace.channels.update(group_sessions="per_member")
    answer = talk.say("hello", address={**GROUP, "peer": "ann"})
    talk.log(Session.objects.get(uid=answer["session"]["id"]), "ambient: lunch at noon")
    result = context(talk, address={**GROUP, "peer": "ben"})
    assert [m["content"] for m in result["recent_chat"]] == ["lunch at noon"] and result["history"] == []


@pytest.mark.parametrize("first_is_group", [False, True])
def test_a_chat_is_a_group_or_it_is_not_and_neither_reads_the_other(talk: Talk, first_is_group: bool) -> None:
    """A bot that forgets to say `is_group` once must not carry what was said in private into the group."""
    first, second = (
        {**TELEGRAM, "chat": "g1", "is_group": is_group} for is_group in (first_is_group, not first_is_group)
    )
    talk.say("我的工资是三万 my salary is a secret", address=first)
    data = {"address": second, "user": "hello", "assistant": "ok"}
    refused = talk.post("turns", data)
    assert (refused.status_code, refused.json()["errors"][0]["attr"]) == (400, "address")
    assert context(talk, address=second)["history"] == []
    assert context(talk, address=first)["history"] != []


def test_another_peer_never_reads_the_history_of_a_direct_chat(talk: Talk) -> None:
    talk.say("my secret is rice")
    result = context(talk, address={**TELEGRAM, "peer": "u7"})
    assert result["history"] == [] and "rice" not in result["text"]
    assert (result["session"]["id"], result["session"]["conversation"]) == (None, 1)


def test_a_stranger_reads_nothing(talk: Talk, stranger: Workspace) -> None:
    talk.say("my secret is rice")
    result = context(Talk(make_key(stranger)), "what is my secret?")
    assert (result["history"], result["memories"], result["text"]) == ([], [], "")


def test_a_flush_is_asked_for_until_it_is_done(talk: Talk, settings: Any) -> None:
    settings.MEMORY_SESSION_MAX_TOKENS = 200
    talk.say("tell me a story " * 20, "once upon a time " * 16)
    session = Session.objects.get()
    for _time in range(2):
        (directive,) = context(talk, "good morning")["directives"]
        assert directive["kind"] == "flush_required" and str(session.uid) in directive["instruction"]
    talk.do(session, "flush", {"version": 1, "reply": "NO_REPLY"})
    assert context(talk, "good morning")["directives"] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "message", "words"),
    [
        ("en", "what did we say yesterday?", "never present a guess"),
        ("zh-hans", "昨天我们聊了什么", "不要把猜测当作记忆"),
    ],
)
def test_a_question_about_the_past_brings_what_was_said_and_how_to_use_it(
    talk: Talk, workspace: Workspace, language: str, message: str, words: str
) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language=language)
    asked_first = context(talk, message)
    assert "nothing was found" in asked_first["text"] or "没有找到" in asked_first["text"]
    for n in range(12):
        talk.say(f"第{n}艘船 boat {n} " + "la" * n, at=YESTERDAY)
    talk.post(f"sessions/{Session.objects.get().uid}/reset")
    result = context(talk, message)
    (directive,) = result["directives"]
    assert directive["kind"] == "answer_from_memory" and words in directive["instruction"]
    assert directive["instruction"] in result["text"]
    assert len(result["events"]) == 6 and result["evidence"] == "found"
    assert all(event["path"].startswith("session_events/") for event in result["events"])
    assert any(event["path"] in result["text"] for event in result["events"])


def test_what_the_history_hands_out_is_not_found_again(talk: Talk) -> None:
    talk.say("the boat leaves at noon", at=YESTERDAY)
    result = context(talk, "what did we say about the boat yesterday?")
    assert len(result["history"]) == 2 and result["events"] == []


@pytest.mark.thorough
def test_the_number_of_statements_does_not_grow(talk: Talk, django_assert_max_num_queries: Any) -> None:
    for n in range(15):
        talk.say(f"boat {n} leaves at {n}", at=YESTERDAY + timedelta(minutes=n), address=GROUP)
        know(talk, f"Fact number {n}")
        note(CHAT, f"Note {n}")
    talk.log(Session.objects.get(), *(f"ambient: line {n}" for n in range(30)))
    context(talk, "what did we say about the boats yesterday?", GROUP)
    with django_assert_max_num_queries(34):
        context(talk, "what did we say yesterday about boat 3 or 4?", GROUP)


@pytest.mark.thorough
def test_a_note_saved_today_is_among_the_notes_of_the_first_turn(talk: Talk) -> None:
    for content, at in (("Buy stamps", NOW), ("Called the bank", YESTERDAY), ("Long gone", NOW - timedelta(days=3))):
        talk.post("entries", {"scope": USER, "type": "note", "content": content, "at": at.isoformat()})
    talk.post("entries", {"scope": USER, "type": "note", "content": "PIN 4471", "category": "credential"})
    talk.post("entries", {"scope": CHAT, "type": "note", "content": "The group's own"})
    note(USER, "Went to the dentist.")
    result = context(talk, "good morning to you")
    assert [(n["date"], sorted(n["content"].split("\n"))) for n in result["notes"]] == [
        ("2026-03-01", ["Buy stamps", "Went to the dentist."]),
        ("2026-02-28", ["Called the bank"]),
    ]
    assert "Buy stamps" in result["text"]
    assert [n["content"] for n in context(talk, "good morning to you", GROUP)["notes"]] == ["The group's own"]
    gone = Entry.objects.get(content="Buy stamps")
    talk.request("DELETE", f"entries/{gone.uid}")
    assert "Buy stamps" not in context(talk, "good morning to you")["text"]
