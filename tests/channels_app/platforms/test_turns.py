"""A bot on a chat platform remembers, without a line of code."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from channels_app.models import (
    Chat,
    Connection,
    ConnectionProblem,
    IncomingMessage,
    MessageState,
    NoticeMode,
    OutgoingMessage,
)
from channels_app.platforms import answering, work
from memories.models import Entry
from sessions_app.models import SessionEvent
from tests.channels_app.platforms.conftest import arrive, later, work_through
from tests.memories.llm.fake_server import FakeModel, Reply
from tests.support.fake_telegram import FakeTelegram, failed

ANN, BOB, GROUP = 42, 77, -100_1


def test_what_is_told_in_one_message_is_known_when_the_next_is_answered(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "I moved to Hangzhou in March."))
    work_through()
    assert bot_api.texts(ANN) == ["You wrote: I moved to Hangzhou in March."]
    entry = Entry.objects.get()
    assert (entry.scope.key, entry.sender_id, entry.speaker) == ("telegram:direct_42", "42", "User 42")
    arrive(connection, bot_api.write(ANN, "/reset"))
    arrive(connection, bot_api.write(ANN, "In which month did I move, and to where?"))
    work_through()
    prompt = model.requests[-1].body["messages"]
    assert "Hangzhou" in prompt[0]["content"] and [message["role"] for message in prompt] == ["system", "user"]
    assert ("sendChatAction", {"chat_id": "42", "action": "typing"}) in bot_api.calls


def test_a_redelivery_changes_nothing_and_messages_are_answered_in_order(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    updates = [bot_api.write(user, f"message {n} of {user}") for n in range(20) for user in (ANN, BOB)]
    again = [*updates, *random.Random(1).sample(updates, 12)]
    random.Random(2).shuffle(again)
    assert arrive(connection, *again) == 40
    work_through()
    for user in (ANN, BOB):
        assert bot_api.texts(user) == [f"You wrote: message {n} of {user}" for n in range(20)]
    assert SessionEvent.objects.count() == 80
    assert arrive(connection, *updates) == 0


def test_in_a_group_the_bot_answers_who_names_it_and_hears_the_rest(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "the walk is on Sunday", group=GROUP))
    arrive(connection, bot_api.write(BOB, "@mem_bot when is the walk?", group=GROUP))
    work_through()
    assert bot_api.texts(GROUP) == ["You wrote: when is the walk?"]
    assert "the walk is on Sunday" in model.requests[-1].body["messages"][0]["content"]
    kinds = list(SessionEvent.objects.order_by("pk").values_list("kind", "sender_id"))
    assert kinds == [("ambient", "42"), ("user", "77"), ("assistant", "")]


def test_what_somebody_tells_the_bot_alone_is_not_in_the_prompt_of_another(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "Remember that my door code is a walnut tree."))
    arrive(connection, bot_api.write(BOB, "What is the door code of Ann, a walnut tree?"))
    arrive(connection, bot_api.write(BOB, "@mem_bot what is the door code?", group=GROUP))
    work_through()
    of_bob = [
        request
        for request in model.requests
        if "door code" in request.texts[-1] and "Remember" not in request.texts[-1]
    ]
    assert len(of_bob) == 2 and not any("my door code" in text for item in of_bob for text in item.texts[:-1])


def test_a_platform_that_is_busy_gets_the_answer_later_once(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    bot_api.failures = [failed(429, "Too Many Requests: retry after 5", retry_after=5)]
    arrive(connection, bot_api.write(ANN, "hello"))
    work_through()
    assert bot_api.texts() == [] and OutgoingMessage.objects.get().state == MessageState.WAITING
    work_through(seconds=8)
    assert bot_api.texts() == ["You wrote: hello"] and len(model.requests) == 1


def test_a_key_that_is_revoked_stops_the_connection_until_it_is_pasted_anew(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "hello"))
    bot_api.is_revoked = True
    work_through()
    connection.refresh_from_db()
    assert connection.problem == ConnectionProblem.REFUSED and connection.retry_at
    bot_api.is_revoked = False
    work_through(seconds=700)
    connection.refresh_from_db()
    assert bot_api.texts() == ["You wrote: hello"] and not connection.problem


def test_somebody_who_blocked_the_bot_is_no_reason_to_stop(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    bot_api.blocked = {str(ANN)}
    arrive(connection, bot_api.write(ANN, "hello"), bot_api.write(BOB, "good morning"))
    work_through()
    assert bot_api.texts() == ["You wrote: good morning"]
    assert OutgoingMessage.objects.get(state=MessageState.FAILED).error.startswith("Forbidden")


def test_a_model_that_fails_is_asked_again_then_what_was_written_is_kept_and_said_so(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    model.otherwise = lambda _asked: Reply(status=400, body=b"{}")
    arrive(connection, bot_api.write(ANN, "I live in Porto."))
    for seconds in (1, 10, 100, 1000):
        work_through(seconds)
    assert bot_api.texts() == ["I cannot answer at the moment. What you wrote is kept."]
    connection.refresh_from_db()
    assert connection.problem == ConnectionProblem.MODEL
    assert Entry.objects.get().content.startswith("User: I live in Porto.")
    assert IncomingMessage.objects.get().state == MessageState.FAILED


def test_a_long_answer_is_sent_in_parts_of_the_platforms_limit(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    model.otherwise = lambda _asked: "\n\n".join(f"{n}. {'word ' * 200}" for n in range(12))
    arrive(connection, bot_api.write(ANN, "tell me all"))
    work_through()
    assert len(bot_api.texts()) == 3 and all(len(text) <= 4096 for text in bot_api.texts())


@pytest.mark.parametrize("text", ["a" * 10_000, "一" * 10_000, "a b\n\nc。" * 2_000, "", "  "])
def test_nothing_of_a_text_is_lost_when_it_is_cut(text: str) -> None:
    parts = answering.split(text, 4096)
    assert all(0 < len(part) <= 4096 for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_process_that_was_killed_leaves_its_chat_to_the_next_when_the_lease_is_over(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "hello"))
    connection.chats.update(retry_at=timezone.now() + timedelta(seconds=20))
    work_through()
    assert bot_api.texts() == []
    work_through(seconds=30)
    assert bot_api.texts() == ["You wrote: hello"]


def test_a_process_that_was_away_for_longer_than_its_lease_leaves_the_chat_to_the_one_that_has_it(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "hello"))
    stalled = work.claim_chat(now=later(1)())
    assert stalled and work.claim_chat(now=later(2)()) is None
    other = work.claim_chat(now=later(1)() + work.LEASE)
    assert other and other.pk == stalled.pk and other.lease != stalled.lease
    work.work_on(stalled, later(30))
    work.renew([stalled], now=later(90)())
    assert Chat.objects.get().lease == other.lease and Chat.objects.get().retry_at == other.retry_at
    assert bot_api.texts(ANN) == [] and not OutgoingMessage.objects.exists()
    work.work_on(other, later(31))
    assert bot_api.texts(ANN) == ["You wrote: hello"] and Chat.objects.get().lease is None


def test_an_answer_that_comes_when_another_process_has_answered_is_neither_stored_nor_sent(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "hello"))
    late = answering.read_stored(IncomingMessage.objects.select_related("chat", "connection__channel").get())
    work_through()
    with pytest.raises(answering.AlreadyAnswered):
        answering.store_turn(late, "Too late.", recall=None, now=later(2)())
    work_through()
    assert bot_api.texts(ANN) == ["You wrote: hello"]
    assert list(SessionEvent.objects.values_list("kind", flat=True)) == ["user", "assistant"]


def test_what_is_to_be_remembered_is_kept_and_said_to_be_also_where_nobody_answers(
    connection: Connection, bot_api: FakeTelegram
) -> None:
    Connection.objects.update(notices=NoticeMode.EACH)
    arrive(connection, bot_api.write(ANN, "Remember that I moved to Hangzhou in March."))
    work_through()
    arrive(connection, bot_api.write(ANN, "/memory"))
    work_through()
    answer, saved, memory = bot_api.texts()
    assert answer == "I cannot answer at the moment. What you wrote is kept."
    assert saved == "Saved: “Remember that I moved to Hangzhou in March.”"
    assert "1. Remember that I moved to Hangzhou in March." in memory
