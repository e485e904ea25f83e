"""A program without a key, the person who may let it in, and the way it goes to a token."""

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import Bot, OAuthGrant, Workspace
from memories.staff.roles import Role
from tests.memories.admin.conftest import enter, make_user

ISSUER, MCP = "http://testserver", "http://testserver:8002/mcp"
REDIRECT = "http://127.0.0.1:33418/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
REGISTRATION = {
    "client_name": "Desktop",
    "redirect_uris": [REDIRECT],
    "grant_types": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_method": "none",
}


@pytest.fixture(autouse=True)
def on(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.OAUTH_ISSUER = ISSUER
    settings.MCP_URLS = [MCP, "http://localhost:8002/mcp"]
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")  # the test client's own address is neither https nor loopback


@dataclass
class Program:
    """A client of MCP as it stands before the platform."""

    http: Client = field(default_factory=Client)
    registered: dict[str, Any] = field(default_factory=dict)

    def register(self, **changed: Any) -> Any:
        answer = self.http.post(reverse("oauth_register"), REGISTRATION | changed, content_type="application/json")
        if answer.status_code == 201:
            self.registered = answer.json()
        return answer

    def asking(self, **changed: Any) -> str:
        """The address it sends people to."""
        asked = {
            "response_type": "code",
            "client_id": self.registered["client_id"],
            "redirect_uri": REDIRECT,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s1",
            "scope": "read write",
            "resource": MCP,
        } | changed
        return f"{reverse('oauth_authorize')}?{urlencode({k: v for k, v in asked.items() if v is not None})}"

    def token(self, **form: Any) -> Any:
        return self.http.post(reverse("oauth_token"), {"client_id": self.registered["client_id"], **form})

    def exchange(self, code: str, /, **changed: Any) -> Any:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
        } | changed
        return self.token(**{name: value for name, value in form.items() if value is not None})

    def refresh(self, token: str, **changed: Any) -> Any:
        return self.token(grant_type="refresh_token", refresh_token=token, **changed)

    def revoke(self, token: str) -> Any:
        return self.http.post(reverse("oauth_revoke"), {"client_id": self.registered["client_id"], "token": token})


def form(bot: Bot, /, **changed: str) -> dict[str, str]:
    """What a person fills in: Alice's memory, everything, for a month."""
    filled = {"bot": str(bot.pk), "platform": "telegram", "peer": "alice", "may": "write", "term": "30"} | changed
    return {f"consent-{name}": value for name, value in filled.items()} | {"allow": "yes"}


def led_back(answer: Any) -> dict[str, str]:
    """What a client is told by the address its person is led back to."""
    assert answer.status_code == 302, answer.content.decode()
    return {name: values[0] for name, values in parse_qs(urlsplit(answer["Location"]).query).items()}


@pytest.fixture
def program(db: None) -> Program:
    program = Program()
    assert program.register().status_code == 201
    return program


@pytest.fixture
def bot(workspace: Workspace) -> Bot:
    return Bot.objects.create(workspace=workspace, name="desk")


@pytest.fixture
def alice(workspace: Workspace) -> Client:
    """An owner of the workspace, at a browser."""
    return enter(make_user("alice", workspace=workspace, role=Role.OWNER, is_staff=True))


@pytest.fixture
def code(program: Program, alice: Client, bot: Bot) -> str:
    return led_back(alice.post(program.asking(), form(bot)))["code"]


@pytest.fixture
def tokens(program: Program, code: str) -> dict[str, Any]:
    answer = program.exchange(code)
    assert answer.status_code == 200, answer.content
    data: dict[str, Any] = answer.json()
    return data


@pytest.fixture
def grant(tokens: dict[str, Any]) -> OAuthGrant:
    return OAuthGrant.objects.get()
