"""Who was let in over MCP: which client, by whom, to whose memory; revoked for good."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.enums import ActionVariant

from memories.admin.access import Colors, RestrictedAdmin
from memories.admin.actions import Action, ActionCall, Question
from memories.admin.pages import column
from memories.audit.models import AuditEvent
from memories.models import BotKey, OAuthGrant
from memories.offline import store
from memories.staff.rights import VIEW

_COLORS = Colors({_("usable"): "success", _("revoked"): "danger", _("expired"): "warning", _("not begun"): "info"})


def _revoke(call: ActionCall) -> str:
    """The key of this hour ends at once, and no other is made."""
    grant = call.row
    OAuthGrant.objects.filter(pk=grant.pk, revoked_at=None).update(revoked_at=call.now)
    keys = BotKey.objects.filter(grant=grant)
    digests = list(keys.values_list("digest", flat=True))
    keys.filter(revoked_at=None).update(revoked_at=call.now)
    transaction.on_commit(partial(store.forget_keys, digests))
    text = gettext("%(client)s is no longer let in.") % {"client": grant.client}
    call.admin.log_as(call.request, AuditEvent.KEY_REVOKED, grant.bot, text)
    return text


REVOKE = Action(
    name="revoke", label=_("Revoke"), icon="key_off", variant=ActionVariant.DANGER, right="keys",
    question=lambda call: Question(
        title=gettext("Revoke the access of %(client)s") % {"client": call.row.client},
        text=gettext("Its calls are refused from now on. To come back it has to ask again."),
        button=gettext("Revoke the access"),
        rows=(),
        is_grave=True,
    ),
    act=_revoke,
)  # fmt: skip


@admin.register(OAuthGrant)
class OAuthGrantAdmin(RestrictedAdmin):
    """What people allowed clients of MCP."""

    members_may = VIEW
    list_display = ["client", "bot", "workspace", "whose", "permissions", "user", "state", "last_used", "expires_at"]
    list_select_related = ["client", "bot", "workspace", "user", "key"]
    search_fields = ["client__name", "bot__name"]
    ordering = ["-id"]
    fields = [
        "client", "bot", "workspace", "whose", "permissions", "scopes", "user", "created_at", "expires_at",
        "revoked_at", "last_used",
    ]  # fmt: skip
    readonly_fields = ["whose", "scopes", "last_used"]
    declared = (REVOKE,)
    whose = column(_("whose memory"), lambda grant: grant.whose)
    last_used = column(_("last used"), lambda grant: key.last_used_at if (key := _key_of(grant)) else None)
    scopes = column(_("scopes"), lambda grant: ", ".join(key.scope_patterns) if (key := _key_of(grant)) else "")

    @display(description=_("state"), label=_COLORS)
    def state(self, grant: OAuthGrant) -> Any:
        key = _key_of(grant)
        if grant.revoked_at or (key and key.revoked_at):
            return _("revoked")
        if grant.expires_at <= timezone.now():
            return _("expired")
        return _("usable") if key else _("not begun")


def _key_of(grant: OAuthGrant) -> BotKey | None:
    key: BotKey | None = getattr(grant, "key", None)
    return key
