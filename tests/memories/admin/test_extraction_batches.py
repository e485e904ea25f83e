"""Operators see what waits and what was parked, put it right, and correct what is told of days (F1)."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.choices import BufferState
from memories.consolidation import buffer
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.models import Change, DailyEvent, ExtractionBatch, Workspace
from tests.conftest import Api, make_scope
from tests.memories.admin.conftest import enter, make_user
from tests.memories.consolidation.buffer.conversations import extract, held, say

pytestmark = pytest.mark.django_db
YES = {"confirmed": "yes"}


@pytest.fixture(autouse=True)
def clock(settings: Any) -> None:
    settings.TEST_CLOCK = True


@pytest.fixture
def alice(workspace: Workspace) -> Client:
    return enter(make_user("alice", workspace=workspace, is_staff=True))


@pytest.fixture
def batch(api: Api) -> ExtractionBatch:
    say(api, "我的猫叫年糕", "Nice name.", at=timezone.now())
    return ExtractionBatch.objects.get()


@pytest.fixture
def event(workspace: Workspace) -> DailyEvent:
    draft = EventDraft(
        scope=make_scope(workspace, "telegram:direct_u1"), local_date=date(2026, 3, 1), content="搬到了杭州"
    )
    return daily_events.write([draft], now=datetime(2026, 3, 1, tzinfo=UTC), actor="job:extract")[0]


def park(batch: ExtractionBatch) -> None:
    ExtractionBatch.objects.filter(pk=batch.pk).update(
        state=BufferState.PARKED, sealed=True, attempts=3, error="InvalidDraft: not what was asked for"
    )


def page(client: Client, name: str, *args: int, **asked: str) -> str:
    answer = client.get(reverse(f"admin:memories_{name}", args=args), asked)
    assert answer.status_code == 200
    return answer.content.decode()


def act(client: Client, name: str, *args: int, **more: Any) -> None:
    assert client.post(reverse(f"admin:memories_{name}", args=args), YES | more).status_code == 302


def test_what_waits_is_shown_with_every_word(alice: Client, batch: ExtractionBatch) -> None:
    listed = page(alice, "extractionbatch_changelist")
    assert "telegram:direct_u42" in listed and "Waiting" in listed
    shown = page(alice, "extractionbatch_change", batch.pk)
    assert "我的猫叫年糕" in shown and "Nice name." in shown
    assert "Extract now" in shown and "Try again" not in shown


def test_what_waits_can_be_extracted_now(alice: Client, batch: ExtractionBatch) -> None:
    assert extract(timezone.now())["extraction_batches"] == 0
    assert "within the next minute" in page(alice, "extractionbatch_extract_now", batch.pk)
    assert extract(timezone.now())["extraction_batches"] == 0  # asking did nothing
    act(alice, "extractionbatch_extract_now", batch.pk)
    assert extract(timezone.now())["extraction_batches"] == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("error", "english", "chinese"),
    [
        ("AnswerInvalid: no JSON", "answer could not be used", "模型的回答无法使用"),
        ("ModelFailed: 500", "gave no answer", "模型没有回答"),
        ("DataError: too long", "nobody foresaw", "出现了意料之外的问题"),
        (
            "3 workers ended while they worked on it.\nModelFailed: 500",
            "ended without a word",
            "没有留下任何信息就结束了",
        ),
    ],
)
def test_why_it_was_parked_is_said_in_the_reader_s_language(
    alice: Client, batch: ExtractionBatch, error: str, english: str, chinese: str
) -> None:
    ExtractionBatch.objects.update(state=BufferState.PARKED, sealed=True, error=error)
    for language, words in (("en", english), ("zh-hans", chinese)):
        alice.defaults["HTTP_ACCEPT_LANGUAGE"] = language
        shown = page(alice, "extractionbatch_change", batch.pk)
        assert words in page(alice, "extractionbatch_changelist") and words in shown
        assert error.partition("\n")[0] in shown


def test_what_was_parked_stands_out_with_its_error_and_is_tried_again(alice: Client, batch: ExtractionBatch) -> None:
    park(batch)
    listed = page(alice, "extractionbatch_changelist", state__exact="parked")
    assert "What came of it cannot be stored." in listed
    shown = page(alice, "extractionbatch_change", batch.pk)
    assert "Try again" in shown and "InvalidDraft: not what was asked for" in shown
    act(alice, "extractionbatch_retry", batch.pk)
    assert extract(timezone.now())["extraction_batches"] == 1


def test_turns_are_taken_out_only_after_asking(alice: Client, batch: ExtractionBatch) -> None:
    assert "cannot be undone" in page(alice, "extractionbatch_drop", batch.pk)
    assert held() != []
    act(alice, "extractionbatch_drop", batch.pk)
    assert held() == []
    assert LogEntry.objects.filter(object_id=str(batch.pk)).exists()


@pytest.mark.parametrize(
    ("action", "left"),
    [("extract_chosen", BufferState.WAITING), ("retry_chosen", BufferState.WAITING), ("drop_chosen", None)],
)
def test_many_are_put_right_together(alice: Client, batch: ExtractionBatch, action: str, left: str | None) -> None:
    if action == "retry_chosen":
        park(batch)
    address = reverse("admin:memories_extractionbatch_changelist")
    ticked = {"action": action, "_selected_action": [batch.pk]}
    assert alice.post(address, ticked).status_code == 200
    assert alice.post(address, ticked | YES).status_code == 302
    found = ExtractionBatch.objects.filter(pk=batch.pk).values_list("state", flat=True).first()
    assert found == left
    assert buffer.claim_next(now=timezone.now() + timedelta(seconds=1)) is not None or left is None


def test_strangers_reach_none_of_it(stranger: Workspace, batch: ExtractionBatch, event: DailyEvent) -> None:
    charlie = enter(make_user("charlie", workspace=stranger, is_staff=True))
    for name, row in (("extractionbatch", batch), ("dailyevent", event)):
        assert str(row) not in page(charlie, f"{name}_changelist")
    for name in ("extractionbatch_extract_now", "extractionbatch_retry", "extractionbatch_drop"):
        assert charlie.post(reverse(f"admin:memories_{name}", args=[batch.pk]), YES).status_code == 404
    for name in ("dailyevent_expire", "dailyevent_restore"):
        assert charlie.post(reverse(f"admin:memories_{name}", args=[event.pk]), YES).status_code == 404
    assert len(held()) == 1


def test_days_are_found_by_word_and_by_date(alice: Client, event: DailyEvent) -> None:
    assert "搬到了杭州" in page(alice, "dailyevent_changelist", q="杭州")
    assert "搬到了杭州" in page(alice, "dailyevent_changelist", q="搬")
    assert "搬到了杭州" not in page(alice, "dailyevent_changelist", q="北京")
    assert "搬到了杭州" in page(
        alice, "dailyevent_changelist", local_date_from="2026-03-01", local_date_to="2026-03-01"
    )
    assert "搬到了杭州" not in page(alice, "dailyevent_changelist", local_date_from="2026-03-02")


def test_a_correction_is_found_at_once_and_stands_in_the_history(alice: Client, api: Api, event: DailyEvent) -> None:
    address = reverse("admin:memories_dailyevent_change", args=[event.pk])
    assert alice.post(address, {"content": " "}).status_code == 200  # refused
    assert alice.post(address, {"content": "搬到了苏州", "opened_version": 1}).status_code == 302
    event.refresh_from_db()
    assert (event.content, event.version) == ("搬到了苏州", 2)
    assert [result["content"] for result in api.get("events", q="苏州").json()["results"]] == ["搬到了苏州"]
    assert Change.objects.get(table_name="memories_dailyevent", op="U").actor == "user:alice"
    result = page(alice, "dailyevent_history", event.pk)
    assert "搬到了杭州" in result and "搬到了苏州" in result


def test_an_event_is_taken_out_of_use_and_brought_back(alice: Client, api: Api, event: DailyEvent) -> None:
    assert "Nothing is deleted" in page(alice, "dailyevent_expire", event.pk)
    act(alice, "dailyevent_expire", event.pk)
    assert api.get("events").json()["results"] == []
    assert "搬到了杭州" in page(alice, "dailyevent_changelist", use="out")
    act(alice, "dailyevent_changelist", action="restore_chosen", _selected_action=[event.pk])
    assert len(api.get("events").json()["results"]) == 1
