"""What cannot be read is refused with its reason, on every route."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from memories.models import Entry, RecallTrace, Workspace
from tests.conftest import TELEGRAM, Api, make_key
from tests.memories.api.requests import ROUTES, errors, every_route
from tests.memories.api.routes import ACCESS, NOBODY

pytestmark = pytest.mark.django_db


@every_route
def test_the_plain_request_is_taken(api: Api, route: str) -> None:
    assert api.post(route, ROUTES[route]).status_code in (200, 201)


@every_route
def test_unknown_fields_are_named(api: Api, route: str) -> None:
    response = api.post(route, {**ROUTES[route], "colour": "red", "size": 3})
    assert response.status_code == 400
    assert sorted(errors(response)) == [("unknown", "colour"), ("unknown", "size")]


@pytest.mark.parametrize("route", ["turns", "recall", "scopes/resolve"])
def test_unknown_parts_of_an_address_are_named(api: Api, route: str) -> None:
    response = api.post(route, {**ROUTES[route], "address": {**TELEGRAM, "person": "someone-else"}})
    assert response.status_code == 400
    assert errors(response) == [("unknown", "address.person")]


@every_route
def test_missing_fields_are_named(api: Api, route: str) -> None:
    response = api.post(route, {})
    assert response.status_code == 400
    assert {attr for _code, attr in errors(response)} <= {"address", "message", "scope", "content"}


UNREADABLE = {
    "nothing": b"",
    "not JSON": b"hello",
    "cut short": b'{"address": {"platform": "tel',
    "a list": b"[]",
    "a string": b'"x"',
    "null": b"null",
    "a number": b"1",
    "not UTF-8": b'{"message": "\xff\xfe"}',
    "UTF-16": '{"message": "x"}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "a name twice": b'{"message": "a", "message": "b"}',
    "a name twice inside": b'{"address": {"platform": "a", "platform": "b"}}',
    "NaN": b'{"message": NaN}',
    "Infinity": b'{"message": Infinity}',
    "minus Infinity": b'{"slots": {"a": -Infinity}}',
    "a number too large": b'{"message": 1e999}',
    "a number too long": b'{"message": ' + b"9" * 5_000 + b"}",
    "NUL": b'{"message": "a\\u0000b"}',
    "NUL in a name": b'{"a\\u0000b": 1}',
    "a lone surrogate": b'{"message": "\\ud83d"}',
    "a lone surrogate in a name": b'{"\\ud83d": 1}',
    "a lone surrogate deep inside": b'{"tool_calls": [{"name": "x", "arguments": {"a": ["\\udc00"]}}]}',
    "very deep": b'{"a":' * 100 + b"1" + b"}" * 100,
    "endlessly deep": b"[" * 100_000 + b"]" * 100_000,
}


@pytest.mark.thorough
@every_route
@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_is_not_plain_json_is_refused(api: Api, route: str, kind: str) -> None:
    response = api.request("POST", route, UNREADABLE[kind])
    assert response.status_code == 400, response.content
    assert response.json()["type"] in ("client_error", "validation_error")
    assert response.json()["errors"]


@pytest.mark.parametrize(
    ("body", "english", "chinese"),
    [
        (b'{"a":}', "Expecting value: line 1 column 6 (char 5)", "这里应当是一个值：第 1 行第 6 列（字符 5）"),
        (
            b'{"a" 1}',
            "Expecting ':' delimiter: line 1 column 6 (char 5)",
            "这里应当是冒号“:”：第 1 行第 6 列（字符 5）",
        ),
        (b"{} x", "Extra data: line 1 column 4 (char 3)", "后面还有多余的内容：第 1 行第 4 列（字符 3）"),
        (b'{"a":"\\q"}', "Invalid \\escape: line 1 column 7 (char 6)", "无效的 \\ 转义：第 1 行第 7 列（字符 6）"),
        (b'{"a": "\xff"}', "it is not UTF-8 at byte 7", "字节 7 处不是 UTF-8"),
    ],
)
def test_what_is_wrong_with_json_is_said_with_its_place_in_the_language_of_whoever_asks(
    api: Api, body: bytes, english: str, chinese: str
) -> None:
    details = [
        api.request("POST", "recall", body, **{"Accept-Language": language}).json()["errors"][0]["detail"]
        for language in ("en", "zh-CN")
    ]
    assert details == [f"This is not JSON: {english}", f"这不是 JSON：{chinese}"]


def test_what_is_nested_too_deeply_is_named(api: Api) -> None:
    deep = {"name": "x", "arguments": json.loads('{"a":' * 30 + "1" + "}" * 30)}
    response = api.post("turns", {**ROUTES["turns"], "tool_calls": [deep]})
    assert (response.status_code, errors(response)) == (400, [("invalid", "tool_calls")])
    assert "nested too deeply" in response.json()["errors"][0]["detail"]


def test_a_body_nested_too_deeply_to_be_read_is_said_to_be(api: Api) -> None:
    response = api.request("POST", "turns", UNREADABLE["endlessly deep"])
    assert (response.status_code, errors(response)) == (400, [("parse_error", None)])
    assert response.json()["errors"][0]["detail"] == "The body is nested too deeply."


@every_route
def test_a_body_over_a_megabyte_is_too_large(api: Api, route: str) -> None:
    body = json.dumps({**ROUTES[route], "pad": "x" * 1_048_576})
    response = api.request("POST", route, body)
    assert response.status_code == 413
    assert errors(response) == [("too_large", None)]


@every_route
@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_only_json_is_understood(workspace: Workspace, route: str, content_type: str) -> None:
    response = Client(raise_request_exception=False).post(
        f"/api/v1/{route}",
        data="a=b",
        content_type=content_type,
        headers={"Authorization": f"Bearer {make_key(workspace)}"},
    )
    assert response.status_code == 415
    assert errors(response) == [("unsupported_media_type", None)]


@every_route
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods_are_not_allowed(api: Api, route: str, method: str) -> None:
    response = api.request(method, route, "{}")
    assert response.status_code == 405
    assert errors(response) == [("method_not_allowed", None)]


WRONG_TYPES = [
    ("turns", "user", 5, "user"),
    ("turns", "user", None, "user"),
    ("turns", "assistant", ["x"], "assistant"),
    ("turns", "address", "telegram", "address.non_field_errors"),
    ("turns", "address", None, "address"),
    ("turns", "at", 1_700_000_000, "at"),
    ("turns", "at", "yesterday", "at"),
    ("turns", "at", "2026-03-01T09:00:00", "at"),
    ("turns", "at", "0001-01-01T00:00:00Z", "at"),
    ("turns", "at", "9999-12-31T23:59:59-14:00", "at"),
    ("turns", "tool_calls", {"name": "x"}, "tool_calls"),
    ("turns", "tool_calls", [{"arguments": {}}], "tool_calls.0.name"),
    ("turns", "tool_calls", [{"name": 7}], "tool_calls.0.name"),
    ("turns", "tool_calls", [{"name": "x", "speed": 1}], "tool_calls.0.speed"),
    ("turns", "outcome", {}, "outcome"),
    ("turns", "recall_id", "not-an-id", "recall_id"),
    ("turns", "slots", ["a"], "slots"),
    ("turns", "slots", {"env": 1}, "slots.env"),
    ("turns", "slots", {"env": None}, "slots.env"),
    ("recall", "message", 5, "message"),
    ("recall", "message", None, "message"),
    ("recall", "limit", "8", "limit"),
    ("recall", "limit", 0, "limit"),
    ("recall", "limit", 51, "limit"),
    ("recall", "limit", 1.5, "limit"),
    ("recall", "limit", True, "limit"),
    ("recall", "mode", "magic", "mode"),
    ("recall", "mode", 1, "mode"),
    ("recall", "types", "fact", "types"),
    ("recall", "types", ["fact", "gossip"], "types.1"),
    ("recall", "filters", "env=prod", "filters"),
    ("recall", "filters", {"env": ["prod"]}, "filters.env"),
    ("recall", "filters", {f"n{n}": "v" for n in range(31)}, "filters"),
    ("recall", "filters", {"n" * 65: "v"}, "filters." + "n" * 64),
    ("recall", "project", 1, "project"),
    ("recall", "since", "2026-03-01", "since"),
    ("recall", "until", 5, "until"),
    ("recall", "need", "maybe", "need"),
    ("recall", "need", False, "need"),
    ("recall", "quotas", "off", "quotas"),
    ("recall", "quotas", 0, "quotas"),
    ("recall", "token_budget", -1, "token_budget"),
    ("recall", "token_budget", 100_001, "token_budget"),
    ("recall", "explain", "yes", "explain"),
    ("entries", "scope", 5, "scope"),
    ("entries", "scope", "", "scope"),
    ("entries", "scope", "x" * 256, "scope"),
    ("entries", "type", "gossip", "type"),
    ("entries", "type", 1, "type"),
    ("entries", "content", "", "content"),
    ("entries", "content", "   ", "content"),
    ("entries", "content", "x" * 8_001, "content"),
    ("entries", "content", ["x"], "content"),
    ("entries", "slots", {f"n{n}": "v" for n in range(31)}, "slots"),
    ("entries", "slots", {"": "v"}, "slots."),
    ("entries", "slots", {"env": "v" * 501}, "slots.env"),
    ("entries", "importance", 1.01, "importance"),
    ("entries", "importance", -0.1, "importance"),
    ("entries", "importance", "0.5", "importance"),
    ("entries", "importance", 10**400, "importance"),
    ("entries", "category", "gossip", "category"),
    ("entries", "tier", 1, "tier"),
    ("entries", "tier", 3, "tier"),
    ("entries", "project", "p" * 101, "project"),
    ("entries", "topic", 3, "topic"),
    ("entries", "source", "heaven", "source"),
    ("entries", "pinned", "true", "pinned"),
    ("entries", "pinned", 1, "pinned"),
    ("entries", "expires_at", "never", "expires_at"),
    ("entries", "at", "2026-13-01T00:00:00Z", "at"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("route", "name", "value", "attr"), WRONG_TYPES)
def test_a_wrong_value_is_named_and_nothing_is_stored(api: Api, route: str, name: str, value: Any, attr: str) -> None:
    response = api.post(route, {**ROUTES[route], name: value})
    assert response.status_code == 400, response.json()
    assert {found for _code, found in errors(response)} == {attr}
    assert not Entry.objects.exists() and not RecallTrace.objects.exists()


def test_a_recall_needs_either_an_address_or_a_scope(api: Api) -> None:
    for body in ({"message": "hi"}, {"message": "hi", "address": TELEGRAM, "scope": "main"}):
        response = api.post("recall", body)
        assert response.status_code == 400
        assert errors(response) == [("invalid", "address")]


def test_an_error_has_the_same_shape_for_every_reason(api: Api) -> None:
    answers = [
        api.post("turns", {}),
        api.request("POST", "turns", b"{"),
        Api(None).post("turns", {}),
        api.post("recall", {"scope": "telegram:direct_nobody", "message": "hi"}),
        api.request("PUT", "turns", "{}"),
    ]
    for response in answers:
        body = response.json()
        assert set(body) == {"type", "errors"}
        assert all(set(error) == {"code", "detail", "attr"} for error in body["errors"])


def places_of(route: str) -> set[str]:
    """A route at an id nobody has, and at what is no id."""
    filled = re.sub(r"<(?!uuid)\w+:\w+>", "1", route)
    return {re.sub(r"<uuid:\w+>", place, filled) for place in (NOBODY, "not-a-uuid")}


ALL_CALLS = sorted((path, method) for route, method in ACCESS for path in places_of(route))


@pytest.mark.parametrize(("path", "method"), [*ALL_CALLS, ("api/v1/no/such/call", "POST")])
def test_a_body_that_is_too_large_is_a_413_wherever_it_is_sent(api: Api, path: str, method: str) -> None:
    answer = api.request(method, path.removeprefix("api/v1/"), b"x" * 1_100_000)
    assert answer.status_code == 413, answer.content
    assert answer.json()["errors"][0]["code"] == "too_large"


def test_without_a_key_a_large_body_is_read_no_further(db: None) -> None:
    assert Api(None).request("POST", "entries/not-a-uuid/restore", b"x" * 1_100_000).status_code == 404
    assert Api(None).request("POST", "turns", b"x" * 1_100_000).status_code == 401
