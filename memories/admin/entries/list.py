"""The list and the form of entries."""

from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import (
    BooleanRadioFilter,
    ChoicesDropdownFilter,
)
from unfold.decorators import display

from memories.admin.access import EDIT, Colors, RestrictedAdmin, actor_of, workspaces_of
from memories.admin.entries.actions import EntryActions
from memories.admin.entries.detail import entry_context
from memories.admin.entries.filters import search
from memories.admin.entries.forms import EntryForm, SlotInline, edit_of
from memories.admin.entries.history import EntryHistory
from memories.admin.filters import (
    DaysFilter,
    DueFilter,
    ProjectFilter,
    ReachableFilter,
    StateFilter,
    TierFilter,
    VerificationFilter,
)
from memories.admin.pagination import BoundedChangeList
from memories.entries import update
from memories.exceptions import LineChanged, PlatformError
from memories.models import Entry, Policy
from memories.models.state import State, state_of

_COLORS = Colors(
    {
        State.LIVE.label: "success",
        State.DUE.label: "warning",
        State.EXPIRED.label: "danger",
        State.ARCHIVED.label: "info",
        State.SUPERSEDED.label: "info",
        State.SUPPRESSED.label: "danger",
    }
)


#: Of a memory in the list; two lines hold fewer, a phone's six about as many.
SHOWN_CHARS = 240
_PIN = '<span class="material-symbols-outlined mp-pin" title="{}">keep</span> {}'


def beneath(first: str, second: str) -> str:
    """A cell of two lines, the second of which is less important."""
    return format_html('<span class="mp-first-line">{}</span><span class="mp-beneath">{}</span>', first, second)


class EntryList(BoundedChangeList):
    """Gives each row of the page its state, with the policies of its workspace read once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        now, policies = timezone.now(), Policy.objects.of_each({row.workspace_id for row in self.result_list})
        seen = workspaces_of(request)
        for row in self.result_list:
            row.is_one_of_several = seen is None or len(seen) > 1  # then the workspace stands beside the scope
            row.state = state_of(row, policies[row.workspace_id].end_of(row), now)


@admin.register(Entry)
class EntryAdmin(EntryActions, EntryHistory, RestrictedAdmin):
    """The main page of the platform. Everything here goes through memories.entries, and so into the history."""

    members_may = EDIT
    has_page_context = True
    form = EntryForm
    inlines = [SlotInline]
    list_display = ["text", "place", "colored_state", "created"]
    list_display_links = ["text"]
    list_filter = [
        StateFilter,
        DueFilter,
        VerificationFilter,
        ("type", ChoicesDropdownFilter),
        ("category", ChoicesDropdownFilter),
        TierFilter,
        ("scope", ReachableFilter),
        ProjectFilter,
        ("source", ChoicesDropdownFilter),
        ("pinned", BooleanRadioFilter),
        ("created_at", DaysFilter),
    ]
    ordering = ["-created_at", "-id"]
    sortable_by = ["created"]
    search_fields = ["content"]
    search_help_text = _("Words in English or Chinese, “a phrase as written”, or an id")
    fieldsets = [
        (
            None,
            {
                "fields": [
                    "content", ("category", "importance"), ("project", "topic"), "pinned",
                    "expires_at", "review_at",
                ],
            },
        ),
        (
            _("Where it was said"),
            {
                "classes": ["tab"],
                "fields": [
                    "scope", ("channel", "chat_id"), ("session_id", "thread_id"), ("sender_id", "speaker"),
                    "chats", "origins",
                ],
            },
        ),
        (
            _("Life"),
            {
                "classes": ["tab"],
                "fields": [
                    ("type", "subtype", "tier"), "source", ("created_at", "stated_at", "updated_at"),
                    ("expired_at", "archived_at", "suppressed_at"), "superseded_by", ("verified_at", "verified_by"),
                    ("path", "line_from", "line_to"), ("uid", "version"),
                ],
            },
        ),
    ]  # fmt: skip
    readonly_fields = [
        "scope", "channel", "chat_id", "session_id", "thread_id", "sender_id", "speaker", "chats", "origins", "type",
        "subtype", "tier", "source", "created_at", "stated_at", "updated_at", "expired_at", "archived_at",
        "suppressed_at", "superseded_by", "verified_at", "verified_by", "path", "line_from", "line_to", "uid",
        "version",
    ]  # fmt: skip
    list_before_template = "admin/memories/expired_last_night.html"
    change_form_outer_before_template = "admin/memories/entry_state.html"
    change_form_outer_after_template = "admin/memories/entry_related.html"

    # what is shown

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("scope", "workspace", "access").defer("terms")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return EntryList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return (search(queryset, search_term) if search_term.strip() else queryset), False

    @display(description=_("content"))
    def text(self, entry: Entry) -> str:
        """Two lines of it; the style sheet cuts what is longer."""
        words = entry.content if len(entry.content) <= SHOWN_CHARS else f"{entry.content[: SHOWN_CHARS - 1]}…"
        pin = _PIN if entry.pinned else "{}{}"
        return format_html(f'<span class="mp-clamp">{pin}</span>', gettext("Pinned") if entry.pinned else "", words)

    @display(description=_("scope"))
    def place(self, entry: Any) -> str:
        """The scope, and below it the type and category."""
        several = [entry.workspace.name] if entry.is_one_of_several else []
        kind = [entry.get_type_display(), *([entry.get_category_display()] if entry.category else [])]
        return beneath(" · ".join([*several, str(entry.scope)]), " · ".join(kind))

    @display(description=_("state"), label=_COLORS)
    def colored_state(self, entry: Any) -> Any:
        return entry.state.label

    @display(description=_("created"), ordering="created_at")
    def created(self, entry: Entry) -> str:
        """When it was written, and below it how often it was served."""
        access = getattr(entry, "access", None)
        times = access.access_count if access else 0
        recalled = ngettext("recalled %(n)d time", "recalled %(n)d times", times) % {"n": times}
        moment = date_format(timezone.localtime(entry.created_at), "SHORT_DATETIME_FORMAT")
        return beneath(moment, recalled)

    # editing

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        frozen = isinstance(obj, Entry) and obj.scope.frozen
        return super().has_change_permission(request, obj) and not frozen

    def get_form(self, request: HttpRequest, obj: Entry | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.refusal = request.__dict__.get("_refusal")
        if obj and obj.path and (content := form.base_fields.get("content")):
            content.help_text = _("A line of a file: what you change here is changed there, too.")
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The version the form was opened with travels in it."""
        first, *others = super().get_fieldsets(request, obj)
        if not self.has_change_permission(request, obj):
            return [first, *others]
        return [(first[0], {**first[1], "fields": [*first[1]["fields"], "opened_version"]}), *others]

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """A refused change comes back as an error of the form, with everything that was typed."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except PlatformError as refusal:
            request.__dict__["_refusal"] = refusal
            conflict = refusal if isinstance(refusal, LineChanged) else None
            answer = super().changeform_view(
                request, object_id, form_url, {**(extra_context or {}), "conflict": conflict}
            )
            if conflict:
                answer.status_code = HTTPStatus.CONFLICT
            return answer

    def page_context(self, request: HttpRequest, row: Entry) -> dict[str, Any]:
        return entry_context(row, now=timezone.now())

    def save_model(self, request: HttpRequest, obj: Entry, form: Any, change: bool) -> None:
        """Saved with its slots, in one change."""

    def save_related(self, request: HttpRequest, form: Any, formsets: list[Any], change: bool) -> None:
        wanted = edit_of(form, formsets)
        if wanted.columns or wanted.slots:
            opened = form.cleaned_data["opened_version"]
            update(form.instance, wanted, now=timezone.now(), actor=actor_of(request), expected_version=opened)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """None: the history of entries is kept by the database, and words of users do not go into a second one."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """See construct_change_message."""
