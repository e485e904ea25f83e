"""Daily events: notes of each day, corrected, expired and restored (D1)."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import flatten
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RangeDateFilter
from unfold.decorators import display
from unfold.enums import ActionVariant

from memories.admin.access import Colors, RestrictedAdmin, actor_of
from memories.admin.actions import Action, ActionCall, Question
from memories.admin.events import source_lines
from memories.admin.forms import VersionedForm
from memories.admin.history import RecordedHistory
from memories.admin.lists import ReachableFilter, condition_filter
from memories.admin.pages import column
from memories.entries import daily_events
from memories.entries.draft import check_content
from memories.exceptions import InvalidDraft, ScopeFrozen
from memories.models import DailyEvent, Suppression
from memories.staff.rights import EDIT

_IN_USE, _OUT, _TAKEN_OUT = _("In use"), _("Out of use"), _("Taken out")
#: That people took out a memory of the event's scope that rests on one of its messages: it is served no more.
_IS_TAKEN_OUT = Exists(Suppression.objects.filter(scope_id=OuterRef("scope_id"), origins__overlap=OuterRef("origins")))
#: Memories by which an event was taken out, as its page names them.
SHOWN = 5

UseFilter = condition_filter(
    _("state"),
    "use",
    {
        "in": (_IN_USE, Q(expired_at__isnull=True) & ~Q(_IS_TAKEN_OUT)),
        "out": (_OUT, Q(expired_at__isnull=False)),
        "taken_out": (_TAKEN_OUT, Q(expired_at__isnull=True) & Q(_IS_TAKEN_OUT)),
    },
)


class EventForm(VersionedForm):
    """Refuses content that cannot be stored."""

    def clean_content(self) -> str:
        content = str(self.cleaned_data["content"])
        try:
            check_content(content)
        except InvalidDraft as refusal:
            raise forms.ValidationError(str(refusal)) from refusal
        return content


def _expire(call: ActionCall) -> str:
    count = daily_events.expire(call.rows, now=call.now, actor=call.actor)
    return ngettext("%(n)d event is out of use.", "%(n)d events are out of use.", count) % {"n": count}


def _restore(call: ActionCall) -> str:
    count = daily_events.restore(call.rows, now=call.now, actor=call.actor)
    return ngettext("%(n)d event is in use again.", "%(n)d events are in use again.", count) % {"n": count}


EXPIRE = Action(
    name="expire", label=_("Expire"), icon="timer_off", variant=ActionVariant.DANGER, right="change",
    listed=_("Expire the chosen events …"),
    fits=lambda event: not event.expired_at,
    question=Question(
        text=_("It is not told any more. Nothing is deleted: you can restore it at any time."), is_grave=True
    ),
    act=_expire,
)  # fmt: skip
RESTORE = Action(
    name="restore", label=_("Restore"), icon="restore", variant=ActionVariant.SUCCESS, right="change",
    listed=_("Restore the chosen events …"),
    fits=lambda event: bool(event.expired_at),
    question=Question(text=_("It is told again at once.")),
    act=_restore,
)  # fmt: skip


@admin.register(DailyEvent)
class DailyEventAdmin(RecordedHistory, RestrictedAdmin):
    """What machines wrote of days, for people to correct; nothing is removed from here."""

    members_may = EDIT
    audit_event = None
    change_form_outer_before_template = "admin/memories/daily_event_state.html"
    change_form_outer_after_template = "admin/memories/sources.html"
    form = EventForm
    list_display = ["local_date", "text", "scope", "workspace", "source", "colored_state"]
    list_display_links = ["local_date", "text"]
    list_filter = [
        ("local_date", RangeDateFilter),
        ("scope", ReachableFilter),
        UseFilter,
        ("source", ChoicesDropdownFilter),
    ]
    list_select_related = ["scope", "workspace"]
    search_fields = ["content"]
    search_help_text = _("Words in English or Chinese")
    ordering = ["-local_date", "-id"]
    sortable_by = ["local_date"]
    fields: Any = [
        "content", ("local_date", "scope", "source"), ("colored_state", "expired_at", "compressed_at"), "chats",
        "origins", ("created_at", "updated_at"), ("uid", "version"),
    ]  # fmt: skip
    readonly_fields = flatten(fields[1:])
    declared = (EXPIRE, RESTORE)
    text = column(_("content"), lambda event: event.content if len(event.content) <= 110 else f"{event.content[:109]}…")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request).select_related("scope", "workspace").defer("terms")
        return rows.annotate(is_taken_out=_IS_TAKEN_OUT)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return queryset.containing(search_term.replace("\0", "")), False  # type: ignore[attr-defined]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        frozen = isinstance(obj, DailyEvent) and obj.scope.frozen
        return super().has_change_permission(request, obj) and not frozen

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """The version the form was opened with travels in it."""
        return [*self.fields, *(["opened_version"] if self.has_change_permission(request, obj) else [])]

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except ScopeFrozen as refusal:  # since the form was checked
            messages.error(request, str(refusal))
            return HttpResponseRedirect(request.get_full_path())

    def save_model(self, request: HttpRequest, obj: DailyEvent, form: Any, change: bool) -> None:
        if "content" in form.changed_data:
            daily_events.update(obj, obj.content, now=timezone.now(), actor=actor_of(request))

    @display(description=_("state"), label=Colors({_IN_USE: "success", _OUT: "danger", _TAKEN_OUT: "danger"}))
    def colored_state(self, event: Any) -> Any:
        if event.expired_at:
            return _OUT
        return _TAKEN_OUT if event.is_taken_out else _IN_USE

    def page_context(self, request: HttpRequest, row: DailyEvent) -> dict[str, Any]:
        """The messages it rests on, and the memories by which it was taken out."""
        about = Suppression.objects.filter(workspace_id=row.workspace_id, scope_id=row.scope_id)
        taken_out = about.filter(origins__overlap=row.origins).select_related("entry") if row.origins else about.none()
        return {
            "event": row,
            "taken_out": list(taken_out.order_by("-created_at")[:SHOWN]),
            "sources": source_lines(row.workspace_id, row.origins),
        }
