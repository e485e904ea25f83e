"""Every route of the platform, found in the resolver, and who may pass: the table a new route has to be entered in."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from tests.conftest import TELEGRAM
from tests.support.described import api_description

SCOPE = "telegram:direct_u42"
CONTENT = "My cat is called Rice"

#: Tells only whether the platform lives, and details to this machine: tested with the processes.
OPEN = {"", "livez", "readyz", "metrics"}
#: Tells what calls there are: staff, or any key.
LOCAL = {"api/schema", "api/docs"}
#: Pages of people with passwords, and calls in others' forms: walked by tests of their own.
APART = ("admin/", "join/", "api/mem0/", "v1/", "api/v1/export", "oauth/", ".well-known/", "channels/", "chat/")
#: Of these what is described: it is streamed by a thread with a connection of its own, and has tests of its own.
STREAMED = {("api/v1/export", "GET")}


@dataclass(frozen=True, kw_only=True)
class Access:
    """A call Alice's bot may make, and what becomes of it when others make it about her rows."""

    body: dict[str, Any] | None = None
    answer: int = 200
    stranger: int = 404  # a bot of another workspace
    narrow: int = 404  # a bot of hers whose key does not reach the scope
    decides: bool = False  # only a key that may administer, or has the right named beside it
    right: str = "admin"
    begins: bool = False  # what is not there yet: nothing is unknown to it


def _webhooks(**more: Any) -> Access:
    """To a webhook is sent what happens in every scope: not for keys bound to some, nor for any without the right."""
    return Access(**more, narrow=403, decides=True, right="webhooks")


ENTRY = "api/v1/entries/<uuid:uid>"
BATCH = "api/v1/batches/<uuid:uid>"
WEBHOOKS = "api/v1/webhooks"
WEBHOOK = f"{WEBHOOKS}/<uuid:uid>"
DELIVERY = f"{WEBHOOKS}/deliveries/<uuid:delivery>"
NOBODY = "019a0000-0000-7000-8000-000000000000"
PLATFORM = "api/v1/channels/<str:platform>"
CHANNEL = f"{PLATFORM}/<path:account>"
SESSION = "api/v1/sessions/<str:key>"
ACCESS = {
    ("api/v1/turns", "POST"): Access(
        body={"address": TELEGRAM, "user": "I moved", "assistant": "Noted."}, answer=201, stranger=201
    ),
    ("api/v1/recall", "POST"): Access(body={"scope": SCOPE, "message": "what is my cat called?"}),
    ("api/v1/context", "POST"): Access(body={"address": TELEGRAM, "message": "what is my cat called?"}, stranger=200),
    ("api/v1/tools", "GET"): Access(stranger=200, narrow=200),
    ("api/v1/tools/memory_search", "POST"): Access(body={"scope": SCOPE, "query": "what is my cat called?"}),
    ("api/v1/tools/memory_get", "POST"): Access(
        body={"scope": SCOPE, "path": "memory/scopes/telegram+direct_u42/LONG_TERM.md"}
    ),
    ("api/v1/tools/memory_save", "POST"): Access(
        body={"scope": SCOPE, "content": "The boat is blue", "target": "daily"}, answer=201, stranger=201
    ),
    ("api/v1/tools/memory_append", "POST"): Access(
        body={"scope": SCOPE, "content": "The boat is blue"}, answer=201, stranger=201
    ),
    ("api/v1/tools/memory_update", "POST"): Access(
        body={"scope": SCOPE, "path": f"entries/{NOBODY}", "content": "The boat is green"}, answer=403
    ),  # of a line that is there: tests/channels_app/doors/tools/test_update.py
    ("api/v1/tools/memory_list", "POST"): Access(body={"scope": SCOPE}),
    ("api/v1/tools/call", "POST"): Access(
        body={
            "scope": SCOPE,
            "call": {"type": "tool_use", "id": "1", "name": "memory_search", "input": {"query": "what is my cat?"}},
        }
    ),
    ("api/v1/scopes/resolve", "POST"): Access(body={"address": TELEGRAM}, stranger=200),
    ("api/v1/entries", "GET"): Access(stranger=200, narrow=200),
    ("api/v1/entries", "POST"): Access(body={"scope": SCOPE, "content": "tea"}, answer=201, stranger=201),
    (ENTRY, "GET"): Access(),
    (ENTRY, "PATCH"): Access(body={"pinned": True}),
    (ENTRY, "DELETE"): Access(),
    (f"{ENTRY}/history", "GET"): Access(),
    (f"{ENTRY}/restore", "POST"): Access(body={}),
    (f"{ENTRY}/revert", "POST"): Access(body={"version": 1}),
    ("api/v1/recalls/<uuid:uid>", "GET"): Access(),
    ("api/v1/recalls/<uuid:uid>/feedback", "POST"): Access(body={"used": []}),
    ("api/v1/recalls/comparison", "GET"): Access(decides=True, stranger=200),
    ("api/v1/events", "GET"): Access(stranger=200, narrow=200),
    ("api/v1/sessions", "GET"): Access(stranger=200, narrow=200),
    ("api/v1/sessions", "POST"): Access(body={"address": TELEGRAM}, stranger=200),
    (SESSION, "GET"): Access(),
    (f"{SESSION}/events", "GET"): Access(),
    (f"{SESSION}/events", "POST"): Access(body={"events": [{"kind": "user", "content": "hello"}]}, answer=201),
    (f"{SESSION}/history", "GET"): Access(),
    ("api/v1/session_events/<uuid:session>/<int:conversation>/event-<int:event>", "GET"): Access(),
    (f"{SESSION}/reset", "POST"): Access(body={}),
    (f"{SESSION}/flush", "POST"): Access(body={"version": 1, "reply": "NO_REPLY"}),
    (f"{SESSION}/compact", "POST"): Access(body={}, answer=202),
    (PLATFORM, "GET"): Access(),
    (PLATFORM, "PUT"): Access(body={"need": "off"}, decides=True, stranger=201, begins=True),
    (CHANNEL, "GET"): Access(),
    (CHANNEL, "PUT"): Access(body={"need": "off"}, decides=True, stranger=201, begins=True),
    ("api/v1/messages/next", "POST"): Access(
        body={"platform": "telegram"}, answer=400, stranger=400, narrow=400
    ),  # for a connection whose bot asks: tests/channels_app/platforms/test_bots.py
    ("api/v1/messages/<uuid:uid>/answer", "POST"): Access(body={"text": "hello"}, answer=404),
    ("api/v1/batches", "GET"): Access(stranger=200, narrow=200),
    ("api/v1/batches", "POST"): Access(
        body={"scope": SCOPE, "verb": "expire", "entries": [NOBODY]}, answer=404
    ),  # with entries that are there: tests/memories/api/test_batches.py
    (BATCH, "GET"): Access(),
    (f"{BATCH}/approve", "POST"): Access(body={}, decides=True),
    (f"{BATCH}/refuse", "POST"): Access(body={}, decides=True),
    (f"{BATCH}/undo", "POST"): Access(body={}, answer=409, decides=True),  # it is only planned yet
    (f"{BATCH}/changes/<int:position>", "PATCH"): Access(body={"removed": True}, decides=True),
    (WEBHOOKS, "GET"): _webhooks(stranger=200),
    (WEBHOOKS, "POST"): _webhooks(
        body={"url": "https://b.example/hooks", "events": ["memory.created"]}, answer=201, stranger=201
    ),
    (WEBHOOK, "GET"): _webhooks(),
    (WEBHOOK, "PATCH"): _webhooks(body={"name": "alarms"}),
    (WEBHOOK, "DELETE"): _webhooks(),
    (f"{WEBHOOK}/test", "POST"): _webhooks(body={}, answer=202),
    (f"{WEBHOOK}/renew-secret", "POST"): _webhooks(body={}),
    (f"{WEBHOOK}/deliveries", "GET"): _webhooks(),
    (f"{WEBHOOK}/deliveries/send-again", "POST"): _webhooks(body={}, answer=202),
    (DELIVERY, "GET"): _webhooks(),
    (f"{DELIVERY}/send-again", "POST"): _webhooks(body={}, answer=202),
}
#: Calls that ask and change nothing, though they are made by POST.
ASKING = {
    "api/v1/recall",
    "api/v1/context",
    "api/v1/scopes/resolve",
    "api/v1/tools/memory_search",
    "api/v1/tools/memory_get",
    "api/v1/tools/memory_list",
}
#: And what does either, as a model asks for it: what writes needs a key that may.
EITHER = {"api/v1/tools/call"}


def routes() -> Iterator[tuple[str, Any]]:
    """Every route with its view, but for those apart."""
    for route, pattern in _walk(get_resolver().url_patterns, ""):
        if not route.startswith(APART):
            yield route, pattern.callback


def calls() -> set[tuple[str, str]]:
    """Every call of the API: route and method."""
    return {
        (route, method)
        for route, view in routes()
        if route not in OPEN | LOCAL
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE")
        if hasattr(view.view_class, method.lower())
    }


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        else:
            yield route, pattern


@cache
def described() -> dict[str, Any]:
    schema: dict[str, Any] = api_description()
    return schema


def undescribed(value: Any, schema: dict[str, Any], where: str = "") -> Iterator[str]:
    """Where an answer has other names than its schema describes, at any depth."""
    for part in (schema, *schema.get("allOf", ()), *schema.get("oneOf", ())):
        name = part.get("$ref", "").removeprefix("#/components/schemas/")
        shape = described()["components"]["schemas"][name] if name else part
        if isinstance(value, list) and "items" in shape:
            for n, inner in enumerate(value):
                yield from undescribed(inner, shape["items"], f"{where}[{n}]")
        elif isinstance(value, dict) and "properties" in shape:
            needless = shape["properties"].keys() - set(shape.get("required", ()))
            yield from (f"{where}.{name}" for name in (value.keys() ^ shape["properties"].keys()) - needless)
            for key in value.keys() & shape["properties"].keys():
                yield from undescribed(value[key], shape["properties"][key], f"{where}.{key}")
