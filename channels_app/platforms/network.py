"""How a platform is reached: its API over HTTP, its WebSocket, and the tokens it gives.

Connections and tokens are kept, no redirect is followed, nothing of a call is logged; certificates are those the
machine trusts.
"""

import hashlib
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import httpx
import truststore
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from channels_app.platforms.wire import CALL_MAX, TryLater, as_key_refused

T = TypeVar("T")
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


#: Tokens with the time they are used until, by a digest of who asks: no secret is kept here.
_tokens: dict[bytes, tuple[str, float]] = {}


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


@dataclass(frozen=True)
class Login:
    """Who asks a platform, and how they get a token."""

    place: tuple[str, ...]  # server, name and secret
    get: Callable[[bool], tuple[str, float]]  # a token with its seconds; True: the one of the moment was refused

    def token(self, *, is_fresh: bool = False) -> str:
        """The token of the moment, or a new one. Raises KeyRefused, TryLater."""
        place = hashlib.sha256("\0".join(self.place).encode()).digest()
        token, until = _tokens.get(place, ("", 0.0))
        if is_fresh or time.monotonic() >= until:
            with as_key_refused():
                token, seconds = self.get(is_fresh)
            _tokens[place] = token, time.monotonic() + seconds - EARLY_SECONDS
        return token

    def ask(self, call: Callable[[str], T], is_stale: Callable[[T], bool]) -> T:
        """What a call by a token is answered; where the token was withdrawn, by a new one, once."""
        answer = call(self.token())
        return call(self.token(is_fresh=True)) if is_stale(answer) else answer


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
