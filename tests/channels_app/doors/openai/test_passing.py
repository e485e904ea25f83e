"""What the proxy passes on unread: every other call of OpenAI's form, under the owner's key, and never more."""

import json
import re
from typing import Any

import httpx
import pytest
from openai import NotFoundError, OpenAI
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memories.models import Workspace
from tests.channels_app.doors.openai.conftest import KEY, Upstream
from tests.conftest import make_key

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def seen(httpserver: HTTPServer, upstream: Upstream) -> list[Request]:
    """The requests that came to any other path of the upstream."""
    requests: list[Request] = []

    def answer(request: Request) -> Response:
        request.get_data()
        requests.append(request)
        path = request.path.removeprefix("/v1/")
        if path == "embeddings":
            data: Any = {"object": "list", "model": "e", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
            data |= {"data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]}
        elif path.startswith("audio/speech"):
            return Response(b"\x00\x01 sound", content_type="audio/mpeg", headers={"x-request-id": "req_7"})
        elif path.startswith("audio/"):
            data = {"text": request.files["file"].filename}
        elif path.startswith("models/"):
            data = {"id": path.partition("/")[2], "object": "model", "created": 0, "owned_by": "x"}
        else:
            data = {
                "object": "list",
                "data": [],
                "has_more": False,
                "path": path,
                "query": request.query_string.decode(),
            }
        return Response(json.dumps(data), content_type="application/json", headers={"x-request-id": "req_7"})

    httpserver.expect_request(re.compile(r"/v1/.*")).respond_with_handler(answer)
    return requests


def test_embeddings_models_and_audio_go_through_with_the_owners_key(bot: OpenAI, seen: list[Request]) -> None:
    raw = bot.embeddings.with_raw_response.create(model="e", input="x", encoding_format="float")
    assert raw.parse().data[0].embedding == [0.5, 0.25] and raw.request_id == "req_7"
    assert bot.models.retrieve("gpt-x").id == "gpt-x"
    assert bot.audio.transcriptions.create(model="w", file=("a.mp3", b"abc")).text == "a.mp3"
    assert bot.audio.speech.create(model="t", voice="alloy", input="hi").content == b"\x00\x01 sound"
    assert {request.headers["Authorization"] for request in seen} == {f"Bearer {KEY}"}
    assert not [
        name for request in seen for name, _value in request.headers if name.lower().startswith("x-memplatform")
    ]


def test_files_of_the_owners_account_are_not_shown_to_another_workspace(
    bot: OpenAI, seen: list[Request], settings: Any
) -> None:
    assert bot.files.list(limit=3).data == [] and seen[-1].query_string == b"limit=3"
    Workspace.objects.create(name="Another")
    with pytest.raises(NotFoundError, match="does not pass"):
        bot.files.list()
    settings.MEMORY_PROXY_SHARED = True
    assert bot.files.list().data == []


@pytest.mark.parametrize(
    "path",
    ["", "organization/users", "fine_tuning/jobs", "embeddings/../organization/users", "unknown", "//elsewhere/x"],
)
def test_other_calls_are_refused_in_json_and_never_leave(
    live_server: Any, workspace: Workspace, seen: list[Request], path: str
) -> None:
    headers = {"Authorization": f"Bearer {make_key(workspace)}"}
    answer = httpx.get(f"{live_server.url}/v1/{path}", headers=headers)
    assert answer.status_code == 404 and set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert seen == []


def test_where_the_owner_named_models_nothing_else_is_asked(bot: OpenAI, seen: list[Request], settings: Any) -> None:
    settings.MEMORY_PROXY_MODELS = ["e"]
    assert bot.embeddings.create(model="e", input="x", encoding_format="float").data
    assert bot.models.retrieve("e").id == "e"
    for call in (
        lambda: bot.embeddings.create(model="other", input="x"),
        lambda: bot.models.retrieve("other"),
        lambda: bot.audio.transcriptions.create(model="e", file=("a.mp3", b"abc")),
        lambda: bot.files.list(),
    ):
        with pytest.raises(NotFoundError):
            call()
    assert len(seen) == 2


def test_a_key_that_may_only_read_asks_for_nothing_that_costs(
    live_server: Any, workspace: Workspace, seen: list[Request], settings: Any
) -> None:
    reader = {"Authorization": f"Bearer {make_key(workspace, permissions=['read'])}"}
    url = f"{live_server.url}/v1"
    assert httpx.post(f"{url}/embeddings", headers=reader, json={"model": "e", "input": "x"}).status_code == 403
    assert httpx.get(f"{url}/models/e", headers=reader).status_code == 200
    assert httpx.get(f"{url}/models/e").status_code == 401
    settings.MEMORY_PROXY_MAX_BYTES = 1_000
    writer = {"Authorization": f"Bearer {make_key(workspace)}"}
    too_large = httpx.post(f"{url}/embeddings", headers=writer, json={"model": "e", "input": "x" * 2_000})
    assert too_large.status_code == 413 and too_large.json()["error"]["code"]
    settings.MEMORY_PROXY_BASE_URL = ""
    assert httpx.get(f"{url}/models/e", headers=writer).json()["error"]["code"] == "proxy_off"


def test_a_method_a_call_does_not_have_is_refused_in_json(live_server: Any, workspace: Workspace, seen: Any) -> None:
    headers = {"Authorization": f"Bearer {make_key(workspace)}"}
    answer = httpx.put(f"{live_server.url}/v1/responses", headers=headers, json={})
    assert answer.status_code == 405 and answer.json()["error"]["code"] == "method_not_allowed"
