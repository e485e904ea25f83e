"""Connections to chat platforms: a page that leads from nothing to the first message, and what came and went."""

import json
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from secrets import token_urlsafe
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db import transaction
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from channels_app.models import (
    AT_PLATFORM,
    Answerer,
    Channel,
    Connection,
    ConnectionProblem,
    IncomingMessage,
    MessageKind,
    MessageState,
    Notice,
    OutgoingMessage,
    Receiving,
)
from channels_app.platforms import CONNECTABLE, answering, intake, platform_named
from channels_app.platforms.wire import (
    Account,
    Introduced,
    KeyRefused,
    Outgoing,
    Platform,
    PlatformFailure,
)
from memories import llm, secrets
from memories.admin.access import Colors, RestrictedAdmin, visible_workspaces
from memories.admin.actions import Action, ActionCall, Question, to_row
from memories.admin.lists import DaysFilter, ReachableFilter
from memories.admin.pages import column, own_page
from memories.audit.models import AuditEvent
from memories.models import Entry, Secret
from memories.secrets import SecretUnreadable
from memories.staff.rights import CONFIGURE, VIEW, needs
from memories.staff.roles import Right
from memories.webhooks.delivery import NotSent, parsed

_OPTION = "option_"
_SHOWN = 5  # messages on the page of a connection
_COLORS = Colors(
    {
        MessageState.WAITING.label: "info",
        MessageState.OFFERED.label: "info",
        MessageState.HELD.label: "info",
        MessageState.DONE.label: "success",
        MessageState.FAILED.label: "danger",
    }
)


class NeededWhereShown(forms.CharField):
    """A field that only one choice elsewhere in the form needs, and shows: it has the star of those that are needed;
    `ConnectionForm.clean` says when it is missing.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "required": True})

    def validate(self, value: str) -> None:
        """Empty is well where it is not shown."""


class ConnectionForm(forms.ModelForm[Connection]):
    """What a connection needs; whether the platform takes it was asked before (ConnectionAdmin.changeform_view)."""

    platform: Platform
    introduction: Introduced | PlatformFailure | None = None

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if data.get("answerer") == Answerer.CALLBACK:
            try:
                parsed(data.get("callback_url") or "")
            except NotSent as refusal:
                self.add_error("callback_url", str(refusal.problem.label))
        is_called = data.get("receiving") == Receiving.WEBHOOK and not self.platform.has_page
        if is_called and not settings.PUBLIC_URL:
            text = _("The platform cannot call this server: set MEMPLATFORM_PUBLIC_URL to its address first.")
            self.add_error("receiving", text)
        kept_options = _kept(self.platform, self.instance if self.instance.pk else None)
        for option in self.platform.options:
            name, is_asked = f"{_OPTION}{option.name}", option.receiving == (data.get("receiving") or None)
            is_missing = option.is_needed and option.name not in kept_options and not data.get(name)
            if option.receiving and is_asked and is_missing:
                self.add_error(name, _("This way of receiving needs it."))
        first = next(
            (option.name for option in self.platform.options if option.is_secret), self.platform.options[0].name
        )
        if isinstance(self.introduction, KeyRefused):
            self.add_error(f"{_OPTION}{self.introduction.option or first}", _("The platform refuses it."))
        elif isinstance(self.introduction, PlatformFailure):
            self.add_error(None, _("The platform cannot be reached at the moment: nothing was saved."))
        elif isinstance(self.introduction, Introduced) and self.instance.pk is None and data.get("workspace"):
            rows = Connection.objects.filter(workspace=data["workspace"], channel__platform=self.platform.name)
            if rows.filter(channel__account=self.introduction.account).exists():
                self.add_error(None, _("%(bot)s is connected already.") % {"bot": self.introduction.account})
        return data


@dataclass(frozen=True)
class Step:
    """One step from nothing to the first message."""

    label: str
    text: str
    is_done: bool
    value: str = ""  # to be copied
    link: str = ""  # to be opened


@dataclass(frozen=True)
class Line:
    """One of the latest messages."""

    at: datetime
    message: IncomingMessage | OutgoingMessage
    is_ours: bool = False


def _latest(rows: Any) -> Any:
    return rows.select_related("chat").order_by("-pk")[:_SHOWN]


def _send_test(call: ActionCall) -> str:
    chat = call.row.chats.order_by("-pk").first()
    if chat is None:
        return gettext("Nobody has written to it yet: write to it first, so that there is a chat.")
    text = gettext("A test message from memplatform: this connection works.")
    answering.queue(call.row, chat.pk, Outgoing(chat=chat.key, text=text), now=call.now)
    intake.wake()
    return gettext("It is sent to the chat that was written in last.")


def _renew_secret(call: ActionCall) -> HttpResponse:
    secret = answering.new_callback_secret(call.row)
    call.admin.log_as(call.request, AuditEvent.SECRET_MADE, call.row, gettext("Made a new secret."))
    back = reverse("admin:channels_app_connection_change", args=[call.row.pk])
    context = {"title": gettext("The secret of your bot"), "token": secret, "back": back}
    return own_page(call.request, "admin/memories/key.html", context, call.admin)


SEND_TEST = Action(
    name="send_test", path="test", label=_("Send a test message"), icon="send", right="change",
    question=lambda call: Question(
        title=gettext("Send a test message by %(bot)s") % {"bot": call.row},
        text=gettext("To the chat that was written in last."),
        rows=(),
    ),
    act=_send_test,
    back=to_row,
)  # fmt: skip
RENEW_CALLBACK_SECRET = Action(
    name="renew_callback_secret", path="renew-secret", label=_("New secret"), icon="key", right="change",
    fits=lambda connection: connection.answerer == Answerer.CALLBACK,
    question=lambda call: Question(
        title=gettext("New secret for %(bot)s") % {"bot": call.row},
        text=gettext("With it your bot knows that a call is ours. It will be shown once, on the next page."),
        button=gettext("Make a new secret"),
        rows=(),
    ),
    act=_renew_secret,
    back=to_row,
)  # fmt: skip


@admin.register(Connection)
class ConnectionAdmin(RestrictedAdmin):
    """A bot's account at a platform, connected; switched off rather than removed."""

    members_may = CONFIGURE
    change_form_outer_before_template = "admin/channels_app/connection.html"
    list_display = ["bot", "platform", "workspace", "answerer", "receiving", "is_enabled", "health", "received_at"]
    list_select_related = ["workspace", "channel"]
    ordering = ["workspace__name", "pk"]
    declared = (SEND_TEST, RENEW_CALLBACK_SECRET)
    bot = column(_("bot"), str)
    platform = column(_("platform"), lambda connection: str(platform_named(connection.channel.platform).label))

    def get_urls(self) -> list[Any]:
        status = path(
            "<path:object_id>/status/",
            self.admin_site.admin_view(self.status_view),
            name="channels_app_connection_status",
        )
        return [status, *super().get_urls()]

    def platform_of(self, request: HttpRequest, row: Connection | None) -> Platform | None:
        """The platform of a connection, or the one a new one was chosen for."""
        name = row.channel.platform if row else request.GET.get("platform", "")
        return platform_named(name) if name in CONNECTABLE else None

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """First the platform, then what it needs."""
        if self.platform_of(request, None) is None and self.has_add_permission(request):
            choices = [(name, platform_named(name).label) for name in CONNECTABLE]
            context = {"title": gettext("Connect a bot"), "choices": choices}
            return own_page(request, "admin/channels_app/choose_platform.html", context, self)
        answer: HttpResponse = super().add_view(request, form_url, extra_context)
        return answer

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """Before anything is saved the platform is asked whether it takes the key: outside the transaction."""
        row = self.get_object(request, object_id) if object_id else None
        platform = self.platform_of(request, row)
        if request.method == "POST" and platform:
            may_save = self.has_change_permission(request, row) if row else self.has_add_permission(request)
            request.introduction = _introduced(platform, row, request) if may_save else None  # type: ignore[attr-defined]
        return super().changeform_view(request, object_id, form_url, extra_context)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Of what depends on another field show only what fits what is chosen there."""
        admin_copy = copy(self)
        # By field, for which choices in others it is shown, as the page's own script reads it
        platform = self.platform_of(request, kwargs.get("obj"))
        options = {
            f"{_OPTION}{option.name}": f"receiving === '{option.receiving}'"
            for option in (platform.options if platform else ())
            if option.receiving
        }
        admin_copy.conditional_fields = {
            **options,
            "callback_url": f"answerer === '{Answerer.CALLBACK}'",
            "instructions": f"answerer === '{Answerer.MODEL}'",
        }
        context["adminform"].model_admin = admin_copy
        return super().render_change_form(request, context, *args, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The only workspace, where there is one."""
        mine = list(visible_workspaces(request, Right.OPERATE)[:2])
        return {"workspace": mine[0].pk} if len(mine) == 1 else {}

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        platform = self.platform_of(request, obj)
        assert platform
        columns: dict[str, Any] = {
            "platform": platform,
            "introduction": getattr(request, "introduction", None),
            **dict(_option_fields(platform, obj)),
        }
        kwargs["form"] = type("Form", (ConnectionForm,), columns)
        kwargs["field_classes"] = {"callback_url": NeededWhereShown}
        kwargs["fields"] = [name for name in self.get_fields(request, obj) if not name.startswith(_OPTION)]
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        if receiving := form.base_fields.get("receiving"):  # absent for who may only look
            receiving.choices = [(mode.value, mode.label) for mode in platform.receiving]
            receiving.initial = platform.receiving[0]
        return form

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        platform = self.platform_of(request, obj)
        options = [f"{_OPTION}{option.name}" for option in platform.options] if platform else []
        first = [] if obj else ["workspace"]
        is_alone = bool(platform and platform.has_page)  # nothing is received from elsewhere, and there are no groups
        receiving, groups = ([], []) if is_alone else (["receiving"], ["retires_leavers"])
        own = ["answerer", "callback_url", "instructions", "notices", "has_commands"]
        return [*first, *receiving, *options, *own, *groups, "is_enabled"]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        platform, introduction = form.platform, form.introduction
        if not change:
            place = {"workspace": obj.workspace, "platform": platform.name, "account": introduction.account}
            obj.channel, _made = Channel.objects.get_or_create(**place)
            obj.noticed_entry = Entry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        fields = {option: form.cleaned_data.get(f"{_OPTION}{option.name}") for option in platform.options}
        values = {option: "on" if value is True else value or "" for option, value in fields.items()}
        options = {option.name: value.strip() for option, value in values.items() if not option.is_secret}
        if introduction:
            options |= {"bot_name": introduction.name, "bot_id": introduction.id, "bot_app": introduction.app}
        obj.options = {**obj.options, **options}
        obj.retry_at, obj.problem, obj.problem_at, obj.pulled_until = None, "", None, None
        if platform.has_page:
            obj.receiving = platform.receiving[0]
        super().save_model(request, obj, form, change)
        for option, value in values.items():
            if option.is_secret and value.strip():
                secrets.keep(obj.secret_name(option.name), value.strip(), workspace=obj.workspace)
        if secrets.read(obj.secret_name("webhook_secret"), workspace=obj.workspace) is None:
            secrets.keep(obj.secret_name("webhook_secret"), token_urlsafe(32), workspace=obj.workspace)
        if obj.answerer == Answerer.CALLBACK:
            name = obj.secret_name(answering.CALLBACK_SECRET)
            if secrets.read(name, workspace=obj.workspace) is None:
                answering.new_callback_secret(obj)
        intake.forget_accounts()
        transaction.on_commit(partial(self._connect, request, obj, platform))

    def _connect(self, request: HttpRequest, row: Connection, platform: Platform) -> None:
        """Have the platform call us, or no longer, where that can be set from here."""
        address = call_url(row) if row.receiving == Receiving.WEBHOOK and row.is_enabled else ""
        try:
            platform.connect(intake.account_of(row), address)
        except PlatformFailure:
            text = _("The platform did not take the address: paste it there by hand, or save once more.")
            self.message_user(request, text, "WARNING")

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """To its page, where what comes is seen."""
        return HttpResponseRedirect(reverse("admin:channels_app_connection_change", args=[obj.pk]))

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return {"connection": row, **status_of(row)}

    @needs(Right.READ)
    def status_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The steps and the latest messages, asked for again and again while the page is open."""
        row = self.reach(request, object_id, "view")
        return TemplateResponse(
            request, "admin/channels_app/connection_status.html", {"connection": row, **status_of(row)}
        )

    @display(description=_("health"), label=Colors({_("Works"): "success", _("Off"): None, _("Problem"): "danger"}))
    def health(self, connection: Connection) -> Any:
        if not connection.is_enabled:
            return _("Off")
        return _("Problem") if connection.problem else _("Works")


def call_url(connection: Connection) -> str:
    """Where a platform calls."""
    return f"{settings.PUBLIC_URL}{reverse('platform_call', args=[connection.channel.platform, connection.uid])}"


def _kept(platform: Platform, row: Connection | None) -> set[str]:
    """The options of a connection of which a secret is kept."""
    if row is None:
        return set()
    names = {row.secret_name(option.name): option.name for option in platform.options if option.is_secret}
    rows = Secret.objects.filter(workspace=row.workspace, name__in=names)
    return {names[name] for name in rows.values_list("name", flat=True)}


def _option_fields(platform: Platform, row: Connection | None) -> Iterator[tuple[str, forms.Field]]:
    kept_options, stored = _kept(platform, row), row.options if row else {}
    for option in platform.options:
        name, label, value = f"{_OPTION}{option.name}", capfirst(str(option.label)), stored.get(option.name, "")
        if option.is_switch:
            switch, help_text = UnfoldBooleanSwitchWidget(), str(option.help)
            field: forms.Field = forms.BooleanField(
                label=label, help_text=help_text, required=False, initial=bool(value), widget=switch
            )
        else:
            is_kept = option.name in kept_options
            is_needed = option.is_needed and not is_kept
            of_one_way = is_needed and option.receiving is not None
            password = UnfoldAdminPasswordWidget(attrs={"autocomplete": "off"}) if option.is_secret else None
            field = (NeededWhereShown if of_one_way else forms.CharField)(
                label=label,
                help_text=str(_("Kept. Leave empty to keep it.") if is_kept else option.help),
                required=is_needed,
                max_length=2_000,
                initial="" if option.is_secret else value,
                widget=password or UnfoldAdminTextInputWidget(),
            )
        yield name, field


def _introduced(
    platform: Platform, row: Connection | None, request: HttpRequest
) -> Introduced | PlatformFailure | None:
    """Who the account is that was typed in; None: a needed field is empty, which the form says.

    Where nothing of it is changed the platform is not asked: a new connection would end the one that is at work.
    """
    if row is not None and row.is_enabled and row.problem not in AT_PLATFORM:
        values = {option: request.POST.get(f"{_OPTION}{option.name}", "").strip() for option in platform.options}
        is_same = all(
            not value if option.is_secret else value == row.options.get(option.name, "")
            for option, value in values.items()
        )
        if is_same and request.POST.get("receiving", row.receiving) == row.receiving:
            bot = {name: row.options.get(f"bot_{name}", "") for name in ("name", "id", "app")}
            return Introduced(account=row.channel.account, **bot)
    options = {}
    for option in platform.options:
        value = request.POST.get(f"{_OPTION}{option.name}", "").strip()
        if not value and option.is_secret and row is not None:
            try:
                value = secrets.read(row.secret_name(option.name), workspace=row.workspace) or ""
            except SecretUnreadable:
                value = ""
        is_needed = option.is_needed and option.receiving in (None, request.POST.get("receiving"))
        if not value and is_needed:
            return None
        options[option.name] = value
    try:
        return platform.introduce(Account(options, receiving=request.POST.get("receiving", "")))
    except PlatformFailure as failure:
        return failure


def status_of(row: Connection) -> dict[str, Any]:
    """The steps from nothing to the first message, and the latest messages."""
    platform = platform_named(row.channel.platform)
    incoming = [Line(message.received_at, message) for message in _latest(row.incoming)]
    outgoing = [Line(message.created_at, message, is_ours=True) for message in _latest(row.outgoing)]
    counts = Notice.objects.filter(connection=row).aggregate(
        all=Count("pk"), undone=Count("pk", filter=Q(undone_at__isnull=False))
    )
    name = row.options.get("bot_name") or row.channel.account
    identity = gettext("%(platform)s knows it as %(name)s.") % {"platform": platform.label, "name": name}
    steps = [Step(gettext("The key"), identity, not row.problem)]
    if platform.has_page:
        text = gettext("Open it and write; whoever may open it is set below.")
        address = f"{settings.PUBLIC_URL}{reverse('chat_page', args=[row.uid])}"  # where people write
        steps = [Step(gettext("The page"), text, True, address if settings.PUBLIC_URL else "", address)]
    elif row.receiving == Receiving.WEBHOOK:
        text = gettext("Where the platform calls: paste it there, as the guide to this platform says.")
        if platform.sets_address:
            text = gettext("Where the platform calls: it has been told so.")
        steps.append(Step(gettext("The address"), text, row.received_at is not None, call_url(row)))
    else:
        text = gettext("This server asks the platform for messages; nothing is to be set there.")
        steps.append(Step(gettext("Receiving"), text, row.pulled_until is not None))
    if row.answerer == Answerer.MODEL and not llm.is_on():
        text = gettext("No model is configured: set MEMORY_LLM_BASE_URL and MEMORY_LLM_MODEL, or choose who answers.")
        steps.append(Step(gettext("The answers"), text, False))
    text = gettext("Write to it at the platform; what arrives appears here by itself.")
    if platform.has_page:
        text = gettext("What is written there appears here by itself.")
    if row.received_at:
        text = gettext("It arrived.")
    steps.append(Step(gettext("The first message"), text, row.received_at is not None))
    reports = (MessageKind.EDITED, MessageKind.RECALLED, MessageKind.LEFT)
    return {
        "steps": steps,
        "problem": ConnectionProblem(row.problem).label if row.problem else "",
        "latest": sorted([*incoming, *outgoing], key=lambda line: (line.at, line.is_ours), reverse=True),
        "notices": counts,
        "reports": [] if platform.has_page else [(kind.label, kind in platform.reports) for kind in reports],
    }


def _again(call: ActionCall) -> str:
    count = call.rows.filter(state__in=(MessageState.FAILED, MessageState.DONE)).update(
        state=MessageState.WAITING, attempts=0, error=""
    )
    intake.wake()
    return ngettext("%(n)d message is taken up again.", "%(n)d messages are taken up again.", count) % {"n": count}


def _waits_no_more(row: IncomingMessage | OutgoingMessage) -> bool:
    return row.state == MessageState.FAILED


ANSWER_AGAIN = Action(
    name="answer_again", path="again", label=_("Answer again"), icon="replay", right="operate",
    listed=_("Answer the chosen ones again …"), listed_name="answer_chosen_again", fits=_waits_no_more,
    question=Question(text=_("As if it had come just now; what was answered before stays in the conversation.")),
    act=_again,
)  # fmt: skip
SEND_AGAIN = Action(
    name="send_again", path="again", label=_("Send again"), icon="replay", right="operate",
    listed=_("Send the chosen ones again …"), listed_name="send_chosen_again", fits=_waits_no_more,
    question=Question(text=_("To the same chat, with the same words.")),
    act=_again,
)  # fmt: skip


class _MessageAdmin(RestrictedAdmin):
    """What came or went over a connection; its words are on its page alone."""

    members_may = VIEW
    has_history = False
    sortable_by: list[str] = []
    list_select_related = ["connection__channel", "chat", "workspace"]
    ordering = ["-id"]
    colored_state = column(_("state"), lambda row: MessageState(row.state).label, label=_COLORS)
    shown_body = column(
        _("body"), lambda row: format_html("<pre>{}</pre>", json.dumps(row.body, ensure_ascii=False, indent=1))
    )


@admin.register(IncomingMessage)
class IncomingMessageAdmin(_MessageAdmin):
    """What platforms reported, and what became of it."""

    list_display = ["received_at", "kind", "connection", "chat", "peer", "colored_state", "attempts", "error"]
    list_display_links = ["received_at", "kind"]
    list_filter = [
        ("state", ChoicesDropdownFilter), ("kind", ChoicesDropdownFilter), ("connection", ReachableFilter),
        ("received_at", DaysFilter),
    ]  # fmt: skip
    declared = (ANSWER_AGAIN,)
    fields = [
        ("kind", "colored_state"), ("connection", "chat", "workspace"), ("peer", "message", "key"),
        ("sent_at", "received_at"), ("attempts", "error"), "recall", "shown_body",
    ]  # fmt: skip
    readonly_fields = ["colored_state", "shown_body"]


@admin.register(OutgoingMessage)
class OutgoingMessageAdmin(_MessageAdmin):
    """What was sent to platforms, what waits and why."""

    list_display = ["created_at", "connection", "chat", "colored_state", "attempts", "error", "sent_at"]
    list_display_links = ["created_at"]
    list_filter = [("state", ChoicesDropdownFilter), ("connection", ReachableFilter), ("created_at", DaysFilter)]
    declared = (SEND_AGAIN,)
    fields = [
        ("colored_state", "sent_at"), ("connection", "chat", "workspace"), ("created_at", "message"),
        ("attempts", "error"), "shown_body",
    ]  # fmt: skip
    readonly_fields = ["colored_state", "shown_body"]
