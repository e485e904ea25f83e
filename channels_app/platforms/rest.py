"""A platform's own API over HTTP: connections are kept, no redirect is followed, nothing of a call is logged."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx
import truststore

from channels_app.platforms.wire import TryLater

SECONDS = 20.0


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
    certificates = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # those the machine trusts
    return httpx.Client(timeout=SECONDS, verify=certificates, follow_redirects=False)


def close() -> None:
    """Close the connections of this process."""
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
