"""The official client without a key: it finds out where to ask, registers, a person lets it in, and it has memory."""

import asyncio
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from channels_app.doors.mcp.http import LettingIn
from memories.audit.models import AuditEvent, AuditRecord
from memories.models import Bot, BotKey, Entry, OAuthGrant, Workspace
from memories.staff.models import Member
from tests.channels_app.doors.mcp.conftest import call, served
from tests.channels_app.doors.mcp.test_gate import ask
from tests.channels_app.doors.oauth.conftest import REDIRECT, form

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "correct horse battery"


class Kept:
    """What a client keeps of it, here for as long as the test."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Somebody at a browser, who logs in where they are sent and lets in what asks."""

    def __init__(self, url: str, bot: Bot) -> None:
        self.http, self.bot, self.led_to = httpx.Client(base_url=url, trust_env=False), bot, ""

    async def visit(self, address: str) -> None:
        await asyncio.to_thread(self.let_in, address)

    def let_in(self, address: str) -> None:
        page = self.http.get(address, follow_redirects=True)
        if page.url.path.endswith("/login/"):
            word = {"username": "alice", "password": PASSWORD, "csrfmiddlewaretoken": _csrf(page)}
            page = self.http.post(page.url, data=word, follow_redirects=True)
        assert "Let Desktop use memory?" in page.text
        answer = self.http.post(address, data={**form(self.bot), "csrfmiddlewaretoken": _csrf(page)})
        self.led_to = answer.headers["Location"]

    async def answer(self) -> AuthorizationCodeResult:
        data = {name: values[0] for name, values in parse_qs(urlsplit(self.led_to).query).items()}
        return AuthorizationCodeResult(code=data["code"], state=data["state"], iss=data["iss"])


def test_the_end_of_a_token_is_told_at_once_and_where_to_ask(
    live_server: Any, settings: Any, tokens: dict[str, Any], tmp_path: Any
) -> None:
    settings.MEMORY_FILES_ROOT = tmp_path
    with served(live_server.url, LettingIn(live_server.url)) as url:
        result = ask(url, tokens["access_token"], **{"X-Memplatform-Platform": "cli"})
        BotKey.objects.update(expires_at=timezone.now())
        answers = [ask(url, tokens["access_token"]), ask(url)]
        described = httpx.get(answers[0].headers["WWW-Authenticate"].split('"')[3], trust_env=False).json()
    assert result.status_code == 200 and [answer.status_code for answer in answers] == [401, 401]
    results = [answer.headers["WWW-Authenticate"] for answer in answers]
    assert results[0].startswith('Bearer error="invalid_token", resource_metadata="') and "error" not in results[1]
    assert (described["resource"], described["authorization_servers"]) == (url, [live_server.url])


def test_whose_memory_it_is_no_header_says(
    live_server: Any, settings: Any, tokens: dict[str, Any], tmp_path: Any
) -> None:
    settings.MEMORY_FILES_ROOT = tmp_path
    at = {"X-Memplatform-Platform": "telegram", "X-Memplatform-Sender": "ben"}
    with served(live_server.url, LettingIn(live_server.url)) as url:
        saved = call(url, tokens["access_token"], "memory_save", at=at, content="The boat is blue.")
    assert "telegram+direct_alice" in saved.content[0].text


def _csrf(page: httpx.Response) -> str:
    result = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert result, page.text[:500]
    return result[1]


def test_a_client_without_a_key_is_let_in_by_a_person(
    live_server: Any, settings: Any, tmp_path: Any, workspace: Workspace, bot: Bot
) -> None:
    settings.MEMORY_FILES_ROOT = tmp_path
    settings.OAUTH_ISSUER = live_server.url
    user = get_user_model().objects.create_user("alice", password=PASSWORD, is_staff=True)
    Member.objects.create(workspace=workspace, user=user, role="owner")
    person, kept = Person(live_server.url, bot), Kept()
    metadata = OAuthClientMetadata(client_name="Desktop", redirect_uris=[REDIRECT])  # type: ignore[list-item]

    async def run(url: str) -> list[Any]:
        letting_in = OAuthClientProvider(url, metadata, kept, person.visit, person.answer)
        async with (
            httpx2.AsyncClient(auth=letting_in, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            saved = await client.call_tool("memory_save", {"content": "The boat is blue."})
            return [saved, await client.call_tool("memory_search", {"query": "the boat"})]

    with served(live_server.url, LettingIn(live_server.url)) as url:
        settings.MCP_URLS = [url]
        saved, found = asyncio.run(run(url))
        tokens, again = kept.tokens, asyncio.run(run(url))
    person.http.close()
    assert "telegram+direct_alice" in saved.content[0].text and "blue" in found.content[0].text
    assert "Known already" in again[0].content[0].text and kept.tokens == tokens  # without asking anybody again
    assert Entry.objects.get().scope.key == "telegram:direct_alice"
    key, grant = BotKey.objects.get(), OAuthGrant.objects.get()
    assert (key.grant, key.bot, key.permissions) == (grant, bot, ["read", "write"])
    assert (key.scope_patterns, key.label) == (["telegram:direct_alice"], "Desktop")
    assert grant.user == user and grant.resource == url
    record = AuditRecord.objects.get(event=AuditEvent.KEY_ISSUED)
    assert (record.actor, record.workspace_id) == ("user:alice", workspace.pk) and "Desktop" in record.details["text"]
