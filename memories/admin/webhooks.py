"""Webhooks and their deliveries: a secret is shown once, what failed is sent again."""

from collections import Counter
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from memories import tasks, webhooks
from memories.admin.access import Colors, RestrictedAdmin
from memories.admin.actions import Action, ActionCall, Outcome, Question, to_row
from memories.admin.auditing import note
from memories.admin.lists import DaysFilter, ReachableFilter
from memories.admin.pages import column, own_page
from memories.audit.models import AuditEvent
from memories.exceptions import PlatformError
from memories.models import Webhook, WebhookDelivery
from memories.models.webhook import DeliveryProblem, DeliveryState
from memories.staff.rights import VIEW, Needs
from memories.staff.roles import Right
from memories.webhooks.subscriptions import EVENTS

_COLORS = Colors(
    {
        DeliveryState.WAITING.label: "info",
        DeliveryState.SENT.label: "success",
        DeliveryState.FAILED.label: "danger",
    }
)


#: Where an event's row is shown, by the first word of the event.
_PAGES = {"memory": "entry", "review": "entry", "batch": "batch", "job": "jobrun"}


class WebhookForm(forms.ModelForm[Webhook]):
    """Whether an address may be reached is decided when something is sent; here what can be told by reading it."""

    events = forms.MultipleChoiceField(
        label=_("Events"), choices=EVENTS, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    def clean_url(self) -> str:
        url = str(self.cleaned_data["url"])
        webhooks.check_address(url)
        return url

    def clean(self) -> dict[str, Any]:
        """What no field says alone: whether the format has words for the events, and whether one more may be on."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        workspace_id = self.instance.workspace_id or getattr(data.get("workspace"), "pk", None)
        was_enabled = self.instance.pk is not None and self.initial.get("is_enabled")
        try:
            webhooks.check_events(data.get("format", ""), data.get("events", ()))
            if workspace_id and data.get("is_enabled") and not was_enabled:
                webhooks.check_room(workspace_id)
        except PlatformError as refusal:
            self.add_error(refusal.field, str(refusal))
        return data


def _secret_page(model_admin: Any, request: HttpRequest, webhook: Webhook, secret: str) -> HttpResponse:
    """In the answer to the POST and nowhere else, not even in the browser's history."""
    back = reverse("admin:memories_webhook_change", args=[webhook.pk])
    title = gettext("The secret of the webhook to %(host)s") % {"host": webhook}
    return own_page(request, "admin/memories/key.html", {"title": title, "token": secret, "back": back}, model_admin)


def _renew_secret(call: ActionCall) -> HttpResponse:
    secret = webhooks.new_secret(call.row)
    call.admin.log_as(call.request, AuditEvent.SECRET_MADE, call.row, gettext("Made a new secret."))
    return _secret_page(call.admin, call.request, call.row, secret)


def _send_test(call: ActionCall) -> Outcome:
    webhooks.announce_test(call.row, actor=call.actor, now=call.now)
    tasks.deliver_on_commit()
    text = gettext("It is sent within seconds; what became of it stands here.")
    return Outcome(text=text, details={"what": "tested"})


SEND_TEST = Action(
    name="send_test", path="test", label=_("Send a test event"), icon="send", right="change",
    question=lambda call: Question(
        title=gettext("Send a test event to %(host)s") % {"host": call.row},
        text=gettext("An event «test» without any words is signed and sent."),
        rows=(),
    ),
    act=_send_test,
    audit=AuditEvent.SETTING,
    back=lambda call: f"{reverse('admin:memories_webhookdelivery_changelist')}?webhook__id__exact={call.row.pk}",
)  # fmt: skip
RENEW_SECRET = Action(
    name="renew_secret", path="renew-secret", label=_("New secret"), icon="key", right="change",
    question=lambda call: Question(
        title=gettext("New secret for %(host)s") % {"host": call.row},
        text=gettext("It will be shown once, on the next page. The former one signs nothing any more."),
        button=gettext("Make a new secret"),
        rows=(),
    ),
    act=_renew_secret,
    back=to_row,
)  # fmt: skip


@admin.register(Webhook)
class WebhookAdmin(RestrictedAdmin):
    """Addresses that are told what happens; switched off rather than removed, so that what was sent stays listed."""

    members_may: Needs = {**VIEW, "change": Right.WEBHOOKS, "add": Right.WEBHOOKS}
    form = WebhookForm
    list_display = [
        *("host", "name", "workspace", "event_names", "with_content", "is_enabled", "failures", "retry_at"),
    ]
    list_select_related = ["workspace"]
    ordering = ["workspace__name", "pk"]
    declared = (SEND_TEST, RENEW_SECRET)
    host = column(_("receiver"), str)
    event_names = column(_("events"), lambda webhook: ", ".join(webhook.events))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """An address may hold a password of the receiver's: it is for those who may set it."""
        where = "url" if self.has_change_permission(request, obj) else "host"
        fields = ["workspace", where, "name", "events", "format", "with_content", "is_enabled"]
        return [*fields, *(["uid", "created_at", "failures", "retry_at"] if obj else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["workspace", "uid", "created_at", "failures", "retry_at"] if obj else []

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """A new one has its secret from the beginning; one whose address changes is tried at once."""
        if not change:
            obj.created_at = timezone.now()
        elif "url" in form.changed_data:
            webhooks.begin_anew(obj)
        super().save_model(request, obj, form, change)
        if not change:
            obj.new_secret = webhooks.new_secret(obj)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return _secret_page(self, request, obj, obj.new_secret)


def _send_again(call: ActionCall) -> str:
    by_webhook = Counter(call.rows.values_list("webhook_id", flat=True))
    count = webhooks.send_again(call.rows, now=call.now)
    for webhook in Webhook.objects.filter(pk__in=by_webhook):
        note(
            call.request,
            AuditEvent.SETTING,
            webhook,
            details={"what": "sent again", "count": by_webhook[webhook.pk]},
        )
    tasks.deliver_on_commit()
    return ngettext("%(n)d delivery is sent again.", "%(n)d deliveries are sent again.", count) % {"n": count}


SEND_AGAIN = Action(
    name="send_again", path="send-again", label=_("Send again"), icon="replay", right="webhooks",
    listed=_("Send the chosen ones again …"), listed_name="send_chosen_again",
    question=Question(
        text=_("Under the ids they have, so that a receiver that has them can tell; with what holds now.")
    ),
    act=_send_again,
)  # fmt: skip


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(RestrictedAdmin):
    """What was sent, what waits and why."""

    members_may = VIEW
    has_history = False
    list_display = [
        "at", "event", "webhook", "workspace", "colored_state", "attempts", "status", "problem", "retry_at", "sent_at",
    ]  # fmt: skip
    list_display_links = ["at", "event"]
    list_filter = [
        ("state", ChoicesDropdownFilter),
        ("event", ChoicesDropdownFilter),
        ("webhook", ReachableFilter),
        ("at", DaysFilter),
    ]
    list_select_related = ["webhook", "workspace"]
    ordering = ["-id"]
    sortable_by: list[str] = []
    declared = (SEND_AGAIN,)
    fields = [
        ("event", "colored_state"), ("webhook", "workspace"), ("uid", "actor"), ("at", "queued_at", "sent_at"),
        ("attempts", "status", "retry_at"), "problem", "about", "details",
    ]  # fmt: skip
    readonly_fields = ["colored_state", "problem", "about"]
    colored_state = column(_("state"), lambda delivery: DeliveryState(delivery.state).label, label=_COLORS)
    problem = column(_("problem"), lambda delivery: str(DeliveryProblem(delivery.error).label))

    @display(description=_("about"))
    def about(self, delivery: WebhookDelivery) -> str:
        """A link to the row, which may be gone."""
        page = _PAGES.get(delivery.event.partition(".")[0])
        if not (page and delivery.row_id):
            return "—"
        address = reverse(f"admin:memories_{page}_change", args=[delivery.row_id])
        return format_html('<a class="mp-link" href="{}">{}</a>', address, delivery.row_id)
