"""A platform's WebSocket: opened with the certificates the machine trusts, read until told to stop."""

import ssl
from collections.abc import Callable, Iterator

import truststore
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from channels_app.platforms.wire import CALL_MAX, TryLater

#: Between looks whether to stop, and before a connection that was lost is opened again.
LOOK_SECONDS, AGAIN_SECONDS = 2.0, 3.0


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
