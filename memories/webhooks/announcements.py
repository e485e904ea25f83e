"""Deliveries no change of a row makes: what time brings, the condition of the platform, tests; and once more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db import connection
from django.db.models import OuterRef, Subquery

from memories.conf import conf
from memories.models import Webhook, WebhookDelivery
from memories.models.entry import LIVE_SQL
from memories.models.outbox import WebhookEvent
from memories.models.webhook import DeliveryQuerySet, DeliveryState

#: What came due since the webhook was made, or since deliveries are kept: so that one that is no longer kept is not
#: made anew.
_REVIEWS = f"""
INSERT INTO memories_webhookdelivery
    (uid, workspace_id, webhook_id, event, row_id, version, actor, details, state, attempts, error, at, queued_at)
SELECT gen_random_uuid(), w.workspace_id, w.id, 'review.due', e.id, 0, '', '{{}}', 'waiting', 0, '', e.review_at,
    %(now)s
FROM memories_webhook w
JOIN memories_entry e ON e.workspace_id = w.workspace_id AND {LIVE_SQL} AND e.review_at <= %(now)s
    AND e.review_at > greatest(w.created_at, %(since)s)
WHERE w.is_enabled AND 'review.due' = ANY (w.events) AND NOT EXISTS (
    SELECT FROM memories_webhookdelivery d
    WHERE d.event = 'review.due' AND d.webhook_id = w.id AND d.row_id = e.id AND d.at = e.review_at
)
ON CONFLICT DO NOTHING
"""  # noqa: S608 (constants)

#: The part of an answer that was held back: something that happened, and no condition that ends.
_LEAK = ["canary"]


def announce_reviews(*, now: datetime) -> int:
    """Make the deliveries of memories whose date of review has come, once for each date; how many."""
    with connection.cursor() as cursor:
        cursor.execute(_REVIEWS, {"now": now, "since": now - conf.WEBHOOK_DELIVERY_TTL})
        return int(cursor.rowcount)


def announce_condition(parts: Sequence[str], *, now: datetime) -> int:
    """Make the deliveries of a change in what is missing or late since each webhook's last; how many."""
    conditions = WebhookDelivery.objects.filter(event=WebhookEvent.DEGRADED).exclude(details__parts=_LEAK)
    last = conditions.filter(webhook=OuterRef("pk")).order_by("-pk")
    webhooks: Any = Webhook.objects.receivers_of(WebhookEvent.DEGRADED)
    webhooks = webhooks.annotate(last_parts=Subquery(last.values("details__parts")[:1]))
    receivers = [webhook for webhook in webhooks if (webhook.last_parts or []) != list(parts)]
    details = {"degraded": bool(parts), "parts": list(parts)}
    WebhookDelivery.objects.bulk_create(_new(webhook, WebhookEvent.DEGRADED, now, details) for webhook in receivers)
    return len(receivers)


def announce_leak(workspace_id: int, *, now: datetime) -> int:
    """Make the deliveries of an answer that was held back because it held a canary of this workspace; how many."""
    webhooks = Webhook.objects.receivers_of(WebhookEvent.DEGRADED).filter(workspace_id=workspace_id)
    details: dict[str, object] = {"degraded": True, "parts": _LEAK}
    deliveries = [_new(webhook, WebhookEvent.DEGRADED, now, details) for webhook in webhooks]
    WebhookDelivery.objects.bulk_create(deliveries)
    return len(deliveries)


@dataclass(frozen=True, kw_only=True)
class FailingJob:
    """A job of the whole platform whose last run failed."""

    job: str
    date: date  # of that run, in UTC
    attempts: int  # that failed in a row
    error: str  # its kind
    well_at: datetime | None  # when it last ended well; None: never, or too long ago


def announce_failing_jobs(failing: Sequence[FailingJob], *, now: datetime) -> int:
    """Make the deliveries of jobs that fail, once until each has ended well again; how many."""
    webhooks = list(Webhook.objects.receivers_of(WebhookEvent.JOB_FAILED)) if failing else []
    deliveries = []
    for job in failing:
        earlier = WebhookDelivery.objects.filter(event=WebhookEvent.JOB_FAILED, details__job=job.job)
        earlier = earlier.filter(at__gt=job.well_at) if job.well_at else earlier
        notified = set(earlier.values_list("webhook_id", flat=True))
        details = {"job": job.job, "local_date": job.date.isoformat(), "attempts": job.attempts, "error": job.error}
        deliveries += [
            _new(webhook, WebhookEvent.JOB_FAILED, now, details) for webhook in webhooks if webhook.pk not in notified
        ]
    WebhookDelivery.objects.bulk_create(deliveries)
    return len(deliveries)


def announce_test(webhook: Webhook, *, actor: str, now: datetime) -> WebhookDelivery:
    """Make a delivery that says nothing."""
    delivery = _new(webhook, WebhookEvent.TEST, now, {})
    delivery.actor = actor
    delivery.save()
    return delivery


def _new(webhook: Webhook, event: WebhookEvent, now: datetime, details: dict[str, object]) -> WebhookDelivery:
    return WebhookDelivery(
        workspace_id=webhook.workspace_id, webhook=webhook, event=event, details=details, at=now, queued_at=now
    )


def send_again(deliveries: DeliveryQuerySet, *, now: datetime) -> int:
    """Send deliveries once more, under the ids they have, whatever became of them; how many."""
    webhooks = list(deliveries.values_list("webhook_id", flat=True).distinct())
    Webhook.objects.filter(pk__in=webhooks, failures__gt=0).update(retry_at=now)  # one at rest is tried at once
    return deliveries.update(state=DeliveryState.WAITING, attempts=0, retry_at=None, error="", queued_at=now)
