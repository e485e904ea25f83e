"""An upstream that is scripted, and the official client of OpenAI in front of the proxy."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import OpenAI
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memories.models import Workspace
from sessions_app.models import SessionEvent
from tests.conftest import make_key

PATH, RESPONSES = "/v1/chat/completions", "/v1/responses"
QUESTION = [{"role": "user", "content": "hi there"}]
KEY = "sk-of-the-owner"
WHO = {"X-Memplatform-Platform": "telegram", "X-Memplatform-Account": "mybot", "X-Memplatform-Sender": "u42"}


def reply(content: str | None = None, **message: Any) -> dict[str, Any]:
    """A whole answer of a model."""
    reason = "tool_calls" if "tool_calls" in message else "stop"
    first = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": reason,
        "logprobs": None,
    }
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [first]}


def event(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
    data = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def streamed(*texts: str) -> list[bytes]:
    """A whole answer of a model, in events."""
    return [event({"role": "assistant", "content": ""}), *(event({"content": text}) for text in texts), *END]


END = [event({}, "stop"), b"data: [DONE]\n\n"]


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


class Upstream:
    """What the model is to say, in order, and what it was asked."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("/v1")
        self.script: list[Any] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self._lock = threading.Lock()
        for path in (PATH, RESPONSES):
            server.expect_request(path, method="POST").respond_with_handler(self._answer)

    def say(self, *answers: Any) -> None:
        """Whole answers, lists of events, answers as they are, or functions of the request."""
        self.script += answers

    def _answer(self, request: Request) -> Response:
        with self._lock:
            self.asked.append(request.get_json())
            self.keys.append(request.headers.get("Authorization"))
            answer = self.script[0] if len(self.script) == 1 else self.script.pop(0)
        if callable(answer) and not isinstance(answer, Response):
            answer = answer(request.get_json())
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, dict):
            return Response(json.dumps(answer), content_type="application/json")
        return Response(answer, content_type="text/event-stream", direct_passthrough=True)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What it was asked last."""
        return list(self.asked[-1]["messages"])


@pytest.fixture(scope="session")
def make_httpserver() -> Iterator[HTTPServer]:
    """Answers many at once."""
    server = HTTPServer(threaded=True)
    server.start()
    yield server
    server.clear()
    server.stop()


@pytest.fixture
def upstream(httpserver: HTTPServer, settings: Any) -> Upstream:
    model = Upstream(httpserver)
    settings.MEMORY_PROXY_BASE_URL = model.url
    settings.MEMORY_PROXY_API_KEY = KEY
    return model


@pytest.fixture
def bot(live_server: Any, upstream: Upstream, workspace: Workspace) -> Iterator[OpenAI]:
    """A bot that changed its base_url, and says who speaks."""
    with OpenAI(
        base_url=f"{live_server.url}/v1", api_key=make_key(workspace), default_headers=WHO, max_retries=0
    ) as client:
        yield client


def spoken() -> list[str]:
    """All that was said, as it is stored."""
    return list(SessionEvent.objects.order_by("session_id", "position").values_list("content", flat=True))


def eventually(look: Callable[[], Any], seconds: float = 5) -> Any:
    """What a look finds as soon as it finds something: a turn is kept when its stream has ended."""
    end = time.monotonic() + seconds
    while not (result := look()) and time.monotonic() < end:
        time.sleep(0.01)
    return result
