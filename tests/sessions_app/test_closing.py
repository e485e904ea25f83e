"""The end of a conversation: idle for too long, or reset (B4, B6)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError

from memories import entries
from memories.models import BufferedTurn, Entry, Scope, Workspace
from sessions_app import conversations
from sessions_app.models import Session
from tests.conftest import NOW, TELEGRAM
from tests.sessions_app.conftest import LATER, Talk
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db
GROUP = {**TELEGRAM, "chat": "g1", "is_group": True}


def kept() -> list[Entry]:
    return list(Entry.objects.filter(subtype="session_expired").select_related("scope").order_by("scope__key"))


def of(peer: str) -> dict[str, Any]:
    return {**GROUP, "peer": peer}


@pytest.mark.thorough
def test_a_message_after_two_days_begins_another_conversation(talk: Talk) -> None:
    for n in range(7):
        talk.say(f"thing number {n}", at=NOW + timedelta(minutes=n))
    again = talk.say("hello again", at=LATER)["session"]
    assert (again["conversation"], talk.history(Session.objects.get(), at=LATER)[0]) == (2, ("user", "hello again"))
    (entry,) = kept()
    assert (entry.type, entry.scope.key, entry.sender_id) == ("auto_capture", "telegram:direct_u42", "u42")
    assert entry.content == "\n".join(f"User: thing number {n}\nAssistant: ok" for n in range(2, 7))
    assert len(entry.origins) == 10


def test_an_idle_conversation_is_handed_out_no_more(talk: Talk) -> None:
    talk.say("hello")
    session = Session.objects.get()
    assert talk.history(session, at=NOW + timedelta(hours=47))
    assert talk.history(session, at=LATER) == []


def test_two_days_less_a_minute_are_not_too_long(talk: Talk) -> None:
    talk.say("hello")
    assert talk.say("again", at=NOW + timedelta(hours=47, minutes=59))["session"]["conversation"] == 1


@pytest.mark.parametrize("never", [timedelta(0)])
def test_conversations_need_never_be_closed(talk: Talk, settings: Any, never: timedelta) -> None:
    settings.MEMORY_SESSION_STALE_AFTER = never
    talk.say("hello")
    assert conversations.sweep(now=LATER) == {"closed": 0, "left": 0}
    assert talk.say("again", at=LATER + timedelta(days=300))["session"]["conversation"] == 1


def test_the_sweep_closes_what_is_idle_and_nothing_else(talk: Talk) -> None:
    talk.say("idle")
    talk.say("busy", address={**TELEGRAM, "peer": "u9", "chat": "c9"}, at=LATER - timedelta(hours=1))
    assert conversations.sweep(now=LATER) == {"closed": 1, "left": 0}
    assert conversations.sweep(now=LATER) == {"closed": 0, "left": 0}
    assert {session.peer: session.conversation for session in Session.objects.all()} == {"u42": 2, "u9": 1}


@pytest.mark.thorough
def test_in_a_group_each_keeps_their_own_turns_and_the_chat_the_whole(talk: Talk) -> None:
    talk.say("I bring the cake", at=NOW, address=of("ann"))
    talk.say("我带酒", "好的", at=NOW, address=of("ben"))
    conversations.sweep(now=LATER)
    own = {entry.scope.key: entry.content for entry in kept()}
    assert own == {
        "telegram:direct_ann": "User: I bring the cake\nAssistant: ok",
        "telegram:direct_ben": "User: 我带酒\nAssistant: 好的",
        "telegram:mybot:group_g1": "ann: I bring the cake\nAssistant: ok\nben: 我带酒\nAssistant: 好的",
    }
    assert {entry.scope.key: entry.chats for entry in kept()}["telegram:direct_ann"] == ["telegram:mybot:group_g1"]


def test_a_channel_that_keeps_nothing_for_the_group_keeps_only_each_their_own(talk: Talk, workspace: Workspace) -> None:
    talk.say("hello there", address=of("ann"))
    workspace.channels.update(capture_group_memory=False)
    talk.say("and I bring the cake", address=of("ann"))
    conversations.sweep(now=LATER)
    assert [entry.scope.key for entry in kept()] == ["telegram:direct_ann"]


def test_metadata_begins_empty_and_budgets_anew(talk: Talk) -> None:
    talk.say("hello")
    Session.objects.update(metadata={"mood": "fine"}, cycle=3, flushed_to=1, flush_asked_at=NOW)
    conversations.sweep(now=LATER)
    session = Session.objects.get()
    assert (session.metadata, session.tokens, session.next_position, session.cycle) == ({}, 0, 1, 1)
    assert (session.flushed_to, session.flush_asked_at, session.peer) == (0, None, "u42")


@pytest.mark.parametrize("trouble", ["frozen", "database"])
def test_a_conversation_that_cannot_be_kept_is_closed_with_a_warning(
    talk: Talk, trouble: str, monkeypatch: Any, caplog: Any
) -> None:
    talk.say("hello there")
    if trouble == "frozen":
        Scope.objects.update(frozen=True)
    else:
        monkeypatch.setattr(
            entries, "remember_many", lambda *_args, **_more: (_ for _ in ()).throw(DatabaseError("full"))
        )
    assert conversations.sweep(now=LATER) == {"closed": 1, "left": 0}
    assert Session.objects.get().conversation == 2 and kept() == []
    assert "session_not_kept" in caplog.text


def test_nothing_is_kept_twice_when_nobody_comes_back(talk: Talk) -> None:
    talk.say("hello there")
    for weeks in (1, 2, 3):
        conversations.sweep(now=NOW + timedelta(weeks=weeks))
    assert len(kept()) == 1 and Session.objects.get().conversation == 2


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_eight_workers_close_a_conversation_once(talk: Talk, settings: Any) -> None:
    settings.MEMORY_SESSION_WAITERS = 8
    for n in range(6):
        talk.say(f"thing number {n}", address={**TELEGRAM, "chat": f"c{n % 2}", "peer": f"u{n % 2}"})
    done = at_once(lambda _n: conversations.sweep(now=LATER)["closed"], 8)
    assert sum(done) == 2
    assert {session.conversation for session in Session.objects.all()} == {2}
    assert len(kept()) == 2


# /reset


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        "/reset",
        "  /reset \n",
        "@mybot /reset",
        "/reset@mybot",
        '<at user_id="ou_1">机器人</at> /reset',
        "＠机器人 /reset",
    ],
)
def test_the_message_reset_clears_the_conversation(words: str, talk: Talk, workspace: Workspace) -> None:
    talk.say("my cat is called Mochi")
    answer = talk.say(words, "")
    assert answer["reply"] == "The conversation history is cleared; the next conversation begins from zero."
    assert (answer["entries"], answer["session"]["conversation"], answer["session"]["tokens"]) == ([], 2, 0)
    session = Session.objects.get()
    assert talk.history(session) == []
    assert not session.events.filter(content__contains="/reset").exists()
    assert not Entry.objects.filter(content__contains="/reset").exists() and kept() == []
    heard = talk.post("recall", {"address": TELEGRAM, "message": "what is my cat called?"}).json()
    assert "Mochi" in heard["memories"][0]["content"]  # long-term memory stays


@pytest.mark.thorough
@pytest.mark.parametrize("words", ["please /reset", "/reset now", "/resets", "what does /reset do?"])
def test_a_message_that_only_speaks_of_it_resets_nothing(words: str, talk: Talk) -> None:
    assert talk.say(words)["reply"] is None
    assert talk.history(Session.objects.get())[0] == ("user", words)


def test_the_reply_is_in_the_language_of_the_workspace(talk: Talk, workspace: Workspace) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language="zh-hans")
    assert talk.say("/reset")["reply"] == "已清空对话历史，下次对话将从零开始。"


def test_the_command_can_be_switched_off(talk: Talk, settings: Any) -> None:
    settings.MEMORY_RESET_COMMAND = False
    assert talk.say("/reset")["reply"] is None
    assert talk.history(Session.objects.get())[0] == ("user", "/reset")


def test_what_was_said_before_a_reset_is_extracted_no_more(talk: Talk) -> None:
    talk.say("my cat is called Mochi")
    assert BufferedTurn.objects.count() == 1
    talk.do(Session.objects.get(), "reset")
    assert BufferedTurn.objects.count() == 0


def test_a_reset_of_nothing_is_no_conversation(talk: Talk) -> None:
    assert talk.say("/reset")["session"]["conversation"] == 1
    assert talk.do(Session.objects.get(), "reset")["session"]["conversation"] == 1


@pytest.mark.thorough
def test_a_session_that_comes_to_belong_to_another_memory_does_not_go_on_in_it(
    talk: Talk, workspace: Workspace
) -> None:
    talk.say("my secret is a pony")
    workspace.channels.update(dm_scope="per-account-channel-peer")
    assert talk.say("what was said?")["session"]["conversation"] == 2
    assert talk.history(Session.objects.get()) == [("user", "what was said?"), ("assistant", "ok")]
    assert [entry.scope.key for entry in kept()] == ["telegram:direct_u42"]


@pytest.mark.thorough
def test_recent_talk_outlives_the_conversation(talk: Talk) -> None:
    talk.say("hello", address=GROUP)
    session = Session.objects.get()
    talk.log(session, "ambient: lunch at noon?")
    conversations.sweep(now=LATER)
    session.refresh_from_db()
    assert [event.content for event in conversations.recent_chat(session)] == ["lunch at noon?"]
