"""Facts are checked, mended once by the model, and read a second time; what is not read does nothing (D5)."""

from datetime import timedelta
from typing import Any

import pytest

from memories.choices import BatchState, Refusal, Verification
from memories.models import Batch, Entry, RefusedFact
from tests.conftest import NOW, Api
from tests.memories.consolidation.buffer.conversations import QUIET, events_by_scope, extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.llm.fake_server import FakeModel, Reply, credulous, verdicts

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)
NUTS = fact("Sam is allergic to nuts.", "nuts make me swell up")
DESK = fact("Sam's desk is by the window.", "my desk is by the window")
BUILD = fact("Sam runs v2.3.1-rc4.", "my desk is by the window")
LIMA = fact("Sam moved to Lima.", "my desk is by the window")


def facts() -> dict[str, str]:
    """Facts in use, with how sure they are."""
    return dict(Entry.objects.live().filter(type="fact").order_by("pk").values_list("content", "verification"))


@pytest.fixture
def nuts_turn(api: Api, model: FakeModel) -> None:
    say(api, "nuts make me swell up, and my desk is by the window", "Noted.", slots={"speaker": "Sam"})


def test_a_paraphrase_is_kept_and_verified(nuts_turn: None, model: FakeModel) -> None:
    model.script = [answering(NUTS)]
    counts = extract()
    assert facts() == {"Sam is allergic to nuts.": Verification.VERIFIED}
    assert (counts["verified"], counts["refused"], counts["decoys_passed"]) == (1, 0, 0)


def test_the_model_is_told_once_what_was_wrong_with_which_fact(nuts_turn: None, model: FakeModel) -> None:
    model.otherwise = answering(NUTS, BUILD, fact("Sam agreed.", "Noted"))
    assert extract()["refused"] == 2
    first, second = model.requests
    objection = second.texts[-1]
    assert "facts.1: Nobody said an address or code of it." in objection
    assert "facts.2: Only the bot said it." in objection
    assert "facts.0" not in objection
    assert len(first.texts) == 2
    assert facts() == {"Sam is allergic to nuts.": Verification.VERIFIED}


def test_a_mended_fact_is_kept_with_the_sound_ones_the_model_did_not_repeat(nuts_turn: None, model: FakeModel) -> None:
    moved = fact("Sam sits by the window.", "my desk is by the window")
    model.script = [answering(NUTS, DESK, BUILD), answering(DESK, moved)]
    assert extract()["refused"] == 0
    assert set(facts()) == {"Sam is allergic to nuts.", "Sam's desk is by the window.", "Sam sits by the window."}
    assert len(model.requests) == 2
    assert not RefusedFact.objects.exists()


@pytest.mark.thorough
@pytest.mark.parametrize("reader", ["agrees", "is unsure", "is credulous", "is off"])
def test_a_doubt_is_dispelled_by_a_reader_that_is_believed_and_agrees(
    nuts_turn: None, model: FakeModel, reader: str, settings: Any
) -> None:
    model.otherwise = answering(NUTS, LIMA)
    model.verdicts = {LIMA["content"]: "unsure" if reader == "is unsure" else "entailed"}
    if reader == "is credulous":
        model.reader = credulous
    elif reader == "is off":
        settings.MEMORY_VERIFY = False
    extract()
    refused = dict(RefusedFact.objects.values_list("content", "reason"))
    assert refused == ({} if reader == "agrees" else {LIMA["content"]: Refusal.NAME})
    assert facts().get(LIMA["content"]) == (Verification.VERIFIED if reader == "agrees" else None)
    assert len(model.requests) == (2 if reader == "is off" else 1)  # nobody else can dispel it: it is sent back


def test_an_answer_with_nothing_wrong_is_not_sent_back(nuts_turn: None, model: FakeModel) -> None:
    model.script = [answering(NUTS, DESK)]
    extract()
    assert (len(model.requests), len(model.readings)) == (1, 1)


def test_the_reader_does_not_see_what_the_first_answer_said_of_its_facts(nuts_turn: None, model: FakeModel) -> None:
    reasoned = {**NUTS, "topic": "becauseisaidso", "importance": 1.0}
    model.script = [answering(reasoned, summary="Sam told of an allergy, and that is becauseisaidso.")]
    extract()
    (reading,) = model.readings
    shown = [claim for claim in reading.data["claims"] if claim["quotes"]]
    assert all(set(claim) == {"id", "statement", "quotes"} for claim in shown)
    assert "becauseisaidso" not in str(shown) and "replaces" not in str(reading.data)
    assert len(reading.texts) == 2  # our words and the data, and no answer from before


@pytest.mark.thorough
@pytest.mark.parametrize("verdict", ["contradicted", "not_stated", "unsure"])
def test_what_the_reader_says_decides(nuts_turn: None, model: FakeModel, verdict: str) -> None:
    model.script = [answering(NUTS, DESK)]
    model.verdicts = {NUTS["content"]: verdict}
    extract()
    assert facts().get(NUTS["content"]) == (Verification.QUOTED if verdict == "unsure" else None)
    assert facts()[DESK["content"]] == Verification.VERIFIED
    refused = dict(RefusedFact.objects.values_list("content", "reason"))
    assert refused == ({} if verdict == "unsure" else {NUTS["content"]: Refusal(verdict)})


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["credulous", "fails", "off", "the budget is spent"])
def test_what_nobody_who_is_believed_has_read_is_quoted(
    nuts_turn: None, model: FakeModel, how: str, settings: Any
) -> None:
    model.script = [answering(NUTS, DESK, summary="Sam told of nuts and a desk.")]
    first = model.script[0]

    def spending(asked: Any) -> Any:
        settings.MEMORY_LLM_DAILY_TOKENS = 1
        return first(asked)

    if how == "off":
        settings.MEMORY_VERIFY = False
    elif how == "the budget is spent":
        model.script = [spending]
    else:
        model.reader = credulous if how == "credulous" else lambda _asked: Reply(status=401)
    counts = extract()
    assert facts() == {NUTS["content"]: Verification.QUOTED, DESK["content"]: Verification.QUOTED}
    assert (counts["facts"], counts["verified"], counts["refused"]) == (2, 0, 0)
    assert (counts.get("decoys_passed", 0) > 0) == (how == "credulous")
    assert (counts.get("unread", 0) > 0) == (how in ("fails", "the budget is spent"))
    summary = (
        "nuts make me swell up, and my desk is by the window" if how == "credulous" else "Sam told of nuts and a desk."
    )
    assert events_by_scope() == {"telegram:direct_u42": [summary]}


def test_quoted_facts_replace_nothing_and_ask_nobody(api: Api, model: FakeModel) -> None:
    say(api, "The port of staging is 8080.", "Noted.")
    model.script = [answering(fact("The port of staging is 8080."))]
    extract()
    model.reader = credulous
    say(api, "The port of staging is 9090.", "Noted.", at=LATER)
    model.script = [answering(fact("The port of staging is 9090.", replaces="8080"))]
    counts = extract(LATER + QUIET)
    assert (counts["replaced"], counts["proposed"]) == (0, 0)
    assert facts() == {
        "The port of staging is 8080.": Verification.VERIFIED,
        "The port of staging is 9090.": Verification.QUOTED,
    }
    assert not Batch.objects.filter(state=BatchState.PROPOSED).exists()


@pytest.mark.thorough
@pytest.mark.parametrize(("reading", "replaced"), [("contradicted", 1), ("not_stated", 0)])
def test_where_model_and_reader_agree_it_is_replaced_though_the_words_do_not_conflict(
    api: Api, model: FakeModel, reading: str, replaced: int
) -> None:
    say(api, "Mia likes tea.", "Noted.")
    model.script = [answering(fact("Mia likes tea."))]
    extract()
    model.reader = lambda asked: verdicts(
        asked,
        lambda statement: {"Mia drinks only coffee now.": "entailed", "Mia likes tea.": reading}.get(
            statement, "not_stated"
        ),
    )
    say(api, "Mia drinks only coffee now.", "Noted.", at=LATER)
    model.script = [answering(fact("Mia drinks only coffee now.", replaces="likes tea"))]
    counts = extract(LATER + QUIET)
    assert (counts["replaced"], counts["proposed"]) == (replaced, 0)


def test_a_sentence_of_the_summary_the_reader_refuses_is_left_out_alone(nuts_turn: None, model: FakeModel) -> None:
    good, bad = "Sam is allergic to nuts.", "Sam hates windows."
    model.script = [answering(summary=f"{good} {bad}")]
    model.verdicts = {bad: "contradicted"}
    extract()
    assert events_by_scope() == {"telegram:direct_u42": [good]}
