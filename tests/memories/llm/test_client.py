"""The machine's own model (D7): off until named, asked in words it understands, believed only when it fits."""

import json
import time
from datetime import datetime
from typing import Any

import pytest
from django.db import transaction

from memories import llm
from memories.api.errors import STATUSES
from memories.choices import Category
from memories.exceptions import AnswerInvalid, BudgetSpent, ModelFailed, ModelOff
from memories.llm import client, prompts, schemas
from memories.models import Spend, Workspace
from tests.memories.llm.conftest import GOOD, extract, point_to
from tests.memories.llm.fake_server import FakeModel, Reply

pytestmark = pytest.mark.django_db


def test_it_works(model: FakeModel, workspace: Workspace, now: datetime) -> None:
    model.script = [GOOD]
    answer = extract(workspace, now)
    (fact,) = answer.value.facts
    assert (fact.content, fact.category, fact.subject) == ("米娅的猫叫年糕。", Category.IDENTITY, "speaker")
    assert [(item.message, item.text) for item in fact.quote] == [("m1", "我的猫叫年糕")]
    assert answer.value.summary == "米娅说起她的猫。"
    assert (answer.calls, answer.model, answer.tokens) == (1, "small", model.tokens)
    (request,) = model.requests
    assert request.path == "/v1/chat/completions"
    assert (request.body["temperature"], request.body["max_tokens"]) == (0.3, 4096)
    shape = request.body["response_format"]["json_schema"]
    assert (shape["name"], shape["strict"]) == ("extraction", True)
    assert set(shape["schema"]["required"]) == {"facts", "summary"}


def test_it_is_off_until_an_address_and_a_model_are_named(settings: Any, workspace: Workspace, now: datetime) -> None:
    for url, name in (("", ""), ("http://127.0.0.1:9/v1", ""), ("", "small")):
        settings.MEMORY_LLM_BASE_URL, settings.MEMORY_LLM_MODEL = url, name
        assert not llm.is_on()
        with pytest.raises(ModelOff):
            extract(workspace, now)
    assert not Spend.objects.exists()


@pytest.mark.parametrize(
    "statement",
    [
        "```json\n{}\n```",
        "Here you are:\n\n{}\n\nI hope that helps {{you}}!",
        '<think>First {{"facts": [], "summary": "a draft"}}, then …</think>\n{}',
        'An example would be {{"facts": [{{"content": 5}}], "summary": 1}}. The answer: {}',
        "好的，结果如下：{}。",
        "{}\n{{}}",
        "[{}]",
        '{{"broken": [ {} ]',
    ],
)
def test_what_stands_around_an_answer_is_passed_over(
    statement: str, model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.script = [statement.format(json.dumps(GOOD))]
    assert extract(workspace, now).value.facts[0].content == "米娅的猫叫年糕。"
    assert model.calls == 1


def changed(**fact: Any) -> dict[str, Any]:
    return {**GOOD, "facts": [{**GOOD["facts"][0], **fact}]}


INVALID = {
    "no object": "I cannot help with that.",
    "nothing": None,
    "an empty object": {},
    "cut off": json.dumps(GOOD)[:-20],
    "an unknown message": changed(quote=[{"message": "m3", "text": "我的猫叫年糕"}]),
    "a message nobody numbered": changed(quote=[{"message": {"id": "m1"}, "text": "我的猫叫年糕"}]),
    "no quote": changed(quote=[]),
    "a quote of no message": changed(quote=["我的猫叫年糕"]),
    "a quote without words": changed(quote=[{"message": "m1", "text": "…"}]),
    "too many quotes": changed(quote=[{"message": "m1", "text": "我的猫"}] * 6),
    "an unknown category": changed(category="order"),
    "a huge importance": changed(importance=1e15),
    "an importance that is no number": json.dumps(changed(importance=0.5)).replace("0.5", "NaN"),
    "an empty fact": changed(content=" \n "),
    "61 words": changed(content="word " * 61),
    "101 characters": changed(content="猫" * 101),
    "one endless word": changed(content="w" * 601),
    "a project with an endless name": changed(project="p" * 101),
    "an endless summary": {**GOOD, "summary": "s" * 201},
    "too many facts": {**GOOD, "facts": GOOD["facts"] * 51},
    "nested without end": '{"facts": ' * 5_000,
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", INVALID)
def test_an_answer_that_does_not_fit_is_never_believed(
    kind: str, model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    """Also when the server promised the schema."""
    model.script = [Reply(INVALID[kind])]
    assert extract(workspace, now).calls == 2  # asked again, and answered well
    model.otherwise = Reply(INVALID[kind])
    with pytest.raises(AnswerInvalid):
        extract(workspace, now)
    assert model.calls == 2 + 3
    spend = Spend.objects.get()
    assert (spend.calls, spend.failures, spend.reserved_tokens) == (5, 4, 0)


@pytest.mark.parametrize("content", ["word " * 60, "猫" * 100, "猫，" * 50 + "cat " * 30, "it’s a well-known fact"])
def test_a_fact_of_the_longest_length_is_taken(
    content: str, model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.script = [changed(content=content)]
    assert extract(workspace, now).calls == 1


@pytest.mark.parametrize(
    "written",
    [
        {"quote": "我的猫叫年糕", "messages": ["m1"]},
        {"quote": ["我的猫叫年糕"], "messages": ["m1"]},
        {"quote": ["我的猫叫年糕"], "message": "m1"},
        {"quote": {"message": "m1", "text": "我的猫叫年糕"}},
        {"quote": [{"text": "我的猫叫年糕"}], "messages": ["m1"]},
    ],
)
def test_a_quote_is_understood_as_small_models_write_it(
    written: dict[str, Any], model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.script = [changed(**written)]
    ((quote,),) = (fact.quote for fact in extract(workspace, now).value.facts)
    assert ((quote.message, quote.text), model.calls) == (("m1", "我的猫叫年糕"), 1)


def test_the_model_is_told_what_was_wrong(model: FakeModel, workspace: Workspace, now: datetime) -> None:
    model.script = [
        changed(quote=[{"message": "m9", "text": "我的猫"}]),
        Reply(json.dumps(GOOD)[:40], finish_reason="length"),
        GOOD,
    ]
    assert extract(workspace, now).calls == 3
    first, second, third = (request.body["messages"] for request in model.requests)
    assert second[:2] == first
    assert [message["role"] for message in second[2:]] == ["assistant", "user"]
    assert "facts.0.quote.0.message: Value error, the id 'm9' is not in the data" in second[3]["content"]
    assert "cut off" in third[3]["content"]
    assert len(third) == 4  # only the last answer goes back: a question does not grow with every failure


def test_a_server_that_knows_no_schema_is_asked_in_poorer_words(
    model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.refused_forms = {"json_schema", "json_object"}
    extract(workspace, now)
    assert [request.form for request in model.requests] == ["json_schema", "json_object", "json_object", "text"]
    beside = ["schema" in request.body.get("response_format", {}) for request in model.requests]
    assert beside == [False, True, False, False]  # some servers take it beside a JSON object
    assert '"additionalProperties": false' in model.requests[-1].texts[0]
    extract(workspace, now)
    assert [request.form for request in model.requests[4:]] == ["text"]  # remembered
    assert (Spend.objects.get().calls, Spend.objects.get().failures) == (2, 0)


def test_a_server_may_want_other_words_for_the_rest(model: FakeModel, workspace: Workspace, now: datetime) -> None:
    model.refused_options = {"max_tokens", "temperature"}
    extract(workspace, now)
    last = model.requests[-1]
    assert last.body["max_completion_tokens"] == 4096
    assert "temperature" not in last.body
    assert last.form == "json_schema"


def test_a_question_that_is_too_long_is_not_asked_again_in_poorer_words(
    model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.otherwise = Reply(status=400, body=b'{"error": {"message": "maximum context length is 4096 tokens"}}')
    with pytest.raises(ModelFailed):
        extract(workspace, now)
    assert model.calls == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_a_failure_that_may_pass_is_tried_again(
    status: int, model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.script = [Reply(status=status), Reply(status=status)]
    assert extract(workspace, now).calls == 3
    spend = Spend.objects.get()
    assert (spend.calls, spend.failures, spend.reserved_tokens) == (3, 2, 0)


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "0.4"},
        {"Retry-After-Ms": "400"},
        {"Retry-After": "Sun, 01 Mar 2026 09:00:01 GMT", "Date": "Sun, 01 Mar 2026 09:00:00 GMT"},
    ],
)
def test_a_server_is_left_alone_as_long_as_it_asks(
    headers: dict[str, str], model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.script = [Reply(status=429, headers=headers)]
    begun = time.monotonic()
    extract(workspace, now)
    assert time.monotonic() - begun > 0.39


def test_nobody_waits_longer_than_there_is_time(model: FakeModel, workspace: Workspace, now: datetime) -> None:
    model.script = [Reply(status=503, headers={"Retry-After": "60"})]
    begun = time.monotonic()
    with pytest.raises(ModelFailed):
        extract(workspace, now, seconds=2.0)
    assert time.monotonic() - begun < 20
    assert model.calls == 1


@pytest.mark.thorough
@pytest.mark.parametrize("slow", [{"seconds": 4.0}, {"drip": 0.05}])
def test_an_answer_that_takes_too_long_is_given_up_and_counted(
    slow: dict[str, float], model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_SECONDS = 0.3
    settings.MEMORY_LLM_RETRIES = 0
    model.script = [Reply(GOOD, **slow)]
    begun = time.monotonic()
    with pytest.raises(ModelFailed, match="did not answer in time"):
        extract(workspace, now)
    assert time.monotonic() - begun < 3
    spend = Spend.objects.get()
    assert spend.completion_tokens == 4096  # the server may have worked on it
    assert spend.reserved_tokens == 0


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"<html>", b'{"choices": []}', b'{"choices": [{"message": 5}]}', b"\xff\xfe"]
)
def test_a_server_that_talks_of_something_else_has_given_no_answer(
    body: bytes, model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.otherwise = Reply(body=body)
    with pytest.raises(ModelFailed):
        extract(workspace, now)
    assert model.calls == 3


def test_nobody_at_home_costs_nothing(settings: Any, workspace: Workspace, now: datetime) -> None:
    with FakeModel() as gone:
        url = gone.url
    point_to(settings, url)
    with pytest.raises(ModelFailed, match="cannot be reached"):
        extract(workspace, now)
    spend = Spend.objects.get()
    assert (spend.calls, spend.failures, spend.prompt_tokens, spend.completion_tokens) == (3, 3, 0, 0)


def test_no_network_inside_a_transaction(model: FakeModel, workspace: Workspace, now: datetime) -> None:
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        extract(workspace, now)
    assert model.calls == 0


def test_every_error_has_its_status_and_its_word() -> None:
    data = {kind: (STATUSES[kind], kind.code) for kind in (ModelOff, ModelFailed, BudgetSpent, AnswerInvalid)}
    assert data == {
        ModelOff: (409, "model_off"),
        ModelFailed: (503, "model_failed"),
        BudgetSpent: (503, "budget_spent"),
        AnswerInvalid: (502, "answer_invalid"),
    }


def test_every_prompt_gets_an_answer_of_its_schema(model: FakeModel, workspace: Workspace, now: datetime) -> None:
    lines = [{"id": "p1", "content": "Mia likes tea"}]
    facts = [{"id": "f1", "content": "Mia moved to Lyon"}]
    result = schemas.Given(frozenset({"p1", "f1"}))
    for name, schema, data, values in (
        ("compression", schemas.CompressionOutput, {"facts": facts}, {}),
        ("profile", schemas.ProfileOutput, {"profile": lines, "facts": facts}, {"categories": "x", "max_lines": 100}),
        ("summary", schemas.SummaryOutput, {"said": "hello"}, {"max_tokens": 600}),
        ("turn_summary", schemas.TurnSummaryOutput, {"user": "hello", "assistant": "hi"}, {}),
    ):
        answer = prompts.prompt(name, "en", data, **values)
        assert llm.ask(workspace, name, answer, schema, now=now, given=result).calls == 1
    assert set(Spend.objects.values_list("purpose", flat=True)) == {"compression", "profile", "summary", "turn_summary"}


def test_what_a_server_understands_is_kept_by_its_address(
    model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.refused_forms = {"json_schema"}
    extract(workspace, now)
    assert client.DIALECTS[model.url, "small"].form == "json_object"
    assert client.DIALECTS.get((model.url, "other"), client.Dialect()).form == "json_schema"
