"""What goes wrong: the upstream's errors come as they are, memory's fail no chat, and what is refused says why."""

import json
import threading
from typing import Any

import openai
import pytest
from openai import OpenAI
from pytest_httpserver import HTTPServer
from werkzeug import Response

from channels_app import context
from channels_app.proxy.views import PLACES
from memories.choices import Permission
from memories.models import Workspace
from memories.offline import database
from tests.channels_app.proxy.conftest import QUESTION, Upstream, eventually, said, spoken
from tests.conftest import make_key

pytestmark = pytest.mark.django_db(transaction=True)
REFUSAL = {"error": {"message": "Slow down.", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}


def degraded(bot: OpenAI, **more: Any) -> str:
    asked: Any = {"model": "m", "messages": QUESTION, **more}
    answer = bot.chat.completions.with_raw_response.create(**asked)
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
    upstream.say(lambda _asked: over.wait(10) and said("Late."))
    with pytest.raises(openai.InternalServerError) as refused:
        bot.chat.completions.create(model="m", messages=QUESTION, stream=is_stream)
    over.set()
    assert (refused.value.status_code, refused.value.code) == (504, "upstream_timeout")
    assert spoken() == [] and eventually(lambda: PLACES._taken == 0)


@pytest.mark.thorough
def test_memory_that_fails_fails_no_chat(bot: OpenAI, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream.say(said("Hello."))
    wrong = {"X-Memplatform-Platform": "telegramm"}
    assert degraded(bot, extra_headers=wrong) == "context:invalid, turn:invalid"
    monkeypatch.setattr(context, "recall", lambda *_a, **_k: 1 / 0)
    assert degraded(bot) == "context:error"
    assert len(upstream.messages) == 1
    monkeypatch.undo()
    assert degraded(bot, messages=[{"role": "user", "content": "a\0b" + "c" * 70_000}]) == "None"
    told = spoken()
    assert told[:2] == ["hi there", "Hello."] and told[2].startswith("abccc") and len(told[2]) == 65_536


def test_while_the_database_is_away_the_files_help_and_the_turn_is_kept_for_later(
    bot: OpenAI, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.say(said("Hello."))
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
    upstream.say(said("Hello."))
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
    upstream.say(said("Noted."))
    bot.chat.completions.create(model="m", messages=[{"role": "user", "content": "my locker is number 4471"}])
    question = [{"role": "user", "content": "what is the number of my locker?"}]
    for who, is_told in ((bot, True), (bot.with_options(api_key=make_key(stranger)), False)):
        who.chat.completions.create(model="m", messages=question)
        assert ("4471" in str(upstream.messages)) is is_told


@pytest.mark.thorough
def test_models_are_those_the_owner_named_or_all(
    bot: OpenAI, upstream: Upstream, httpserver: HTTPServer, settings: Any
) -> None:
    upstream.say(said("Hello."))
    told = {"object": "list", "data": [{"id": "a", "object": "model", "created": 1, "owned_by": "x"}]}
    httpserver.expect_request("/v1/models", method="GET").respond_with_json(told)
    assert [model.id for model in bot.models.list()] == ["a"]
    settings.MEMORY_PROXY_MODELS = ["m", "n"]
    assert [model.id for model in bot.models.list()] == ["m", "n"]
    assert degraded(bot) == "None"
    with pytest.raises(openai.NotFoundError) as refused:
        bot.chat.completions.create(model="a", messages=QUESTION)
    assert refused.value.code == "model_not_found" and len(upstream.asked) == 1


def test_what_the_proxy_refuses_is_said_in_openais_words(bot: OpenAI, upstream: Upstream, settings: Any) -> None:
    upstream.say(said("Hello."))
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
    assert PLACES._taken == 0 and spoken() == []
