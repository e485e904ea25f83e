"""Workspaces: their language, their time zone, and who works there."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.admin.access import RestrictedAdmin, actor_of
from memories.admin.members import MemberInline
from memories.entries import exported
from memories.models import Workspace
from memories.staff.rights import VIEW, Needs, workspaces_of
from memories.staff.roles import Right
from memories.tenancy import row_level_security


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
