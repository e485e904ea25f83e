"""Talk that is not meant for the bot: kept for the context of groups, and for nothing else (B5). Old events go (C6)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memories.models import BufferedTurn, Entry, Evidence, ExtractionBatch, RefusedFact, Scope, Workspace
from sessions_app import compaction, conversations, flush
from sessions_app.history import retention
from sessions_app.models import Session, SessionEvent
from tests.conftest import NOW, TELEGRAM
from tests.memories.quoting import fact_of_model, quoted_words, refuse
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
GROUP = {**TELEGRAM, "chat": "g1", "is_group": True}
MONTH = NOW + timedelta(days=31)


@pytest.fixture
def group(talk: Talk) -> Session:
    talk.say("hello", address=GROUP)
    return Session.objects.get()


def test_ambient_talk_is_no_part_of_the_conversation(talk: Talk, group: Session) -> None:
    before = talk.get(f"sessions/{group.uid}").json()
    talk.log(group, "ambient: the coffee is cold", "user: lunch?", "ambient: 中午吃面")
    assert talk.history(group) == [("user", "hello"), ("assistant", "ok"), ("user", "lunch?")]
    assert talk.get(f"sessions/{group.uid}").json()["tokens"] == before["tokens"] + 2
    flush.flush_active(now=NOW)
    compaction.compact(group.pk, 1, 1, 1, now=NOW, is_asked=True)
    conversations.sweep(now=NOW + timedelta(days=3))
    assert not Entry.objects.filter(content__contains="coffee").exists()
    assert not BufferedTurn.objects.filter(messages__icontains="coffee").exists()


def test_the_last_fifty_of_a_chat_are_kept_and_the_last_twenty_five_shown(talk: Talk, group: Session) -> None:
    talk.log(group, *(f"ambient: line {n}" for n in range(70)))
    talk.log(group, "ambient: line 70")
    assert SessionEvent.objects.filter(kind="ambient").count() == 50
    assert [event.content for event in conversations.recent_chat(group)] == [f"line {n}" for n in range(46, 71)]


@pytest.mark.thorough
def test_members_with_sessions_of_their_own_share_the_talk_of_the_chat(talk: Talk, workspace: Workspace) -> None:
    talk.say("hello", address=GROUP)
    workspace.channels.update(group_sessions="per_member")
    for peer in ("ann", "ben"):
        answer = talk.say("hello", address={**GROUP, "peer": peer})
        talk.log(Session.objects.get(uid=answer["session"]["id"]), f"ambient: {peer} is here")
    talk.say("hello", address={**GROUP, "chat": "g2"})
    for session in Session.objects.filter(chat_id="g1"):
        assert [event.content for event in conversations.recent_chat(session)] == ["ann is here", "ben is here"]
    assert conversations.recent_chat(Session.objects.get(chat_id="g2")) == []


def test_a_direct_chat_has_no_talk_besides(talk: Talk) -> None:
    talk.say("hello")
    session = Session.objects.get()
    talk.log(session, "ambient: not for you")
    assert conversations.recent_chat(session) == []


def test_ambient_messages_are_no_history_to_believe_in(talk: Talk, group: Session) -> None:
    body = {"events": [{"kind": "ambient", "content": "x"}], "history": []}
    answer = talk.post(f"sessions/{group.uid}/events", body)
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "events")


def test_messages_of_closed_conversations_are_removed_after_a_month(talk: Talk, group: Session) -> None:
    ExtractionBatch.objects.all().delete()
    talk.say("wait for me")  # to be extracted
    conversations.sweep(now=NOW + timedelta(days=3))
    assert retention.clean_events(now=MONTH - timedelta(days=2)) == {"events": 0}
    assert retention.clean_events(now=MONTH) == {"events": 2}
    assert set(SessionEvent.objects.values_list("session__chat_id", flat=True)) == {"c7"}  # still to be extracted


def test_what_facts_quote_of_a_message_goes_with_it(talk: Talk, group: Session) -> None:
    ExtractionBatch.objects.all().delete()
    scope = Scope.objects.get(key="telegram:direct_u42")
    user, _answer = SessionEvent.objects.order_by("pk")
    result = replace(quoted_words("hello"), origin=group.origin_of(user))
    fact_of_model(scope, "Sam says hello.", result)
    fact_of_model(scope, "Sam plays go.", quoted_words("I play go", event=99))
    refuse(scope.workspace, "Sam says goodbye.", origins=[result.origin])
    conversations.sweep(now=NOW + timedelta(days=3))
    assert retention.clean_events(now=MONTH) == {"events": 2}
    assert [evidence.quote for evidence in Evidence.objects.all()] == ["I play go"]
    assert not RefusedFact.objects.exists()
    assert Entry.objects.filter(content="Sam says hello.").exists()


@pytest.mark.thorough
def test_what_an_open_conversation_still_hands_out_is_never_removed(talk: Talk, settings: Any) -> None:
    settings.MEMORY_SESSION_STALE_AFTER = timedelta(0)
    for n in range(6):
        talk.say(f"thing number {n}")
    session = Session.objects.get()
    ExtractionBatch.objects.all().delete()
    assert retention.clean_events(now=MONTH) == {"events": 0}
    assert compaction.compact(session.pk, 1, 1, 1, now=NOW, is_asked=True)
    shown = talk.history(session)
    assert retention.clean_events(now=MONTH) == {"events": 10}
    assert talk.history(session) == shown and len(shown) == 3
