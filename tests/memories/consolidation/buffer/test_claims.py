"""One worker at a time, under a claim that ends by itself: nothing is lost, nothing is extracted twice (D5)."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation

from memories.choices import BufferState
from memories.consolidation import buffer, extraction
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.exceptions import InvalidDraft
from memories.models import DailyEvent, ExtractionBatch, Workspace
from tests.conftest import NOW, TELEGRAM, Api
from tests.memories.consolidation.buffer.conversations import QUIET, events_by_scope, extract, held, say

pytestmark = pytest.mark.django_db
READY = NOW + QUIET
LEASE = timedelta(minutes=5)


@pytest.fixture(autouse=True)
def clock(settings: Any) -> None:
    settings.TEST_CLOCK = True


@pytest.fixture
def batch(api: Api) -> ExtractionBatch:
    say(api, "I moved to Hangzhou", "Noted.")
    return ExtractionBatch.objects.get()


def claim(at: Any = READY) -> ExtractionBatch:
    claimed = buffer.claim_next(now=at)
    assert claimed is not None
    return claimed


def days_of(claimed: ExtractionBatch) -> list[EventDraft]:
    ((_answered, result),) = extraction.read_answers([extraction.ask(claimed, now=READY)], now=READY)
    return result.days


def test_what_somebody_works_on_nobody_else_takes(batch: ExtractionBatch) -> None:
    claimed = claim()
    assert [message.content for turn in claimed.turns.all() for message in buffer.messages_of(turn)] == [
        "I moved to Hangzhou",
        "Noted.",
    ]
    assert buffer.messages_of(claimed.turns.all()[0])[0].at == NOW
    assert buffer.claim_next(now=READY) is None


def test_what_is_said_meanwhile_waits_in_an_extraction_batch_of_its_own(api: Api, batch: ExtractionBatch) -> None:
    claimed = claim()
    say(api, "My cat is called Rice", "Nice.", at=READY)
    assert len(claimed.turns.all()) == 1
    with buffer.completing(claimed):
        pass
    assert held() == [["My cat is called Rice", "Nice."]]


def test_a_claim_that_ran_out_is_given_to_another_and_the_first_stores_nothing(batch: ExtractionBatch) -> None:
    first = claim()
    second = claim(READY + LEASE)
    assert (first.attempts, second.attempts) == (1, 2)
    with pytest.raises(buffer.ClaimLost), buffer.completing(first):
        raise AssertionError("it stores nothing")
    assert buffer.fail(first, "late", now=READY + LEASE) is False
    with buffer.completing(second):
        daily_events.write(days_of(second), now=READY, actor="test")
    assert DailyEvent.objects.count() == 1 and held() == []


def test_a_slow_worker_may_still_finish_while_nobody_else_has_begun(batch: ExtractionBatch) -> None:
    claimed = claim()
    with buffer.completing(claimed):
        pass
    assert held() == []
    with pytest.raises(buffer.ClaimLost), buffer.completing(claimed):
        raise AssertionError("it has left already")


def test_results_and_buffer_change_together(batch: ExtractionBatch) -> None:
    claimed = claim()
    with pytest.raises(ConnectionAbortedError), buffer.completing(claimed):
        daily_events.write(days_of(claimed), now=READY, actor="test")
        raise ConnectionAbortedError
    assert events_by_scope() == {} and len(held()) == 1


def test_what_fails_is_tried_again_later_and_then_parked_for_all_to_see(
    batch: ExtractionBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_batch: ExtractionBatch, **_kwargs: Any) -> extraction.Answered:
        raise InvalidDraft("not what was asked for")

    monkeypatch.setattr(extraction, "ask", refuse)
    moments = [READY, READY + timedelta(seconds=59), READY + timedelta(minutes=1), READY + timedelta(minutes=3)]
    counts = [extract(moment) for moment in moments]
    assert [(count["failed"], count["parked"]) for count in counts] == [(1, 0), (0, 0), (1, 0), (0, 1)]
    batch.refresh_from_db()
    assert (batch.state, batch.attempts, batch.claim) == (BufferState.PARKED, 3, None)
    assert batch.error == "InvalidDraft: not what was asked for"
    assert extract(READY + timedelta(days=30))["extraction_batches"] == 0
    assert len(held()) == 1
    monkeypatch.undo()
    assert buffer.retry(ExtractionBatch.objects.all(), now=READY) == 1
    assert extract(READY)["events"] == 1
    assert held() == []


def test_one_that_ends_its_workers_is_parked_too(batch: ExtractionBatch) -> None:
    at = READY
    for _attempt in range(3):
        assert claim(at).attempts <= 3
        at += LEASE
    with translation.override("en"):
        assert buffer.claim_next(now=at) is None
    batch.refresh_from_db()
    assert (batch.state, batch.attempts) == (BufferState.PARKED, 3)
    assert batch.error == "3 workers ended while they worked on it."


def test_one_that_fails_holds_up_no_other(api: Api, batch: ExtractionBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    say(api, "I moved to Berlin", "Noted.", address={**TELEGRAM, "peer": "u43", "chat": "c8"})
    ask = extraction.ask

    def refuse_the_first(claimed: ExtractionBatch, **kwargs: Any) -> extraction.Answered:
        if claimed.pk == batch.pk:
            raise InvalidDraft
        return ask(claimed, **kwargs)

    monkeypatch.setattr(extraction, "ask", refuse_the_first)
    counts = Counter(extract())
    assert (counts["failed"], counts["extraction_batches"]) == (1, 1)
    assert events_by_scope() == {"telegram:direct_u43": ["I moved to Berlin"]}


def test_a_run_ends_when_its_time_is_up(api: Api, batch: ExtractionBatch) -> None:
    say(api, "I moved to Berlin", "Noted.", address={**TELEGRAM, "peer": "u43", "chat": "c8"})
    ticks = iter(READY + timedelta(seconds=20 * n) for n in range(100))
    assert extraction.extract_ready(lambda: next(ticks))["extraction_batches"] == 1


def test_sealed_ones_are_due_at_once_and_parked_ones_are_not(
    api: Api, batch: ExtractionBatch, workspace: Workspace
) -> None:
    assert buffer.seal(extraction.waiting_in(workspace.pk), now=NOW) == 1
    assert buffer.seal(extraction.waiting_in(workspace.pk), now=NOW) == 0
    assert extract(NOW)["extraction_batches"] == 1
