"""POST to an address somebody typed in: only to public addresses, signed, without redirects, within a fixed time."""

import base64
import hashlib
import hmac
import ipaddress
import secrets
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

import httpcore
import httpx
import truststore

from memories import secrets as kept
from memories.conf import conf
from memories.models import Webhook
from memories.models.webhook import DeliveryProblem

_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "memplatform"}
_READ_BYTES = 16_384  # of an answer, which nobody needs; more of it costs the connection
#: Of the Internet's own addresses version 6 those that lead on to others of version 4: by 6to4 and Teredo.
_INTERNET_6 = ipaddress.IPv6Network("2000::/3")
_LEADING_ON = (ipaddress.IPv6Network("2002::/16"), ipaddress.IPv6Network("2001::/32"))


class NotSent(Exception):
    """A delivery did not reach its receiver, and why."""

    def __init__(self, problem: DeliveryProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


def is_public(address: str) -> bool:
    """Whether an address is one of the Internet's, and not of this machine, its network, or a way into them."""
    ip = ipaddress.ip_address(address)
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if ip.version == 6 and (ip not in _INTERNET_6 or any(ip in network for network in _LEADING_ON)):
        return False
    return ip.is_global and not ip.is_multicast


def parsed(url: str) -> httpx.URL:
    """An address that was typed in. Raises NotSent when it names no receiver, or has no TLS and needs it."""
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        raise NotSent(DeliveryProblem.UNKNOWN_HOST) from None
    if address.scheme != "https" and not conf.WEBHOOK_PRIVATE_ADDRESSES:
        raise NotSent(DeliveryProblem.UNENCRYPTED)
    return address


class Receiver:
    """One address, with the connection to it that is kept open from one delivery to the next."""

    def __init__(self, url: str) -> None:
        """Raises NotSent."""
        self._url = parsed(url)
        self._network = _Network()
        self._connections = httpcore.ConnectionPool(
            ssl_context=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # the machine's own certificates
            network_backend=self._network,
            max_connections=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connections.close()

    def post(self, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the answer. Raises NotSent."""
        self._network.until = time.monotonic() + conf.WEBHOOK_SECONDS
        url = httpcore.URL(
            scheme=self._url.raw_scheme, host=self._url.raw_host, port=self._url.port, target=self._url.raw_path
        )
        try:
            with self._connections.stream(
                "POST", url, headers=list({**_HEADERS, **headers}.items()), content=body
            ) as response:
                with suppress(httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
                    size = 0
                    for part in response.iter_stream():
                        size += len(part)
                        if size > _READ_BYTES:
                            break
                return int(response.status)
        except httpcore.TimeoutException:
            raise NotSent(DeliveryProblem.TIMEOUT) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol):
            raise NotSent(DeliveryProblem.CONNECTION) from None


class _Network(httpcore.NetworkBackend):
    """Connects to addresses that were looked at, with one end of time for all that is done."""

    until = 0.0

    def connect_tcp(self, host: str, port: int, *_: Any, **options: Any) -> httpcore.NetworkStream:
        """Raises NotSent for a name without an address, or with one that may not be reached.

        Where none of its addresses answers, httpcore.ConnectError or ConnectTimeout.
        """
        try:
            places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise NotSent(DeliveryProblem.UNKNOWN_HOST) from None
        addresses = list(dict.fromkeys(str(place[4][0]) for place in places))
        if not conf.WEBHOOK_PRIVATE_ADDRESSES and not all(map(is_public, addresses)):
            raise NotSent(DeliveryProblem.PRIVATE)
        refusal: httpcore.ConnectError | httpcore.ConnectTimeout = httpcore.ConnectError()
        for tried, address in enumerate(addresses):
            seconds = self.left() / (len(addresses) - tried)  # one that is silent leaves time for the others
            try:
                return _Stream(httpcore.SyncBackend().connect_tcp(address, port, timeout=seconds), self)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refusal = error
        raise refusal

    def left(self) -> float:
        """Seconds. Raises httpcore.ReadTimeout when there are none."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left


class _Stream(httpcore.NetworkStream):
    """A connection on which every step has what is left of the time."""

    def __init__(self, stream: httpcore.NetworkStream, network: _Network) -> None:
        self._stream, self._network = stream, network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._network.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._network.left())

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, self._network.left()), self._network)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


_PREFIX = "whsec_"
_BYTES = 32


def new_secret(webhook: Webhook) -> str:
    """Make and keep a webhook's secret, in place of a former one; shown to its owner once."""
    secret = _PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()
    kept.keep(webhook.secret_name, secret, workspace=webhook.workspace)
    return secret


def read_secret(webhook: Webhook) -> str | None:
    """The secret of a webhook; None when it cannot be read."""
    try:
        return kept.read(webhook.secret_name, workspace=webhook.workspace)
    except kept.SecretUnreadable:
        return None


def signed_headers(secret: str, delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers by which a receiver knows a delivery, its moment in seconds since 1970, and who sent it."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.digest(key, f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
