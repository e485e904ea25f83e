"""Bots and their keys: a key is issued on a page that shows its token once, and revoked for good."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
)

from memories.admin.access import Colors, RestrictedAdmin, RestrictedInline
from memories.admin.actions import Action, ActionCall, Question, to_row
from memories.admin.forms import LineField, SelectField, TextField
from memories.admin.pages import column, own_page, quarantine_url
from memories.audit.models import AuditEvent
from memories.choices import Permission
from memories.models import Bot, BotKey
from memories.offline import store
from memories.staff.rights import CONFIGURE, VIEW, rights_in, workspaces_of
from memories.staff.roles import KEY_NEEDS

_COLORS = Colors({_("usable"): "success", _("revoked"): "danger", _("expired"): "warning"})
_TERMS = [("", _("never")), ("30", _("in 30 days")), ("90", _("in 90 days")), ("365", _("in a year"))]


def grantable_permissions(request: HttpRequest, bot: Bot) -> list[Permission]:
    """The permissions somebody may give to a key of a bot: none that they do not hold; superusers, all."""
    if workspaces_of(request) is None:
        return list(Permission)
    rights = rights_in(request, bot.workspace_id)
    return [permission for permission, right in KEY_NEEDS.items() if right in rights]


class KeyForm(forms.Form):
    """A new key: its label, permissions, scopes and expiry."""

    label = LineField(label=_("Label"), max_length=100, help_text=_("Where the key is used, such as «production»."))
    permissions = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=Permission.choices,
        initial=[Permission.READ, Permission.WRITE],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )
    scope_patterns = TextField(
        label=_("Scope patterns"),
        required=False,
        help_text=_("One a line, such as telegram:*; none means every scope of the workspace."),
        rows=3,
    )
    expires = SelectField(label=_("Expires"), choices=_TERMS, required=False)

    def __init__(self, data: Any = None, *, grantable: Sequence[Permission]) -> None:
        super().__init__(data)
        permissions: Any = self.fields["permissions"]
        permissions.choices = [(permission.value, permission.label) for permission in grantable]

    def clean_scope_patterns(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data["scope_patterns"].splitlines() if line.strip()]


class KeyInline(RestrictedInline):
    """The keys of a bot, each with the first characters of its token."""

    model = BotKey
    members_may = VIEW
    fields = ["prefix", "label", "permissions", "scope_patterns", "state", "expires_at", "last_used_at", "revoke"]
    readonly_fields = fields
    ordering = ["-id"]
    verbose_name_plural = _("keys")
    hide_title = True
    _may_revoke = False
    state = column(_("state"), lambda key: _state(key), label=_COLORS)

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        self._may_revoke = self.admits(request, "keys", obj)  # an inline is made anew for every request
        return super().get_formset(request, obj, **kwargs)

    @display(description="")
    def revoke(self, key: BotKey) -> str:
        if key.revoked_at or not self._may_revoke:
            return ""
        return format_html(
            '<a class="mp-link mp-danger" href="{}">{}</a>',
            reverse("admin:memories_botkey_revoke", args=[key.pk]),
            gettext("Revoke"),
        )


def _state(key: BotKey) -> Any:
    if key.revoked_at:
        return _("revoked")
    return _("expired") if key.expires_at and key.expires_at <= timezone.now() else _("usable")


def _issue_key(call: ActionCall) -> HttpResponse:
    """The token is in the answer to the POST and nowhere else, not even in the browser's history."""
    data, days = call.data, call.data["expires"]
    key, token = BotKey.issue(
        call.row,
        label=data["label"],
        permissions=data["permissions"],
        scope_patterns=data["scope_patterns"],
        expires_at=call.now + timedelta(days=int(days)) if days else None,
    )
    text = gettext("Issued the key %(key)s.") % {"key": key}
    call.admin.log_as(call.request, AuditEvent.KEY_ISSUED, call.row, text)
    title = gettext("The new key of %(bot)s") % {"bot": call.row}
    context = {"title": title, "key": key, "token": token, "back": call.back}
    return own_page(call.request, "admin/memories/key.html", context, call.admin)


def _switch_question(call: ActionCall) -> Question:
    if call.row.disabled_at is None:
        return Question(
            title=gettext("Disable %(bot)s") % {"bot": call.row},
            text=gettext("From now on every key of this bot is refused. What it remembered stays."),
            button=gettext("Disable"),
            rows=(),
            is_grave=True,
        )
    title, text = gettext("Enable %(bot)s") % {"bot": call.row}, gettext("Its usable keys are accepted again.")
    return Question(title=title, text=text, button=gettext("Enable"), rows=())


def _switch(call: ActionCall) -> str:
    """A disabled bot's keys are all refused; nothing else of it changes."""
    bot, is_on = call.row, call.row.disabled_at is None
    bot.disabled_at = call.now if is_on else None
    bot.save(update_fields=["disabled_at"])
    digests = list(bot.keys.values_list("digest", flat=True))
    transaction.on_commit(partial(store.forget_keys, digests))
    text = gettext("Disabled.") if is_on else gettext("Enabled.")
    call.admin.log_change(call.request, bot, text)
    return text


ISSUE_KEY = Action(
    name="issue_key", path="issue-key", label=_("Issue a key"), icon="key", right="keys",
    form=lambda call: KeyForm(call.reply, grantable=grantable_permissions(call.request, call.row)),
    question=lambda call: Question(
        title=gettext("Issue a key for %(bot)s") % {"bot": call.row},
        text=gettext("The key will be shown once, on the next page. Only its hash is kept."),
        button=gettext("Issue the key"),
        rows=(),
    ),
    act=_issue_key,
    back=to_row,
)  # fmt: skip
SWITCH = Action(
    name="enable_or_disable", path="switch", label=_("Disable or enable"), icon="power_settings_new", right="change",
    question=_switch_question, act=_switch, back=to_row,
)  # fmt: skip
QUARANTINE = Action(  # what it wrote in a time, which the next page asks for
    name="quarantine", label=_("Put into quarantine …"), icon="coronavirus", right="curate",
    act=lambda call: HttpResponseRedirect(quarantine_url(bot=call.row.pk)),
)  # fmt: skip


@admin.register(Bot)
class BotAdmin(RestrictedAdmin):
    """Clients of the API."""

    when_empty = _("A bot is a client of the API, with keys of its own: connect one.")
    members_may = CONFIGURE
    list_display = ["name", "workspace", "usable_keys", "is_enabled", "created_at"]
    list_select_related = ["workspace"]
    search_fields = ["name"]
    ordering = ["workspace__name", "name"]
    inlines = [KeyInline]
    declared = (ISSUE_KEY, SWITCH, QUARANTINE)
    usable_keys = column(_("usable keys"), lambda bot: int(bot._usable), ordering="_usable")
    is_enabled = column(_("enabled"), lambda bot: bot.disabled_at is None, boolean=True, ordering="disabled_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        usable = Q(keys__revoked_at=None) & (Q(keys__expires_at=None) | Q(keys__expires_at__gt=timezone.now()))
        return super().get_queryset(request).annotate(_usable=Count("keys", filter=usable))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["workspace", "name", *(["uid", "created_at", "disabled_at"] if obj else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["workspace", "uid", "created_at", "disabled_at"] if obj else []


def _revoke(call: ActionCall) -> str:
    """For good: a revoked key is never accepted again."""
    key = call.row
    BotKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=call.now)
    transaction.on_commit(partial(store.forget_key, key.digest))
    text = gettext("The key %(key)s is revoked.") % {"key": key}
    call.admin.log_as(call.request, AuditEvent.KEY_REVOKED, key.bot, text)  # where its issuing stands, too
    return text


REVOKE = Action(
    name="revoke", label=_("Revoke"), icon="key_off", variant=ActionVariant.DANGER, right="keys",
    question=lambda call: Question(
        title=gettext("Revoke %(key)s") % {"key": call.row},
        text=gettext("Calls with this key are refused from now on. A revoked key cannot be brought back."),
        button=gettext("Revoke the key"),
        rows=(),
        is_grave=True,
    ),
    act=_revoke,
    back=lambda call: reverse("admin:memories_bot_change", args=[call.row.bot_id]),
)  # fmt: skip


@admin.register(BotKey)
class BotKeyAdmin(RestrictedAdmin):
    """All keys of a workspace, for finding those that are old or unused."""

    members_may = VIEW
    list_display = ["prefix", "label", "bot", "workspace", "permissions", "state", "last_used_at", "expires_at"]
    list_select_related = ["bot", "workspace"]
    search_fields = ["prefix", "label", "bot__name"]
    ordering = ["-id"]
    fields = [
        "prefix", "label", "bot", "permissions", "scope_patterns", "created_at", "expires_at", "revoked_at",
        "last_used_at",
    ]  # fmt: skip
    declared = (REVOKE,)
    state = column(_("state"), _state, label=_COLORS)
