"""Invitations: a link by which one person joins a workspace once; it works without e-mail, and is shown once."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminSelectWidget

from memories.admin.access import Colors, RestrictedAdmin, visible_workspaces
from memories.admin.actions import Action, Asked, Place, Question
from memories.admin.auditing import note
from memories.admin.fields import LineField, SelectField
from memories.admin.own_pages import own_page
from memories.audit.models import AuditEvent
from memories.staff.models import Invitation
from memories.staff.rights import Needs, rights_in
from memories.staff.roles import Right, Role, rights_of, roles_within

_OPEN, _JOINED, _WITHDRAWN, _OVER = _("not used yet"), _("joined"), _("withdrawn"), _("expired")
_TERMS = [("7", _("7 days")), ("1", _("a day")), ("30", _("30 days"))]


class InviteForm(forms.Form):
    """Where to, as what, for whom and for how long."""

    workspace: Any = forms.ModelChoiceField(label=_("workspace"), queryset=None, widget=UnfoldAdminSelectWidget)
    role = SelectField(label=_("role"))
    label = LineField(
        label=_("for whom"), max_length=100, required=False, help_text=_("So that you know whose link it is.")
    )
    days = SelectField(label=_("valid for"), choices=_TERMS)

    def __init__(self, data: Any = None, *, request: HttpRequest) -> None:
        super().__init__(data)
        self._request = request
        where: Any = self.fields["workspace"]
        where.queryset = visible_workspaces(request, Right.MEMBERS)
        where.initial = where.queryset.first()
        where.empty_label = None
        held = frozenset[Right]().union(*(rights_in(request, row.pk) for row in where.queryset))
        role: Any = self.fields["role"]
        role.choices = [(one.value, one.label) for one in roles_within(held)]

    def clean(self) -> dict[str, Any]:
        """Nobody invites to more than they hold there."""
        data = super().clean() or self.cleaned_data
        workspace, role = data.get("workspace"), data.get("role")
        if workspace and role and not rights_of(role) <= rights_in(self._request, workspace.pk):
            self.add_error("role", _("You cannot give or take a role that may do more than you."))
        return data


def _invite(asked: Asked) -> HttpResponse:
    """The link is in the answer to the POST and nowhere else; its code stands behind #, which no log sees."""
    data = asked.data
    invitation, code = Invitation.make(
        data["workspace"], data["role"], invited_by=asked.request.user, label=data["label"], days=int(data["days"]),
        now=asked.now,
    )  # fmt: skip
    note(asked.request, AuditEvent.INVITED, invitation, details={"text": str(Role(data["role"]).label)})
    link = f"{asked.request.build_absolute_uri(reverse('join'))}#{code}"
    title = gettext("The link for %(whom)s") % {"whom": invitation}
    context = {"title": title, "token": link, "back": asked.back, "is_link": True}
    return own_page(asked.request, "admin/memories/key.html", context, asked.admin)


#: On the page of members.
INVITE = Action(
    name="invite", label=_("Invite somebody"), icon="person_add", right="members", place=Place.LIST,
    form=lambda asked: InviteForm(asked.request.POST if asked.is_confirmed else None, request=asked.request),
    question=Question(
        text=_("You get a link to hand on. It works once, for one person; only its hash is kept."),
        button=_("Make the link"),
        rows=(),
    ),
    act=_invite,
)  # fmt: skip


def _withdraw(asked: Asked) -> str:
    open_ones = Invitation.objects.filter(pk=asked.row.pk, accepted_at=None, withdrawn_at=None)
    if open_ones.update(withdrawn_at=asked.now):
        note(asked.request, AuditEvent.WITHDRAWN, asked.row)
    return gettext("The link opens nothing any more.")


WITHDRAW = Action(
    name="withdraw", label=_("Withdraw"), icon="link_off", variant=ActionVariant.DANGER, right="members",
    question=lambda asked: Question(
        title=gettext("Withdraw the invitation for %(whom)s") % {"whom": asked.row},
        text=gettext("Whoever has the link cannot join with it any more."),
        rows=(),
        is_grave=True,
    ),
    act=_withdraw,
)  # fmt: skip


@admin.register(Invitation)
class InvitationAdmin(RestrictedAdmin):
    """Links that were made, by whom and what became of them."""

    members_may: Needs = {"view": Right.MEMBERS}
    audit_event = None
    has_history = False
    list_display = ["created_at", "whom", "role", "workspace", "invited_by", "colored_state", "expires_at"]
    list_display_links = ["created_at", "whom"]
    list_select_related = ["workspace", "invited_by"]
    ordering = ["-id"]
    fields = [("label", "role", "workspace"), ("invited_by", "colored_state"), ("created_at", "expires_at")]
    readonly_fields = ["colored_state"]
    declared = (WITHDRAW,)

    @display(description=_("for whom"))
    def whom(self, invitation: Invitation) -> str:
        return invitation.label or "—"

    @display(
        description=_("state"), label=Colors({_OPEN: "info", _JOINED: "success", _WITHDRAWN: "danger", _OVER: None})
    )
    def colored_state(self, invitation: Invitation) -> Any:
        if invitation.accepted_at:
            return _JOINED
        if invitation.withdrawn_at:
            return _WITHDRAWN
        return _OVER if invitation.expires_at <= timezone.now() else _OPEN
