"""From a message to the memories made of it and back; and out of memory with one click, to be undone (A15)."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories import batches, entries
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.models import Batch, DailyEvent, Entry, Scope, Workspace
from sessions_app.history import retention
from sessions_app.models import Session, SessionEvent
from tests.conftest import NOW, TELEGRAM, make_draft
from tests.memories.admin.conftest import enter, make_user
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
GROUP = {**TELEGRAM, "chat": "g1", "is_group": True}


@pytest.fixture
def alice(workspace: Workspace) -> Client:
    return enter(make_user("alice", workspace=workspace, is_staff=True))


def conversation(client: Client, session: Session) -> Any:
    return client.get(reverse("admin:sessions_app_session_change", args=[session.pk]))


def take_out(client: Client, event: SessionEvent, **data: str) -> Any:
    address = reverse("admin:sessions_app_session_take_out", args=[event.session_id, event.pk])
    return client.post(address, {"confirmed": "yes", "reason": "private"} | data) if data else client.get(address)


def message(words: str) -> SessionEvent:
    return SessionEvent.objects.select_related("session").get(content=words)


def paths(*events: SessionEvent) -> list[str]:
    return [event.session.origin_of(event) for event in events]


def test_a_message_leads_to_its_memories_and_they_lead_back(talk: Talk, alice: Client) -> None:
    talk.say("my dentist is Dr Weber", "noted")
    event, entry = message("my dentist is Dr Weber"), Entry.objects.get()
    page = conversation(alice, event.session)
    first, second = page.context["talk"].days[0].bubbles
    assert [made.entry for made in first.memories] == [entry] and not second.memories
    assert f"/admin/memories/entry/{entry.pk}/change/?_back=" in page.content.decode()
    body = alice.get(reverse("admin:memories_entry_change", args=[entry.pk])).content.decode()
    assert f"/admin/sessions_app/session/{event.session_id}/change/?life=1&amp;before=51#m1" in body
    assert "my dentist is Dr Weber" in body.split('id="sources"')[1]


def test_a_message_is_taken_out_with_its_memories_and_days_and_comes_back(talk: Talk, alice: Client) -> None:
    talk.say("我的乐队是齐柏林", "记住了")
    talk.say("we bake on Monday", "ok")
    event, scope = message("我的乐队是齐柏林"), Scope.objects.get()
    day = EventDraft(scope=scope, local_date=NOW.date(), content="乐队是齐柏林", origins=tuple(paths(event)))
    daily_events.write([day], now=NOW, actor="job:extract")
    result = take_out(alice, event)
    goes = result.context["goes"]
    assert ([entry.type for entry in goes.entries], len(goes.days), goes.messages) == (["chat_turn"], 1, [])
    assert result.context["form"].initial["reason"] and not Batch.objects.exists()

    done = take_out(alice, event, reason="private")
    assert done.status_code == 302 and done.headers["Location"].endswith("#m1")
    assert [entry.content for entry in Entry.objects.live()] == ["User: we bake on Monday\nAssistant: ok"]
    assert event.pk in retention.redacted_events(event.session)
    stored = DailyEvent.objects.get()
    listed = alice.get(reverse("admin:memories_dailyevent_changelist"), {"use": "taken_out"})
    assert [row.pk for row in listed.context["cl"].result_list] == [stored.pk]
    page = alice.get(reverse("admin:memories_dailyevent_change", args=[stored.pk])).content.decode()
    assert "It is told no more" in page and "user:alice" in page and f"/session/{event.session_id}/" in page

    batch = Batch.objects.get()
    assert (batch.reason, batch.actor, batch.counts) == ("private", "user:alice", {"expire": 1})
    batches.apply_batch(batches.plan_undo(batch, actor="user:alice", now=NOW), now=NOW)
    assert Entry.objects.live().count() == 2 and not retention.redacted_events(event.session)
    assert DailyEvent.objects.in_use().exists()


@pytest.mark.thorough
def test_of_a_group_the_copies_go_and_what_rests_on_more_is_not_served_meanwhile(talk: Talk, alice: Client) -> None:
    for words in ("I hid the key in the oven", "the rye is done"):
        talk.say(words, "ok", address={**GROUP, "peer": "ann"})
    event, other = message("I hid the key in the oven"), message("the rye is done")
    scope = Scope.objects.get(kind="chat")
    wide = entries.remember(
        make_draft(scope, "A summary of two turns", type="auto_capture", origins=tuple(paths(event, other))),
        now=NOW,
        actor="job:close",
    ).entry
    goes = take_out(alice, event).context["goes"]
    assert {entry.scope.kind for entry in goes.entries} == {"user", "chat"} and goes.along == [wide]
    take_out(alice, event, reason="private")
    result = Entry.objects.live().values_list("content", flat=True)
    assert len(result) == 2 and all("the rye is done" in content for content in result)
    assert other.pk not in retention.redacted_events(event.session)


@pytest.mark.thorough
def test_the_turn_goes_though_it_has_ended_and_only_without_one_a_memory_of_several(talk: Talk, alice: Client) -> None:
    talk.say("the safe is behind the clock", "ok")
    talk.say("the clock is green", "ok")
    event, other = message("the safe is behind the clock"), message("the clock is green")
    turn = Entry.objects.get(content__contains="safe")
    entries.expire_many(turn.scope, {turn.pk: None}, now=NOW, actor="job:expire")
    fact = make_draft(turn.scope, "The safe stands behind a green clock", origins=tuple(paths(event, other)))
    memory = entries.remember(fact, now=NOW, actor="job:extract").entry
    goes = take_out(alice, event).context["goes"]
    assert (goes.entries, goes.along, goes.messages) == ([turn], [memory], [])
    Entry.objects.filter(pk=turn.pk).update(origins=[])
    goes = take_out(alice, event).context["goes"]
    assert (goes.entries, goes.along, goes.messages) == ([memory], [], [other])
    Entry.objects.filter(pk=turn.pk).update(origins=paths(event))
    take_out(alice, event, reason="private")
    assert retention.redacted_events(event.session).keys() == {event.pk, event.pk + 1}
    batches.apply_batch(batches.plan_undo(Batch.objects.get(), actor="user:alice", now=NOW), now=NOW)
    assert not retention.redacted_events(event.session)
    assert set(Entry.objects.live()) == {memory, Entry.objects.get(content__contains="green\n")}


def test_nobody_takes_out_what_they_may_not_change(talk: Talk, alice: Client) -> None:
    talk.say("a word of mine", "ok")
    event = message("a word of mine")
    stranger = enter(make_user("dora", workspace=Workspace.objects.create(name="Elsewhere"), is_staff=True))
    assert take_out(stranger, event, reason="x").status_code == 404
    Scope.objects.update(frozen=True)
    assert take_out(alice, event).context["goes"].entries == []
    take_out(alice, event, reason="x")
    assert Entry.objects.live().exists() and not Batch.objects.exists()
    address = reverse("admin:sessions_app_session_take_out", args=[event.session_id, event.pk + 99])
    assert alice.get(address).status_code == 404
