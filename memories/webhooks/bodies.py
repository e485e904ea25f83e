"""What is sent of an event, written when it is sent from what the row says then: what is gone does not leave."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from memories.kinds import category_rule
from memories.models import JobRun, Policy, Webhook, WebhookDelivery
from memories.models.outbox import WebhookEvent
from memories.models.state import State, state_of
from memories.visibility import visible_batches, visible_entries

Data = dict[str, Any]


def body_of(delivery: WebhookDelivery, webhook: Webhook, *, now: datetime) -> Data | None:
    """The body of a delivery; None when its subject is gone."""
    data = _WRITERS.get(delivery.event, _details)(delivery, webhook, now)
    if data is None:
        return None
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
        return _details(delivery, webhook, now)
    run = JobRun.objects.filter(workspace=webhook.workspace, pk=delivery.row_id).first()
    if run is None:
        return None
    return {
        "job": run.job,
        "local_date": run.local_date.isoformat(),
        "attempts": run.attempts,
        "error": run.error.partition(":")[0],
    }


def _details(delivery: WebhookDelivery, webhook: Webhook, now: datetime) -> Data:
    details: Data = delivery.details
    return details


_WRITERS: dict[str, Callable[[WebhookDelivery, Webhook, datetime], Data | None]] = {
    WebhookEvent.CREATED: _memory,
    WebhookEvent.UPDATED: _memory,
    WebhookEvent.EXPIRED: _memory,
    WebhookEvent.REVIEW_DUE: _memory,
    WebhookEvent.BATCH_HELD: _batch,
    WebhookEvent.JOB_FAILED: _run,
}
