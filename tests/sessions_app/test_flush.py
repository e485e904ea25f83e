"""What a bot takes out of a conversation is stored where it belongs, once (C7, E4, D5, A3)."""

from typing import Any

import pytest
from django_q.models import OrmQ

from memories.batches import bulk_actions
from memories.models import Entry, RefusedFact, Slot, Workspace
from sessions_app import flush as flushing
from sessions_app.models import Flush, Session
from tests.conftest import NOW, TELEGRAM, make_key
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
GROUP = {**TELEGRAM, "chat": "g1", "is_group": True}


@pytest.fixture
def direct(talk: Talk) -> Session:
    talk.say("my cat is called Mochi", "A nice name.")
    return Session.objects.get()


@pytest.fixture
def group(talk: Talk) -> Session:
    """Ann at 1, Ben at 3, Ann at 5."""
    for peer, words in (("ann", "I bring the cake"), ("ben", "我带酒"), ("ann", "we meet at noon")):
        talk.say(words, address={**GROUP, "peer": peer})
    return Session.objects.get()


def flush(*candidates: Any, **more: Any) -> dict[str, Any]:
    return {"version": 1, "candidates": list(candidates), **more}


def test_a_candidate_becomes_a_fact_of_the_peer(talk: Talk, direct: Session) -> None:
    candidate = {"content": "The user's cat is called Mochi.", "category": "identity", "rests_on": [1]}
    answer = talk.do(direct, "flush", flush(candidate))
    entry = Entry.objects.get(type="fact")
    assert answer["candidates"] == [
        {"id": str(entry.uid), "type": "fact", "scope": "telegram:direct_u42", "outcome": "created", "reason": None}
    ]
    assert (entry.tier, entry.source, entry.sender_id, entry.session_id) == (2, "extraction", "u42", direct.key)
    assert Slot.objects.get(entry=entry, name="source_session_id").value == str(direct.uid)
    assert entry.origins == [direct.origin_of(direct.events.get(position=1))]
    assert entry.chats == ["telegram:direct_u42"]
    assert (answer["up_to"], answer["counts"], answer["session"]["flushed_to"]) == (2, {"created": 1}, 2)


def test_what_a_bot_reports_stands_beside_its_words_or_the_whole_messages(talk: Talk, direct: Session) -> None:
    results = [
        {"content": "The user's cat is Mochi.", "rests_on": [1, 2], "quote": ["cat is called Mochi"]},
        {"content": "用户养了一只叫 Mochi 的猫。", "rests_on": [1]},
    ]
    talk.do(direct, "flush", flush(*results))
    data = {entry.content: entry for entry in Entry.objects.filter(type="fact")}
    quotes = [[words.quote for words in data[row["content"]].evidence.all()] for row in results]
    assert quotes == [["cat is called Mochi"], ["my cat is called Mochi"]]
    assert {entry.verification for entry in data.values()} == {"quoted"}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"content": "The user's cat is called Mochi.", "rests_on": [1], "quote": ["a dog called Rex"]}, "no_quote"),
        ({"content": "用户养了 3 只猫。", "rests_on": [1], "quote": ["my cat is called Mochi"]}, "amount"),
        ({"content": "It is a nice name.", "rests_on": [2]}, "bot"),
        ({"content": "The cat of Rosalind is called Mochi.", "rests_on": [1]}, "name"),
    ],
)
def test_what_a_bot_reports_of_nobodys_words_is_refused_with_the_reason(
    wrong: dict[str, Any], reason: str, talk: Talk, direct: Session
) -> None:
    answer = talk.do(direct, "flush", flush(wrong))
    assert (answer["candidates"][0]["reason"], answer["counts"]) == (reason, {"refused": 1})
    refused = RefusedFact.objects.get()
    assert (refused.reason, refused.content, refused.purpose, refused.model) == (
        *(reason, wrong["content"]),
        *("flush", "bot:bot"),
    )
    assert not Entry.objects.filter(type="fact").exists()


def test_no_reply_is_recorded_and_stores_nothing(talk: Talk, direct: Session) -> None:
    before = Entry.objects.count()
    talk.do(direct, "flush", {"version": 1, "reply": "NO_REPLY"})
    recorded = Flush.objects.get()
    assert (recorded.no_reply, recorded.up_to, recorded.actor) == (True, 2, "bot:bot")
    assert Entry.objects.count() == before


def test_sent_twice_it_is_stored_once(talk: Talk, direct: Session) -> None:
    body = flush({"content": "The user's cat is called Mochi."}, **{"continue": "They speak of cats."})
    first, second = (talk.do(direct, "flush", body) for _twice in range(2))
    assert [answer["candidates"][0]["outcome"] for answer in (first, second)] == ["created", "skipped"]
    assert first["id"] == second["id"] and Flush.objects.get().goes_on_with == "They speak of cats."
    assert Entry.objects.filter(type="fact").count() == 1


def test_a_report_on_a_conversation_that_was_cleared_goes_into_no_other(talk: Talk, direct: Session) -> None:
    body = flush(**{"continue": "They speak of cats."})
    talk.do(direct, "reset")
    assert refusal(talk, f"sessions/{direct.uid}/flush", body) == (409, "conversation_ended")
    talk.say("the boat leaves at noon")
    for named in (body, {"version": 1}):
        assert refusal(talk, f"sessions/{direct.uid}/flush?conversation=1", named) == (409, "conversation_ended")
    assert not Flush.objects.exists() and not Entry.objects.filter(subtype="session_flush").exists()
    talk.do(direct, "flush?conversation=2", flush(**{"continue": "The boat leaves at noon."}))
    assert Flush.objects.get().goes_on_with == "The boat leaves at noon."


def refusal(talk: Talk, path: str, body: dict[str, Any]) -> tuple[int, str]:
    answer = talk.post(path, body)
    return answer.status_code, answer.json().get("errors", [{"code": ""}])[0]["code"]


def test_in_a_group_a_candidate_goes_to_the_one_speaker_it_rests_on(talk: Talk, group: Session) -> None:
    results = [
        {"content": "Ann brings the cake.", "rests_on": [1, 2]},
        {"content": "Ben 带酒。", "rests_on": [3]},
        {"content": "They meet at noon, with cake and wine.", "rests_on": [3, 5]},
        {"content": "It is a party."},
    ]
    answer = talk.do(group, "flush", flush(*results))
    chat = "telegram:mybot:group_g1"
    assert [candidate["scope"] for candidate in answer["candidates"]] == [
        "telegram:direct_ann",
        "telegram:direct_ben",
        chat,
        chat,
    ]
    own = Entry.objects.get(content="Ann brings the cake.")
    assert (own.chats, own.sender_id) == ([chat], "ann")


def test_a_group_that_is_not_remembered_loses_what_is_nobodys_and_counts_it(
    talk: Talk, group: Session, workspace: Workspace
) -> None:
    workspace.channels.update(capture_group_memory=False)
    talk.say("one more", address={**GROUP, "peer": "ann"})
    results = [{"content": "Ann brings the cake.", "rests_on": [1]}, {"content": "It is a party.", "rests_on": [1, 3]}]
    answer = talk.do(group, "flush", flush(*results))
    assert [candidate["reason"] for candidate in answer["candidates"]] == [None, "no_scope"]
    assert answer["counts"] == Flush.objects.get().counts == {"created": 1, "no_scope": 1}


def test_a_key_writes_into_no_scope_it_does_not_reach(talk: Talk, group: Session, workspace: Workspace) -> None:
    narrow = Talk(make_key(workspace, scope_patterns=["telegram:mybot:group_*"]))
    results = [{"content": "Ann brings the cake.", "rests_on": [1]}, {"content": "It is a party."}]
    answer = narrow.do(group, "flush", flush(*results))
    assert [candidate["reason"] for candidate in answer["candidates"]] == ["out_of_reach", None]
    assert not Entry.objects.filter(content="Ann brings the cake.").exists()


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "version"),
        ({"version": 2}, "version"),
        (flush({"content": "x", "rests_on": [1, 99]}), "candidates.0.rests_on"),
        (flush({"content": "x", "rests_on": [0]}), "candidates.0.rests_on.0"),
        (flush({"content": "x", "type": "chat_turn"}), "candidates.0.type"),
        (flush({"content": "x", "weight": 1}), "candidates.0.weight"),
        (flush({"content": ""}), "candidates.0.content"),
        (flush({"content": "x"}, reply="NO_REPLY"), "reply"),
        ({"version": 1, "reply": "nothing"}, "reply"),
    ],
)
def test_what_is_not_of_the_schema_is_named_and_stores_nothing(
    body: Any, named: str, talk: Talk, direct: Session
) -> None:
    answer = talk.post(f"sessions/{direct.uid}/flush", body)
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, named)
    assert not Flush.objects.exists() and not Entry.objects.filter(type="fact").exists()


def test_what_people_took_out_no_flush_brings_back(talk: Talk, direct: Session) -> None:
    body = flush({"content": "The user's cat is called Mochi."})
    talk.do(direct, "flush", body)
    bulk_actions.apply_action(
        list(Entry.objects.filter(type="fact")), bulk_actions.EXPIRE, now=NOW, actor="user:ann", reason="private"
    )
    assert talk.do(direct, "flush", body)["candidates"][0]["outcome"] == "suppressed"


def test_without_anything_the_platform_keeps_its_own_summary(talk: Talk, direct: Session) -> None:
    answer = talk.do(direct, "flush", {"version": 1})
    assert answer["counts"] == {"created": 1} and Entry.objects.get(subtype="session_flush").content
    assert talk.do(direct, "flush", {"version": 1})["id"] is None  # nothing new was said


def test_of_a_long_conversation_a_call_flushes_one_part_and_each_other_is_a_task_of_its_own(
    talk: Talk, direct: Session, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.MEMORY_SESSION_SHOWN_TOKENS = 20
    for words in (
        "we move to Hangzhou in May with the piano",
        "我们决定在三月五日签合同，地点是西湖边",
        "Carol signs for the harbour",
    ):
        talk.say(words, "Noted.")
    direct.refresh_from_db()
    with django_capture_on_commit_callbacks(execute=True):
        answer = talk.do(direct, "flush", {"version": 1}, status=202)
    assert answer["queued"] and answer["up_to"] == 2 == Flush.objects.get().up_to
    tasks = 0
    while task := OrmQ.objects.first():
        task.delete()
        with django_capture_on_commit_callbacks(execute=True):
            assert flushing.flush_queued(*task.task["args"], now=NOW)
        tasks += 1
    assert tasks == 3
    assert [entry.content for entry in Entry.objects.filter(subtype="session_flush").order_by("pk")] == [
        "User: my cat is called Mochi Assistant: A nice name.",
        "User: we move to Hangzhou in May with the piano Assistant: Noted.",
        "User: 我们决定在三月五日签合同，地点是西湖边 Assistant: Noted.",
        "User: Carol signs for the harbour Assistant: Noted.",
    ]
    direct.refresh_from_db()
    assert (Flush.objects.get().up_to, direct.flushed_to, direct.next_position) == (8, 8, 9)
    assert Flush.objects.get().counts == {"created": 4}


def test_a_long_conversation_that_is_reset_while_it_is_flushed_is_left(
    talk: Talk, direct: Session, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.MEMORY_SESSION_SHOWN_TOKENS = 5
    talk.say("we move to Hangzhou in May", "Noted.")
    with django_capture_on_commit_callbacks(execute=True):
        talk.do(direct, "flush", {"version": 1}, status=202)
    talk.do(direct, "reset")
    talk.say("something new", "ok")
    assert flushing.flush_queued(*OrmQ.objects.get().task["args"], now=NOW) is False
    assert Flush.objects.get().conversation == 1


def test_on_a_stop_every_part_of_a_long_conversation_is_flushed(talk: Talk, direct: Session, settings: Any) -> None:
    settings.MEMORY_SESSION_SHOWN_TOKENS = 5
    talk.say("we move to Hangzhou in May", "Noted.")
    assert flushing.flush_active(now=NOW) == {"flushed": 1, "left": 0}
    assert Flush.objects.get().up_to == 4
    assert flushing.flush_active(now=NOW) == {"flushed": 0, "left": 0}
