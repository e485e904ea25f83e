"""Delivering what waits: a webhook at a time, in order, until a receiver fails; then it rests, longer each time.

The lease of a webhook's queue is in its row, so that one process sends to it. A process that dies has sent at most one
delivery that is sent again, under the same id. The network is asked outside transactions.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.db.models import F

from memories.conf import conf
from memories.models import Webhook, WebhookDelivery
from memories.models.webhook import DeliveryProblem, DeliveryState, WebhookQuerySet
from memories.webhooks.announcements import announce_reviews
from memories.webhooks.bodies import body_of
from memories.webhooks.sending import NotSent, Receiver, read_secret, signed_headers

log = structlog.get_logger(__name__)
Clock = Callable[[], datetime]
RUN_SECONDS = 45.0
TURN_SECONDS = 5.0  # of one webhook, before the next
LEASE = timedelta(minutes=2)
REST_FIRST, REST_LONGEST = timedelta(seconds=10), timedelta(minutes=15)
#: Of a delivery the receiver answered, but did not take: the others do not wait for it.
RETRY_FIRST, RETRY_LONGEST = timedelta(seconds=30), timedelta(hours=2)


def deliver_due(clock: Clock, *, among: WebhookQuerySet | None = None, seconds: float = RUN_SECONDS) -> dict[str, int]:
    """Send what is due for so long, all webhooks or some in turn; what was sent, came back, and is given up."""
    counts: Counter[str] = Counter(reviews=announce_reviews(now=clock()))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        due = (Webhook.objects.all() if among is None else among).due(now=clock()).select_related("workspace")
        # those that answer before those that do not, whichever waited longest first
        webhooks = due.order_by("failures", F("retry_at").asc(nulls_first=True), "pk").claim(
            1, retry_at=clock() + LEASE
        )
        if not webhooks:
            break
        counts.update(_Turn(webhooks[0], clock).take(min(until, time.monotonic() + TURN_SECONDS)))
    return {name: count for name, count in counts.items() if count}


def has_due(*, now: datetime) -> bool:
    """Whether something waits for a receiver that answers."""
    return Webhook.objects.answering().due(now=now).exists()


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

    def take(self, until: float) -> Counter[str]:
        """Send until nothing is due, the time is up or the receiver fails."""
        try:
            secret = read_secret(self._webhook)
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
        return self._deliveries.due(now=self._clock()).order_by("pk").first()

    def _send(self, receiver: Receiver, secret: str, delivery: WebhookDelivery) -> bool:
        """Whether the receiver took it, or there was nothing to say. Raises NotSent when there is no answer.

        One that was not taken is tried later, or given up; the others go on after a rest.
        """
        now = self._clock()
        content = body_of(delivery, self._webhook, now=now)
        if content is None:
            self._mark(delivery, state=DeliveryState.FAILED, error=DeliveryProblem.GONE)
            return True
        body = json.dumps(content, ensure_ascii=False).encode()
        status = receiver.post(body, signed_headers(secret, str(delivery.uid), int(now.timestamp()), body))
        if 200 <= status < 300:
            self._mark(delivery, state=DeliveryState.SENT, status=status, error="", sent_at=self._clock())
            self._mine.filter(failures__gt=0).update(failures=0)
            self._counts["sent"] += 1
            return True
        now = self._clock()
        is_over = delivery.queued_at <= now - conf.WEBHOOK_GIVE_UP_AFTER
        pause = min(RETRY_FIRST * 2 ** min(delivery.attempts, 20), RETRY_LONGEST)
        then = {"state": DeliveryState.FAILED} if is_over else {"retry_at": now + pause}
        self._mark(delivery, status=status, error=DeliveryProblem.ANSWER, **then)
        self._counts["given_up" if is_over else "came_back"] += 1
        self._rest(f"status {status}")
        return False

    def _mark(self, delivery: WebhookDelivery, **columns: object) -> None:
        self._deliveries.waiting().filter(pk=delivery.pk).update(attempts=F("attempts") + 1, **columns)

    def _rest(self, why: str) -> None:
        log.warning("webhook.rests", webhook=self._webhook.pk, failures=self._webhook.failures + 1, why=why)
        Webhook.objects.postpone([self._webhook.pk], now=self._clock(), first=REST_FIRST, longest=REST_LONGEST)
