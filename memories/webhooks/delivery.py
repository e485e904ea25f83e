"""Delivering what waits: a webhook at a time, in order of each row, until its receiver is away; then it rests, longer
each time. A delivery the receiver does not take is tried again by itself, and holds up only what is of the same row.

The lease of a webhook's queue is in its row, so that one process sends to it. A process that dies has sent at most one
delivery that is sent again, under the same id. The network is asked outside transactions.

POST to an address somebody typed in: only to public addresses, signed, without redirects, within a fixed time.

What is sent of an event, written when it is sent from what the row says then: what is gone does not leave.
"""

import base64
import hashlib
import hmac
import ipaddress
import json
import secrets
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Self

import httpcore
import httpx
import structlog
import truststore
from django.db.models import F, Min

from memories import secrets as kept
from memories.choices import category_rule
from memories.conf import conf
from memories.models import JobRun, Policy, Webhook, WebhookDelivery
from memories.models.outbox import WebhookEvent
from memories.models.state import State, state_of
from memories.models.webhook import BodyFormat, DeliveryProblem, DeliveryState
from memories.visibility import visible_batches, visible_entries
from memories.webhooks.announcements import announce_reviews

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

    def post(self, body: bytes, headers: Mapping[str, str], *, seconds: float) -> tuple[int, bytes]:
        """The status of the answer, and what of it is read. Raises NotSent."""
        self._network.until = time.monotonic() + seconds
        url = httpcore.URL(
            scheme=self._url.raw_scheme, host=self._url.raw_host, port=self._url.port, target=self._url.raw_path
        )
        try:
            with self._connections.stream(
                "POST", url, headers=list({**_HEADERS, **headers}.items()), content=body
            ) as response:
                content = bytearray()
                with suppress(httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
                    for part in response.iter_stream():
                        content += part
                        if len(content) > _READ_BYTES:
                            break
                return int(response.status), bytes(content[:_READ_BYTES])
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
        seconds = self.until - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout
        return seconds


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


def make_secret() -> str:
    """A new secret to sign with, as Standard Webhooks writes it."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def new_secret(webhook: Webhook) -> str:
    """Make and keep a webhook's secret, in place of a former one; shown to its owner once."""
    secret = make_secret()
    kept.keep(webhook.secret_name, secret, workspace=webhook.workspace)
    return secret


def signed_headers(secret: str, delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers by which a receiver knows a delivery, its moment in seconds since 1970, and who sent it."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.digest(key, f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


Data = dict[str, Any]


def body_of(delivery: WebhookDelivery, webhook: Webhook, *, now: datetime) -> Data | None:
    """The body of a delivery; None when its subject is gone."""
    writer = _WRITERS.get(delivery.event)
    data: Data | None = writer(delivery, webhook, now) if writer else delivery.details
    if data is None:
        return None
    if webhook.format == BodyFormat.MEM0:
        words = {"memory": data["content"]} if "content" in data else {}
        return {"event_details": {"id": data.get("id"), "data": words, "event": _OF_MEM0.get(delivery.event, "TEST")}}
    return {
        "id": str(delivery.uid),
        "event": delivery.event,
        "at": delivery.at.isoformat(),
        "actor": delivery.actor,
        "workspace": str(webhook.workspace.uid),
        "data": data,
    }


def _memory(delivery: WebhookDelivery, webhook: Webhook, now: datetime) -> Data | None:
    caller = webhook.workspace.caller(f"webhook:{webhook.pk}")
    entry = visible_entries(caller).filter(pk=delivery.row_id).select_related("scope").first()
    if entry is None:
        return None
    state = state_of(entry, Policy.objects.of(entry.workspace_id).end_of(entry), now)
    data: Data = {
        "id": str(entry.uid),
        "scope": entry.scope.key,
        "version": delivery.version or entry.version,
        "type": entry.type,
        "category": entry.category,
        "state": state.value,
        "review_at": entry.review_at.isoformat() if entry.review_at else None,
    }
    has_content = webhook.with_content and state == State.LIVE and not category_rule(entry.category).is_secret
    return data | {"content": entry.content} if has_content else data


def _batch(delivery: WebhookDelivery, webhook: Webhook, now: datetime) -> Data | None:
    caller = webhook.workspace.caller(f"webhook:{webhook.pk}")
    batch = visible_batches(caller).filter(pk=delivery.row_id).first()
    if batch is None:
        return None
    return {
        "id": str(batch.uid),
        "scope": batch.scope.key if batch.scope else None,
        "name": batch.name,
        "state": batch.state,
        "held_because": [reason["code"] for reason in batch.held_because],
        "counts": batch.counts,
    }


def _run(delivery: WebhookDelivery, webhook: Webhook, now: datetime) -> Data | None:
    """Of an error its kind alone: its words may be a person's. A job of the whole platform has no run."""
    if not delivery.row_id:
        details: Data = delivery.details
        return details
    run = JobRun.objects.filter(workspace=webhook.workspace, pk=delivery.row_id).first()
    if run is None:
        return None
    return {
        "job": run.job,
        "local_date": run.local_date.isoformat(),
        "attempts": run.attempts,
        "error": run.error.partition(":")[0],
    }


_WRITERS: dict[str, Callable[[WebhookDelivery, Webhook, datetime], Data | None]] = {
    WebhookEvent.CREATED: _memory,
    WebhookEvent.UPDATED: _memory,
    WebhookEvent.EXPIRED: _memory,
    WebhookEvent.REVIEW_DUE: _memory,
    WebhookEvent.BATCH_HELD: _batch,
    WebhookEvent.JOB_FAILED: _run,
}


#: The words of mem0's bodies (docs.mem0.ai/platform/features/webhooks).
_OF_MEM0: dict[str, str] = {
    WebhookEvent.CREATED: "ADD",
    WebhookEvent.UPDATED: "UPDATE",
    WebhookEvent.EXPIRED: "DELETE",
}

log = structlog.get_logger(__name__)
Clock = Callable[[], datetime]
RUN_SECONDS = 45.0
TURN_SECONDS = 5.0  # of one webhook, before the next
LEASE = timedelta(minutes=2)
REST_FIRST, REST_LONGEST = timedelta(seconds=10), timedelta(minutes=15)
#: Of a delivery the receiver answered, but did not take: the others do not wait for it.
RETRY_FIRST, RETRY_LONGEST = timedelta(seconds=0.25), timedelta(hours=2)
#: A run waits for what is due so soon, rather than leave it to the next.
WAIT_SECONDS = 5.0
#: A receiver that takes none of so many in a row takes nothing at the moment.
REFUSED_MOST = 6


def deliver_due(clock: Clock) -> dict[str, int]:
    """Send what is due for RUN_SECONDS, all webhooks in turn; what was sent, came back, and is given up."""
    counts: Counter[str] = Counter(reviews=announce_reviews(now=clock()))
    until = time.monotonic() + RUN_SECONDS
    while time.monotonic() < until:
        now = clock()  # of both looks: else what comes due between them is seen by neither
        due = Webhook.objects.due(now=now).select_related("workspace")
        # those that answer before those that do not, whichever waited longest first
        webhooks = due.order_by("failures", F("retry_at").asc(nulls_first=True), "pk").claim(1, retry_at=now + LEASE)
        if not webhooks:
            # Wait until something is due, where that is soon
            free = Webhook.objects.filter(is_enabled=True).free(now=now)
            soon = WebhookDelivery.objects.waiting().filter(webhook__in=free, retry_at__gt=now)
            first = soon.aggregate(first=Min("retry_at"))["first"]
            wait = (first - now).total_seconds() if first else WAIT_SECONDS + 1
            if wait > min(WAIT_SECONDS, until - time.monotonic()):
                break
            time.sleep(wait)
            if clock() < first:  # a clock that stands still, as in tests, waits for nothing
                break
            continue
        counts.update(_Turn(webhooks[0], clock).take(min(until, time.monotonic() + TURN_SECONDS)))
    return {name: count for name, count in counts.items() if count}


def has_due(*, now: datetime) -> bool:
    """Whether something is to be sent, or sent again, now."""
    return Webhook.objects.due(now=now).exists()


def count_due(*, now: datetime) -> dict[str, int]:
    """The number of deliveries that would be tried now."""
    due = WebhookDelivery.objects.filter(webhook__in=Webhook.objects.due(now=now)).due(now=now)
    return {"deliveries": due.count()}


class _Turn:
    """What is sent to one webhook under one lease."""

    def __init__(self, webhook: Webhook, clock: Clock) -> None:
        self._webhook, self._clock = webhook, clock
        self._mine = Webhook.objects.filter(pk=webhook.pk, retry_at=webhook.retry_at)
        self._deliveries = WebhookDelivery.objects.filter(webhook=webhook)
        self._counts: Counter[str] = Counter()
        self._refused = 0  # in a row

    def take(self, until: float) -> Counter[str]:
        """Send until nothing is due, the time is up or the receiver fails."""
        try:
            secret = None
            with suppress(kept.SecretUnreadable):
                secret = kept.read(self._webhook.secret_name, workspace=self._webhook.workspace)
            if secret is None:
                raise NotSent(DeliveryProblem.SECRET)
            with Receiver(self._webhook.url) as receiver:
                while (delivery := self._next()) and self._send(receiver, secret, delivery):
                    if time.monotonic() >= until:
                        break
        except NotSent as failure:
            # nobody answers: all wait in their order, and those that waited too long are given up
            problem = failure.problem
            if (first := self._next()) is not None:
                self._mark(first, status=None, error=problem)
            over = self._deliveries.waiting().filter(queued_at__lte=self._clock() - conf.WEBHOOK_GIVE_UP_AFTER)
            self._counts["given_up"] += over.update(state=DeliveryState.FAILED, error=problem)
            self._counts["came_back"] += 1
            self._rest(problem.value)
        self._mine.update(retry_at=self._clock())
        return self._counts

    def _next(self) -> WebhookDelivery | None:
        """One that was never refused, so that those the receiver does not take hold up no others; then those."""
        due = self._deliveries.due(now=self._clock())
        return due.filter(retry_at=None).order_by("pk").first() or due.order_by("retry_at", "pk").first()

    def _send(self, receiver: Receiver, secret: str, delivery: WebhookDelivery) -> bool:
        """Whether the receiver took it, or there was nothing to say. Raises NotSent when there is no answer.

        One that was not taken is tried later, or given up; the others go on, unless none is taken.
        """
        now = self._clock()
        content = body_of(delivery, self._webhook, now=now)
        if content is None:
            self._mark(delivery, state=DeliveryState.FAILED, error=DeliveryProblem.GONE)
            return True
        body = json.dumps(content, ensure_ascii=False).encode()
        headers = signed_headers(secret, str(delivery.uid), int(now.timestamp()), body)
        status, _content = receiver.post(body, headers, seconds=conf.WEBHOOK_SECONDS)
        if 200 <= status < 300:
            self._mark(delivery, state=DeliveryState.SENT, status=status, error="", sent_at=self._clock())
            self._mine.filter(failures__gt=0).update(failures=0)
            self._counts["sent"] += 1
            self._refused = 0
            return True
        now = self._clock()
        is_over = delivery.queued_at <= now - conf.WEBHOOK_GIVE_UP_AFTER
        pause = min(RETRY_FIRST * 2 ** min(delivery.attempts, 20), RETRY_LONGEST)
        then = {"state": DeliveryState.FAILED} if is_over else {"retry_at": now + pause}
        self._mark(delivery, status=status, error=DeliveryProblem.ANSWER, **then)
        self._counts["given_up" if is_over else "came_back"] += 1
        self._refused += 1
        if self._refused < REFUSED_MOST:
            return True
        self._rest(f"status {status}")
        return False

    def _mark(self, delivery: WebhookDelivery, **columns: object) -> None:
        self._deliveries.waiting().filter(pk=delivery.pk).update(attempts=F("attempts") + 1, **columns)

    def _rest(self, why: str) -> None:
        log.warning("webhook.rests", webhook=self._webhook.pk, failures=self._webhook.failures + 1, why=why)
        Webhook.objects.postpone([self._webhook.pk], now=self._clock(), first=REST_FIRST, longest=REST_LONGEST)
