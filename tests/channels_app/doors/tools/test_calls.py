"""POST /tools/call: a model's call as it came, and the answer ready to be appended to the conversation."""

import json
from typing import Any

import pytest

from memories.models import RecallTrace, Workspace
from tests.channels_app.doors.tools.asking import FORMS, by_model, model_call, text_of
from tests.conftest import TELEGRAM, make_key
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db


@pytest.fixture
def violin_turn(talk: Talk) -> None:
    talk.say("my violin teacher is called Rosa", "a fine name")


@pytest.mark.usefixtures("violin_turn")
@pytest.mark.parametrize("form", FORMS)
def test_it_works(talk: Talk, form: str) -> None:
    answer = by_model(talk, "memory_search", {"query": "violin teacher", "max_results": None}, form=form)
    assert (answer["name"], answer["id"], answer["is_error"], answer["errors"]) == (
        "memory_search",
        "call_1",
        False,
        [],
    )
    assert "Rosa" in text_of(answer["message"]) and answer["result"]["text"] == text_of(answer["message"])
    expected = {
        "openai": {"role": "tool", "tool_call_id": "call_1"},
        "openai_responses": {"type": "function_call_output", "call_id": "call_1"},
        "anthropic": {"type": "tool_result", "tool_use_id": "call_1", "is_error": False},
    }[form]
    assert {name: answer["message"][name] for name in expected} == expected
    assert len(answer["message"]) == len(expected) + 1


@pytest.mark.usefixtures("violin_turn")
@pytest.mark.parametrize("form", FORMS)
def test_several_calls_are_answered_in_their_order(talk: Talk, form: str) -> None:
    calls = [model_call(form, "memory_search", {"query": query}, f"c{n}") for n, query in enumerate(["violin", "boat"])]
    answer = talk.post("tools/call", {"address": TELEGRAM, "calls": calls}).json()
    assert [result["id"] for result in answer["answers"]] == ["c0", "c1"]
    own = [result["message"] for result in answer["answers"]]
    assert answer["messages"] == ([{"role": "user", "content": own}] if form == "anthropic" else own)


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("memory_delete", {}, "unknown_tool", "memory_search"),
        ("memory_search", {}, "required", "query"),
        ("memory_search", {"query": "x", "scope": "main"}, "unknown", "scope"),
        ("memory_search", {"query": "x", "address": TELEGRAM}, "unknown", "address"),
        ("memory_search", {"query": "x", "mode": "keyword"}, "unknown", "mode"),
        ("memory_search", {"query": 5}, "invalid", "query"),
        ("memory_search", {"query": "x", "max_results": 99}, "max_value", "max_results"),
    ],
    ids=str,
)
def test_what_a_model_got_wrong_is_an_answer_for_the_model(
    talk: Talk, form: str, name: str, arguments: dict[str, Any], code: str, words: str
) -> None:
    answer = by_model(talk, name, arguments, form=form)
    assert (answer["is_error"], answer["result"], answer["errors"][0]["code"]) == (True, None, code)
    assert words in text_of(answer["message"]) and name in text_of(answer["message"])
    assert form != "anthropic" or answer["message"]["is_error"] is True
    assert RecallTrace.objects.count() == 0


@pytest.mark.parametrize("arguments", ["{", '"violin"', "[1]", "{'query': 'x'}", "[" * 100_000, "null"])
def test_arguments_that_are_no_object_are_told_to_the_model(talk: Talk, arguments: str) -> None:
    answer = by_model(talk, "memory_search", arguments)
    assert (answer["is_error"], answer["errors"][0]["code"]) == (True, "parse_error")
    assert "JSON" in text_of(answer["message"])


def test_what_no_text_may_hold_is_told_to_the_model_that_wrote_it(talk: Talk) -> None:
    for text in ("a\0b", "a\ud800b"):
        answer = by_model(talk, "memory_search", json.dumps({"query": text}))
        assert (answer["is_error"], answer["errors"][0]["attr"]) == (True, "query")


@pytest.mark.usefixtures("violin_turn")
def test_servers_that_leave_things_out_are_understood(talk: Talk) -> None:
    """Arguments as an object, and a call without an id."""
    call = {"function": {"name": "memory_search", "arguments": {"query": "violin"}}}
    (answer,) = talk.post("tools/call", {"address": TELEGRAM, "call": call}).json()["answers"]
    assert (answer["is_error"], answer["id"]) == (False, "") and "Rosa" in answer["message"]["content"]


@pytest.mark.parametrize(
    "call",
    [
        None, "memory_search", [], {}, {"name": "memory_search"}, {"type": "tool_use", "id": "1"}, {"function": "x"},
        {"function": {"name": 5}}, {"type": "tool_use", "id": 7, "name": "memory_search"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_call_is_the_bots_to_put_right(talk: Talk, call: Any) -> None:
    answer = talk.post("tools/call", {"address": TELEGRAM, "call": call})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "call")


SEARCH = model_call("openai", "memory_search", {"query": "violin"})


@pytest.mark.parametrize(
    ("body", "status", "attr"),
    [
        ({"call": SEARCH}, 400, "address"),
        ({"address": TELEGRAM, "scope": "main", "call": SEARCH}, 400, "address"),
        ({"address": TELEGRAM}, 400, "call"),
        ({"address": TELEGRAM, "call": SEARCH, "calls": [SEARCH]}, 400, "call"),
        ({"address": TELEGRAM, "calls": []}, 400, "calls"),
        ({"address": TELEGRAM, "calls": [SEARCH] * 33}, 400, "calls"),
        ({"address": {"platform": "telegram"}, "call": SEARCH}, 400, "address"),
        ({"scope": "telegram:direct_nobody", "call": SEARCH}, 404, None),
        ({"address": TELEGRAM, "call": SEARCH, "colour": "red"}, 400, "colour"),
    ],
    ids=str,
)
def test_a_wrong_place_is_the_bots_to_put_right(talk: Talk, body: Any, status: int, attr: str | None) -> None:
    answer = talk.post("tools/call", body)
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (status, attr)


def test_a_model_is_told_in_the_language_of_the_workspace(workspace: Workspace) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language="zh-hans")
    talk = Talk(make_key(workspace))
    answer = by_model(talk, "memory_search", {})
    assert "未执行" in text_of(answer["message"]) and "query" in text_of(answer["message"])
    assert "没有名为" in text_of(by_model(talk, "memory_delete", {})["message"])
