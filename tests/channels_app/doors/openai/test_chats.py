"""A bot changes its base_url and its model remembers: the official client, a scripted model, real HTTP."""

from typing import Any

import pytest
from openai import OpenAI
from werkzeug import Response

from channels_app.api.turns import NewTurn
from channels_app.doors.openai.answers import read_messages, with_memory
from memories.models import Entry, Scope, Workspace
from sessions_app.models import Session, SessionEvent
from tests.channels_app.doors.openai.conftest import KEY, QUESTION, Upstream, call, eventually, reply, spoken, streamed
from tests.conftest import Api, make_key

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.thorough
def test_a_bot_that_changed_its_base_url_has_memory(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(reply("Noted."), reply("In Hangzhou."))
    bot.chat.completions.create(model="m", messages=[{"role": "user", "content": "I moved to Hangzhou"}])
    assert spoken() == ["I moved to Hangzhou", "Noted."]
    own = {"role": "system", "content": "You are terse."}
    question = {"role": "user", "content": "Which city did I move to?"}
    answer = bot.chat.completions.with_raw_response.create(model="m", messages=[own, question], temperature=0.5)
    assert answer.parse().choices[0].message.content == "In Hangzhou."
    first, last = upstream.messages
    assert last == question and first["role"] == "system"
    assert first["content"].startswith("You are terse.\n\n") and "I moved to Hangzhou" in first["content"]
    assert upstream.asked[-1]["temperature"] == 0.5 and set(upstream.keys) == {f"Bearer {KEY}"}
    assert "X-Memplatform-Degraded" not in answer.headers and answer.headers["X-Memplatform-Recall"]
    assert len(spoken()) == 4


def test_a_stream_comes_as_it_is_and_is_remembered(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(streamed("In ", "Hang", "zhou."))
    with bot.chat.completions.create(model="m", messages=QUESTION, stream=True) as got:
        assert [part.choices[0].delta.content for part in got] == ["", "In ", "Hang", "zhou.", None]
    assert eventually(spoken) == ["hi there", "In Hangzhou."]


@pytest.mark.thorough
def test_of_the_history_a_bot_sends_only_the_newest_turn_is_kept_and_none_of_it_is_told_again(
    bot: OpenAI, upstream: Upstream
) -> None:
    upstream.say(reply("Noted."), reply("Fine."), reply("It is 4471."))
    talk = [{"role": "user", "content": "my locker at the pool is number 4471"}]
    for question in ("my locker at work is number 12", "what is the number of my locker?"):
        answer = bot.chat.completions.create(model="m", messages=talk)
        talk += [{"role": "assistant", "content": answer.choices[0].message.content}]
        talk += [{"role": "user", "content": question}]
    bot.chat.completions.create(model="m", messages=talk[2:])  # it has forgotten the first turn
    memory = upstream.messages[0]["content"]
    assert "4471" in memory and "number 12" not in memory
    contents = [message["content"] for message in [*talk, {"content": "It is 4471."}]]
    assert spoken() == contents


def test_a_model_that_takes_its_instructions_first_alone_has_memory(
    bot: OpenAI, upstream: Upstream, api: Api, workspace: Workspace
) -> None:
    address = {"platform": "telegram", "account": "mybot", "peer": "u42"}
    assert api.post("entries", {"address": address, "content": "My boat is called Wren"}).status_code == 201

    def strict(asked: dict[str, Any]) -> Any:
        if any(message["role"] == "system" for message in asked["messages"][1:]):
            return Response('{"error": {"message": "System message must be at the beginning."}}', 400)
        return reply("Wren.")

    upstream.say(strict)
    question = {"role": "user", "content": "What is my boat called?"}
    for own in ([{"role": "system", "content": "You are terse."}], []):
        answer = bot.chat.completions.create(model="m", messages=[*own, question])
        assert answer.choices[0].message.content == "Wren."
        assert "called Wren" in upstream.messages[0]["content"] and upstream.messages[1:] == [question]


def test_memory_stands_at_the_end_of_the_bots_own_instructions() -> None:
    own = [{"role": "developer", "content": "a"}, {"role": "system", "content": "b"}]
    messages = [{"role": "user", "content": "c"}, {"role": "system", "content": "d"}]
    memory = {"role": "system", "content": "m"}
    assert with_memory([*own, *messages], "m") == [own[0], {**own[1], "content": "b\n\nm"}, *messages]
    assert with_memory(messages, "m") == [memory, *messages]
    parts = [{"type": "text", "text": "a"}]
    told = [*parts, {"type": "text", "text": "m"}]
    assert with_memory([{**own[0], "content": parts}], "m") == [{**own[0], "content": told}]
    for nothing in (None, ""):
        assert with_memory([{**own[0], "content": nothing}], "m") == [{**own[0], "content": "m"}]
    odd = {"role": "developer", "content": 7}
    assert with_memory([odd, *messages], "m") == [odd, {**memory, "role": "developer"}, *messages]


def test_parts_with_pictures_are_passed_on_and_their_words_are_kept(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(reply("A boat."))
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1_500_000}}
    parts = [{"type": "text", "text": "What is\nthis?"}, picture]
    bot.chat.completions.create(model="m", messages=[{"role": "user", "content": parts}])
    assert upstream.messages[-1]["content"] == parts
    assert spoken() == ["What is\nthis?", "A boat."]


def test_a_turn_sent_twice_under_one_idempotency_key_is_kept_once(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(reply("Noted."), reply("Noted again."))
    once = {"Idempotency-Key": "turn 1"}
    for _ in range(2):
        answer = bot.chat.completions.with_raw_response.create(model="m", messages=QUESTION, extra_headers=once)
        assert "X-Memplatform-Degraded" not in answer.headers
    assert spoken() == ["hi there", "Noted."]


def test_a_turn_that_goes_on_with_tools_of_the_bot_is_kept_when_it_ends(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(reply(None, tool_calls=[call(1, "deploy", to="prod", token="hunter2")]), reply("It runs."))
    first = bot.chat.completions.create(model="m", messages=QUESTION).choices[0].message
    assert first.tool_calls[0].function.name == "deploy" and spoken() == []
    result = {"role": "tool", "tool_call_id": "call_1", "content": "ok"}
    bot.chat.completions.create(model="m", messages=[*QUESTION, first.model_dump(exclude_none=True), result])
    assert [words for words in spoken() if words in ("hi there", "It runs.")] == ["hi there", "It runs."]
    task = Entry.objects.get(type="auto_capture")
    assert "deploy(to=prod, token=[not stored])" in task.content
    assert "hunter2" not in str([list(Entry.objects.values()), list(SessionEvent.objects.values())])


def test_calls_nobody_can_read_cost_no_turn() -> None:
    odd = [{"function": None}, {"function": {"name": "\0"}}, {"function": {"name": "x" * 300, "arguments": "{NaN"}}, 7]
    odd += [{"id": 1, "function": {"name": "look", "arguments": '{"at": NaN, "in": "a\\u0000b"}'}}]
    messages = [{"role": "assistant", "content": None, "tool_calls": odd}, {"role": "tool", "tool_call_id": 1}]
    result = read_messages([*QUESTION, *messages])
    assert result is not None
    assert [call["name"] for call in result.calls] == ["x" * 100, "look"]
    assert result.calls[-1] == {"name": "look", "arguments": {"at": "NaN", "in": "ab"}, "result": None}
    assert NewTurn(data={"address": {"platform": "cli"}, "user": "hi", "tool_calls": result.calls}).is_valid()


@pytest.mark.thorough
def test_who_speaks_is_told_by_user_or_by_headers(live_server: Any, upstream: Upstream, workspace: Workspace) -> None:
    upstream.say(reply("Noted."))
    bot = OpenAI(base_url=f"{live_server.url}/v1", api_key=make_key(workspace), max_retries=0)
    group = {"Chat": "g%31", "Sender": "%E5%B0%8F", "Group": "yes", "Account": "b", "Platform": "lark"}
    for more in (
        {"user": "u42"},
        {"user": "u42", "extra_headers": {"X-Memplatform-Session": "draft"}},
        {"user": "u42", "extra_headers": {f"X-Memplatform-{name}": value for name, value in group.items()}},
        {"extra_headers": {"X-Memplatform-Platform": "cli"}},
    ):
        bot.chat.completions.create(model="m", messages=QUESTION, **more)
    keys = set(Scope.objects.values_list("key", flat=True))
    assert keys == {"web:direct_u42", "lark:b:group_g1", "lark:direct_小", "main"}
    assert Session.objects.filter(platform="web").count() == 2
    nobody = bot.chat.completions.with_raw_response.create(model="m", messages=QUESTION)
    assert nobody.headers["X-Memplatform-Degraded"] == "speaker"
    off = {"X-Memplatform-Memory": "off"}
    silent = bot.chat.completions.with_raw_response.create(model="m", messages=QUESTION, user="u7", extra_headers=off)
    assert "X-Memplatform-Degraded" not in silent.headers
    assert len(spoken()) == 8 and len(upstream.asked) == 6
    bot.close()
