"""Turns enter the buffer with their capture, and are ready when it is quiet, when it is full, and at night (D5)."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from channels_app.models import Channel
from memories import tasks
from memories.consolidation import buffer
from memories.models import BufferedTurn, DailyEvent, Entry, ExtractionBatch, Workspace
from memplatform.operations.jobs.registry import JOBS
from sessions_app.models import Session, SessionEvent
from tests.conftest import GROUP, NOW, TELEGRAM, Api
from tests.memories.consolidation.buffer.conversations import QUIET, events_by_scope, extract, held, say

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def clock(settings: Any) -> None:
    settings.TEST_CLOCK = True


def test_it_works(api: Api) -> None:
    say(api, "I moved to Hangzhou last week", "Noted.")
    assert held() == [["I moved to Hangzhou last week", "Noted."]]
    assert extract()["events"] == 1
    assert held() == []
    assert events_by_scope() == {"telegram:direct_u42": ["I moved to Hangzhou last week"]}


def test_a_turn_is_kept_in_full_with_the_origins_of_its_entry(api: Api) -> None:
    long = "我的猫叫年糕，" * 100
    say(api, long, "记住了", slots={"speaker": "小明"}, said_at="2026-02-28T23:00:00+00:00")
    turn, entry = BufferedTurn.objects.get(), Entry.objects.get()
    asked, answered = turn.messages
    assert (asked["content"], asked["role"], asked["sender"]) == (long, "user", "u42")
    assert (answered["content"], answered["role"], answered["sender"]) == ("记住了", "assistant", "")
    assert [message["id"] for message in turn.messages] == entry.origins
    assert asked["at"] == "2026-02-28T23:00:00+00:00"
    assert (turn.user_scope, turn.chat_scope, turn.chat) == (entry.scope, None, "telegram:direct_u42")
    assert (turn.place["speaker"], turn.place["sender_id"], turn.place["chat_id"]) == ("小明", "u42", "c7")
    session = Session.objects.get()
    assert (turn.batch.session_uid, turn.batch.conversation) == (session.uid, session.conversation)


def test_turn_and_buffer_are_stored_together_or_not_at_all(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise ConnectionAbortedError

    monkeypatch.setattr(buffer, "add", refuse)
    answer = api.post("turns", {"address": TELEGRAM, "user": "I moved", "assistant": "Noted."})
    assert answer.status_code == 500
    assert not Entry.objects.exists() and not SessionEvent.objects.exists() and not ExtractionBatch.objects.exists()


def test_a_repeated_call_is_held_once(api: Api) -> None:
    for _twice in range(2):
        say(api, "I moved to Hangzhou", "Noted.", key="k1")
    assert held() == [["I moved to Hangzhou", "Noted."]]
    assert ExtractionBatch.objects.get().turn_count == 1


def test_what_is_not_remembered_is_not_held(api: Api, workspace: Workspace) -> None:
    say(api, "  ", "")
    Channel.objects.create(workspace=workspace, platform="telegram", account="quiet", capture_group_memory=False)
    say(api, "nobody said this", "?", address={**GROUP, "account": "quiet", "peer": ""})
    assert held() == []


def test_it_can_be_switched_off(api: Api, settings: Any) -> None:
    settings.MEMORY_AUTO_EXTRACT = False
    say(api, "I moved to Hangzhou", "Noted.")
    assert held() == [] and Entry.objects.count() == 1


def test_a_conversation_is_ready_when_it_was_quiet_for_three_minutes(api: Api) -> None:
    say(api, "I moved to Hangzhou", "Noted.")
    say(api, "My cat is called Rice", "Nice.", at=NOW + 2 * MINUTE)
    assert extract(NOW + 4 * MINUTE)["extraction_batches"] == 0
    assert extract(NOW + 5 * MINUTE)["extraction_batches"] == 1
    assert held() == []


def test_it_is_ready_at_once_when_it_is_full_and_no_turn_is_split(api: Api, settings: Any) -> None:
    settings.MEMORY_TOKEN_CAP = 30
    for n in range(5):
        say(api, f"我在第{n}个城市住了很久很久", "好的")  # ten tokens each
    assert [batch.sealed for batch in ExtractionBatch.objects.order_by("pk")] == [True, True, False]
    assert [len(texts) for texts in held()] == [4, 4, 2]
    assert all(batch.tokens <= 30 for batch in ExtractionBatch.objects.all())
    assert extract(NOW)["turns"] == 4
    assert [len(texts) for texts in held()] == [2]


def test_a_turn_larger_than_the_cap_is_an_extraction_batch_of_its_own(api: Api, settings: Any) -> None:
    settings.MEMORY_TOKEN_CAP = 30
    say(api, "My cat is called Rice", "ok")
    say(api, "I live in Hangzhou " * 20, "ok")
    assert [len(texts) for texts in held()] == [2, 2]
    assert extract(NOW)["extraction_batches"] == 2


def test_each_conversation_waits_by_itself(api: Api) -> None:
    say(api, "I moved to Hangzhou", "Noted.")
    say(api, "I moved to Berlin", "Noted.", address={**TELEGRAM, "peer": "u43", "chat": "c8"}, at=NOW + MINUTE)
    assert extract(NOW + QUIET)["extraction_batches"] == 1
    assert events_by_scope() == {"telegram:direct_u42": ["I moved to Hangzhou"]}


def test_at_night_all_of_the_workspace_is_swept(api: Api, workspace: Workspace, stranger: Workspace) -> None:
    assert JOBS["extract-day"].at == time(3, 0)
    night = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
    say(api, "I moved to Hangzhou", "Noted.", at=night - timedelta(seconds=5))
    assert tasks.extract_day(stranger.pk, now=night, run="r")["extraction_batches"] == 0
    first = tasks.extract_day(workspace.pk, now=night, run="r")
    assert (first["sealed"], first["extraction_batches"], first["events"]) == (1, 1, 1)
    assert tasks.extract_day(workspace.pk, now=night, run="r")["extraction_batches"] == 0
    assert DailyEvent.objects.count() == 1


def test_the_job_of_the_minute_reads_the_clock(api: Api) -> None:
    say(api, "I moved to Hangzhou", "Noted.")  # long ago
    assert tasks.extract()["extraction_batches"] == 1


def test_a_reset_conversation_leaves_nothing_behind(api: Api) -> None:
    say(api, "I moved to Hangzhou", "Noted.")
    say(api, "I moved to Berlin", "Noted.", address={**TELEGRAM, "peer": "u43", "chat": "c8"})
    session = Session.objects.order_by("pk")[0]
    assert buffer.drop_conversation(session.uid, session.conversation + 1) == 0
    claimed = buffer.claim_next(now=NOW + QUIET)
    assert claimed is not None
    assert buffer.drop_conversation(session.uid, session.conversation) == 1
    assert held() == [["I moved to Berlin", "Noted."]]
    assert BufferedTurn.objects.count() == 1
    with pytest.raises(buffer.ClaimLost), buffer.completing(claimed):
        raise AssertionError("nothing is stored of it")
