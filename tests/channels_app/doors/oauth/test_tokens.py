"""What a token is worth: never more than was allowed, for an hour, and each code and refresh token once."""

import base64
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.audit.models import AuditEvent, AuditRecord
from memories.models import Bot, BotKey, OAuthGrant, Workspace
from memories.staff.models import Member
from tests.channels_app.doors.oauth.conftest import MCP, REDIRECT, Program, form, led_back
from tests.conftest import Api
from tests.memories.admin.conftest import make_user

pytestmark = pytest.mark.django_db
ALICE = {"platform": "telegram", "peer": "alice"}
BEN = {"platform": "telegram", "peer": "ben"}


def search(token: str, address: dict[str, str]) -> int:
    return int(Api(token).post("tools/memory_search", {"address": address, "query": "boat"}).status_code)


def refusal(answer: Any) -> str:
    assert answer.status_code in (400, 401), answer.content
    return str(answer.json()["error"])


def test_a_token_is_a_key_of_the_bot_for_one_persons_memory(tokens: dict[str, Any], grant: OAuthGrant) -> None:
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "read write")
    api = Api(tokens["access_token"])
    assert api.post("tools/memory_save", {"address": ALICE, "content": "x y", "target": "daily"}).status_code == 201
    assert search(tokens["access_token"], ALICE) == 200
    assert search(tokens["access_token"], BEN) == 404
    assert api.get("export", scope="telegram:direct_alice").status_code == 403  # that takes an administrator
    answer = api.get("tools", form="mcp").json()
    assert answer["address"] == {"platform": "telegram", "account": "", "peer": "alice"}
    key = BotKey.objects.get(grant=grant)
    assert tokens["access_token"] not in (key.digest, key.prefix) and tokens["refresh_token"] != grant.refresh_digest


def test_who_may_read_writes_nothing(program: Program, alice: Client, bot: Bot) -> None:
    for asked, filled in (("read", form(bot, may="read")), ("read write", form(bot, may="read"))):
        code = led_back(alice.post(program.asking(scope=asked), filled))["code"]
        tokens = program.exchange(code).json()
        assert tokens["scope"] == "read"
        saving = {"address": ALICE, "content": "x", "target": "daily"}
        assert Api(tokens["access_token"]).post("tools/memory_save", saving).status_code == 403
        assert search(tokens["access_token"], ALICE) == 200
        refreshed = program.refresh(tokens["refresh_token"], scope="read write")
        assert refusal(refreshed) == "invalid_scope"
    assert alice.post(program.asking(scope="read"), form(bot)).status_code == 200  # asked again: write is no choice


def test_a_token_ends_with_its_hour(tokens: dict[str, Any]) -> None:
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert search(tokens["access_token"], ALICE) == 401


def test_a_code_is_good_for_one_minute(program: Program, code: str) -> None:
    with time_machine.travel(timezone.now() + timedelta(seconds=61)):
        assert refusal(program.exchange(code)) == "invalid_grant"


def test_a_code_that_is_used_twice_ends_what_it_gave(program: Program, code: str) -> None:
    tokens = program.exchange(code).json()
    assert refusal(program.exchange(code)) == "invalid_grant"
    assert search(tokens["access_token"], ALICE) == 401
    assert refusal(program.refresh(tokens["refresh_token"])) == "invalid_grant"
    assert AuditRecord.objects.filter(event=AuditEvent.KEY_REVOKED, actor="platform").count() == 1


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:1/elsewhere"}, "invalid_grant"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"client_id": "another"}, "invalid_client"),
        ({"code": "unknown"}, "invalid_grant"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
)
def test_a_code_alone_is_worth_nothing(program: Program, code: str, changed: dict[str, Any], error: str) -> None:
    assert refusal(program.exchange(code, **changed)) == error
    assert not BotKey.objects.exists()


def test_a_code_is_worth_nothing_to_another_client(program: Program, code: str) -> None:
    other = Program()
    other.register()
    assert refusal(other.exchange(code)) == "invalid_grant"


def test_a_refresh_token_is_used_once_and_each_brings_the_next(program: Program, tokens: dict[str, Any]) -> None:
    second = program.refresh(tokens["refresh_token"], resource=MCP).json()
    assert search(tokens["access_token"], ALICE) == 401  # the key was made anew
    third = program.refresh(second["refresh_token"]).json()
    assert len({row["refresh_token"] for row in (tokens, second, third)}) == 3
    assert BotKey.objects.count() == 1
    assert refusal(program.refresh(tokens["refresh_token"])) == "invalid_grant"  # stolen, or sent twice: all ends
    assert refusal(program.refresh(third["refresh_token"])) == "invalid_grant"
    assert search(third["access_token"], ALICE) == 401


def test_a_refresh_narrows_a_token_and_not_what_was_allowed(program: Program, tokens: dict[str, Any]) -> None:
    narrow = program.refresh(tokens["refresh_token"], scope="read").json()
    assert (narrow["scope"], BotKey.objects.get().permissions) == ("read", ["read"])
    assert program.refresh(narrow["refresh_token"]).json()["scope"] == "read write"


def end_by_admin(alice: Client, grant: OAuthGrant) -> None:
    alice.post(reverse("admin:memories_oauthgrant_revoke", args=[grant.pk]), {"confirmed": "yes"})


def end_by_key(alice: Client, grant: OAuthGrant) -> None:
    alice.post(reverse("admin:memories_botkey_revoke", args=[BotKey.objects.get().pk]), {"confirmed": "yes"})


def end_by_bot(_alice: Client, grant: OAuthGrant) -> None:
    Bot.objects.filter(pk=grant.bot_id).update(disabled_at=timezone.now())


@pytest.mark.parametrize("end", [end_by_admin, end_by_key, end_by_bot])
def test_what_was_ended_in_the_admin_is_ended(
    program: Program, alice: Client, tokens: dict[str, Any], grant: OAuthGrant, end: Any
) -> None:
    end(alice, grant)
    assert search(tokens["access_token"], ALICE) == 401
    assert refusal(program.refresh(tokens["refresh_token"])) == "invalid_grant"


@pytest.mark.parametrize("change", ["dismissed", "demoted", "inactive", "over"])
def test_a_grant_lasts_as_long_as_who_allowed_it_might_and_as_was_said(
    program: Program, workspace: Workspace, tokens: dict[str, Any], change: str
) -> None:
    make_user("another owner", workspace=workspace)
    members = Member.objects.filter(user__username="alice")
    if change == "dismissed":
        members.delete()
    elif change == "demoted":
        members.update(role="curator")
    elif change == "inactive":
        get_user_model().objects.filter(username="alice").update(is_active=False)
    with time_machine.travel(timezone.now() + timedelta(days=31 if change == "over" else 0)):
        assert refusal(program.refresh(tokens["refresh_token"])) == "invalid_grant"


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_client_gives_up_what_it_was_allowed(program: Program, tokens: dict[str, Any], which: str) -> None:
    other = Program()
    other.register()
    assert refusal(other.revoke(tokens[which])) == "invalid_grant"
    assert program.revoke("mpr_unknown").status_code == 200
    assert BotKey.objects.get().revoked_at is None
    assert program.revoke(tokens[which]).status_code == 200
    assert search(tokens["access_token"], ALICE) == 401
    assert refusal(program.refresh(tokens["refresh_token"])) == "invalid_grant"
    assert AuditRecord.objects.filter(event=AuditEvent.KEY_REVOKED, actor="client:Desktop").count() == 1


@pytest.mark.parametrize("statement", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_with_a_secret_shows_it_in_either_way(alice: Client, bot: Bot, statement: str, method: str) -> None:
    program = Program()
    program.register(token_endpoint_auth_method=statement)
    code = led_back(alice.post(program.asking(), form(bot)))["code"]
    assert refusal(program.exchange(code)) == "invalid_client"
    secret = program.registered["client_secret"]
    if method == "client_secret_post":
        assert refusal(program.exchange(code, client_secret="wrong")) == "invalid_client"  # noqa: S106
        assert program.exchange(code, client_secret=secret).status_code == 200
    else:
        data = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "code_verifier": "v" * 64}
        word = base64.b64encode(f"{program.registered['client_id']}:{secret}".encode()).decode()
        headers = {"Authorization": f"Basic {word}"}
        assert program.http.post(reverse("oauth_token"), data, headers=headers).status_code == 200
