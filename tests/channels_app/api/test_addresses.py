"""Addresses say whose memory it is: what is misspelt, blank or unseen begins none (E1)."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from channels_app.models import Channel
from memories.models import Entry, Scope, Workspace
from tests.conftest import GROUP, TELEGRAM, Api
from tests.memories.api.requests import errors

pytestmark = pytest.mark.django_db
TURN = {"user": "my locker stands in hall 7741", "assistant": "Noted."}


def say(api: Api, address: dict[str, Any], **more: Any) -> Any:
    return api.post("turns", {"address": address, **TURN, **more})


@pytest.mark.parametrize("name", ["Telegram", "TELEGRAM", "ｔｅｌｅｇｒａｍ"])
def test_the_case_and_width_of_a_platform_make_no_other_memory(api: Api, name: str) -> None:
    assert say(api, {**TELEGRAM, "platform": name}).json()["entries"][0]["scope"] == "telegram:direct_u42"
    assert Channel.objects.get().platform == "telegram"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "meant"), [("telegrm", "telegram"), ("Wechatt", "wechat"), ("dingtlk", "dingtalk"), ("feishu", "lark")]
)
@pytest.mark.parametrize("route", ["turns", "recall", "context", "scopes/resolve", "sessions", "entries"])
def test_a_near_miss_is_refused_with_the_right_name(api: Api, route: str, name: str, meant: str) -> None:
    words = {"turns": TURN, "recall": {"message": "hi"}, "context": {"message": "hi"}, "entries": {"content": "tea"}}
    answer = api.post(route, {"address": {**TELEGRAM, "platform": name}, **words.get(route, {})})
    assert (answer.status_code, errors(answer)[0][1]) == (400, "address.platform")
    assert f"“{meant}”" in answer.json()["errors"][0]["detail"]
    assert not Scope.objects.exists() and not Channel.objects.exists()


def test_a_platform_is_known_once_an_operator_added_a_channel(api: Api, workspace: Workspace) -> None:
    address = {**TELEGRAM, "platform": "intercom"}
    assert errors(say(api, address)) == [("invalid", "address.platform")]
    Channel.objects.create(workspace=workspace, platform="intercom", account="desk")
    assert say(api, address).status_code == 201
    assert say(api, {**address, "platform": "Intercom"}).json()["entries"][0]["scope"] == "intercom:direct_u42"


def test_a_platform_that_was_used_before_goes_on_under_its_name(api: Api, workspace: Workspace) -> None:
    Channel.objects.create(workspace=workspace, platform="Telegram", account="mybot")
    assert say(api, {**TELEGRAM, "platform": "Telegram"}).json()["entries"][0]["scope"] == "%54elegram:direct_u42"


@pytest.mark.parametrize("scope", ["telegrm:direct_u42", "direct_telegrm%3au42"])
def test_a_memory_that_was_begun_before_names_were_checked_goes_on(api: Api, workspace: Workspace, scope: str) -> None:
    Scope.objects.begin(workspace.pk, scope, "user")
    assert api.post("entries", {"scope": scope, "content": "tea"}).status_code == 201
    assert say(api, {**TELEGRAM, "platform": "telegrm"}).json()["entries"][0]["scope"] == "telegrm:direct_u42"


def test_a_scope_of_an_unknown_platform_is_not_begun(api: Api) -> None:
    for scope in ("telegrm:direct_u42", "telegrm:mybot:group_g1", "direct_telegrm%3au42"):
        assert errors(api.post("entries", {"scope": scope, "content": "tea"})) == [("invalid", "scope")]
    assert not Scope.objects.exists()


@pytest.mark.thorough
@pytest.mark.parametrize("part", ["platform", "account", "peer", "chat", "thread"])
@pytest.mark.parametrize("value", ["   ", "\u3000", "\t", "\u200b", "u\u200b1", "u\n1", " u1", "u1 ", "u1\u3000"])
def test_what_nobody_sees_is_part_of_no_name(api: Api, part: str, value: str) -> None:
    answer = say(api, {**TELEGRAM, part: value})
    assert (answer.status_code, errors(answer)[0][1]) == (400, f"address.{part}")
    assert not Entry.objects.exists()


def test_names_may_hold_blanks_and_joined_signs(api: Api) -> None:
    assert say(api, {**TELEGRAM, "peer": "Anna Smith 👩\u200d🚀"}).status_code == 201


def test_another_spelling_of_an_account_is_refused(api: Api) -> None:
    say(api, GROUP)
    answer = say(api, {**GROUP, "account": "MyBot"})
    assert (answer.status_code, errors(answer)[0][1]) == (400, "address.account")
    assert "“mybot”" in answer.json()["errors"][0]["detail"]


def test_the_one_owner_needs_no_name(api: Api, workspace: Workspace) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", dm_scope="main")
    (entry,) = say(api, {**TELEGRAM, "peer": ""}).json()["entries"]
    assert (entry["scope"], entry["outcome"]) == ("main", "created")
    assert Entry.objects.get().sender_id == "local"


SLOTS = ["channel", "chat_id", "session_id", "sender_id", "thread_id", "source_session_id"]


@pytest.mark.parametrize("slot", SLOTS)
def test_a_slot_that_follows_from_the_address_is_refused(api: Api, slot: str) -> None:
    answer = say(api, TELEGRAM, slots={slot: "x", "env": "staging"})
    assert (answer.status_code, errors(answer)[0][1]) == (400, f"slots.{slot}")


def test_nothing_was_said_in_the_future(api: Api) -> None:
    far, soon = "2099-01-01T00:00:00Z", (timezone.now() + timedelta(minutes=2)).isoformat()
    assert errors(say(api, TELEGRAM, at=far)) == [("future", "at")]
    assert errors(api.post("entries", {"scope": "main", "content": "tea", "at": far})) == [("future", "at")]
    session = say(api, TELEGRAM, at=soon).json()["session"]["key"]
    data = {"events": [{"kind": "user", "content": "hi", "at": far}]}
    assert errors(api.post(f"sessions/{session}/events", data)) == [("future", "events.0.at")]


def test_nothing_ends_in_the_past(api: Api) -> None:
    past = {"expires_at": "2020-01-01T00:00:00Z"}
    assert errors(api.post("entries", {"scope": "main", "content": "tea", **past})) == [("past", "expires_at")]
    entry = api.post("entries", {"scope": "main", "content": "tea"}).json()["id"]
    changed = api.request("PATCH", f"entries/{entry}", '{"expires_at": "2020-01-01T00:00:00Z"}')
    assert errors(changed) == [("past", "expires_at")]
    many = {"scope": "main", "verb": "change", "entries": [entry], "columns": past}
    assert api.post("batches", many).status_code == 400


def test_until_is_not_before_since(api: Api) -> None:
    data = {"message": "tea?", "since": "2026-03-02T00:00:00Z", "until": "2026-03-01T00:00:00Z"}
    assert errors(api.post("recall", {"address": TELEGRAM, **data})) == [("invalid", "until")]
