"""The rules of a channel are set and read over the API, also before anybody has spoken from it (E1)."""

from typing import Any

import pytest

from channels_app.models import Channel
from memories.models import Change, RecallTrace, Workspace
from tests.conftest import GROUP, TELEGRAM, Api, make_key
from tests.memories.api.requests import errors

pytestmark = pytest.mark.django_db
MYBOT = "channels/telegram/mybot"
TURN = {"user": "my locker stands in hall 7741", "assistant": "Noted."}


def put(api: Api, path: str, rules: str = "{}", **headers: str) -> Any:
    return api.request("PUT", path, rules, **headers)


def test_rules_set_before_the_first_message_are_used_by_it(api: Api) -> None:
    made = put(api, MYBOT, '{"dm_scope": "main", "capture_group_memory": false, "session_prefix": "desk"}')
    assert (made.status_code, made.headers["ETag"], made.json()["version"]) == (201, '"1"', 1)
    turn = api.post("turns", {"address": {**TELEGRAM, "peer": ""}, **TURN}).json()
    assert [entry["scope"] for entry in turn["entries"]] == ["main"]
    answer = api.post("turns", {"address": GROUP, **TURN}).json()
    assert not any("group_" in entry["scope"] for entry in answer["entries"])
    assert answer["session"]["key"].startswith("desk-")
    assert Channel.objects.count() == 1


def test_rules_that_are_not_named_stay_and_null_is_the_default(api: Api) -> None:
    put(api, MYBOT, '{"dm_scope": "main", "group_sessions": "per_member", "max_tokens": 900}')
    changed = put(api, MYBOT, '{"dm_scope": null, "max_tokens": null}')
    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    answer = api.get(MYBOT).json()
    assert answer == changed.json()
    assert (answer["dm_scope"], answer["max_tokens"], answer["group_sessions"]) == ("", None, "per_member")


def test_who_set_them_stands_in_the_history(api: Api) -> None:
    put(api, MYBOT, '{"need": "off"}')
    put(api, MYBOT, '{"need": "auto"}')
    put(api, MYBOT, '{"need": "auto"}')  # changes nothing
    changes = Change.objects.filter(table_name="channels_app_channel").order_by("id")
    assert [(change.op, change.actor) for change in changes] == [("I", "bot:bot"), ("U", "bot:bot")]
    assert changes[1].old == {"need": "off"}


def test_a_channel_changed_meanwhile_is_not_overwritten(api: Api) -> None:
    put(api, MYBOT, '{"need": "off"}')
    assert put(api, MYBOT, '{"label": "Desk"}', **{"If-Match": '"1"'}).headers["ETag"] == '"2"'
    late = put(api, MYBOT, '{"label": "Shop"}', **{"If-Match": '"1"'})
    assert (late.status_code, errors(late)[0][0]) == (412, "version_conflict")
    assert put(api, "channels/telegram/other", "{}", **{"If-Match": '"1"'}).status_code == 412
    assert Channel.objects.get().label == "Desk"


def test_sent_twice_under_one_key_it_is_done_once(api: Api) -> None:
    once, again = (put(api, MYBOT, '{"need": "off"}', **{"Idempotency-Key": "k1"}) for _ in range(2))
    assert (once.status_code, again.status_code, once.json()) == (201, 201, again.json())
    assert again.headers["Idempotent-Replayed"] == "true" and again.headers["ETag"] == '"1"'


def test_a_channel_is_called_as_in_an_address(api: Api) -> None:
    assert put(api, "channels/Telegram/mybot").json()["platform"] == "telegram"
    assert api.get("channels/TELEGRAM/mybot").status_code == 200
    assert errors(put(api, "channels/telegrm/mybot")) == [("invalid", "platform")]
    assert errors(put(api, "channels/telegram/MyBot")) == [("invalid", "account")]
    assert errors(put(api, "channels/telegram/%20%20")) == [("unseen", "account")]
    assert api.get("channels/telegrm/mybot").status_code == 404
    assert Channel.objects.count() == 1


def test_a_platform_is_allowed_by_a_key_that_administers(api: Api) -> None:
    address = {**TELEGRAM, "platform": "intercom"}
    assert api.post("turns", {"address": address, **TURN}).status_code == 400
    assert put(api, "channels/Intercom/desk/1").json()["account"] == "desk/1"
    assert api.post("turns", {"address": address, **TURN}).json()["entries"][0]["scope"] == "intercom:direct_u42"


def test_messages_that_name_no_account_have_rules_too(api: Api) -> None:
    assert put(api, "channels/lark", '{"dm_scope": "main"}').json()["account"] == ""
    assert api.get("channels/lark").json()["dm_scope"] == "main"
    turn = api.post("turns", {"address": {"platform": "lark"}, **TURN}).json()
    assert turn["entries"][0]["scope"] == "main"


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ('{"dm_scope": "everyone"}', "dm_scope"),
        ('{"session_mode": ""}', "session_mode"),
        ('{"group_prefix": "direct_x"}', "group_prefix"),
        ('{"group_prefix": ""}', "group_prefix"),
        ('{"max_tokens": 5}', "max_tokens"),
        ('{"capture_group_memory": "yes"}', "capture_group_memory"),
        ('{"color": "red"}', "color"),
    ],
)
def test_a_rule_nobody_knows_is_named_and_nothing_begins(api: Api, rules: str, field: str) -> None:
    answer = put(api, MYBOT, rules)
    assert (answer.status_code, errors(answer)[0][1]) == (400, field)
    assert not Channel.objects.exists()


def test_who_may_not_learns_nothing(workspace: Workspace, stranger: Workspace, api: Api) -> None:
    put(api, MYBOT, '{"label": "Desk"}')
    bound, writing = make_key(workspace, scope_patterns=["telegram:*"]), make_key(workspace, permissions=["write"])
    assert Api(make_key(stranger)).get(MYBOT).status_code == 404
    assert Api(bound).get(MYBOT).status_code == put(Api(bound), MYBOT).status_code == 404
    assert put(Api(writing), MYBOT).status_code == 403


def serve_of(api: Api, path: str, **asked: Any) -> tuple[Any, Any]:
    """What a call served by, and who said so, as its trace has it."""
    api.post(path, {"address": TELEGRAM, "message": "where is my locker?", **asked})
    kept = RecallTrace.objects.latest("id").query
    return kept.get("serve", "wide"), kept.get("serve_source", "default")


def test_a_channel_says_what_is_served_where_a_call_does_not(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, **TURN})
    assert api.get(MYBOT).json()["serve"] is None
    assert serve_of(api, "recall") == ("wide", "default")
    assert serve_of(api, "context") == ("likely", "default")
    assert put(api, MYBOT, '{"serve": 0.45}').json()["serve"] == 0.45
    assert serve_of(api, "recall") == serve_of(api, "context") == (0.45, "channel")
    assert serve_of(api, "context", serve="wide") == ("wide", "call")
    put(api, MYBOT, '{"serve": "likely"}')
    assert serve_of(api, "recall") == ("likely", "channel")
    assert put(api, MYBOT, '{"serve": null}').json()["serve"] is None
    assert serve_of(api, "recall") == ("wide", "default")


@pytest.mark.parametrize("serve", ['"most"', "1.5", "-1", "true"])
def test_what_a_channel_serves_is_a_word_or_a_share(api: Api, serve: str) -> None:
    refused = put(api, MYBOT, f'{{"serve": {serve}}}')
    assert refused.status_code == 400 and errors(refused)[0][1] == "serve"
