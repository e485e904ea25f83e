"""What leaves for the model's endpoint, and that it goes nowhere else (D7)."""

import json
import logging
from contextlib import closing
from datetime import datetime
from typing import Any

import httpx
import pytest

from memories.endpoint import Endpoint
from memories.exceptions import ModelFailed
from memories.models import Spend, Workspace
from tests.memories.llm.conftest import KEY, extract
from tests.memories.llm.fake_server import Asked, FakeModel, Reply

pytestmark = pytest.mark.django_db


def test_the_environment_of_others_is_not_read(
    model: FakeModel, workspace: Workspace, now: datetime, monkeypatch: Any
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "somebody-elses")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Spy: somebody-elses\nAuthorization: Bearer somebody-elses")
    extract(workspace, now)
    headers = {name.lower(): value for name, value in model.requests[0].headers.items()}
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "somebody-elses" not in str(headers)
    assert set(headers) == {
        *("host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type"),
        "user-agent",
    }
    assert headers["user-agent"] == "memplatform"


def test_without_a_key_none_is_sent(model: FakeModel, workspace: Workspace, now: datetime, settings: Any) -> None:
    settings.MEMORY_LLM_API_KEY = ""
    extract(workspace, now)
    assert not {"authorization", "Authorization"} & set(model.requests[0].headers)


@pytest.mark.parametrize("key", [KEY, f"{KEY}\n", f"{KEY}钥", f"{KEY}\n{KEY}"])
def test_the_key_is_in_no_error_and_no_log(
    key: str, model: FakeModel, workspace: Workspace, now: datetime, settings: Any, caplog: Any
) -> None:
    settings.MEMORY_LLM_API_KEY = key

    def echo(asked: Asked) -> Reply:
        return Reply(status=401, body=json.dumps({"error": {"message": str(asked.headers)}}).encode())

    model.otherwise = echo
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelFailed) as error:
        extract(workspace, now)
    shown = "".join(logging.Formatter().format(record) for record in caplog.records) + str(error.getrepr())
    assert KEY not in shown
    assert "年糕" not in shown  # nor what people said


@pytest.mark.parametrize("status", [401, 403, 404, 307])
def test_a_failure_that_stays_is_not(status: int, model: FakeModel, workspace: Workspace, now: datetime) -> None:
    model.otherwise = Reply(status=status, headers={"Location": model.url.replace("/v1", "/elsewhere")})
    with pytest.raises(ModelFailed, match=str(status)):
        extract(workspace, now)
    assert {request.path for request in model.requests} == {"/v1/chat/completions"}
    assert model.calls == (4 if status == 404 else 1)  # an unknown path may be an unknown form
    assert Spend.objects.get().prompt_tokens == 0


def test_only_one_address_is_ever_asked() -> None:
    with closing(Endpoint("http://127.0.0.1:9000/v1", KEY)) as endpoint:
        for url in ("http://127.0.0.1:9001/v1", "https://127.0.0.1:9000/v1", "http://127.0.0.1.example.org:9000/v1"):
            with pytest.raises(httpx.ConnectError, match="Only the configured endpoint"):
                endpoint.post(url, {}, seconds=1)


def test_a_path_that_looks_like_an_address_stays_at_the_endpoint(model: FakeModel) -> None:
    model.otherwise = Reply("here")
    with FakeModel() as elsewhere, closing(Endpoint(model.url, KEY)) as endpoint:
        endpoint.post(elsewhere.url.removeprefix("http:"), {"messages": [], "model": "m"}, seconds=5)
        assert (model.calls, elsewhere.calls) == (1, 0)


def test_a_name_and_password_in_the_address_do_not_take_the_place_of_the_key(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_BASE_URL = model.url.replace("//", "//somebody:else@")
    extract(workspace, now)
    assert model.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_a_redirect_is_not_followed_and_the_key_not_handed_on(
    model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    with FakeModel() as elsewhere:
        model.otherwise = Reply(status=308, headers={"Location": f"{elsewhere.url}/chat/completions"})
        with pytest.raises(ModelFailed, match="308"):
            extract(workspace, now)
        assert (model.calls, elsewhere.calls) == (1, 0)


def test_a_proxy_is_used_only_if_the_owner_names_it(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    with FakeModel() as proxy:
        settings.MEMORY_LLM_PROXY = proxy.url.removesuffix("/v1")
        extract(workspace, now)
        assert (model.calls, proxy.calls) == (0, 1)
        assert proxy.requests[0].path == f"{model.url}/chat/completions"


def test_an_answer_without_end_is_given_up(model: FakeModel, workspace: Workspace, now: datetime) -> None:
    model.otherwise = Reply(body=b" " * 9_000_000)
    with pytest.raises(ModelFailed):
        extract(workspace, now)
