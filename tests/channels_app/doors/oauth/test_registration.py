"""Clients register themselves, within bounds; and where OAuth is off there is none of it."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from channels_app.doors.oauth import registration
from memories.models import OAuthClient
from memplatform import addresses
from tests.channels_app.doors.oauth.conftest import ISSUER, MCP, Program

pytestmark = pytest.mark.django_db


def test_a_public_client_gets_no_secret_and_another_one_once(program: Program) -> None:
    assert "client_secret" not in program.registered
    other = Program()
    answer = other.register(token_endpoint_auth_method="client_secret_post").json()  # noqa: S106
    stored = OAuthClient.objects.get(client_id=answer["client_id"])
    assert stored.secret_digest and answer["client_secret"] not in (stored.secret_digest, "")


@pytest.mark.parametrize(
    "uris",
    [
        None, [], "https://a.example/", [7], ["javascript:alert(1)//"], ["http://a.example/cb"], ["data:text/html,x"],
        ["https://a.example/#x"], ["https://me@a.example/"], ["/cb"], ["https://a.example/cb"] * 11,
        ["https://a.example/" + "x" * 2_000],
    ],
)  # fmt: skip
def test_an_address_that_reaches_no_program_is_refused(db: None, uris: Any) -> None:
    answer = Program().register(redirect_uris=uris)
    assert answer.status_code == 400
    assert answer.json()["error"] in ("invalid_redirect_uri", "invalid_client_metadata")
    assert not OAuthClient.objects.exists()


@pytest.mark.parametrize("uri", ["https://a.example/cb", "http://[::1]:9/cb", "cursor://anysphere.cursor/oauth/cb"])
def test_an_address_of_a_program_is_taken(db: None, uri: str) -> None:
    assert Program().register(redirect_uris=[uri]).status_code == 201


@pytest.mark.parametrize(
    "changed",
    [{"client_name": 7}, {"grant_types": "x"}, {"grant_types": ["password"]}, {"token_endpoint_auth_method": "jwt"}],
)
def test_what_means_nothing_is_refused(db: None, changed: dict[str, Any]) -> None:
    answer = Program().register(**changed)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")


def test_what_is_no_json_is_refused(db: None) -> None:
    answer = Client().post("/oauth/register", "{", content_type="application/json")
    assert answer.status_code == 400


def test_a_name_is_one_line(db: None) -> None:
    program = Program()
    program.register(client_name="Desk\n\u202etop" + "x" * 200)
    assert len(program.registered["client_name"]) == 100 and "\n" not in program.registered["client_name"]


def test_so_many_an_hour_from_one_address(db: None) -> None:
    for _ in range(registration.PER_HOUR):
        assert Program().register().status_code == 201
    answer = Program().register()
    assert (answer.status_code, answer["Retry-After"]) == (429, "3600")
    assert Program(http=Client(REMOTE_ADDR="10.1.1.1")).register().status_code == 201
    assert "127.0.0.1" not in {client.registered_from for client in OAuthClient.objects.all()}


def test_unused_clients_are_bounded_and_go_after_a_day(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "UNUSED_MOST", 1)
    assert Program().register().status_code == 429
    OAuthClient.objects.update(registered_at=timezone.now() - timedelta(days=2))
    assert Program().register().status_code == 201
    assert OAuthClient.objects.count() == 1


def test_it_says_of_itself_what_it_does(db: None) -> None:
    answer = Client().get("/.well-known/oauth-authorization-server").json()
    assert answer["issuer"] == ISSUER and answer["code_challenge_methods_supported"] == ["S256"]
    for name in ("authorization", "token", "registration", "revocation"):
        assert answer[f"{name}_endpoint"].startswith(f"{ISSUER}/")
    for path in ("", "/mcp"):
        protected = Client().get(f"/.well-known/oauth-protected-resource{path}").json()
        assert (protected["resource"], protected["authorization_servers"]) == (MCP, [ISSUER])


def test_where_it_is_off_there_is_none_of_it(program: Program, alice: Client, settings: Any) -> None:
    settings.OAUTH_ISSUER = ""
    results = [
        Client().get(f"/.well-known/{name}") for name in ("oauth-authorization-server", "oauth-protected-resource")
    ]
    posted = [Client().post(f"/oauth/{name}") for name in ("register", "token", "revoke")]
    assert {answer.status_code for answer in (*results, *posted, alice.get(program.asking()))} == {404}


@pytest.mark.parametrize(
    ("choice", "public", "host", "issuer"),
    [
        ("auto", "", "127.0.0.1", "http://127.0.0.1:8000"),
        ("auto", "", "::1", "http://[::1]:8000"),
        ("auto", "", "0.0.0.0", ""),  # noqa: S104
        ("auto", "", "192.168.1.4", ""),
        ("auto", "https://memory.example", "0.0.0.0", "https://memory.example"),  # noqa: S104
        ("auto", "http://memory.example", "127.0.0.1", ""),
        ("yes", "http://memory.example", "127.0.0.1", "http://memory.example"),
        ("no", "https://memory.example", "127.0.0.1", ""),
    ],
)
def test_left_to_itself_it_is_on_where_nobody_can_listen_in(choice: str, public: str, host: str, issuer: str) -> None:
    assert addresses.issuer(choice, public, host, 8000) == issuer
