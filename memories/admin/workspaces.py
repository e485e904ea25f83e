"""Workspaces: their language and time zone, who works there as what, and the links by which people join."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.forms import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminSelectWidget

from memories.admin.access import Colors, RestrictedAdmin, RestrictedInline, actor_of, visible_workspaces
from memories.admin.actions import Action, ActionCall, Place, Question
from memories.admin.auditing import note
from memories.admin.forms import LineField, SelectField
from memories.admin.history import RecordedHistory
from memories.admin.pages import column, own_page
from memories.audit.models import AuditEvent
from memories.entries import exported
from memories.models import Workspace
from memories.staff.models import Invitation, Member
from memories.staff.rights import VIEW, Needs, rights_in, workspaces_of
from memories.staff.roles import Right, Role, rights_of, roles_within
from memories.tenancy import row_level_security

_OPEN, _JOINED, _WITHDRAWN, _OVER = _("not used yet"), _("joined"), _("withdrawn"), _("expired")
_TERMS = [("7", _("7 days")), ("1", _("a day")), ("30", _("30 days"))]


#: What each role may do, said where one invites.
MAY: dict[Role, Any] = {
    Role.VIEWER: _("reads every page; credentials stay masked."),
    Role.AUDITOR: _("reads, also the audit log."),
    Role.CURATOR: _("reads, corrects, expires and restores memories, answers the review."),
    Role.OPERATOR: _("also undoes batches, imports, sets policies, channels and bots, runs jobs."),
    Role.OWNER: _("all of it: also keys, people, webhooks, exports and erasures."),
}


def outranks(request: HttpRequest, workspace_id: int, role: str) -> bool:
    """Whether this person holds all that the role may: who does not can neither give nor take it."""
    return rights_of(role) <= rights_in(request, workspace_id)


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
        rights = frozenset[Right]().union(*(rights_in(request, row.pk) for row in where.queryset))
        role: Any = self.fields["role"]
        roles = roles_within(rights)
        role.choices = [(each.value, each.label) for each in roles]
        role.help_text = format_html_join(mark_safe("<br>"), "{}: {}", ((each.label, MAY[each]) for each in roles))

    def clean(self) -> dict[str, Any]:
        """Nobody invites to more than they hold there."""
        data = super().clean() or self.cleaned_data
        workspace, role = data.get("workspace"), data.get("role")
        if workspace and role and not outranks(self._request, workspace.pk, role):
            self.add_error("role", _("You cannot give or take a role that may do more than you."))
        return data


def _invite(call: ActionCall) -> HttpResponse:
    """The link is in the answer to the POST and nowhere else; its code stands behind #, which no log sees."""
    data = call.data
    invitation, code = Invitation.make(
        data["workspace"], data["role"], invited_by=call.request.user, label=data["label"], days=int(data["days"]),
        now=call.now,
    )  # fmt: skip
    note(call.request, AuditEvent.INVITED, invitation, details={"text": str(Role(data["role"]).label)})
    link = f"{call.request.build_absolute_uri(reverse('join'))}#{code}"
    title = gettext("The link for %(whom)s") % {"whom": invitation}
    context = {"title": title, "token": link, "back": call.back, "is_link": True}
    return own_page(call.request, "admin/memories/key.html", context, call.admin)


#: On the page of members.
INVITE = Action(
    name="invite", label=_("Invite somebody"), icon="person_add", right="members", place=Place.LIST,
    form=lambda call: InviteForm(call.reply, request=call.request),
    question=Question(
        text=_("You get a link to hand on. It works once, for one person; only its hash is kept."),
        button=_("Make the link"),
        rows=(),
    ),
    act=_invite,
)  # fmt: skip


def _withdraw(call: ActionCall) -> str:
    open_ones = Invitation.objects.filter(pk=call.row.pk, accepted_at=None, withdrawn_at=None)
    if open_ones.update(withdrawn_at=call.now):
        note(call.request, AuditEvent.WITHDRAWN, call.row)
    return gettext("The link opens nothing any more.")


WITHDRAW = Action(
    name="withdraw", label=_("Withdraw"), icon="link_off", variant=ActionVariant.DANGER, right="members",
    question=lambda call: Question(
        title=gettext("Withdraw the invitation for %(whom)s") % {"whom": call.row},
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
    whom = column(_("for whom"), lambda invitation: invitation.label or "—")

    @display(
        description=_("state"), label=Colors({_OPEN: "info", _JOINED: "success", _WITHDRAWN: "danger", _OVER: None})
    )
    def colored_state(self, invitation: Invitation) -> Any:
        if invitation.accepted_at:
            return _JOINED
        if invitation.withdrawn_at:
            return _WITHDRAWN
        return _OVER if invitation.expires_at <= timezone.now() else _OPEN


MANAGED: Needs = {**VIEW, "change": Right.MEMBERS, "add": Right.MEMBERS, "delete": Right.MEMBERS}
_COLORS = Colors({Role.OWNER.label: "warning", Role.OPERATOR.label: "info", Role.CURATOR.label: "success"})
_LAST_OWNER = _("A workspace keeps at least one owner: make somebody else an owner first.")


def is_last_owner(member: Member) -> bool:
    """Whether its workspace would be left without an owner; the database refuses that, too."""
    others = Member.objects.filter(workspace_id=member.workspace_id, role=Role.OWNER).exclude(pk=member.pk)
    return member.role == Role.OWNER and not others.exists()


class MemberForm(forms.ModelForm):  # type: ignore[type-arg]
    """A role; the request that gives it is set on a class made for it."""

    request: HttpRequest

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "role" in self.fields:
            self.fields["role"].widget.attrs["aria-label"] = _("role")
        self._was = Member(pk=self.instance.pk, workspace_id=self.instance.workspace_id, role=self.instance.role)

    def clean_role(self) -> str:
        role = str(self.cleaned_data["role"])
        if self.instance.pk and role == self._was.role:
            return role
        if self.instance.pk and is_last_owner(self._was):
            raise ValidationError(_LAST_OWNER)
        return role

    def clean(self) -> dict[str, Any]:
        """Nobody gives more than they hold, nor takes it from somebody who holds more."""
        data = super().clean() or self.cleaned_data
        workspace = data.get("workspace") or (self.instance.workspace if self.instance.workspace_id else None)
        roles = [data.get("role"), *([self._was.role] if self.instance.pk else [])]
        if workspace and workspace.pk and not all(outranks(self.request, workspace.pk, role) for role in roles if role):
            self.add_error("role", _("You cannot give or take a role that may do more than you."))
        return data


class MemberFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """The last owner is not struck off on the page of the workspace either."""

    def clean(self) -> None:
        super().clean()
        for form in self.deleted_forms:
            if is_last_owner(Member.objects.get(pk=form.instance.pk)):
                raise ValidationError(_LAST_OWNER)


def _form_for(request: HttpRequest) -> type[MemberForm]:
    return type("RequestMemberForm", (MemberForm,), {"request": request})


class MemberInline(RestrictedInline):
    """Who works in this workspace, with their roles."""

    model = Member
    members_may = VIEW
    superusers_may = frozenset({"add", "change", "delete"})
    fields = ["user", "role"]
    autocomplete_fields = ["user"]
    formset = MemberFormSet

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        return super().get_formset(request, obj, form=_form_for(request), **kwargs)


@admin.register(Member)
class MemberAdmin(RecordedHistory, RestrictedAdmin):
    """Who works where, and as what. Owners give roles and dismiss; everybody sees their colleagues."""

    members_may = MANAGED
    audit_event = AuditEvent.ROLE
    form = MemberForm
    declared = (INVITE,)
    list_display = ["user", "workspace", "colored_role", "created_at"]
    list_select_related = ["user", "workspace"]
    search_fields = ["user__username", "workspace__name"]
    ordering = ["workspace__name", "user__username"]
    autocomplete_fields = ["user", "workspace"]
    colored_role = column(_("role"), lambda member: Role(member.role).label, label=_COLORS, ordering="role")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["workspace", "user", "role", *(["created_at"] if obj else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["workspace", "user", "created_at"] if obj else []

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change=change, form=_form_for(request), **kwargs)

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """The roles somebody may give in any of their workspaces; the form looks at the one it is given in."""
        if db_field.name == "role":
            where = workspaces_of(request, Right.MEMBERS)
            rights = frozenset(Right) if where is None else frozenset().union(*(rights_in(request, pk) for pk in where))
            kwargs["choices"] = [(role.value, role.label) for role in roles_within(rights)]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Superusers choose among all accounts; owners invite, since whose accounts there are is not theirs to see."""
        return workspaces_of(request) is None

    def admits(self, request: HttpRequest, what: str, obj: Any = None) -> bool:
        """Who holds less than a member's role is shown the member, and no more."""
        may = super().admits(request, what, obj)
        if what not in ("change", "delete") or not isinstance(obj, Member):
            return may
        return may and outranks(request, obj.workspace_id, obj.role)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        member = self.reach(request, object_id, "delete")
        if not is_last_owner(member):
            return super().delete_view(request, object_id, extra_context)
        messages.error(request, str(_LAST_OWNER))
        return HttpResponseRedirect(reverse("admin:memories_member_change", args=[member.pk]))

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """One at a time: of several the last owner may be one."""
        return {}

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """With the role, which the line of the audit log is about."""
        return super().log_change(request, obj, str(Role(obj.role).label))

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for member in queryset:
            note(request, AuditEvent.DISMISSED, member)


class WorkspaceForm(forms.ModelForm):  # type: ignore[type-arg]
    """Names of time zones are checked: days begin and end by them."""

    def clean_time_zone(self) -> str:
        name = str(self.cleaned_data["time_zone"])
        if name not in available_timezones():
            raise ValidationError(_("There is no such time zone; examples are UTC, Asia/Shanghai, Europe/Berlin."))
        return name


@admin.register(Workspace)
class WorkspaceAdmin(RestrictedAdmin):
    """Operators set language and time zone; superusers make one and name it; nobody removes one.

    A name is taken once on the whole platform: whoever could set it would learn the names of the others.
    """

    workspace_field = "id"
    members_may: Needs = {**VIEW, "change": Right.OPERATE}
    superusers_may = frozenset({"add"})
    form = WorkspaceForm
    list_display = ["name", "language", "time_zone", "created_at"]
    search_fields = ["name"]
    ordering = ["name"]
    fields = ["name", "language", "time_zone", "is_enabled", "has_canaries", "folder", "uid", "created_at"]
    inlines = [MemberInline]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["folder", "uid", "created_at", *([] if workspaces_of(request) is None else ["name"])]

    def save_model(self, request: HttpRequest, obj: Workspace, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            row_level_security.widen(obj.pk)  # its members are saved next
        if "has_canaries" in form.changed_data:
            switch = exported.plant_canaries if obj.has_canaries else exported.take_out_canaries
            switch(obj.pk, now=timezone.now(), actor=actor_of(request))
