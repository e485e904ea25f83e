"""Webhooks: addresses a workspace has told what happens in it, and each delivery to them."""

from datetime import datetime
from typing import Self
from urllib.parse import urlsplit
from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.core.validators import URLValidator
from django.db import models
from django.db.models import Exists, OuterRef, Q, TextChoices
from django.utils.translation import gettext_lazy as _

from memories.models.ids import uuid7
from memories.models.lease import RetryQuerySet
from memories.models.outbox import WebhookEvent
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class DeliveryState(TextChoices):
    """The state of a delivery."""

    WAITING = "waiting", _("Waiting")
    SENT = "sent", _("Sent")
    FAILED = "failed", _("Failed")


class DeliveryProblem(TextChoices):
    """Why the last attempt of a delivery came to nothing."""

    NONE = "", "—"
    ANSWER = "answer", _("The receiver did not answer with success (2xx).")
    TIMEOUT = "timeout", _("The receiver did not answer in time.")
    CONNECTION = "connection", _("The receiver could not be reached.")
    UNKNOWN_HOST = "unknown_host", _("The name of the receiver has no address.")
    PRIVATE = "private", _("The receiver has a private address, and these are not allowed.")
    UNENCRYPTED = "unencrypted", _("The address is not https, and others are not allowed.")
    SECRET = "secret", _("The secret cannot be read: make a new one.")
    GONE = "gone", _("What it was to tell of is no longer there.")


class BodyFormat(TextChoices):
    """The shape of what is sent."""

    OWN = "memplatform", "memplatform"
    MEM0 = "mem0", _("as mem0 sends it (memories only)")


NAME_CHARS = 100
#: The events that a body as mem0 sends it has a word for.
OF_MEMORIES = (WebhookEvent.CREATED.value, WebhookEvent.UPDATED.value, WebhookEvent.EXPIRED.value)


class WebhookQuerySet(RetryQuerySet["Webhook"]):
    def receivers_of(self, event: WebhookEvent) -> Self:
        """Those that are on and want this event."""
        return self.filter(is_enabled=True, events__contains=[event])

    def due(self, *, now: datetime) -> Self:
        """Those that are on, not at rest, and have something to be sent now."""
        waiting = WebhookDelivery.objects.filter(webhook=OuterRef("pk")).due(now=now)
        return self.free(now=now).filter(Exists(waiting), is_enabled=True)


class Webhook(models.Model):
    """An address a workspace has told what happens in it: `MEMORY_WEBHOOK_LIMIT` of a workspace are on at most.

    Its secret is in `memories_secret`. The row is the lease of its queue, and says until when it rests after failures.

    - `webhook_in_workspace`: the pair its deliveries point to.
    - `webhook_events_known`: and at least one.
    - `webhook_format_fits_events`: a body as mem0 sends it is about a memory.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    uid = models.UUIDField(_("id"), default=uuid7, db_default=RandomUUID(), unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="webhooks")
    name = models.CharField(
        _("name"), max_length=NAME_CHARS, blank=True, default="", help_text=_("What it is for; shown in lists.")
    )
    url = models.CharField(
        _("address"), max_length=500, validators=[URLValidator(schemes=["https", "http"])], help_text="https://…"
    )
    events = ArrayField(models.CharField(max_length=20, choices=WebhookEvent), verbose_name=_("events"))
    with_content = models.BooleanField(
        _("with the words"),
        default=False,
        help_text=_("Of memories that are in use when it is sent, except credentials; else only their ids."),
    )
    format = models.CharField(_("format"), max_length=20, choices=BodyFormat, default=BodyFormat.OWN)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created"))
    retry_at = models.DateTimeField(_("at rest until"), null=True, blank=True, editable=False)
    failures = models.PositiveIntegerField(_("failures in a row"), default=0, editable=False)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        constraints = [
            models.UniqueConstraint(fields=["id", "workspace"], name="webhook_in_workspace"),
            models.CheckConstraint(condition=~Q(url=""), name="webhook_has_an_address"),
            models.CheckConstraint(
                condition=Q(events__contained_by=WebhookEvent.values) & ~Q(events=[]), name="webhook_events_known"
            ),
            models.CheckConstraint(condition=Q(format__in=BodyFormat.values), name="webhook_format_known"),
            models.CheckConstraint(
                condition=Q(format=BodyFormat.OWN) | Q(events__contained_by=OF_MEMORIES),
                name="webhook_format_fits_events",
            ),
            WorkspacePolicy(name="webhook_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        """The host alone: the rest of an address may be a secret."""
        return urlsplit(self.url).hostname or "—"

    @property
    def secret_name(self) -> str:
        """Under which memories.secrets keeps what its deliveries are signed with."""
        return f"webhook:{self.pk}"


class DeliveryQuerySet(models.QuerySet["WebhookDelivery"]):
    def waiting(self) -> Self:
        return self.filter(state=DeliveryState.WAITING)

    def failed(self) -> Self:
        """Those the receiver did not take, however often it was tried; not what there was nothing left to tell of."""
        return self.filter(state=DeliveryState.FAILED).exclude(error=DeliveryProblem.GONE)

    def due(self, *, now: datetime) -> Self:
        """Those to be sent now: of one row only the first that waits, so that its events come in order."""
        before = WebhookDelivery.objects.waiting().filter(
            webhook=OuterRef("webhook"), row_id=OuterRef("row_id"), pk__lt=OuterRef("pk")
        )
        return self.waiting().filter(Q(retry_at__isnull=True) | Q(retry_at__lte=now), ~Exists(before))


class WebhookDelivery(models.Model):
    """One event for one webhook, written by a trigger on the row or its history, in the same transaction; reviews,
    tests and the condition of the platform are written by jobs. It holds no words, only which row, version and actor.
    Removed after `MEMORY_WEBHOOK_DELIVERY_TTL`.

    - `webhookdelivery_review_once`: a date of review is told once.
    - `webhookdelivery_webhook_in_its_workspace`: and goes when its webhook goes.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.REMOVED)

    uid = models.UUIDField(_("id"), default=uuid4, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    webhook = models.ForeignKey(
        Webhook, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="deliveries"
    )
    event = models.CharField(_("event"), max_length=20, choices=WebhookEvent)
    row_id = models.BigIntegerField(_("row"), default=0, help_text=_("Of the entry, batch or run; 0: of none."))
    version = models.PositiveIntegerField(_("version"), default=0, help_text=_("Of the entry, after the change."))
    actor = models.CharField(_("by"), max_length=200, default="")
    details = models.JSONField(_("details"), default=dict)
    state = models.CharField(_("state"), max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    retry_at = models.DateTimeField(_("next try"), null=True)
    status = models.PositiveSmallIntegerField(_("last status"), null=True)
    error = models.CharField(_("problem"), max_length=20, choices=DeliveryProblem, default="")
    at = models.DateTimeField(_("at"))
    queued_at = models.DateTimeField(_("queued"), help_text=_("When it was made, or sent again by a person."))
    sent_at = models.DateTimeField(_("sent"), null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries of webhooks")
        constraints = [
            models.CheckConstraint(condition=Q(event__in=WebhookEvent.values), name="webhookdelivery_event_known"),
            models.CheckConstraint(condition=Q(state__in=DeliveryState.values), name="webhookdelivery_state_known"),
            models.UniqueConstraint(
                fields=["webhook", "row_id", "at"], condition=Q(event="review.due"), name="webhookdelivery_review_once"
            ),
            InsideWorkspace("webhook", name="webhookdelivery_webhook_in_its_workspace", cascade=True),
            WorkspacePolicy(name="webhookdelivery_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["webhook", "id"], condition=Q(state="waiting"), name="webhookdelivery_to_do"),
            models.Index(
                fields=["webhook", "row_id", "id"], condition=Q(state="waiting"), name="webhookdelivery_order"
            ),
            models.Index(fields=["workspace", "-id"], name="webhookdelivery_by_time"),
            models.Index(fields=["webhook", "-id"], condition=Q(event="degraded"), name="webhookdelivery_degraded"),
            models.Index(fields=["at"], name="webhookdelivery_by_age"),
            models.Index(fields=["-id"], condition=Q(state="failed"), name="webhookdelivery_failed"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.at:%Y-%m-%d %H:%M}"
