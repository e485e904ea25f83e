"""The tools of memory, offered when a header asks for them: answered inside, whole or in a stream."""

import json
from typing import Any

import pytest
from openai import OpenAI

from channels_app.doors.openai import memory
from channels_app.doors.openai.memory import MOST_ROUNDS
from channels_app.doors.tools.registry import TOOLS
from memories.models import Entry
from tests.channels_app.doors.openai.conftest import END, Upstream, call, event, eventually, reply, spoken, streamed

pytestmark = pytest.mark.django_db(transaction=True)
ON = {"X-Memplatform-Tools": "on"}
ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "Remember that Lena brings the brushes"}]}
DEPLOY: Any = {"type": "function", "function": {"name": "deploy", "parameters": {"type": "object", "properties": {}}}}
SAVE = call(1, "memory_save", content="Lena brings the brushes.", target="daily")


def names(asked: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in asked.get("tools", [])]


def in_events(*calls: dict[str, Any]) -> list[bytes]:
    """Calls as a stream tells them, their arguments in two pieces."""
    results = []
    for n, one in enumerate(calls):
        arguments = one["function"]["arguments"]
        begun = {**one, "index": n, "function": {"name": one["function"]["name"], "arguments": arguments[:7]}}
        results += [event({"tool_calls": [begun]})]
        results += [event({"tool_calls": [{"index": n, "function": {"arguments": arguments[7:]}}]})]
    return [*results, event({}, "tool_calls"), END[1]]


def saved() -> int:
    return Entry.objects.filter(type="note", content="Lena brings the brushes.").count()


def test_a_model_saves_and_the_bot_sees_only_the_answer(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(reply("Let me see.", tool_calls=[SAVE]), reply("Done."))
    answer = bot.chat.completions.create(**ASKED, tools=[DEPLOY], extra_headers=ON)
    assert answer.choices[0].message.content == "Done." and not answer.choices[0].message.tool_calls
    first, second = upstream.asked
    assert names(first) == names(second) == ["deploy", *TOOLS]
    assert "memory_search" in first["messages"][0]["content"]
    own, result = second["messages"][-2:]
    assert own["tool_calls"] == [SAVE] and (result["role"], result["tool_call_id"]) == ("tool", "call_1")
    assert result["content"].startswith("Saved: [") and saved() == 1
    assert spoken() == ["Remember that Lena brings the brushes", "Done."]


def test_in_a_stream_words_come_at_once_and_the_calls_of_memory_never(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say([event({"content": "Let me see. "}), *in_events(SAVE)], streamed("Do", "ne."))
    parts = list(bot.chat.completions.create(**ASKED, stream=True, extra_headers=ON))
    assert not [part for part in parts if part.choices[0].delta.tool_calls]
    assert [part.choices[0].finish_reason for part in parts if part.choices[0].finish_reason] == ["stop"]
    text = "".join(part.choices[0].delta.content or "" for part in parts)
    assert eventually(spoken) == ["Remember that Lena brings the brushes", text] and text == "Let me see. Done."
    assert upstream.messages[-2]["tool_calls"] == [SAVE] and saved() == 1


@pytest.mark.parametrize("is_stream", [False, True])
def test_calls_of_the_bots_own_tools_reach_it_without_those_of_memory(
    bot: OpenAI, upstream: Upstream, is_stream: bool
) -> None:
    calls = [SAVE, call(2, "deploy", to="prod")]
    upstream.say(in_events(*calls) if is_stream else reply(None, tool_calls=calls))
    if is_stream:
        with bot.chat.completions.stream(**ASKED, tools=[DEPLOY], extra_headers=ON) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = bot.chat.completions.create(**ASKED, tools=[DEPLOY], extra_headers=ON).choices[0].message
    (own,) = message.tool_calls or []
    assert (own.id, own.function.name, json.loads(own.function.arguments)) == ("call_2", "deploy", {"to": "prod"})
    assert len(upstream.asked) == 1 and saved() == 1 and spoken() == []


def test_a_model_that_never_stops_calling_has_to_do_without(bot: OpenAI, upstream: Upstream) -> None:
    search = call(1, "memory_search", query="brushes", max_results=None)
    upstream.say(lambda asked: reply(None, tool_calls=[search]) if "tools" in asked else reply("Enough."))
    answer = bot.chat.completions.create(**ASKED, extra_headers=ON)
    assert answer.choices[0].message.content == "Enough." and len(upstream.asked) == MOST_ROUNDS + 1
    assert "tools" not in upstream.asked[-1]


def test_a_model_is_told_when_memory_cannot_be_reached(
    bot: OpenAI, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.say(reply(None, tool_calls=[SAVE]), reply("I could not."))
    monkeypatch.setattr(memory.Memory, "_call", lambda *_a, **_k: None)
    answer = bot.chat.completions.create(**ASKED, extra_headers=ON)
    assert answer.choices[0].message.content == "I could not."
    assert "cannot be reached" in upstream.messages[-1]["content"]


def test_nothing_is_offered_unasked_nor_in_the_place_of_a_tool_of_the_bot(bot: OpenAI, upstream: Upstream) -> None:
    own = {"type": "function", "function": {"name": "memory_save", "parameters": {"type": "object", "properties": {}}}}
    upstream.say(reply("Fine."), reply(None, tool_calls=[SAVE]))
    bot.chat.completions.create(**ASKED)
    assert "tools" not in upstream.asked[0]
    answer = bot.chat.completions.create(**ASKED, tools=[own], extra_headers=ON)
    assert names(upstream.asked[1]).count("memory_save") == 1 and upstream.asked[1]["tools"][0] == own
    assert answer.choices[0].message.tool_calls[0].id == "call_1" and saved() == 0
