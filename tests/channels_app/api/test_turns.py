"""POST /turns: what a finished turn becomes (A1, A3, A5)."""

from typing import Any

import pytest

from channels_app.models import Channel
from memories.models import Entry, Scope, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import GROUP, TELEGRAM, Api

pytestmark = pytest.mark.django_db


def say(api: Api, user: str = "I moved to Hangzhou", **kwargs: Any) -> dict[str, Any]:
    """The answer to a turn that is taken in."""
    response = api.post("turns", {"address": TELEGRAM, "user": user, "assistant": "Noted.", **kwargs})
    assert response.status_code == 201, response.json()
    return response.json()


def test_a_turn_becomes_one_entry_and_the_answer_names_it(api: Api) -> None:
    answer = say(api)
    entry = Entry.objects.get()
    assert answer["entries"] == [
        {
            "id": str(entry.uid),
            "type": "chat_turn",
            "scope": "telegram:direct_u42",
            "outcome": "created",
            "kept": False,
            "reason": None,
            "brought_back": False,
        }
    ]
    assert answer["directives"] == [] and answer["degraded"] == []
    assert entry.content == "User: I moved to Hangzhou\nAssistant: Noted."
    assert entry.source == "conversation_capture"


def test_the_entry_knows_where_and_by_whom_it_was_said(api: Api) -> None:
    answer = say(api, address={**TELEGRAM, "thread": "t9"}, slots={"env": "prod"})
    entry = Entry.objects.get()
    assert (entry.channel, entry.chat_id, entry.sender_id, entry.thread_id) == ("telegram", "c7", "u42", "t9")
    assert entry.session_id == answer["session"]["key"]
    assert {slot.name: slot.value for slot in entry.slots.all()} == {"env": "prod"}


def test_the_session_answers_with_its_key_conversation_and_tokens(api: Api) -> None:
    first, second = say(api)["session"], say(api, "And my cat is called Mochi")["session"]
    assert first["key"] == second["key"]
    assert first["key"].startswith("telegram-") and len(first["key"]) == len("telegram-") + 24
    assert first["conversation"] == second["conversation"] == 1
    assert second["tokens"] > first["tokens"] > 0


def test_both_sides_of_a_turn_are_kept_in_the_session_in_order(api: Api) -> None:
    say(api, tool_calls=[{"name": "deploy", "arguments": {"to": "prod"}, "result": "ok"}], outcome="done")
    events = list(SessionEvent.objects.order_by("position"))
    assert [(e.position, e.kind, e.content, e.sender_id) for e in events] == [
        (1, "user", "I moved to Hangzhou", "u42"),
        (2, "assistant", "Noted.", ""),
    ]
    assert events[1].data == {
        "tool_calls": [{"name": "deploy", "arguments": {"to": "prod"}, "result": "ok"}],
        "outcome": "done",
    }
    assert len(Entry.objects.get(type="chat_turn").origins) == 2


def test_long_texts_keep_their_head_and_their_tail(api: Api) -> None:
    say(api, "u" * 200 + "v" * 200, assistant="a" * 300 + "b" * 300)
    asked, answered = Entry.objects.get().content.split("\n")
    assert asked == "User: " + "u" * 150 + " ... " + "v" * 95
    assert answered == "Assistant: " + "a" * 240 + " ... " + "b" * 155
    assert [event.content[-1] for event in SessionEvent.objects.order_by("position")] == ["v", "b"]


def test_chinese_texts_are_cut_by_characters(api: Api) -> None:
    say(api, "年" * 250, assistant="糕" * 401)
    asked, answered = Entry.objects.get().content.split("\n")
    assert asked == "User: " + "年" * 250
    assert len(answered.removeprefix("Assistant: ")) == 400


@pytest.mark.parametrize("blank", ["", "  \n\t "])
def test_nothing_is_stored_of_an_empty_turn(api: Api, blank: str) -> None:
    assert say(api, blank, assistant=blank)["entries"] == []
    assert not Entry.objects.exists()
    assert not SessionEvent.objects.exists()


UNSEEN = "\u200b\u200d\u2060\ufeff\u200e\u3164\ufe0f\u00ad \u2800"


def test_of_what_nobody_sees_nothing_is_stored_by_any_door(api: Api, workspace: Workspace) -> None:
    assert say(api, UNSEEN, assistant=UNSEEN)["entries"] == []
    scope = say(api, "hello there", assistant=UNSEEN)["entries"][0]["scope"]
    assert Entry.objects.get().content == "User: hello there"
    assert api.post("entries", {"scope": scope, "content": UNSEEN}).status_code == 400
    session = SessionEvent.objects.get().session
    api.post(f"sessions/{session.uid}/events", {"events": [{"kind": "user", "content": UNSEEN}]})
    assert (Entry.objects.count(), SessionEvent.objects.count()) == (1, 1)


@pytest.mark.parametrize("emoji", ["👨‍👩‍👧‍👦", "❤️", "🏳️‍🌈", "क्‍ष"])
def test_what_is_put_together_with_joiners_is_stored_as_it_is(api: Api, emoji: str) -> None:
    say(api, emoji, assistant="")
    assert Entry.objects.get().content == f"User: {emoji}"
    assert SessionEvent.objects.get().content == emoji


@pytest.mark.parametrize(("user", "assistant"), [("Only me", ""), ("", "Only the bot")])
def test_one_side_of_a_turn_is_enough(api: Api, user: str, assistant: str) -> None:
    answer = say(api, user, assistant=assistant)
    assert [entry["outcome"] for entry in answer["entries"]] == ["created"]
    assert SessionEvent.objects.count() == 1


def test_a_group_turn_is_written_to_the_speaker_and_to_the_chat(api: Api) -> None:
    answer = say(api, address=GROUP)
    assert {entry["scope"] for entry in answer["entries"]} == {
        "telegram:direct_u42",
        "telegram:mybot:group_g1",
    }
    assert {scope.key: scope.kind for scope in Scope.objects.all()} == {
        "telegram:direct_u42": "user",
        "telegram:mybot:group_g1": "chat",
    }


def test_a_group_turn_without_a_speaker_is_written_to_the_chat_only(api: Api) -> None:
    answer = say(api, address={**GROUP, "peer": None})
    assert [entry["scope"] for entry in answer["entries"]] == ["telegram:mybot:group_g1"]


def test_a_channel_may_keep_nothing_for_the_group(api: Api, workspace: Workspace) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", capture_group_memory=False)
    answer = say(api, address=GROUP)
    assert [entry["scope"] for entry in answer["entries"]] == ["telegram:direct_u42"]
    assert say(api, "Nobody said it", address={**GROUP, "peer": ""})["entries"] == []


def test_the_deployment_may_keep_nothing_for_groups(api: Api, settings: Any) -> None:
    settings.MEMORY_CAPTURE_GROUP_MEMORY = False
    assert [entry["scope"] for entry in say(api, address=GROUP)["entries"]] == ["telegram:direct_u42"]


@pytest.mark.parametrize("platform", ["cli", "web"])
def test_a_keyboard_without_a_peer_is_one_memory_of_a_local_person(api: Api, platform: str) -> None:
    answer = say(api, address={"platform": platform})
    assert [entry["scope"] for entry in answer["entries"]] == ["main"]
    assert Entry.objects.get().sender_id == "local"


def test_a_direct_chat_without_a_peer_is_refused(api: Api) -> None:
    response = api.post("turns", {"address": {"platform": "telegram", "chat": "c7"}, "user": "x", "assistant": "y"})
    assert response.status_code == 400
    assert response.json()["errors"][0]["attr"] == "address"
    assert not Scope.objects.exists()


def test_a_group_without_a_chat_is_refused(api: Api) -> None:
    response = api.post("turns", {"address": {"platform": "telegram", "peer": "u1", "is_group": True}, "user": "x"})
    assert response.status_code == 400
    assert response.json()["errors"][0]["attr"] == "address"


def test_a_channel_appears_the_first_time_a_bot_speaks_from_there(api: Api, workspace: Workspace) -> None:
    say(api)
    say(api, "again, differently")
    channel = Channel.objects.get()
    assert (channel.workspace, channel.platform, channel.account) == (workspace, "telegram", "mybot")


def test_a_turn_of_the_past_is_dated_when_it_was_said(api: Api) -> None:
    say(api, at="2026-01-05T20:00:00+08:00")
    entry = Entry.objects.get()
    assert entry.created_at.isoformat() == "2026-01-05T12:00:00+00:00"
    assert entry.stated_at == entry.created_at < entry.updated_at
    assert {event.at for event in SessionEvent.objects.all()} == {entry.created_at}


def test_saying_it_again_makes_no_second_entry(api: Api) -> None:
    first, second = say(api)["entries"], say(api)["entries"]
    assert first[0]["id"] == second[0]["id"]
    assert second[0]["outcome"] == "skipped"
    assert Entry.objects.count() == 1 and SessionEvent.objects.count() == 4


def test_a_turn_takes_as_many_slots_as_an_entry(api: Api) -> None:
    say(api, slots={f"name{n}": "v" for n in range(30)})
    assert Entry.objects.get().slots.count() == 30


@pytest.mark.parametrize(
    ("slots", "attr"),
    [
        ({f"name{n}": "v" for n in range(31)}, "slots"),
        ({"n" * 65: "v"}, "slots." + "n" * 64),
        ({"env": "v" * 501}, "slots.env"),
        ({"type": "fact"}, "slots.type"),
        ({"scope": "chat"}, "slots.scope"),
        ({"source": "manual"}, "slots.source"),
        ({"speaker": "s" * 201}, "slots.speaker"),
    ],
)
def test_slots_out_of_bounds_are_named_and_nothing_is_stored(api: Api, slots: dict[str, str], attr: str) -> None:
    response = api.post("turns", {"address": TELEGRAM, "user": "hello there", "assistant": "hi", "slots": slots})
    assert response.status_code == 400, response.json()
    assert response.json()["errors"][0]["attr"] == attr
    assert not Entry.objects.exists() and not SessionEvent.objects.exists() and not Session.objects.exists()


def test_slots_at_their_bounds_are_kept(api: Api) -> None:
    say(api, slots={"n" * 64: "v" * 500, "speaker": "s" * 200})
    assert Entry.objects.get().slots.get().name == "n" * 64


def test_a_text_of_64_kilobytes_is_taken_and_one_byte_more_is_not(api: Api) -> None:
    say(api, "x" * 65_536)
    for side in ("user", "assistant"):
        response = api.post("turns", {"address": TELEGRAM, side: "年" * 21_846})
        assert response.status_code == 400
        assert response.json()["errors"][0]["attr"] == side


def test_the_group_session_is_shared_by_its_members(api: Api) -> None:
    key = say(api, address=GROUP)["session"]["key"]
    other = say(api, "Me too", address={**GROUP, "peer": "u43"})["session"]["key"]
    assert key == other


def test_a_channel_may_give_every_member_a_session(api: Api, workspace: Workspace) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", group_sessions="per_member")
    key = say(api, address=GROUP)["session"]["key"]
    other = say(api, "Me too", address={**GROUP, "peer": "u43"})["session"]["key"]
    assert key != other


def test_a_channel_may_give_every_message_a_session_of_its_own(api: Api, workspace: Workspace) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", session_mode="fresh")
    assert say(api)["session"]["key"] != say(api, "again")["session"]["key"]


def test_a_frozen_scope_takes_nothing(api: Api, scope: Scope) -> None:
    Scope.objects.filter(pk=scope.pk).update(frozen=True)
    response = api.post("turns", {"address": TELEGRAM, "user": "I moved", "assistant": "Noted."})
    assert response.status_code == 409
    assert response.json()["errors"][0]["code"] == "scope_frozen"
    assert not SessionEvent.objects.exists()


def test_one_frozen_scope_keeps_the_other_from_being_written(api: Api, workspace: Workspace) -> None:
    Scope.objects.create(workspace=workspace, key="telegram:mybot:group_g1", kind="chat", frozen=True)
    assert api.post("turns", {"address": GROUP, "user": "I moved", "assistant": "Noted."}).status_code == 409
    assert not Entry.objects.exists()


def test_a_turn_takes_a_fixed_number_of_statements(api: Api, django_assert_max_num_queries: Any) -> None:
    say(api, address=GROUP)
    with django_assert_max_num_queries(45):
        say(api, "My sister lives in Lisbon", address=GROUP)
