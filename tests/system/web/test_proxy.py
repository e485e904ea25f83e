"""Chats through real web processes: twenty streams beside the API, one that is left, one that breaks off."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import APIError, OpenAI
from werkzeug import Response

from memories.models import Workspace
from sessions_app.models import Session
from tests.channels_app.doors.openai.conftest import (
    END,
    QUESTION,
    WHO,
    Upstream,
    event,
    eventually,
    make_httpserver,
    spoken,
    upstream,
)
from tests.conftest import TELEGRAM, make_key
from tests.system.web.conftest import serving

__all__ = ["make_httpserver", "upstream"]
EVENTS = "text/event-stream"


@pytest.fixture
def web(transactional_db: None, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:  # noqa: F811
    monkeypatch.setenv("MEMORY_PROXY_BASE_URL", upstream.url)
    (tmp_path / "metrics").mkdir()
    with serving(tmp_path) as address:
        assert eventually(lambda: _lives(address), 120)
        yield address


def _lives(address: str) -> bool:
    try:
        return httpx.get(f"{address}/livez").status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def bot_of(web: str, workspace: Workspace) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{web}/v1", api_key=make_key(workspace), default_headers=WHO, max_retries=0) as client:
        yield client


@pytest.fixture
def bot(web: str, workspace: Workspace) -> Iterator[OpenAI]:
    with bot_of(web, workspace) as client:
        yield client


@pytest.fixture
def other_bot(web: str, stranger: Workspace) -> Iterator[OpenAI]:
    with bot_of(web, stranger) as client:
        yield client


def test_twenty_streams_at_once_leave_the_api_its_threads_and_one_that_is_left_or_breaks_is_told_apart(
    bot: OpenAI,
    other_bot: OpenAI,
    upstream: Upstream,  # noqa: F811
) -> None:
    """In one life of the processes: to start them takes longer than all the rest."""
    twenty_streams_leave_the_api_its_threads([bot, other_bot], upstream)
    what_was_said_until_the_bot_left_is_kept(bot, upstream)
    torn = Response(iter([event({"content": "Half an"})]), content_type=EVENTS, headers={"Content-Length": "9999"})
    upstream.script = [torn]
    with bot.chat.completions.create(model="m", messages=QUESTION, stream=True) as stream:
        assert next(stream).choices[0].delta.content == "Half an"
        with pytest.raises(APIError, match="broke off"):
            list(stream)


def twenty_streams_leave_the_api_its_threads(bots: list[OpenAI], upstream: Upstream) -> None:  # noqa: F811
    """Ten of each bot: so many places a key has, should one process get them all."""
    go_on = threading.Event()

    def echo(asked: dict[str, Any]) -> Iterator[bytes]:
        yield event({"role": "assistant", "content": "You said "})
        go_on.wait(20)
        yield from (event({"content": asked["messages"][-1]["content"]}), *END)

    def chat(number: int) -> str:
        asked = [{"role": "user", "content": f"message {number}"}]
        who = {"X-Memplatform-Sender": f"u{number}"}
        bot = bots[number % len(bots)]
        stream = bot.chat.completions.create(model="m", messages=asked, stream=True, extra_headers=who)
        return "".join(part.choices[0].delta.content or "" for part in stream)

    upstream.script = [echo]
    recall = str(bots[0].base_url).replace("/v1/", "/api/v1/recall")
    with ThreadPoolExecutor(20) as pool:
        chats = [pool.submit(chat, number) for number in range(20)]
        assert eventually(lambda: len(upstream.asked) == 20, 15)
        begun = time.monotonic()
        for _ in range(4):
            question = {"address": TELEGRAM, "message": "hello"}
            assert httpx.post(recall, json=question, headers=bots[0].auth_headers, timeout=10).status_code == 200
        assert time.monotonic() - begun < 3
        go_on.set()
        assert [chat.result() for chat in chats] == [f"You said message {number}" for number in range(20)]
    assert eventually(lambda: len(spoken()) == 40, 15)
    assert Session.objects.count() == 20


def what_was_said_until_the_bot_left_is_kept(bot: OpenAI, upstream: Upstream) -> None:  # noqa: F811
    is_left = threading.Event()

    def endless(_asked: dict[str, Any]) -> Iterator[bytes]:
        try:
            for number in range(2_000):
                yield event({"content": f" {number}"})
                time.sleep(0.005)
        finally:
            is_left.set()

    upstream.script = [endless]
    with bot.chat.completions.create(model="m", messages=QUESTION, stream=True) as stream:
        next(stream)
    assert is_left.wait(10)
    assert eventually(lambda: len(spoken()) == 42)
    *_others, question, answer = spoken()
    assert question == "hi there" and answer.startswith(" 0") and not answer.endswith("1999")
