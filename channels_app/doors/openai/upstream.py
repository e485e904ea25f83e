"""The model behind the proxy, at the one address its owner names; never asked unless MEMORY_PROXY_BASE_URL is set."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import httpx
import structlog
from django.conf import settings

from channels_app.doors.openai.errors import ModelNotAllowed, UpstreamTooSlow, UpstreamUnreachable
from memories.conf import conf
from memories.endpoint import Body, Endpoint, OpenResponse

log = structlog.get_logger(__name__)
FAILURES = (UpstreamTooSlow, UpstreamUnreachable)
#: What of an answer's head is passed on beside its status.
MASK = b"***"  # in place of the owner's key
_PASSED = ("content-type", "content-disposition", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id")
_PASSED_FAMILIES = ("x-ratelimit-", "openai-")


def check_model(model: Any) -> None:
    """Raises ModelNotAllowed where the owner named models and this is none of them."""
    if settings.MEMORY_PROXY_MODELS and model not in settings.MEMORY_PROXY_MODELS:
        raise ModelNotAllowed


def ask(method: str, path: str, payload: Mapping[str, Any] | None = None, *, body: Body | None = None) -> OpenResponse:
    """The upstream's answer, whatever it says, once its head is there. Raises UpstreamTooSlow, UpstreamUnreachable."""
    try:
        endpoint = _endpoint(settings.MEMORY_PROXY_BASE_URL, settings.MEMORY_PROXY_API_KEY)
        return endpoint.open(
            method, path, payload, seconds=conf.PROXY_SECONDS, max_bytes=conf.PROXY_MAX_BYTES, body=body
        )
    except httpx.TimeoutException as error:
        log.warning("proxy.upstream", problem=type(error).__name__)
        raise UpstreamTooSlow from None
    except (httpx.RequestError, httpx.InvalidURL, ValueError) as error:
        log.warning("proxy.upstream", problem=type(error).__name__)
        raise UpstreamUnreachable from None


def parts(response: OpenResponse) -> Iterator[bytes]:
    """An answer as it comes, without the owner's key, which errors like to repeat.

    What may be the beginning of the key waits for what comes next.
    """
    key = settings.MEMORY_PROXY_API_KEY.strip().encode()
    if not key:
        yield from response
        return
    rest = b""
    for part in response:
        window = (rest + part).replace(key, MASK)
        key_length = next((n for n in range(min(len(key) - 1, len(window)), 0, -1) if window.endswith(key[:n])), 0)
        rest = window[len(window) - key_length :]
        if safe_part := window[: len(window) - key_length]:
            yield safe_part
    if rest:
        yield rest


def read(response: OpenResponse) -> bytes:
    """All of an answer. Raises UpstreamTooSlow, UpstreamUnreachable."""
    try:
        return b"".join(parts(response))
    except httpx.TimeoutException:
        raise UpstreamTooSlow from None
    except httpx.RequestError:
        raise UpstreamUnreachable from None
    finally:
        response.close()


def headers_of(response: OpenResponse) -> dict[str, str]:
    """What of the head of an answer a client is to see."""
    headers = response.headers.items()  # the request's id is the upstream's: by it, whoever runs that finds the call
    safe_headers = {name: value for name, value in headers if name in _PASSED or name.startswith(_PASSED_FAMILIES)}
    key = settings.MEMORY_PROXY_API_KEY.strip()
    return {name: value.replace(key, MASK.decode()) for name, value in safe_headers.items()} if key else safe_headers


@lru_cache(maxsize=2)
def _endpoint(base_url: str, key: str) -> Endpoint:
    """Kept open, with the proxy the environment names: a chat has no time to connect anew."""
    return Endpoint(base_url, key, proxy_of_environment=True)
