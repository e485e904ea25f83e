"""Nothing a client sends breaks a route: it is taken, or refused with a reason."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import TELEGRAM, Api
from tests.memories.api.requests import ROUTES, every_route

pytestmark = pytest.mark.django_db

NASTY: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    10**400,
    "",
    " ",
    "\n",
    "x" * 70_000,
    "年糕" * 30_000,
    "%s%(x)s{}",
    "' OR 1=1 --",
    "\\",
    "*",
    "\u202e\u200b\ufeff",
    "😀" * 300,
    "a:b/../c",
    [],
    [[]],
    [None],
    [1],
    ["x"] * 2_000,
    {},
    {"": ""},
    {"a": None},
    {"a": {"b": []}},
    {f"k{n}": "v" for n in range(2_000)},
    {"x" * 5_000: "y"},
    {"type": "fact", "scope": "user", "source": "file"},
    {"%s": "%(slot0)s"},
    {"e.id": "1"},
    "2026-03-01T09:00:00+23:59",
    "1970-01-01T00:00:00+14:00",
    "2199-12-31T23:59:59-14:00",
    "0" * 36,
]
FIELDS = {
    "turns": ("address", "user", "assistant", "at", "tool_calls", "outcome", "recall_id", "slots"),
    "recall": (
        "address",
        "scope",
        "message",
        "limit",
        "mode",
        "types",
        "filters",
        "project",
        "since",
        "until",
        "as_of",
        "need",
        "quotas",
        "token_budget",
        "explain",
    ),
    "scopes/resolve": ("address",),
    "entries": (
        "scope",
        "type",
        "content",
        "slots",
        "importance",
        "category",
        "tier",
        "project",
        "topic",
        "source",
        "pinned",
        "expires_at",
        "at",
    ),
}
PARTS = ("platform", "account", "peer", "chat", "is_group", "thread")


def nasty_bodies(route: str) -> Iterator[dict[str, Any]]:
    """Every field with every nasty value, every part of an address too, and tools that tell strange things."""
    for value in NASTY:
        for name in FIELDS[route]:
            yield {**ROUTES[route], name: value}
            if name == "scope" and route == "recall":
                yield {"scope": value, "message": "where do I live?"}
        if route != "entries":
            for part in PARTS:
                yield {**ROUTES[route], "address": {**TELEGRAM, "is_group": route == "turns", part: value}}
        if route == "turns":
            yield {**ROUTES[route], "tool_calls": [{"name": "x", "arguments": value, "result": [value]}]}


@pytest.mark.thorough
@every_route
def test_no_body_however_nasty_breaks_a_route(api: Api, route: str) -> None:
    broken = []
    for body in nasty_bodies(route):
        response = api.post(route, body)
        if response.status_code not in (200, 201, 400, 404, 413):
            broken.append((response.status_code, json.dumps(body)[:300]))
        assert response.json()
    assert broken == []


def test_numbers_no_database_can_hold_are_refused_in_what_tools_tell(api: Api) -> None:
    body = json.dumps({**ROUTES["turns"], "tool_calls": [{"name": "x", "arguments": "@", "result": None}]})
    response = api.request("POST", "turns", body.replace('"@"', '{"size": -1e999}'))
    assert response.status_code == 400


@pytest.mark.parametrize(
    ("text", "place"),
    [("1e999", "n"), ("-1e999", "n"), ("NaN", "n"), ("Infinity", "n"), ("1" * 400, "n"), ('"\\u0000"', "n")]
    + [('"\\ud83d"', "n"), ('{"deep": [1, 1e999]}', "n.deep.1")],
)
def test_what_no_database_can_hold_is_refused_under_the_name_of_its_field(api: Api, text: str, place: str) -> None:
    session = api.post("sessions", {"address": TELEGRAM}).json()["id"]
    body = '{"events": [{"kind": "user", "content": "hello", "data": {"n": @}}]}'.replace("@", text)
    response = api.request("POST", f"sessions/{session}/events", body)
    assert response.status_code == 400, response.content
    assert response.json()["errors"][0]["attr"] == f"events.0.data.{place}"


@pytest.mark.parametrize("text", ["1e999", "NaN", '"\\u0000"', '"\\ud83d"'])
def test_neither_is_it_taken_from_the_arguments_a_model_writes(api: Api, text: str) -> None:
    arguments = '{"query": "tea", "min_score": @}'.replace("@", text)
    call = {"id": "1", "type": "function", "function": {"name": "memory_search", "arguments": arguments}}
    response = api.post("tools/call", {"address": TELEGRAM, "call": call})
    assert response.status_code == 200, response.content
    (answer,) = response.json()["answers"]
    assert answer["is_error"] and answer["errors"]


NASTY_PARAMETERS = [
    {"limit": "0"},
    {"limit": "201"},
    {"limit": "x"},
    {"limit": "9" * 50},
    {"state": "dead"},
    {"type": "gossip"},
    {"colour": "red"},
    {"cursor": "x"},
    {"cursor": "%%%"},
    {"cursor": "cD1ub3RhZGF0ZQ=="},
    {"cursor": "bz0tMQ=="},
    {"cursor": "cj0x"},
    {"cursor": "\x00"},
    {"q": "\x00"},
    {"slot.env": "\x00"},
    {"slot.\x00": "x"},
    {"slot.": "x"},
    {"slot." + "n" * 65: "x"},
    {"slot.env": "v" * 501},
    {"scope": "\x00"},
    {"scope": "x" * 256},
    {"q": "x" * 501},
    {"cursor": "x" * 501},
]


@pytest.mark.thorough
@pytest.mark.parametrize("parameters", NASTY_PARAMETERS, ids=repr)
def test_a_list_asked_for_wrongly_is_refused(api: Api, parameters: dict[str, str]) -> None:
    api.post("entries", ROUTES["entries"])
    response = api.get("entries", **parameters)
    assert response.status_code == 400, response.content
    assert response.json()["errors"]


def test_too_many_slots_to_filter_by_are_refused(api: Api) -> None:
    response = api.get("entries", **{f"slot.n{n}": "v" for n in range(31)})
    assert response.status_code == 400
