"""Who works in a workspace, and as what: nobody gives more than they hold, and the last owner stays."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.forms import BaseInlineFormSet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from memories.admin.access import Colors, RestrictedAdmin, RestrictedInline
from memories.admin.auditing import note
from memories.admin.history import RecordedHistory
from memories.admin.invitations import INVITE
from memories.audit.models import AuditEvent
from memories.staff.models import Member
from memories.staff.rights import VIEW, Needs, rights_in, workspaces_of
from memories.staff.roles import Right, Role, rights_of, roles_within

MANAGED: Needs = {**VIEW, "change": Right.MEMBERS, "add": Right.MEMBERS, "delete": Right.MEMBERS}
_COLORS = Colors({Role.OWNER.label: "warning", Role.OPERATOR.label: "info", Role.CURATOR.label: "success"})
_LAST_OWNER = _("A workspace keeps at least one owner: make somebody else an owner first.")


def outranks(request: HttpRequest, workspace_id: int, role: str) -> bool:
    """Whether this person holds all that the role may: who does not can neither give nor take it."""
    return rights_of(role) <= rights_in(request, workspace_id)


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
            held = frozenset(Right) if where is None else frozenset().union(*(rights_in(request, pk) for pk in where))
            kwargs["choices"] = [(role.value, role.label) for role in roles_within(held)]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Superusers choose among all accounts; owners invite, since whose accounts there are is not theirs to see."""
        return workspaces_of(request) is None

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may = super().has_delete_permission(request, obj)
        return may and (not isinstance(obj, Member) or outranks(request, obj.workspace_id, obj.role))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may = super().has_change_permission(request, obj)
        return may and (not isinstance(obj, Member) or outranks(request, obj.workspace_id, obj.role))

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

    @display(description=_("role"), label=_COLORS, ordering="role")
    def colored_role(self, member: Member) -> Any:
        return Role(member.role).label
