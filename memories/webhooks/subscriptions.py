"""Webhooks as their owners make and change them, in the admin and over the API alike."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from memories.conf import conf
from memories.exceptions import EventsDoNotFit, TooManyWebhooks
from memories.models import Webhook, Workspace
from memories.models.outbox import WebhookEvent
from memories.models.webhook import OF_MEMORIES, BodyFormat
from memories.webhooks.delivery import NotSent, new_secret, parsed

#: What may be subscribed to; a test is sent to whoever asks for it.
EVENTS = [(event.value, event.label) for event in WebhookEvent if event != WebhookEvent.TEST]
_is_address = URLValidator(schemes=["https", "http"])


def check_address(url: str) -> None:
    """Raise ValidationError for an address nothing would be sent to, as far as reading it says."""
    _is_address(url)
    port = re.search(r":(\d+)$", urlsplit(url).netloc)
    if port and not 0 < int(port[1]) < 65_536:
        raise ValidationError(_("The port of the address is none: it is a number from 1 to 65535."))
    if urlsplit(url).username:
        raise ValidationError(_("A name or password in the address is not sent: leave it out."))
    try:
        parsed(url)
    except NotSent as refusal:
        raise ValidationError(refusal.problem.label) from None


def check_events(body_format: str, events: Collection[str]) -> None:
    """Raise EventsDoNotFit where the format of a webhook has no words for one of its events."""
    if body_format != BodyFormat.OWN and not set(events) <= set(OF_MEMORIES):
        raise EventsDoNotFit


def check_room(workspace_id: int) -> None:
    """Raise TooManyWebhooks where one more may not be on; whoever asks next in the same workspace waits for us."""
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
    if Webhook.objects.filter(workspace_id=workspace_id, is_enabled=True).count() >= conf.WEBHOOK_LIMIT:
        raise TooManyWebhooks(_("%(limit)d webhooks are on already: switch one off.") % {"limit": conf.WEBHOOK_LIMIT})


def subscribe(workspace_id: int, columns: Mapping[str, Any], *, now: datetime) -> tuple[Webhook, str]:
    """Make a webhook of a workspace; it, and its secret, which is readable nowhere else afterwards.

    The address was checked. Raises EventsDoNotFit and TooManyWebhooks.
    """
    webhook = Webhook(workspace_id=workspace_id, created_at=now, **columns)
    check_events(webhook.format, webhook.events)
    with transaction.atomic():
        if webhook.is_enabled:
            check_room(workspace_id)
        webhook.save()
        return webhook, new_secret(webhook)


def change(webhook: Webhook, columns: Mapping[str, Any]) -> list[str]:
    """Give columns of a webhook other values; the names of those that differ. Raises what `subscribe` does."""
    changed_names = [name for name, value in columns.items() if getattr(webhook, name) != value]
    was_enabled = webhook.is_enabled
    for name in changed_names:
        setattr(webhook, name, columns[name])
    check_events(webhook.format, webhook.events)
    if "url" in changed_names:
        changed_names += begin_anew(webhook)
    with transaction.atomic():
        if webhook.is_enabled and not was_enabled:
            check_room(webhook.workspace_id)
        webhook.save(update_fields=changed_names)
    return [name for name in changed_names if name in columns]


def begin_anew(webhook: Webhook) -> list[str]:
    """Have another address tried at once, whatever became of the former; the names of the columns, to be saved."""
    webhook.retry_at, webhook.failures = None, 0
    return ["retry_at", "failures"]
