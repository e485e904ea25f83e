"""Requests to the one URL an owner configures, with limits on the response.

Redirects are not followed, a response is limited in bytes and seconds, and no header identifies the machine.
"""

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx
import truststore

_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "memplatform"}


@dataclass(frozen=True)
class Response:
    """What a server answered, whatever its status."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True)
class Body:
    """What is sent as it comes, with the headers that say what it is."""

    parts: Iterator[bytes]
    headers: Mapping[str, str]


class OpenResponse:
    """An answer whose body is still to come, in parts as they arrive; whoever asked closes it.

    Iterating raises httpx.RequestError: also when it is larger than `max_bytes`, or takes until `deadline`.
    """

    def __init__(self, response: httpx.Response, deadline: float, max_bytes: int) -> None:
        self.status, self.headers = response.status_code, response.headers
        self._response, self._deadline, self._left = response, deadline, max_bytes

    def __iter__(self) -> Iterator[bytes]:
        for part in self._response.iter_bytes():
            self._left -= len(part)
            if self._left < 0:
                raise httpx.ReadError("The answer is too large.", request=self._response.request)
            if time.monotonic() > self._deadline:  # the timeout of a read begins anew with every byte that drips in
                raise httpx.ReadTimeout("The answer drips.", request=self._response.request)
            yield part

    def close(self) -> None:
        self._response.close()


class Endpoint:
    """One address, such as https://models.example.org/v1, with the connections to it."""

    def __init__(self, base_url: str, key: str = "", *, proxy: str = "", proxy_of_environment: bool = False) -> None:
        """Raises ValueError on a key no header can carry: libraries quote those in their errors and logs."""
        key = key.strip()
        if not (key.isascii() and key.isprintable()):
            raise ValueError("The key holds characters no header can carry.")
        self._client = httpx.Client(
            base_url=base_url,
            headers=_HEADERS | ({"Authorization": f"Bearer {key}"} if key else {}),
            auth=httpx.Auth(),  # none; else a name and password in the address would take the key's place
            proxy=proxy or None,
            trust_env=proxy_of_environment,
            follow_redirects=False,
            verify=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # the machine's own certificates
        )

    def post(self, path: str, payload: Mapping[str, Any], *, seconds: float, max_bytes: int = 8_000_000) -> Response:
        """The answer, read whole within `seconds`. Raises httpx.RequestError, httpx.InvalidURL, UnicodeError."""
        with closing(self.open("POST", path, payload, seconds=seconds, max_bytes=max_bytes)) as response:
            return Response(response.status, response.headers, b"".join(response))

    def open(
        self,
        method: str,
        path: str,
        payload: Mapping[str, Any] | None = None,
        *,
        seconds: float,
        max_bytes: int,
        body: Body | None = None,
    ) -> OpenResponse:
        """The answer as soon as its head is there; asked with a payload as JSON, or with a body as it comes.

        Raises httpx.RequestError, httpx.InvalidURL, UnicodeError.
        """
        deadline = time.monotonic() + seconds
        more: dict[str, Any] = {"json": payload} if body is None else {"content": body.parts, "headers": body.headers}
        request = self._client.build_request(method, path, timeout=seconds, **more)
        if _origin(request.url) != _origin(self._client.base_url):
            raise httpx.ConnectError("Only the configured endpoint is asked.", request=request)
        return OpenResponse(self._client.send(request, stream=True), deadline, max_bytes)

    def close(self) -> None:
        self._client.close()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
