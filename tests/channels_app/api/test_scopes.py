"""POST /scopes/resolve: whose memory an address means (E1, E2, A3)."""

from typing import Any

import pytest

from channels_app.models import Channel
from memories.models import Scope, Workspace
from tests.conftest import GROUP, TELEGRAM, Api, make_key

pytestmark = pytest.mark.django_db


def resolve(api: Api, address: dict[str, Any]) -> dict[str, Any]:
    response = api.post("scopes/resolve", {"address": address})
    assert response.status_code == 200, response.json()
    return response.json()


def test_a_direct_chat_is_one_persons(api: Api) -> None:
    answer = resolve(api, TELEGRAM)
    key = answer.pop("session_key")
    assert key.startswith("telegram-")
    assert answer == {
        "user_scope": "telegram:direct_u42",
        "chat_scope": None,
        "recall": ["telegram:direct_u42"],
    }


def test_a_group_is_its_speakers_and_its_own(api: Api) -> None:
    answer = resolve(api, GROUP)
    assert answer["user_scope"] == "telegram:direct_u42"
    assert answer["chat_scope"] == "telegram:mybot:group_g1"
    assert answer["recall"] == ["telegram:direct_u42", "telegram:mybot:group_g1"]


def test_a_group_without_a_speaker_is_only_its_own(api: Api) -> None:
    answer = resolve(api, {**GROUP, "peer": ""})
    assert answer["user_scope"] is None
    assert answer["recall"] == ["telegram:mybot:group_g1"]


def test_resolving_leaves_no_trace(api: Api) -> None:
    resolve(api, GROUP)
    assert not Scope.objects.exists() and not Channel.objects.exists()


def test_resolving_says_the_session_a_turn_will_use(api: Api) -> None:
    turn = api.post("turns", {"address": TELEGRAM, "user": "hello", "assistant": "hi"}).json()
    assert resolve(api, TELEGRAM)["session_key"] == turn["session"]["key"]


@pytest.mark.parametrize(
    ("dm_scope", "scope"),
    [
        ("main", "main"),
        ("per-peer", "direct_telegram%3au42"),
        ("per-channel-peer", "telegram:direct_u42"),
        ("per-account-channel-peer", "telegram:mybot:direct_u42"),
    ],
)
def test_a_channel_decides_how_far_direct_chats_are_kept_apart(
    api: Api, workspace: Workspace, dm_scope: str, scope: str
) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", dm_scope=dm_scope)
    assert resolve(api, TELEGRAM)["user_scope"] == scope
    assert resolve(api, GROUP)["user_scope"] == "telegram:direct_u42"


def test_the_channel_of_another_workspace_has_no_say(api: Api, stranger: Workspace) -> None:
    Channel.objects.create(workspace=stranger, platform="telegram", account="mybot", dm_scope="main")
    assert resolve(api, TELEGRAM)["user_scope"] == "telegram:direct_u42"


def test_a_reading_key_may_resolve(workspace: Workspace) -> None:
    resolve(Api(make_key(workspace, permissions=["read"])), TELEGRAM)


def test_peers_that_differ_only_in_case_are_two_people(api: Api) -> None:
    scopes = {
        resolve(api, {**TELEGRAM, "peer": peer})["user_scope"] for peer in ("bob", "Bob", "BOB", "b:ob", "b%3aob")
    }
    assert len(scopes) == 5


def test_an_endless_address_still_has_a_key_that_fits(api: Api) -> None:
    result = resolve(api, {**GROUP, "account": "帐" * 200, "chat": "群" * 200})
    other = resolve(api, {**GROUP, "account": "帐" * 200, "chat": "群" * 199 + "组"})
    assert result["chat_scope"] != other["chat_scope"]
    assert len(result["chat_scope"]) <= 200
    long = {**GROUP, "account": "Ω" * 200, "peer": "Ω" * 200, "chat": "Ω" * 200}
    assert api.post("turns", {"address": long, "user": "a", "assistant": "b"}).status_code == 201
