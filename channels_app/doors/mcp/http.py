"""Streamable HTTP: who may ask is decided before MCP is spoken. Keys stand in the header Authorization alone."""

from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
from cachetools import TTLCache
from django.http.request import validate_host
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from channels_app.doors.mcp import PATH
from channels_app.doors.mcp.api import HOME, Api, Refused
from channels_app.doors.mcp.server import Context, make_server
from channels_app.doors.openai.speaker import address_of

#: What is known of a key is asked again after so many seconds; each call of a tool is let in by the API itself.
KNOWN_SECONDS, KNOWN_MOST = 60, 1_000
_BODY_MAX = 1_048_576
_API = "memplatform.api"
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": "POST"}}


def make_app(http: httpx.AsyncClient, hosts: Sequence[str]) -> ASGIApp:
    """The app that asks the API through `http`, and answers to the names among `hosts`, as ALLOWED_HOSTS has them."""

    @asynccontextmanager
    async def while_served(_server: object) -> AsyncIterator[dict[str, Any]]:
        async with http:
            yield {}

    server = make_server(_api_of, while_served)
    mcp = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=_BODY_MAX,
        host="",  # Gate looks at hosts
    )
    return Gate(mcp, http, hosts)


def _api_of(context: Context) -> Api:
    api: Api = context.request.scope[_API]  # type: ignore[union-attr]
    return api


class Gate:
    """Lets in who calls us by a name of ours, from no foreign page, with a key the API knows."""

    def __init__(self, inner: ASGIApp, http: httpx.AsyncClient, hosts: Sequence[str]) -> None:
        self._inner, self._http, self._hosts = inner, http, hosts
        self._known: MutableMapping[str, dict[str, Any]] = TTLCache(KNOWN_MOST, KNOWN_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._inner
        if scope["type"] == "http":
            try:
                scope[_API] = await self._admit(scope["method"], scope["path"], Headers(scope=scope))
            except Refused as problem:
                # In the shape of the API's errors
                headers = dict(_HEADERS.get(problem.status, {}))
                if problem.retry_after:
                    headers["Retry-After"] = problem.retry_after
                kind = "server_error" if problem.status >= 500 else "client_error"
                answer = JSONResponse({"type": kind, "errors": problem.errors}, problem.status, headers)
        await answer(scope, receive, send)

    async def _admit(self, method: str, path: str, headers: Headers) -> Api:
        """The API as this request may call it. Raises Refused."""
        if path != PATH:
            raise _refused(404, "not_found", f"MCP is spoken at {PATH}.")
        if method != "POST":  # there are no sessions to end, and nothing is told unasked
            raise _refused(405, "method_not_allowed", "Only POST is answered here.")
        if not validate_host(_host(f"//{headers.get('host', '')}"), self._hosts):
            raise _refused(421, "wrong_host", "This name is not ours; set MEMPLATFORM_PUBLIC_URL or ALLOWED_HOSTS.")
        if (origin := headers.get("origin")) and not validate_host(_host(origin), [h for h in self._hosts if h != "*"]):
            raise _refused(403, "wrong_origin", "Pages of another site may not ask here.")
        scheme, _space, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip().isascii():
            raise _refused(401, "not_authenticated", "A bot key is needed: Authorization: Bearer <key>.")
        key = key.strip()
        api = Api(self._http, key, address_of(headers, None) or HOME, self._known.get(key, {}))
        self._known[key] = api.listed or await api.listing()
        return api


def _host(url: str) -> str:
    """The name in an address, as Django compares it; empty where it is none."""
    try:
        name = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return f"[{name}]" if ":" in name else name


def _refused(status: int, code: str, detail: str) -> Refused:
    return Refused(status, [{"code": code, "detail": detail, "attr": None}])
