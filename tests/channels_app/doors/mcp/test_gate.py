"""Who is let in over HTTP, before any word of MCP."""

from typing import Any

import httpx
import pytest

from memories.models import BotKey
from tests.channels_app.doors.mcp.conftest import call, served
from tests.support.house import free_port

pytestmark = pytest.mark.django_db(transaction=True)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"Accept": "application/json, text/event-stream"}


def ask(url: str, key: str = "", method: str = "POST", **headers: str) -> httpx.Response:
    data = {**HEADERS, **({"Authorization": f"Bearer {key}"} if key else {}), **headers}
    return httpx.request(method, url, json=LIST, headers=data, trust_env=False)


@pytest.mark.thorough
def test_only_who_has_a_key_and_calls_by_our_name_is_let_in(mcp: str, key: str) -> None:
    assert ask(mcp, key).status_code == 200
    assert ask(mcp, key, Origin="http://localhost:6274", Host="localhost").status_code == 200
    for answer, status in (
        (ask(mcp), 401),
        (ask(mcp, "mp_unknown"), 401),
        (ask(mcp, key, Authorization="Basic abc"), 401),
        (ask(mcp, key, Host="evil.example"), 421),
        (ask(mcp, key, Host="127.0.0.1.evil.example:80"), 421),
        (ask(mcp, key, Origin="http://evil.example"), 403),
        (ask(mcp, key, Origin="null"), 403),
        (ask(mcp, key, "GET"), 405),
        (ask(mcp + "/" + key, key), 404),
    ):
        assert (answer.status_code, len(answer.json()["errors"])) == (status, 1), answer.text
        assert key not in answer.text
    assert ask(mcp).headers["WWW-Authenticate"] == "Bearer"


def test_an_address_that_means_nothing_is_told_with_the_first_call(mcp: str, key: str) -> None:
    answer = call(
        mcp, key, "memory_search", at={"X-Memplatform-Platform": "tg", "X-Memplatform-Sender": "u1"}, query="boat"
    )
    assert answer.is_error and "telegram" in answer.content[0].text


def test_a_key_that_was_revoked_calls_nothing_at_once(mcp: str, key: str, now: Any) -> None:
    assert not call(mcp, key, "memory_search", query="boat").is_error
    BotKey.objects.update(revoked_at=now)
    answer = call(mcp, key, "memory_search", query="boat")
    assert answer.is_error and "no longer valid" in answer.content[0].text


@pytest.mark.thorough
def test_while_the_platform_is_away_clients_are_told_to_wait(key: str) -> None:
    with served(f"http://127.0.0.1:{free_port()}") as url:
        answer = ask(url, key)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "try again" in answer.json()["errors"][0]["detail"]
