"""Streamable HTTP: who may ask is decided before MCP is spoken. Keys stand in the header Authorization alone."""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from cachetools import TTLCache
from django.http.request import validate_host
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from channels_app.doors import address_of
from channels_app.doors.mcp import PATH, WELL_KNOWN, challenge, description
from channels_app.doors.mcp.api import HOME, Api, Refused
from channels_app.doors.mcp.server import make_server

#: Whether a key is valid is asked again after so many seconds; each call of a tool is let in by the API itself.
KEY_SECONDS, MOST_KEYS = 2, 1_000
_BODY_MAX = 1_048_576
_API = "memplatform.api"


@dataclass(frozen=True)
class LettingIn:
    """How a client without a key is let in (OAuth): by whom, and where MCP is from outside."""

    issuer: str = ""  # empty: nobody but who has a key
    public_url: str = ""

    def base(self, host: str) -> str:
        """This place as the caller names it."""
        public = urlsplit(self.public_url)
        return self.public_url if public.netloc and _host(f"//{host}") == public.hostname else f"http://{host}"


def make_app(http: httpx.AsyncClient, hosts: Sequence[str], letting_in: LettingIn = LettingIn()) -> ASGIApp:  # noqa: B008
    """The app that asks the API through `http`, and answers to the names among `hosts`, as ALLOWED_HOSTS has them."""
    # The client is opened and closed with the server
    server = make_server(lambda context: context.request.scope[_API], lambda _server: http)  # type: ignore[union-attr]
    mcp = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=_BODY_MAX,
        host="",  # Gate looks at hosts
    )
    return Gate(mcp, http, hosts, letting_in)


class Gate:
    """Lets in who calls us by a name of ours, from no foreign page, with a key the API knows."""

    def __init__(self, inner: ASGIApp, http: httpx.AsyncClient, hosts: Sequence[str], letting_in: LettingIn) -> None:
        self._inner, self._http, self._hosts, self._letting_in = inner, http, hosts, letting_in
        self._listings: MutableMapping[str, dict[str, Any]] = TTLCache(MOST_KEYS, KEY_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._inner
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            try:
                if not validate_host(_host(f"//{headers.get('host', '')}"), self._hosts):
                    raise _refused(
                        421, "wrong_host", "This name is not ours; set MEMPLATFORM_PUBLIC_URL or ALLOWED_HOSTS."
                    )
                answer = self._description(scope, headers) or answer
                if answer is self._inner:
                    scope[_API] = await self._admit(scope["method"], scope["path"], headers)
            except Refused as problem:
                # In the shape of the API's errors
                kind = "server_error" if problem.status >= 500 else "client_error"
                content = {"type": kind, "errors": problem.errors}
                more = {"Retry-After": problem.retry_after} if problem.retry_after else {}
                if problem.status == 405:
                    more["Allow"] = "POST"
                elif problem.status == 401:
                    more["WWW-Authenticate"] = "Bearer"
                    if self._letting_in.issuer:
                        base = self._letting_in.base(headers.get("host", ""))
                        more["WWW-Authenticate"] = challenge(base, with_token="authorization" in headers)
                answer = JSONResponse(content, problem.status, more)
        await answer(scope, receive, send)

    def _description(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        """What MCP says of itself to who has no key; None: something else is asked for."""
        if scope["path"] not in (WELL_KNOWN, WELL_KNOWN + PATH) or scope["method"] not in ("GET", "HEAD"):
            return None
        if not self._letting_in.issuer:
            raise _refused(404, "not_found", f"MCP is spoken at {PATH}.")
        resource = self._letting_in.base(headers.get("host", "")) + PATH
        return JSONResponse(description(resource, self._letting_in.issuer))

    async def _admit(self, method: str, path: str, headers: Headers) -> Api:
        """The API as this request may call it. Raises Refused."""
        if path != PATH:
            raise _refused(404, "not_found", f"MCP is spoken at {PATH}.")
        if method != "POST":  # there are no sessions to end, and nothing is sent unasked
            raise _refused(405, "method_not_allowed", "Only POST is answered here.")
        if (origin := headers.get("origin")) and not validate_host(_host(origin), [h for h in self._hosts if h != "*"]):
            raise _refused(403, "wrong_origin", "Pages of another site may not ask here.")
        scheme, _space, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip().isascii():
            raise _refused(401, "not_authenticated", "A bot key is needed: Authorization: Bearer <key>.")
        key = key.strip()
        api = Api(self._http, key, address_of(headers, None) or HOME, self._listings.get(key, {}))
        listing = await api.listing()
        if address := listing.get("address"):
            # For one person's memory, whatever headers say. Asked each time: its end is a 401, which has the
            # client refresh it, and by no answer of a tool
            api.address = address
        else:
            self._listings[key] = listing
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
