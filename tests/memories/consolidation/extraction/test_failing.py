"""A model that is off, down, slow to come back, spent or unusable: nothing is lost, nothing is done twice (D5, D7)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.choices import BufferState
from memories.consolidation import buffer, extraction
from memories.models import Batch, Entry, ExtractionBatch, Spend, Workspace
from tests.conftest import NOW, TELEGRAM, Api
from tests.memories.consolidation.buffer.conversations import QUIET, events_by_scope, extract, held, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.llm.fake_server import FakeModel, Reply

pytestmark = pytest.mark.django_db
GOOD = answering(fact("Amy moved to Hangzhou.", "Hangzhou"))


QUOTE = {"message": "m1", "text": "moved to Hangzhou"}
STRAY = {"content": "Amy moved.", "category": "event", "importance": 0.5, "quote": [QUOTE, QUOTE | {"message": "m99"}]}
MOVED = {"content": "Amy moved to Hangzhou.", "category": "identity", "importance": 0.8, "quote": [QUOTE]}
PARTLY = {"facts": [STRAY, MOVED], "summary": "Amy moved to Hangzhou."}


@pytest.fixture
def batch(api: Api, model: FakeModel) -> ExtractionBatch:
    say(api, "I moved to Hangzhou", "Noted.", slots={"speaker": "Amy"})
    return ExtractionBatch.objects.get()


def test_without_a_model_days_are_described_and_facts_have_the_persons_own_words(
    batch: ExtractionBatch, settings: Any, model: FakeModel
) -> None:
    settings.MEMORY_LLM_BASE_URL = ""
    assert extract()["events"] == 1
    assert events_by_scope() == {"telegram:direct_u42": ["I moved to Hangzhou"]}
    assert [fact.content for fact in Entry.objects.filter(type="fact")] == ["I moved to Hangzhou"]
    assert model.calls == 0


def test_a_budget_of_nothing_is_no_model(batch: ExtractionBatch, settings: Any, model: FakeModel) -> None:
    settings.MEMORY_LLM_DAILY_TOKENS = 0
    assert (extract()["events"], model.calls, held()) == (1, 0, [])


def test_an_answer_with_a_message_it_was_not_shown_is_corrected(batch: ExtractionBatch, model: FakeModel) -> None:
    model.script = [{"facts": [STRAY], "summary": ""}, GOOD]
    assert (extract()["calls"], len(model.requests), len(model.readings)) == (3, 2, 1)
    assert "the id 'm99' is not in the data" in model.requests[1].texts[-1]
    assert Entry.objects.get(type="fact").content == "Amy moved to Hangzhou."


def test_an_answer_that_stays_unusable_parks_its_turns_with_the_error(batch: ExtractionBatch, model: FakeModel) -> None:
    model.otherwise = "I would rather not."
    counts = extract()
    assert (counts["parked"], counts["extraction_batches"], model.calls) == (1, 0, 3)
    batch.refresh_from_db()
    assert (batch.state, batch.error) == (
        BufferState.PARKED,
        "AnswerInvalid: The model's answer cannot be used: there is no JSON object in it",
    )
    assert (held(), events_by_scope()) == ([["I moved to Hangzhou", "Noted."]], {})
    assert extract(NOW + timedelta(days=2))["extraction_batches"] == 0  # until the operator says so


@pytest.mark.parametrize("last", [PARTLY, "I would rather not."], ids=["to the end", "and then nothing"])
def test_a_fact_that_stays_unusable_does_not_hold_up_the_others(
    batch: ExtractionBatch, model: FakeModel, last: Any
) -> None:
    model.script = [PARTLY, PARTLY, last]
    counts = extract()
    assert (counts["facts"], counts["unreadable"], counts["parked"], len(model.requests)) == (1, 1, 0, 3)
    assert Entry.objects.get(type="fact").content == "Amy moved to Hangzhou."
    assert Batch.objects.get().cost["unreadable"] == 1  # for the operator to see
    assert (held(), events_by_scope()) == ([], {"telegram:direct_u42": ["Amy moved to Hangzhou."]})
    assert Spend.objects.get(purpose="extraction").failures == 3


def test_a_corrected_answer_is_taken_whole(batch: ExtractionBatch, model: FakeModel) -> None:
    model.script = [PARTLY, {"facts": [MOVED], "summary": ""}]
    counts = extract()
    assert (counts["facts"], counts["unreadable"], len(model.requests)) == (1, 0, 2)


@pytest.mark.parametrize(
    "answer",
    [{"facts": [STRAY, STRAY], "summary": ""}, {"facts": [STRAY, MOVED], "summary": "Amy. " * 60}, {"facts": [MOVED]}],
    ids=["no fact is right", "its summary is too long", "it has no summary"],
)
def test_where_more_is_wrong_than_some_of_the_facts_all_of_it_is_parked(
    batch: ExtractionBatch, model: FakeModel, answer: Any
) -> None:
    model.otherwise = answer
    counts = extract()
    assert (counts["parked"], counts["facts"]) == (1, 0)
    assert held() == [["I moved to Hangzhou", "Noted."]]


@pytest.mark.thorough
def test_a_model_that_is_down_is_waited_for(batch: ExtractionBatch, model: FakeModel) -> None:
    model.otherwise = Reply(status=503)
    at, tries = NOW + QUIET, 0
    while at < NOW + timedelta(hours=6):
        tries += extract(at).get("waiting", 0)
        at += timedelta(minutes=1)
    assert 5 < tries < 15  # ever later, at least every hour
    batch.refresh_from_db()
    assert (batch.state, batch.attempts) == (BufferState.WAITING, tries)
    assert batch.error == "ModelFailed: The model gave no answer: The model's endpoint answered 503."
    model.otherwise = GOOD
    assert extract(NOW + timedelta(hours=7))["facts"] == 1
    assert held() == []


@pytest.mark.thorough
def test_one_that_is_down_for_a_day_parks_the_turns_for_all_to_see(batch: ExtractionBatch, model: FakeModel) -> None:
    model.otherwise = Reply(status=401)
    at, counts = NOW + QUIET, [0, 0]
    while not counts[1]:
        count = extract(at)
        counts = [counts[0] + count.get("waiting", 0), count["parked"]]
        at += timedelta(hours=1)
    assert counts == [29, 1]
    assert held() == [["I moved to Hangzhou", "Noted."]]


def test_a_machine_that_was_off_for_days_does_not_park_what_it_finds(batch: ExtractionBatch, model: FakeModel) -> None:
    model.otherwise = Reply(status=503)
    counts = extract(NOW + timedelta(days=3))
    assert (counts["waiting"], counts["parked"]) == (1, 0)


@pytest.mark.thorough
def test_a_run_does_not_go_on_with_a_model_that_is_down(api: Api, model: FakeModel) -> None:
    for n in range(6):
        say(api, "I moved to Berlin", "Noted.", address={**TELEGRAM, "peer": f"p{n}", "chat": f"c{n}"})
    model.otherwise = Reply(status=401)
    assert extract()["waiting"] == 3
    assert model.calls == 3


def test_when_the_budget_is_spent_turns_wait_for_midnight(
    batch: ExtractionBatch, model: FakeModel, settings: Any, workspace: Workspace
) -> None:
    Workspace.objects.update(time_zone="Asia/Shanghai")
    settings.MEMORY_LLM_DAILY_TOKENS = 100
    assert extract()["waiting"] == 1
    assert model.calls == 0
    batch.refresh_from_db()
    midnight = datetime(2026, 3, 1, 16, 0, tzinfo=UTC)
    assert (batch.state, batch.due_at, batch.attempts) == (BufferState.WAITING, midnight, 0)
    assert batch.error.startswith("BudgetSpent:")
    assert Spend.objects.get().refused == 1
    settings.MEMORY_LLM_DAILY_TOKENS = 100_000
    model.script = [GOOD]
    assert extract(midnight - timedelta(seconds=1))["extraction_batches"] == 0
    assert extract(midnight)["facts"] == 1


def test_a_claim_outlasts_the_longest_question_and_the_reading_of_its_answer(
    batch: ExtractionBatch, model: FakeModel, settings: Any
) -> None:
    settings.MEMORY_LLM_TOTAL_SECONDS = 600.0
    assert buffer.claim_next(now=NOW + QUIET) is not None
    assert buffer.claim_next(now=NOW + QUIET + timedelta(minutes=24)) is None
    assert buffer.claim_next(now=NOW + QUIET + timedelta(minutes=25)) is not None


def test_answers_that_come_too_late_are_stored_by_nobody(batch: ExtractionBatch, model: FakeModel) -> None:
    """Somebody else took the extraction batch, or dropped it, while the model was thinking."""

    ask = extraction.ask

    def answer_late(*args: Any, **kwargs: Any) -> Any:
        answered = ask(*args, **kwargs)
        ExtractionBatch.objects.all().delete()
        return answered

    model.script = [GOOD]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extraction, "ask", answer_late)
        assert extract()["lost"] == 1
    assert Entry.objects.filter(type="fact").count() == 0
