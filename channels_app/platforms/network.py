"""How a platform is reached: its API over HTTP, its WebSocket, and the tokens it gives.

Connections and tokens are kept, no redirect is followed, nothing of a call is logged; certificates are those the
machine trusts.
"""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx
import truststore
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from channels_app.platforms.wire import CALL_MAX, TryLater

SECONDS = 20.0
#: Between looks whether to stop, and before a connection that was lost is opened again.
LOOK_SECONDS, AGAIN_SECONDS = 2.0, 3.0
#: A token is asked for anew so long before it runs out.
EARLY_SECONDS = 300.0


@dataclass(frozen=True)
class Answer:
    """What a platform answered.

    `body` is empty where the answer is no JSON object.
    """

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    def seconds(self, header: str) -> float | None:
        """How long a header says to wait."""
        try:
            return max(0.0, float(self.headers.get(header, "")))
        except ValueError:
            return None


@cache
def _client() -> httpx.Client:
    return httpx.Client(timeout=SECONDS, verify=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT), follow_redirects=False)


#: Tokens with the time they are used until, by who asks.
_tokens: dict[tuple[str, ...], tuple[str, float]] = {}


def close() -> None:
    """Close the connections of this process and forget its tokens."""
    _tokens.clear()
    _client().close()
    _client.cache_clear()


def ask(url: str, payload: Mapping[str, Any] | None = None, *, method: str = "POST", **more: Any) -> Answer:
    """Ask for something; `more` as httpx takes it. Raises TryLater where nobody answers, or with a status of 5xx."""
    if payload is not None:
        more["json"] = payload
    try:
        response = _client().request(method, url, **more)
    except (httpx.HTTPError, httpx.InvalidURL) as failure:
        raise TryLater(type(failure).__name__) from None
    if response.status_code >= 500:
        raise TryLater(f"status {response.status_code}")
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = {}
    return Answer(response.status_code, response.headers, body if isinstance(body, dict) else {})


def token_of(place: tuple[str, ...], get: Callable[[], tuple[str, float]], *, is_fresh: bool = False) -> str:
    """The token of who asks, or a new one, which `get` has with the seconds it is good for."""
    token, until = _tokens.get(place, ("", 0.0))
    if is_fresh or time.monotonic() >= until:
        token, seconds = get()
        _tokens[place] = token, time.monotonic() + seconds - EARLY_SECONDS
    return token


def open_socket(url: str) -> ClientConnection:
    """Raises TryLater."""
    certificates = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.startswith("wss:") else None
    try:
        return connect(url, ssl=certificates, max_size=CALL_MAX, close_timeout=1)
    except (WebSocketException, OSError, ValueError) as failure:
        raise TryLater(type(failure).__name__, AGAIN_SECONDS) from None


def frames(socket: ClientConnection, stop: Callable[[], bool]) -> Iterator[str | bytes]:
    """What comes, until told to stop. Raises TryLater."""
    try:
        while not stop():
            try:
                raw = socket.recv(timeout=LOOK_SECONDS)
            except TimeoutError:
                continue
            yield raw
    except (WebSocketException, OSError) as failure:
        raise TryLater(type(failure).__name__, AGAIN_SECONDS) from None


def send(socket: ClientConnection, text: str) -> None:
    """Raises TryLater."""
    try:
        socket.send(text)
    except (WebSocketException, OSError) as failure:
        raise TryLater(type(failure).__name__, AGAIN_SECONDS) from None
