"""What goes wrong: the upstream's errors come as they are, memory's fail no chat, and what is refused says why."""

import json
import threading
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from pytest_httpserver import HTTPServer
from werkzeug import Response

from channels_app import context
from channels_app.doors.openai import upstream as proxied
from channels_app.doors.openai.calls import PLACES, Places
from channels_app.doors.openai.errors import ProxyFull, TooManyChats
from memories.choices import Permission
from memories.models import Workspace
from memories.offline import database
from tests.channels_app.doors.openai.conftest import KEY, QUESTION, Upstream, eventually, reply, spoken
from tests.conftest import make_key

pytestmark = pytest.mark.django_db(transaction=True)
REFUSAL = {"error": {"message": "Slow down.", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}


def degraded(bot: OpenAI, **more: Any) -> str:
    data: Any = {"model": "m", "messages": QUESTION, **more}
    answer = bot.chat.completions.with_raw_response.create(**data)
    assert answer.parse().choices[0].message.content == "Hello."
    return str(answer.headers.get("X-Memplatform-Degraded"))


@pytest.mark.thorough
@pytest.mark.parametrize("is_stream", [False, True])
def test_errors_of_the_upstream_come_as_they_are_and_are_no_turn(
    bot: OpenAI, upstream: Upstream, is_stream: bool
) -> None:
    head = {"Retry-After": "7", "x-ratelimit-limit-requests": "60", "Set-Cookie": "a=b", "Server": "secret"}
    body = json.dumps(REFUSAL)
    upstream.say(Response(body, 429, head, content_type="application/json"), Response("<b>Ouch</b>", 500))
    with pytest.raises(openai.RateLimitError) as refused:
        bot.chat.completions.create(model="m", messages=QUESTION, stream=is_stream)
    answer = refused.value.response
    assert (refused.value.code, answer.text, answer.headers["Retry-After"]) == ("rate_limit_exceeded", body, "7")
    assert answer.headers["x-ratelimit-limit-requests"] == "60" and "a=b" not in answer.headers.get("Set-Cookie", "")
    with pytest.raises(openai.InternalServerError) as broken:
        bot.chat.completions.create(model="m", messages=QUESTION, stream=is_stream)
    assert broken.value.response.text == "<b>Ouch</b>"
    assert spoken() == []


@pytest.mark.thorough
@pytest.mark.parametrize("is_stream", [False, True])
def test_an_upstream_that_is_too_slow_is_a_504_and_no_turn(
    bot: OpenAI, upstream: Upstream, settings: Any, is_stream: bool
) -> None:
    over = threading.Event()
    settings.MEMORY_PROXY_SECONDS = 0.2
    upstream.say(lambda _asked: over.wait(10) and reply("Late."))
    with pytest.raises(openai.InternalServerError) as refused:
        bot.chat.completions.create(model="m", messages=QUESTION, stream=is_stream)
    over.set()
    assert (refused.value.status_code, refused.value.code) == (504, "upstream_timeout")
    assert spoken() == [] and eventually(lambda: PLACES.taken == 0)


@pytest.mark.thorough
def test_memory_that_fails_fails_no_chat(bot: OpenAI, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream.say(reply("Hello."))
    wrong = {"X-Memplatform-Platform": "telegramm"}
    assert degraded(bot, extra_headers=wrong) == "context:invalid, turn:invalid"
    monkeypatch.setattr(context, "recall", lambda *_a, **_k: 1 / 0)
    assert degraded(bot) == "context:error"
    assert len(upstream.messages) == 1
    monkeypatch.undo()
    assert degraded(bot, messages=[{"role": "user", "content": "a\0b" + "c" * 70_000}]) == "None"
    result = spoken()
    assert result[:2] == ["hi there", "Hello."] and result[2].startswith("abccc") and len(result[2]) == 65_536


def test_while_the_database_is_away_the_files_help_and_the_turn_is_kept_for_later(
    bot: OpenAI, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.say(reply("Hello."))
    assert degraded(bot) == "None"
    monkeypatch.setattr(database, "is_away", lambda: True)
    assert degraded(bot) == "database"
    assert len(spoken()) == 2


def test_it_is_off_until_an_upstream_is_named(bot: OpenAI, settings: Any) -> None:
    settings.MEMORY_PROXY_BASE_URL = ""
    for ask in (bot.models.list, lambda: bot.chat.completions.create(model="m", messages=QUESTION)):
        with pytest.raises(openai.NotFoundError) as off:
            ask()
        assert off.value.code == "proxy_off"


@pytest.mark.thorough
def test_only_a_key_that_may_write_may_ask(bot: OpenAI, upstream: Upstream, workspace: Workspace) -> None:
    upstream.say(reply("Hello."))
    with pytest.raises(openai.AuthenticationError, match="not known"):
        bot.with_options(api_key="mp_unknown").chat.completions.create(model="m", messages=QUESTION)
    reader = bot.with_options(api_key=make_key(workspace, permissions=[Permission.READ]))
    with pytest.raises(openai.PermissionDeniedError):
        reader.chat.completions.create(model="m", messages=QUESTION)
    narrow = bot.with_options(api_key=make_key(workspace, scope_patterns=["lark:*"]))
    assert degraded(narrow) == "context:not_found, turn:not_found"
    assert len(upstream.asked) == 1 and spoken() == []


@pytest.mark.thorough
def test_what_a_stranger_said_is_not_told(bot: OpenAI, upstream: Upstream, stranger: Workspace) -> None:
    upstream.say(reply("Noted."))
    bot.chat.completions.create(model="m", messages=[{"role": "user", "content": "my locker is number 4471"}])
    question = [{"role": "user", "content": "what is the number of my locker?"}]
    for who, is_told in ((bot, True), (bot.with_options(api_key=make_key(stranger)), False)):
        who.chat.completions.create(model="m", messages=question)
        assert ("4471" in str(upstream.messages)) is is_told


@pytest.mark.thorough
def test_models_are_those_the_owner_named_or_all(
    bot: OpenAI, upstream: Upstream, httpserver: HTTPServer, settings: Any
) -> None:
    upstream.say(reply("Hello."))
    data = {"object": "list", "data": [{"id": "a", "object": "model", "created": 1, "owned_by": "x"}]}
    httpserver.expect_request("/v1/models", method="GET").respond_with_json(data)
    assert [model.id for model in bot.models.list()] == ["a"]
    settings.MEMORY_PROXY_MODELS = ["m", "n"]
    assert [model.id for model in bot.models.list()] == ["m", "n"]
    assert degraded(bot) == "None"
    with pytest.raises(openai.NotFoundError) as refused:
        bot.chat.completions.create(model="a", messages=QUESTION)
    assert refused.value.code == "model_not_found" and len(upstream.asked) == 1


def test_what_the_proxy_refuses_is_said_in_openais_words(bot: OpenAI, upstream: Upstream, settings: Any) -> None:
    upstream.say(reply("Hello."))
    settings.MEMORY_PROXY_CHATS = 0
    with pytest.raises(openai.InternalServerError) as full:
        bot.chat.completions.create(model="m", messages=QUESTION)
    assert (full.value.status_code, full.value.code) == (503, "proxy_full")
    assert full.value.response.headers["Retry-After"] == "1"
    settings.MEMORY_PROXY_CHATS, settings.MEMORY_PROXY_MAX_BYTES = 20, 100
    with pytest.raises(openai.APIStatusError) as large:
        bot.chat.completions.create(model="m", messages=[{"role": "user", "content": "x" * 200}])
    assert (large.value.status_code, large.value.code) == (413, "too_large")
    settings.MEMORY_PROXY_MAX_BYTES = 10_000
    settings.MEMORY_PROXY_BASE_URL = "http://127.0.0.1:9/v1"
    with pytest.raises(openai.InternalServerError) as gone:
        bot.chat.completions.create(model="m", messages=QUESTION)
    assert (gone.value.status_code, gone.value.code) == (502, "upstream_unreachable")
    assert PLACES.taken == 0 and spoken() == []


@pytest.mark.parametrize("text", ['"half \\ud83d"', "NaN", "1e999", "-Infinity"])
def test_what_cannot_be_sent_on_is_refused_under_its_name(
    workspace: Workspace, upstream: Upstream, live_server: Any, text: str
) -> None:
    body = '{"model": "m", "messages": [{"role": "user", "content": "@"}], "top_p": "@"}'.replace('"@"', text)
    answer = httpx.post(
        f"{live_server.url}/v1/chat/completions",
        content=body,
        headers={"Authorization": f"Bearer {make_key(workspace)}", "Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "messages.0.content"), answer.text
    assert upstream.asked == []


@pytest.mark.parametrize("is_stream", [False, True])
def test_the_owners_key_is_not_passed_on_when_the_upstream_repeats_it(
    bot: OpenAI, upstream: Upstream, is_stream: bool
) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid_api_key"}})
    upstream.say(Response(body, 401, {"openai-organization": KEY}, content_type="application/json"))
    with pytest.raises(openai.AuthenticationError) as refused:
        bot.chat.completions.create(model="m", messages=QUESTION, stream=is_stream)
    response = refused.value.response
    assert (
        KEY not in response.text
        and KEY not in str(response.headers)
        and "Incorrect API key provided: ***." in response.text
    )
    assert upstream.keys[-1] == f"Bearer {KEY}"


def test_in_a_stream_the_owners_key_is_left_out_wherever_it_is_cut(settings: Any) -> None:
    settings.MEMORY_PROXY_API_KEY = "sk-sk-secret"
    whole = b"data: sk-sk-sk-secret and sk-sk-secretsk-"
    for first in range(len(whole)):
        for second in range(first, len(whole), 3):
            cut: Any = [whole[:first], whole[first:second], whole[second:]]
            assert b"".join(proxied.parts(cut)) == b"data: sk-*** and ***sk-"


def test_a_key_and_a_workspace_have_a_share_of_the_places(settings: Any) -> None:
    settings.MEMORY_PROXY_CHATS = 8
    places = Places()
    taken = [places.take(1, 1) for _ in range(4)]
    with pytest.raises(TooManyChats):
        places.take(1, 1)
    taken += [places.take(1, 2) for _ in range(2)]
    with pytest.raises(TooManyChats):
        places.take(1, 3)
    taken += [places.take(2, 9) for _ in range(2)]
    with pytest.raises(ProxyFull):
        places.take(3, 10)
    taken[0]()
    taken[-1]()
    places.take(1, 1)
    places.take(3, 10)


def test_a_key_that_floods_leaves_places_to_others(
    workspace: Workspace, stranger: Workspace, upstream: Upstream, settings: Any, live_server: Any
) -> None:
    settings.MEMORY_PROXY_CHATS = 4
    over = threading.Event()
    upstream.say(lambda _asked: over.wait(20) and reply("Hello."))
    keys, base = (make_key(workspace), make_key(stranger)), f"{live_server.url}/v1"
    bots = [OpenAI(api_key=key, base_url=base, max_retries=0) for key in keys]
    threads = [
        threading.Thread(target=lambda: bots[0].chat.completions.create(model="m", messages=QUESTION)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: len(upstream.asked) == 2)
        with pytest.raises(openai.RateLimitError) as refused:
            bots[0].chat.completions.create(model="m", messages=QUESTION)
        assert refused.value.code == "too_many_chats" and refused.value.response.headers["Retry-After"]
        over.set()
        assert bots[1].chat.completions.create(model="m", messages=QUESTION).choices[0].message.content == "Hello."
    finally:
        over.set()
        for thread in threads:
            thread.join(20)
