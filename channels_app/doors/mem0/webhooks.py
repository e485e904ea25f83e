"""mem0's calls about webhooks: to each is sent what mem0 would send, signed as ours are."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from channels_app.doors.mem0.calls import Mem0Call, Mem0Method, NotSupported, Tolerant
from memories.api import fields
from memories.api.webhooks import WebhookCall
from memories.choices import Permission
from memories.exceptions import WebhookNotFound
from memories.models import Webhook
from memories.models.outbox import WebhookEvent
from memories.models.webhook import NAME_CHARS, BodyFormat, WebhookQuerySet
from memories.visibility import visible_webhooks, webhook_for
from memories.webhooks import check_address

#: Their events by their names, and as their earlier pages wrote them, with a colon.
EVENTS = {
    "memory_add": WebhookEvent.CREATED.value,
    "memory_update": WebhookEvent.UPDATED.value,
    "memory_delete": WebhookEvent.EXPIRED.value,
}
#: Theirs that nothing here brings about.
_WITHOUT = ("memory_categorize",)


class WebhookChanges(Tolerant):
    """What of a webhook is to be another, in mem0's words."""

    url = fields.Text(required=False, max_length=500, validators=[check_address])
    name = fields.Name(required=False, max_length=NAME_CHARS, allow_blank=True)
    event_types = serializers.ListField(required=False, child=fields.Text(max_length=40), min_length=1, max_length=20)

    def validate_event_types(self, value: list[str]) -> list[str]:
        """Their names in ours."""
        names = list(dict.fromkeys(name.replace(":", "_") for name in value))
        if missing := [name for name in names if name in _WITHOUT]:
            raise NotSupported(_("This platform has no event “%(name)s”.") % {"name": ", ".join(missing)})
        if unknown := [name for name in names if name not in EVENTS]:
            text = _("“%(name)s” is not one of: %(names)s.") % {"name": unknown[0], "names": ", ".join(EVENTS)}
            raise serializers.ValidationError(text)
        return [EVENTS[name] for name in names]


class NewWebhook(WebhookChanges):
    """Where to send what, in mem0's words."""

    url = fields.Text(max_length=500, validators=[check_address])
    event_types = serializers.ListField(child=fields.Text(max_length=40), min_length=1, max_length=20)


class Mem0WebhookCall(WebhookCall, Mem0Call):
    """About webhooks made by mem0's client; those of our own format are not its to see."""

    def rows(self) -> WebhookQuerySet:
        return visible_webhooks(self.caller).filter(format=BodyFormat.MEM0, is_enabled=True)

    def row(self, webhook_id: str) -> Webhook:
        """One that is on. Raises WebhookNotFound."""
        try:
            webhook = webhook_for(self.caller, UUID(webhook_id))
        except ValueError:
            raise WebhookNotFound from None
        if webhook.format != BodyFormat.MEM0 or not webhook.is_enabled:
            raise WebhookNotFound
        return webhook

    def columns(self) -> dict[str, Any]:
        """What a request says, by the names of our columns."""
        names = {"url": "url", "name": "name", "event_types": "events"}
        return {ours: self.body[theirs] for theirs, ours in names.items() if theirs in self.body}

    def mem0_answer(self, webhook: Webhook) -> dict[str, Any]:
        """A webhook as mem0's client sees it."""
        return {
            "webhook_id": webhook.uid,
            "name": webhook.name,
            "url": webhook.url,
            "event_types": [theirs for theirs, ours in EVENTS.items() if ours in webhook.events],
            "project": str(webhook.workspace_id),
            "is_active": webhook.is_enabled,
            "created_at": webhook.created_at,
        }


class WebhooksView(Mem0WebhookCall):
    """List, and create."""

    @Mem0Method("mem0_webhooks", Permission.WEBHOOKS, None, only_reads=True)
    def get(self, project: str) -> Response:
        return Response([self.mem0_answer(webhook) for webhook in self.rows().order_by("-pk")])

    @Mem0Method("mem0_create_webhook", Permission.WEBHOOKS, None, body=NewWebhook, shown_once=("secret",))
    def post(self, project: str) -> Response:
        webhook, secret = self.subscribe(self.columns() | {"format": BodyFormat.MEM0, "with_content": True})
        return Response({**self.mem0_answer(webhook), "secret": secret})


class WebhookView(Mem0WebhookCall):
    """Change, and delete, which switches off."""

    @Mem0Method("mem0_update_webhook", Permission.WEBHOOKS, None, body=WebhookChanges)
    def put(self, webhook_id: str) -> Response:
        answer = self.mem0_answer(self.change(self.row(webhook_id), self.columns()))
        return Response({**answer, "message": _("The webhook is changed.")})

    @Mem0Method("mem0_delete_webhook", Permission.WEBHOOKS, None)
    def delete(self, webhook_id: str) -> Response:
        self.change(self.row(webhook_id), {"is_enabled": False})
        return Response({"message": _("The webhook is off.")})
