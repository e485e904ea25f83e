"""Webhooks over the API: subscribe, list, test, send again; for keys their owner gave that right."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from memories import tasks, webhooks
from memories.api import fields
from memories.api.answers import Answer, page_of
from memories.api.calls import Call, Method
from memories.api.pagination import Cursor, LimitQuery, PageQuery, first_rows, page_answer, paginated
from memories.audit.models import AuditEvent, AuditRecord
from memories.choices import Permission
from memories.exceptions import WebhookOff
from memories.models import Webhook, WebhookDelivery
from memories.models.outbox import WebhookEvent
from memories.models.webhook import (
    NAME_CHARS,
    OF_MEMORIES,
    BodyFormat,
    DeliveryProblem,
    DeliveryQuerySet,
    DeliveryState,
)
from memories.tenancy.access import Caller
from memories.visibility import delivery_for, visible_batches, visible_entries, visible_webhooks, webhook_for
from memories.webhooks.subscriptions import EVENTS

#: What a delivery is about, by the first word of its event.
_SUBJECTS: dict[str, Callable[[Caller], QuerySet[Any]]] = {
    "memory.": visible_entries,
    "review.": visible_entries,
    "batch.": visible_batches,
}


class WebhookAnswer(Answer):
    """An address that receives what happens in a workspace."""

    id = serializers.UUIDField(source="uid")
    name = serializers.CharField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(choices=EVENTS))
    with_content = serializers.BooleanField(help_text="Whether the words of memories are sent.")
    format = serializers.ChoiceField(choices=BodyFormat.choices)
    is_enabled = serializers.BooleanField()
    failures = serializers.IntegerField(help_text="In a row.")
    rests_until = serializers.DateTimeField(allow_null=True, help_text="Of a receiver that fails.")
    created_at = serializers.DateTimeField()


class WebhookWithSecret(WebhookAnswer):
    """A webhook with its new secret."""

    secret = serializers.CharField(
        allow_null=True,
        help_text="Signs every delivery. In this answer alone; null where the call was sent again under its "
        "Idempotency-Key: renew it, then.",
    )


NEWEST = "Webhooks, newest first."
WebhookPage = page_of(WebhookAnswer, NEWEST)


class DeliveryAnswer(Answer):
    """One event for one webhook."""

    id = serializers.UUIDField(source="uid", help_text="The `webhook-id` it is sent with.")
    webhook = serializers.UUIDField(source="webhook.uid")
    event = serializers.ChoiceField(choices=WebhookEvent.choices)
    subject = serializers.UUIDField(allow_null=True, help_text="Of the memory or batch; null: of none, or gone.")
    version = serializers.IntegerField(help_text="Of the memory, after the change.")
    by = serializers.CharField(source="actor")
    details = serializers.DictField()
    state = serializers.ChoiceField(choices=DeliveryState.choices)
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True, help_text="Of the receiver's last answer.")
    problem = serializers.ChoiceField(choices=DeliveryProblem.choices, source="error", allow_blank=True)
    problem_text = serializers.CharField(help_text="The same in a sentence for people, in the language of the request.")
    at = serializers.DateTimeField()
    queued_at = serializers.DateTimeField(help_text="When it was made, or sent again.")
    retry_at = serializers.DateTimeField(allow_null=True)
    sent_at = serializers.DateTimeField(allow_null=True)


DeliveryPage = page_of(DeliveryAnswer, "Deliveries, newest first.")


class SentAgain(Answer):
    """How many deliveries are sent again."""

    count = serializers.IntegerField()


class WebhookChange(fields.StrictSerializer):
    """What of a webhook is to be another."""

    url = fields.Text(required=False, max_length=500, validators=[webhooks.check_address], help_text="`https://…`")
    events = serializers.ListField(
        required=False, child=fields.Word(choices=EVENTS), min_length=1, max_length=len(EVENTS)
    )
    name = fields.Name(required=False, max_length=NAME_CHARS, allow_blank=True, help_text="What it is for.")
    with_content = fields.YesNo(
        required=False, help_text="Send the words of memories in use, except credentials. Needs the permission read."
    )
    format = fields.Word(
        required=False, choices=BodyFormat.choices, help_text=f"`mem0`: of {', '.join(OF_MEMORIES)} alone."
    )
    is_enabled = fields.YesNo(required=False)

    def validate_events(self, value: list[str]) -> list[str]:
        return list(dict.fromkeys(value))


class NewWebhook(WebhookChange):
    """Where to send what."""

    url = fields.Text(max_length=500, validators=[webhooks.check_address], help_text="`https://…`")
    events = serializers.ListField(child=fields.Word(choices=EVENTS), min_length=1, max_length=len(EVENTS))


class WebhookQuery(PageQuery):
    """Which webhooks."""

    is_enabled = serializers.BooleanField(required=False)


class DeliveryQuery(LimitQuery):
    """Which deliveries of a webhook."""

    state = serializers.ChoiceField(required=False, choices=DeliveryState.choices)
    cursor = Cursor("[0-9a-f]{1,15}", int)  # the id of a row


class WebhookCall(Call):
    """A call about webhooks: what is sent to one comes from every scope, so that no key bound to some may make it.

    What it does stands in the audit log, as what people do in the admin.
    """

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not self.caller.reaches_everything:
            raise PermissionDenied(
                _("This key is bound to some scopes; to a webhook is sent what happens in all: use a key without.")
            )

    def subscribe(self, columns: dict[str, Any]) -> tuple[Webhook, str]:
        """Make a webhook, and its secret."""
        self._check_content(columns.get("with_content", False))
        webhook, secret = webhooks.subscribe(self.caller.workspace_id, columns, now=self.now)
        self.note(AuditEvent.SETTING, webhook, what="added")
        return webhook, secret

    def change(self, webhook: Webhook, columns: dict[str, Any]) -> Webhook:
        """Change a webhook; keys that may not read the words it sends, or would send, can only switch it off."""
        sends_words = columns.get("with_content", webhook.with_content)
        self._check_content(sends_words and columns != {"is_enabled": False})
        if changed_fields := webhooks.change(webhook, columns):
            self.note(AuditEvent.SETTING, webhook, what="changed", fields=changed_fields)
        return webhook

    def _check_content(self, is_sent: bool) -> None:
        if is_sent and Permission.READ.value not in self.caller.permissions:
            raise PermissionDenied(_("Words of memories are sent: this key lacks the permission “read”."))

    def note(self, event: AuditEvent, webhook: Webhook, **details: object) -> None:
        """Write down what was done to a webhook; the values stand in its row."""
        AuditRecord.note(
            event,
            actor=self.caller.actor,
            at=self.now,
            workspace_id=webhook.workspace_id,
            about=str(webhook),
            address=reverse("admin:memories_webhook_change", args=[webhook.pk]),
            details={"kind": webhook._meta.label_lower, **details},
            ip=self.request.META.get("REMOTE_ADDR") or None,
        )

    def send_again(self, webhook: Webhook, deliveries: DeliveryQuerySet) -> int:
        """Send deliveries of a webhook once more; how many."""
        count = webhooks.send_again(deliveries, now=self.now)
        self.note(AuditEvent.SETTING, webhook, what="sent again", count=count)
        tasks.deliver_on_commit()
        return count

    def answer(self, webhook: Webhook, kind: type[WebhookAnswer] = WebhookAnswer, **more: Any) -> dict[str, Any]:
        """A webhook as clients see it."""
        is_at_rest = webhook.failures > 0 and webhook.retry_at is not None and webhook.retry_at > self.now
        return kind.of(webhook, rests_until=webhook.retry_at if is_at_rest else None, **more)


class WebhooksView(WebhookCall):
    """The webhooks of the workspace, newest first; subscribe another."""

    @Method("list_webhooks", Permission.WEBHOOKS, WebhookPage, query=WebhookQuery, description=NEWEST, only_reads=True)
    def get(self) -> Response:
        rows = visible_webhooks(self.caller)
        if "is_enabled" in self.query:
            rows = rows.filter(is_enabled=self.query["is_enabled"])
        return paginated(self, rows, partial(map, self.answer))

    @Method(
        "subscribe_webhook",
        Permission.WEBHOOKS,
        {201: WebhookWithSecret},
        body=NewWebhook,
        description="Have what happens in the workspace sent to an address. The answer has the secret, once.",
        shown_once=("secret",),
    )
    def post(self) -> Response:
        webhook, secret = self.subscribe(self.body)
        return Response(self.answer(webhook, WebhookWithSecret, secret=secret), status=201)


class WebhookView(WebhookCall):
    """One webhook."""

    @Method("read_webhook", Permission.WEBHOOKS, WebhookAnswer, only_reads=True)
    def get(self, uid: UUID) -> Response:
        return Response(self.answer(webhook_for(self.caller, uid)))

    @Method(
        "change_webhook",
        Permission.WEBHOOKS,
        WebhookAnswer,
        body=WebhookChange,
        description="Change a webhook; what is not sent stays as it is. Another address is tried at once.",
    )
    def patch(self, uid: UUID) -> Response:
        return Response(self.answer(self.change(webhook_for(self.caller, uid), self.body)))

    @Method(
        "delete_webhook",
        Permission.WEBHOOKS,
        {200: WebhookAnswer},
        description="Switch a webhook off for good or for a time: no machine removes it, so that what was sent to it "
        "stays listed, and `PATCH` with `is_enabled` brings it back.",
    )
    def delete(self, uid: UUID) -> Response:
        return Response(self.answer(self.change(webhook_for(self.caller, uid), {"is_enabled": False})))


class RenewSecretView(WebhookCall):
    """Another secret."""

    @Method(
        "renew_webhook_secret",
        Permission.WEBHOOKS,
        {200: WebhookWithSecret},
        body=fields.StrictSerializer,
        description="Make another secret: the former one signs nothing any more. The answer has it, once.",
        shown_once=("secret",),
    )
    def post(self, uid: UUID) -> Response:
        webhook = webhook_for(self.caller, uid)
        secret = webhooks.new_secret(webhook)
        self.note(AuditEvent.SECRET_MADE, webhook)
        return Response(self.answer(webhook, WebhookWithSecret, secret=secret))


class SendTestView(WebhookCall):
    """A test."""

    @Method(
        "test_webhook",
        Permission.WEBHOOKS,
        {202: DeliveryAnswer},
        body=fields.StrictSerializer,
        description="Sign and send an event `test` without any words; its delivery says what became of it.",
    )
    def post(self, uid: UUID) -> Response:
        webhook = check_on(webhook_for(self.caller, uid))
        delivery = webhooks.announce_test(webhook, actor=self.caller.actor, now=self.now)
        self.note(AuditEvent.SETTING, webhook, what="tested")
        tasks.deliver_on_commit()
        return Response(delivery_answers(self.caller, [delivery])[0], status=202)


class DeliveriesView(WebhookCall):
    """What was sent to a webhook, what waits and why."""

    @Method(
        "list_deliveries",
        Permission.WEBHOOKS,
        DeliveryPage,
        query=DeliveryQuery,
        description="What was sent to a webhook, what waits and why, newest first.",
        only_reads=True,
    )
    def get(self, uid: UUID) -> Response:
        rows = webhook_for(self.caller, uid).deliveries.select_related("webhook")
        if "state" in self.query:
            rows = rows.filter(state=self.query["state"])
        if "cursor" in self.query:
            rows = rows.filter(pk__lt=self.query["cursor"])
        page, has_more = first_rows(rows.order_by("-pk"), self.query["limit"])
        following = f"{page[-1].pk:x}" if has_more else None
        return Response(page_answer(self, delivery_answers(self.caller, page), following))


class DeliveryView(WebhookCall):
    """One delivery."""

    @Method("read_delivery", Permission.WEBHOOKS, DeliveryAnswer, only_reads=True)
    def get(self, delivery: UUID) -> Response:
        return Response(delivery_answers(self.caller, [delivery_for(self.caller, delivery)])[0])


class SendAgainView(WebhookCall):
    """One delivery once more."""

    @Method(
        "send_again",
        Permission.WEBHOOKS,
        {202: DeliveryAnswer},
        body=fields.StrictSerializer,
        description="Send a delivery once more, under the id it has, with what holds now.",
    )
    def post(self, delivery: UUID) -> Response:
        webhook_delivery = delivery_for(self.caller, delivery)
        self.send_again(check_on(webhook_delivery.webhook), WebhookDelivery.objects.filter(pk=webhook_delivery.pk))
        webhook_delivery.refresh_from_db()
        return Response(delivery_answers(self.caller, [webhook_delivery])[0], status=202)


class SendAllAgainView(WebhookCall):
    """Every delivery that failed, once more."""

    @Method(
        "send_all_again",
        Permission.WEBHOOKS,
        {202: SentAgain},
        body=fields.StrictSerializer,
        description="Send every delivery of a webhook that failed once more, under the ids they have.",
    )
    def post(self, uid: UUID) -> Response:
        webhook = check_on(webhook_for(self.caller, uid))
        failed = WebhookDelivery.objects.failed().filter(webhook=webhook)
        return Response(SentAgain.of(count=self.send_again(webhook, failed)), status=202)


def check_on(webhook: Webhook) -> Webhook:
    """A webhook to which something is to be sent. Raises WebhookOff."""
    if not webhook.is_enabled:
        raise WebhookOff
    return webhook


def delivery_answers(caller: Caller, deliveries: Sequence[WebhookDelivery]) -> list[dict[str, Any]]:
    """Deliveries as clients see them, each with the id of what it is about."""
    rows = {kind: {one.row_id for one in deliveries if one.event.startswith(kind)} for kind in _SUBJECTS}
    uids = {
        (kind, pk): uid
        for kind, visible in _SUBJECTS.items()
        for pk, uid in visible(caller).filter(pk__in=rows[kind] - {0}).values_list("pk", "uid")
    }
    return [
        DeliveryAnswer.of(
            delivery,
            subject=uids.get((f"{delivery.event.partition('.')[0]}.", delivery.row_id)),
            problem_text=str(DeliveryProblem(delivery.error).label) if delivery.error else "",
        )
        for delivery in deliveries
    ]
