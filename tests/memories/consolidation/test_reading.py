"""The second reading: one question for all claims, with decoys among them; who falls for one is not believed (D5)."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memories import llm
from memories.choices import Reading
from memories.consolidation import reading
from memories.consolidation.reading import Claim, ReadingResult, Sources
from memories.models import Spend, Workspace
from tests.conftest import NOW
from tests.memories.llm.conftest import point_to
from tests.memories.llm.fake_server import Asked, FakeModel, Reply, credulous, verdicts

pytestmark = pytest.mark.django_db
SAID = {
    "m1": "No pesto for me, nuts make me swell up.",
    "m2": "We moved to Hangzhou in 2019 with our two cats.",
    "m3": "我对海鲜过敏，喜欢喝绿茶。",
}
SOURCES = Sources({pk: {"speaker": "Sam", "on": "2026-03-01", "text": words} for pk, words in SAID.items()}, {"Sam"})
CLAIMS = [
    Claim("Sam is allergic to nuts.", [("m1", "nuts make me swell up")]),
    Claim("Sam moved to Hangzhou in 2019.", [("m2", "moved to Hangzhou in 2019")]),
    Claim("Sam has two cats.", [("m2", "our two cats")]),
    Claim("用户对海鲜过敏。", [("m3", "我对海鲜过敏")]),
    Claim("用户喜欢喝绿茶。", [("m3", "喜欢喝绿茶")]),
]
STATED = {claim.statement for claim in CLAIMS}


@pytest.fixture
def model(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    monkeypatch.setattr(llm, "_BACKOFF", 0.005)
    with FakeModel() as fake:
        point_to(settings, fake.url)
        fake.offered = set(STATED)
        yield fake


@pytest.fixture
def read(workspace: Workspace) -> Callable[..., ReadingResult]:
    return lambda *claims: reading.read(claims or CLAIMS, SOURCES, workspace, now=NOW)


def all_of(result: ReadingResult, count: int = len(CLAIMS)) -> list[Reading]:
    return [result.of(n) for n in range(count)]


def asked_about(request: Asked) -> list[str]:
    return [claim["statement"] for claim in request.data["claims"]]


def test_every_claim_gets_the_verdict_on_it(read: Any, model: FakeModel) -> None:
    model.verdicts = {"Sam has two cats.": "contradicted", "用户喜欢喝绿茶。": "unsure"}
    result = read()
    assert all_of(result) == [
        Reading.ENTAILED, Reading.ENTAILED, Reading.CONTRADICTED, Reading.ENTAILED, Reading.UNSURE,
    ]  # fmt: skip
    assert (result.model, result.calls, len(model.readings)) == ("small", 1, 1)
    spend = Spend.objects.get(purpose="verification")
    assert result.tokens == model.tokens == spend.prompt_tokens + spend.completion_tokens
    assert result.counts == {"read": 5, "decoys": 3, "decoys_passed": 0}


def test_it_is_shown_the_words_in_what_was_said_and_no_reasons(read: Any, model: FakeModel) -> None:
    read()
    (reading,) = model.readings
    assert [source["text"] for source in reading.data["sources"]] == list(SAID.values())
    shown = {claim["statement"]: claim for claim in reading.data["claims"]}
    assert shown["Sam has two cats."]["quotes"] == [{"source": "m2", "text": "our two cats"}]
    assert {frozenset(claim) for claim in reading.data["claims"]} == {frozenset({"id", "statement", "quotes"})}


def test_decoys_look_like_the_claims_they_are_among(read: Any, model: FakeModel) -> None:
    read()
    claims = model.readings[0].data["claims"]
    made = [claim for claim in claims if claim["statement"] not in STATED]
    assert len(made) == 3 and len({claim["statement"] for claim in made}) == 3
    assert [claim["id"] for claim in claims] == [f"c{n}" for n in range(1, 9)]
    assert all(claim["quotes"] in [claim["quotes"] for claim in claims if claim not in made] for claim in made)


def test_there_are_more_decoys_among_more_claims(read: Any, model: FakeModel) -> None:
    for count, decoys in ((20, 5), (100, 12)):
        many = [Claim(f"Sam counted {n} geese.", [("m1", f"{n} geese")]) for n in range(100, 100 + count)]
        assert read(*many).counts["decoys"] == decoys


def test_a_summary_is_turned_round_only_where_there_is_nothing_else(read: Any, model: FakeModel) -> None:
    """It may be mistaken, and its opposite true: an honest reader would not be believed."""
    mistaken = Claim("Sam does not like tea.")
    for _turn in range(5):
        read(*CLAIMS, mistaken)
        assert not any("like tea" in item and item != mistaken.statement for item in asked_about(model.readings[-1]))
    assert read(mistaken).counts["decoys"] > 0


def test_the_order_is_left_to_chance(read: Any, model: FakeModel) -> None:
    places = set()
    for _turn in range(8):
        read()
        order = asked_about(model.readings[-1])
        places.add(tuple(order.index(claim.statement) for claim in CLAIMS))
    assert len(places) > 1


def test_a_reader_that_believes_everything_is_not_believed(read: Any, model: FakeModel) -> None:
    model.reader = credulous
    result = read()
    assert all_of(result) == [Reading.UNSURE] * 5
    assert result.counts["decoys_passed"] == result.counts["decoys"] == 3


def test_one_decoy_it_falls_for_is_enough(read: Any, model: FakeModel) -> None:
    def nearly_honest(asked: Asked) -> Any:
        decoy = next(item for item in asked_about(asked) if item not in STATED)
        return verdicts(asked, lambda words: "entailed" if words in STATED or words == decoy else "not_stated")

    model.reader = nearly_honest
    result = read()
    assert (all_of(result), result.counts["decoys_passed"]) == ([Reading.UNSURE] * 5, 1)


def test_whoever_offers_a_statement_with_its_opposites_leaves_room_for_a_decoy(read: Any, model: FakeModel) -> None:
    model.reader = credulous
    opposites = ["tea is good", "tea is not good", "It is not true that: tea is good"]
    result = read(*[Claim(opposite, [("m1", "tea is good")]) for opposite in opposites])
    assert result.counts["decoys_passed"] == result.counts["decoys"] > 0
    assert all_of(result, 3) == [Reading.UNSURE] * 3


def test_a_claim_it_does_not_name_stays_unsure(read: Any, model: FakeModel) -> None:
    def silent(asked: Asked) -> Any:
        answer = verdicts(asked, lambda words: "entailed" if words in STATED else "not_stated")
        silenced = {claim["id"] for claim in asked.data["claims"] if "cats" in claim["statement"]}
        return {"verdicts": [verdict for verdict in answer["verdicts"] if verdict["id"] not in silenced]}

    model.reader = silent
    result = read()
    assert (result.of(2), result.of(0)) == (Reading.UNSURE, Reading.ENTAILED)


@pytest.mark.parametrize(
    "answer",
    [Reply(status=401), "I would rather not.", {"verdicts": [{"id": "c99", "verdict": "entailed"}]}, {}],
    ids=["fails", "is no answer", "names what it was not shown", "is empty"],
)
def test_without_an_answer_everything_stays_unsure_and_is_counted(read: Any, model: FakeModel, answer: Any) -> None:
    model.reader = lambda _asked: answer
    result = read()
    assert (all_of(result), result.counts) == ([Reading.UNSURE] * 5, {"unread": 5})


def test_when_the_budget_is_spent_nothing_is_sent(read: Any, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_LLM_DAILY_TOKENS = 100
    assert (read().counts, model.readings) == ({"unread": 5}, [])


@pytest.mark.parametrize(("name", "value"), [("MEMORY_VERIFY", False), ("MEMORY_LLM_BASE_URL", "")])
def test_switched_off_nothing_is_asked(read: Any, model: FakeModel, settings: Any, name: str, value: Any) -> None:
    setattr(settings, name, value)
    result = read()
    assert (all_of(result), result.counts, model.readings) == ([Reading.UNSURE] * 5, {}, [])


def test_nothing_to_read_is_no_question(read: Any, model: FakeModel, workspace: Workspace) -> None:
    assert reading.read([], SOURCES, workspace, now=NOW).verdicts == []
    assert model.readings == []


def test_another_model_may_read(read: Any, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_VERIFY_MODEL = "large"
    assert read().model == "large"
    assert model.readings[0].body["model"] == "large"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_it_is_asked_in_the_language_of_the_workspace(
    read: Any, model: FakeModel, workspace: Workspace, language: str
) -> None:
    workspace.language = language
    read()
    assert ("核对" in model.readings[0].texts[0]) == (language == "zh-hans")
