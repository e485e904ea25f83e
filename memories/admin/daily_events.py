"""Daily events: what is told of each day, corrected, taken out of use and brought back (D1)."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter, RangeDateFilter
from unfold.decorators import action, display
from unfold.enums import ActionVariant

from memories.admin.access import EDIT, Colors, RestrictedAdmin, actor_of, at_most
from memories.admin.confirmation import (
    Confirmation,
    confirmation_form,
    confirmation_page,
    is_confirmed,
    selection_fields,
)
from memories.admin.filters import ReachableFilter
from memories.admin.history import RecordedHistory
from memories.admin.return_link import return_url
from memories.entries import daily_events
from memories.entries.draft import check_content
from memories.exceptions import InvalidDraft
from memories.models import DailyEvent

MOST = 500  # events an action takes at a time
_IN_USE, _OUT = _("In use"), _("Out of use")


class UseFilter(DropdownFilter):
    """Whether events are told."""

    title = _("state")
    parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("in", _IN_USE), ("out", _OUT)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        is_out = {"in": True, "out": False}.get(str(self.value()))
        return queryset if is_out is None else queryset.filter(expired_at__isnull=is_out)


class EventForm(forms.ModelForm):  # type: ignore[type-arg]
    """What may be said of a day: the door decides."""

    def clean_content(self) -> str:
        content = str(self.cleaned_data["content"])
        try:
            check_content(content)
        except InvalidDraft as refusal:
            raise forms.ValidationError(str(refusal)) from refusal
        return content


@admin.register(DailyEvent)
class DailyEventAdmin(RecordedHistory, RestrictedAdmin):
    """What machines told of days, for people to correct; nothing is removed from here."""

    members_may = EDIT
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
    fields = [
        "content", ("local_date", "scope", "source"), ("colored_state", "expired_at", "compressed_at"), "chats",
        "origins", ("created_at", "updated_at"), ("uid", "version"),
    ]  # fmt: skip
    readonly_fields = [
        "local_date", "scope", "source", "colored_state", "expired_at", "compressed_at", "chats", "origins",
        "created_at", "updated_at", "uid", "version",
    ]  # fmt: skip
    actions = ["expire_chosen", "restore_chosen"]
    actions_detail = ["expire", "restore"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("scope", "workspace").defer("terms")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return queryset.containing(search_term.replace("\0", "")), False  # type: ignore[attr-defined]

    def save_model(self, request: HttpRequest, obj: DailyEvent, form: Any, change: bool) -> None:
        if "content" in form.changed_data:
            daily_events.update(obj, obj.content, now=timezone.now(), actor=actor_of(request))

    @display(description=_("content"))
    def text(self, event: DailyEvent) -> str:
        return event.content if len(event.content) <= 110 else f"{event.content[:109]}…"

    @display(description=_("state"), label=Colors({_IN_USE: "success", _OUT: "danger"}))
    def colored_state(self, event: DailyEvent) -> Any:
        return _OUT if event.expired_at else _IN_USE

    # out of use and back

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        event = self.get_object(request, str(object_id))
        if event is None or not self.has_change_permission(request, event):
            return []
        wanted = "restore" if event.expired_at else "expire"
        return [item for item in self._get_base_actions_detail() if item.method.original_function_name == wanted]

    @action(description=_("Expire"), url_path="expire", icon="timer_off", variant=ActionVariant.DANGER)
    def expire(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._expire(request, self._one(request, object_id))

    @action(description=_("Restore"), url_path="restore", icon="restore", variant=ActionVariant.SUCCESS)
    def restore(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._restore(request, self._one(request, object_id))

    @admin.action(description=_("Expire the chosen events …"), permissions=["change"])
    def expire_chosen(self, request: HttpRequest, queryset: QuerySet[DailyEvent]) -> HttpResponse:
        return self._expire(request, at_most(queryset, MOST))

    @admin.action(description=_("Restore the chosen events …"), permissions=["change"])
    def restore_chosen(self, request: HttpRequest, queryset: QuerySet[DailyEvent]) -> HttpResponse:
        return self._restore(request, at_most(queryset, MOST))

    def _one(self, request: HttpRequest, object_id: str) -> QuerySet[DailyEvent]:
        return DailyEvent.objects.filter(pk=self.reach(request, object_id).pk)

    def _expire(self, request: HttpRequest, events: QuerySet[DailyEvent]) -> HttpResponse:
        if is_confirmed(request):
            done = daily_events.expire(events, now=timezone.now(), actor=actor_of(request))
            said = ngettext("%(n)d event is out of use.", "%(n)d events are out of use.", done)
            return self._report(request, said % {"n": done})
        text = gettext("It is not told any more. Nothing is deleted: you can restore it at any time.")
        return self._ask(request, events, gettext("Expire"), text, is_grave=True)

    def _restore(self, request: HttpRequest, events: QuerySet[DailyEvent]) -> HttpResponse:
        if is_confirmed(request):
            done = daily_events.restore(events, now=timezone.now(), actor=actor_of(request))
            said = ngettext("%(n)d event is in use again.", "%(n)d events are in use again.", done)
            return self._report(request, said % {"n": done})
        return self._ask(request, events, gettext("Restore"), gettext("It is told again at once."))

    def _report(self, request: HttpRequest, said: str) -> HttpResponse:
        messages.success(request, said)
        return HttpResponseRedirect(return_url(request, reverse("admin:memories_dailyevent_changelist")))

    def _ask(
        self, request: HttpRequest, events: QuerySet[DailyEvent], word: str, text: str, *, is_grave: bool = False
    ) -> HttpResponse:
        rows = list(events)
        question = Confirmation(
            title=word,
            text=text,
            button=word,
            back=return_url(request, reverse("admin:memories_dailyevent_changelist")),
            rows=rows,
            count=len(rows),
            is_grave=is_grave,
            hidden=selection_fields(request),
        )
        return confirmation_page(self, request, question, confirmation_form(request, forms.Form))
