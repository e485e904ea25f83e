"""POST /v1/responses by OpenAI's own client: memory before, the turn afterwards, tools of the bot and of memory."""

import json
from typing import Any

import pytest
from openai import OpenAI
from pytest_httpserver import HTTPServer
from werkzeug import Response

from channels_app.doors.openai import responses
from channels_app.doors.tools.registry import TOOLS
from memories.models import Entry, Workspace
from tests.channels_app.doors.openai.conftest import Upstream, eventually, spoken
from tests.conftest import Api

pytestmark = pytest.mark.django_db(transaction=True)
ON = {"X-Memplatform-Tools": "on"}
DEPLOY: Any = {
    "type": "function",
    "name": "deploy",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}


def message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def function(name: str, **arguments: Any) -> dict[str, Any]:
    data = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": name, "status": "completed"}
    return {**data, "arguments": json.dumps(arguments)}


def response(*items: dict[str, Any], name: str = "resp_1") -> dict[str, Any]:
    """A whole response of a model."""
    fixed = {"object": "response", "created_at": 1, "status": "completed", "model": "m", "parallel_tool_calls": True}
    return {"id": name, **fixed, "tools": [], "tool_choice": "auto", "output": list(items)}


def streamed(*items: dict[str, Any], name: str = "resp_1") -> list[bytes]:
    """The same in events."""
    begun = {**response(name=name), "status": "in_progress"}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for n, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": n, "item": {**item, "content": []}})
        for part in item.get("content", ()):
            half = len(part["text"]) // 2
            place = {"item_id": item["id"], "output_index": n, "content_index": 0}
            events.append({"type": "response.content_part.added", **place, "part": {**part, "text": ""}})
            events += [
                {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}
                for text in (part["text"][:half], part["text"][half:])
            ]
        events.append({"type": "response.output_item.done", "output_index": n, "item": item})
    events.append({"type": "response.completed", "response": response(*items, name=name)})
    return [
        f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': n})}\n\n".encode()
        for n, one in enumerate(events)
    ]


def remember(api: Api, workspace: Workspace) -> None:
    body = {"address": {"platform": "telegram", "account": "mybot", "peer": "u42"}, "content": "My boat is called Wren"}
    assert api.post("entries", body).status_code == 201


def test_what_is_remembered_stands_in_the_instructions_and_the_turn_is_kept(
    bot: OpenAI, upstream: Upstream, api: Api, workspace: Workspace
) -> None:
    remember(api, workspace)
    upstream.say(response(message("Wren, of course.")))
    answer = bot.responses.create(model="m", input="What is my boat called?", instructions="Be brief.")
    assert answer.output_text == "Wren, of course."
    (item,) = upstream.asked
    assert item["instructions"].startswith("Be brief.\n\n") and "called Wren" in item["instructions"]
    assert item["input"] == "What is my boat called?"
    assert spoken() == ["What is my boat called?", "Wren, of course."]


def test_items_are_read_as_a_conversation_and_passed_on_as_they_are(
    bot: OpenAI, upstream: Upstream, api: Api, workspace: Workspace
) -> None:
    remember(api, workspace)
    upstream.say(response(message("Wren.")))
    items: Any = [
        {"role": "user", "content": "Hello"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi!"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "user", "content": [{"type": "input_text", "text": "What is my boat called?"}]},
    ]
    bot.responses.create(model="m", input=items)
    (item,) = upstream.asked
    assert item["input"] == items and "called Wren" in item["instructions"]
    assert spoken() == ["What is my boat called?", "Wren."]


def test_a_stream_comes_as_it_is_and_is_remembered(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(streamed(message("It is blue.")))
    with bot.responses.stream(model="m", input="My boat is blue, note that") as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_response().output_text == "It is blue."
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    assert eventually(spoken) == ["My boat is blue, note that", "It is blue."]


@pytest.mark.parametrize("is_known", [True, False], ids=["in this process", "in another"])
def test_the_question_of_a_response_it_goes_on_from_is_asked_of_the_upstream(
    bot: OpenAI, upstream: Upstream, httpserver: HTTPServer, is_known: bool
) -> None:
    question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Deploy the shop"}]}
    data = {"object": "list", "data": [question], "has_more": False}
    answer = httpserver.expect_request("/v1/responses/resp_1/input_items")
    answer.respond_with_json(data)
    upstream.say(response(function("deploy", to="prod")), response(message("Deployed."), name="resp_2"))
    bot.responses.create(model="m", input="Deploy the shop", tools=[DEPLOY])
    if not is_known:
        responses._questions.clear()
    result: Any = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    bot.responses.create(model="m", tools=[DEPLOY], input=[result], previous_response_id="resp_1")
    assert spoken() == ["Deploy the shop", "Deployed."]


@pytest.mark.parametrize("is_whole", [True, False], ids=["all of it sent again", "by previous_response_id"])
def test_a_turn_with_tools_of_the_bot_is_remembered_when_it_has_its_answer(
    bot: OpenAI, upstream: Upstream, is_whole: bool
) -> None:
    responses._questions.clear()
    call = function("deploy", to="prod")
    upstream.say(response(call), response(message("Deployed."), name="resp_2"))
    question = {"role": "user", "content": "Deploy the shop"}
    first = bot.responses.create(model="m", input=[question], tools=[DEPLOY])  # type: ignore[list-item]
    assert first.output[0].type == "function_call" and spoken() == []
    result = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    more: Any = (
        {"input": [question, call, result]} if is_whole else {"input": [result], "previous_response_id": first.id}
    )
    bot.responses.create(model="m", tools=[DEPLOY], **more)
    assert spoken() == ["Deploy the shop", "Deployed."]
    assert is_whole or upstream.asked[1]["previous_response_id"] == "resp_1"


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_the_tools_of_memory_are_answered_here_and_the_bot_sees_the_answer_alone(
    bot: OpenAI, upstream: Upstream, is_stream: bool
) -> None:
    save = function("memory_save", content="Lena brings the brushes.", target="daily")
    say = streamed if is_stream else response
    upstream.say(say(save), say(message("Done."), name="resp_2"))
    data: Any = {
        "model": "m",
        "input": "Remember that Lena brings the brushes",
        "tools": [DEPLOY],
        "extra_headers": ON,
    }
    if is_stream:
        with bot.responses.stream(**data) as stream:
            assert not [event for event in stream if "function_call" in event.type]
            answer: Any = stream.get_final_response()
    else:
        answer = bot.responses.create(**data)
    assert answer.output_text == "Done."
    first, second = upstream.asked
    assert [tool["name"] for tool in first["tools"]] == ["deploy", *TOOLS]
    own, result = second["input"][-2:]
    assert own["name"] == "memory_save" and result["type"] == "function_call_output" and "Saved" in result["output"]
    assert Entry.objects.filter(type="note", content="Lena brings the brushes.").count() == 1
    assert eventually(spoken) == ["Remember that Lena brings the brushes", "Done."]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", ["custom_tool_call", "computer_call", "shell_call", "mcp_approval_request"])
def test_an_answer_with_any_call_of_its_bot_is_not_the_last(
    bot: OpenAI, upstream: Upstream, kind: str, is_stream: bool
) -> None:
    call = {"id": "ct_1", "type": kind, "call_id": "call_2", "name": "patch", "input": "x"}
    upstream.say((streamed if is_stream else response)(message("Let me see."), call), response(message("Done.")))
    first: Any = bot.responses.create(model="m", input="Mend the shop", stream=is_stream)  # type: ignore[call-overload]
    assert kind in [item.type for item in (list(first)[-1].response if is_stream else first).output]
    result: Any = {"type": f"{kind}_output", "call_id": "call_2", "output": "ok"}
    bot.responses.create(model="m", input=[result], previous_response_id="resp_1")
    assert spoken() == ["Mend the shop", "Done."]


@pytest.mark.parametrize("kind", ["computer_call", "shell_call", "mcp_approval_request"])
def test_with_a_call_only_the_bot_can_answer_the_model_is_not_asked_again(
    bot: OpenAI, upstream: Upstream, kind: str
) -> None:
    call = {"id": "ct_1", "type": kind, "call_id": "call_2", "name": "patch"}
    upstream.say(response(call, function("memory_save", content="Lena brings the brushes.", target="daily")))
    answer = bot.responses.create(model="m", input="Mend the shop", extra_headers=ON)
    assert answer.output[0].type == kind and len(upstream.asked) == 1 and spoken() == []


def test_a_call_the_upstream_has_answered_itself_is_nobodys(bot: OpenAI, upstream: Upstream) -> None:
    call = {"id": "sh_1", "type": "shell_call", "call_id": "call_2", "status": "completed"}
    upstream.say(response(call, {**call, "type": "shell_call_output", "output": []}, message("Four files.")))
    bot.responses.create(model="m", input="How many files are there?")
    assert spoken() == ["How many files are there?", "Four files."]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_a_call_beside_one_of_memory_is_asked_for_again_and_memorys_is_carried_out(
    bot: OpenAI, upstream: Upstream, kind: str, is_stream: bool
) -> None:
    save = function("memory_save", content="Lena brings the brushes.", target="daily")
    deploy = {**function("deploy", to="prod"), "type": kind, "id": "fc_2", "call_id": "call_2", "input": "prod"}
    say = streamed if is_stream else response
    upstream.say(say(deploy, save), say(deploy, name="resp_2"))
    answer: Any = bot.responses.create(
        model="m", input="Remember that Lena brings the brushes, and deploy", tools=[DEPLOY], stream=is_stream,
        extra_headers=ON,
    )  # fmt: skip
    (item,) = list(answer)[-1].response.output if is_stream else answer.output
    assert (item.type, item.name) == (kind, "deploy")
    assert Entry.objects.filter(type="note", content="Lena brings the brushes.").count() == 1
    results = {item["call_id"]: item for item in upstream.asked[1]["input"] if item.get("output")}
    assert "Saved" in results["call_1"]["output"] and "again" in results["call_2"]["output"]
    assert results["call_2"]["type"] == f"{kind}_output" and spoken() == []


def test_without_a_speaker_or_with_memory_off_it_is_passed_on_as_it_is(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(response(message("Hi.")))
    bot.responses.create(model="m", input="hello", extra_headers={"X-Memplatform-Memory": "off"})
    assert "instructions" not in upstream.asked[0] and spoken() == []


def test_an_error_of_the_upstream_comes_as_it_is_and_nothing_is_remembered(bot: OpenAI, upstream: Upstream) -> None:
    from openai import BadRequestError

    problem = {"error": {"message": "no such model", "type": "invalid_request_error", "param": "model", "code": "x"}}
    upstream.say(Response(json.dumps(problem), 400, {"x-request-id": "req_9"}, content_type="application/json"))
    with pytest.raises(BadRequestError) as refused:
        bot.responses.create(model="m", input="hello")
    assert refused.value.request_id == "req_9" and refused.value.body == problem["error"] and spoken() == []
