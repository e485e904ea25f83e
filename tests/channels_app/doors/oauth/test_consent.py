"""The page on which a person lets a client in: who may, what it says, and where it leads back to."""

from html import unescape
from typing import Any

import pytest
from django.test import Client

from memories.models import Bot, OAuthGrant, Workspace
from memories.staff.roles import Role
from tests.channels_app.doors.oauth.conftest import ISSUER, REDIRECT, Program, form, led_back
from tests.memories.admin.conftest import enter, make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", [role for role in Role if role != Role.OWNER])
def test_only_who_may_give_keys_lets_a_client_in(program: Program, workspace: Workspace, bot: Bot, role: Role) -> None:
    make_user("first owner", workspace=workspace)
    browser = enter(make_user("someone", workspace=workspace, role=role, is_staff=True))
    assert browser.get(program.asking()).status_code == 403
    assert browser.post(program.asking(), form(bot)).status_code == 403
    assert not OAuthGrant.objects.exists()


def test_who_is_not_logged_in_is_asked_to_and_comes_back(program: Program) -> None:
    answer = Client().get(program.asking())
    assert answer.status_code == 302 and answer["Location"].startswith("/admin/login/?next=/admin/connect/")


def test_nobody_gives_a_key_of_a_bot_elsewhere(program: Program, alice: Client, stranger: Workspace) -> None:
    other = Bot.objects.create(workspace=stranger, name="theirs")
    assert "theirs" not in alice.get(program.asking()).content.decode()
    answer = alice.post(program.asking(), form(other))
    assert answer.status_code == 200 and not OAuthGrant.objects.exists()


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["Let Desktop use memory?", "Nobody has verified its name", "Whose memory: person", "Allow", "Refuse"]),
        ("zh-hans", ["允许 Desktop 使用记忆吗？", "它的名称未经核实", "谁的记忆：用户", "允许", "拒绝"]),
    ],
)
def test_it_says_which_client_whose_memory_and_what_may_be_done(
    program: Program, alice: Client, bot: Bot, workspace: Workspace, language: str, words: list[str]
) -> None:
    page = alice.get(program.asking(), headers={"Accept-Language": language})
    text = unescape(page.content.decode())
    for word in (*words, "http://127.0.0.1:33418", f"{workspace} · {bot}", "consent-may"):
        assert word in text
    assert "form-action 'self' http://127.0.0.1:33418;" in page["Content-Security-Policy"] + ";"
    assert "no-store" in page["Cache-Control"]


def test_who_reads_only_is_not_asked_for_more(program: Program, alice: Client, bot: Bot) -> None:
    text = alice.get(program.asking(scope="read")).content.decode()
    assert 'value="read"' in text and 'value="write"' not in text


def test_what_is_refused_is_told_the_client(program: Program, alice: Client, bot: Bot) -> None:
    result = led_back(alice.post(program.asking(), {"refuse": "yes"}))
    assert (result["error"], result["state"], result["iss"]) == ("access_denied", "s1", ISSUER)
    assert not OAuthGrant.objects.exists()


def test_what_is_allowed_leads_back_with_a_code(program: Program, alice: Client, bot: Bot) -> None:
    result = led_back(alice.post(program.asking(), form(bot)))
    assert set(result) == {"code", "state", "iss"} and (result["state"], result["iss"]) == ("s1", ISSUER)
    grant = OAuthGrant.objects.get()
    assert (grant.whose, grant.permissions) == ("telegram:alice", ["read", "write"])


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"peer": ""}, "peer"),
        ({"platform": "elsewhere"}, "platform"),
        ({"bot": "7"}, "bot"),
        ({"term": "9999"}, "term"),
    ],
)
def test_a_form_that_means_nobody_is_asked_again(
    program: Program, alice: Client, bot: Bot, changed: dict[str, str], name: str
) -> None:
    answer = alice.post(program.asking(), form(bot, **changed))
    assert answer.status_code == 200 and answer.context["form"].errors.keys() == {name}
    assert not OAuthGrant.objects.exists()


def test_the_one_person_of_this_machine_needs_no_id(program: Program, alice: Client, bot: Bot) -> None:
    code = led_back(alice.post(program.asking(), form(bot, platform="cli", peer="")))["code"]
    assert program.exchange(code).status_code == 200
    assert OAuthGrant.objects.get().key.scope_patterns == ["main"]


@pytest.mark.parametrize(
    "changed",
    [{"client_id": "unknown"}, {"redirect_uri": "https://evil.example/"}, {"redirect_uri": f"{REDIRECT}/../x"}],
)
def test_nobody_is_led_to_an_address_that_was_not_registered(
    program: Program, alice: Client, changed: dict[str, str]
) -> None:
    answer = alice.get(program.asking(**changed))
    assert answer.status_code == 400 and "Location" not in answer.headers
    assert "Nothing was allowed" in answer.content.decode()


def test_the_port_of_this_machine_is_free(program: Program, alice: Client) -> None:
    assert alice.get(program.asking(redirect_uri="http://127.0.0.1:4711/callback")).status_code == 200


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"response_type": "token"}, "unsupported_response_type"),
    ],
)
def test_what_a_client_asks_wrongly_it_is_told(
    program: Program, alice: Client, changed: dict[str, Any], error: str
) -> None:
    result = led_back(alice.get(program.asking(**changed)))
    assert (result["error"], result["state"], result["iss"]) == (error, "s1", ISSUER)
