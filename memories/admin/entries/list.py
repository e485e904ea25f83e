"""The list and the form of entries."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_POST
from unfold.contrib.filters.admin import (
    BooleanRadioFilter,
    ChoicesDropdownFilter,
)

from memories.admin.access import EDIT, RestrictedAdmin, actor_of, workspaces_of
from memories.admin.entries import columns
from memories.admin.entries.actions import OF_ENTRIES
from memories.admin.entries.adding import Adding
from memories.admin.entries.columns import EntryColumns
from memories.admin.entries.detail import entry_context
from memories.admin.entries.forms import EntryForm, SlotInline, edit_of
from memories.admin.entries.history import EntryHistory
from memories.admin.entries.saved_views import SAVED_VIEWS
from memories.admin.filters import (
    DaysFilter,
    DueFilter,
    ProjectFilter,
    ReachableFilter,
    StateFilter,
    TierFilter,
    VerificationFilter,
    resolve,
)
from memories.admin.saved_views import ViewedChangeList, saved_view
from memories.admin.word_search import WordSearch
from memories.entries import update
from memories.exceptions import LineChanged, PlatformError
from memories.models import Entry, Policy
from memories.models.state import state_of
from memories.rights import Needs
from memories.tenancy.roles import Right


class EntryList(ViewedChangeList):
    """Gives each row of the page its state, with the policies of its workspace read once."""

    saved_views, all_rows = SAVED_VIEWS, pgettext_lazy("entries", "All")
    said_by_views = ("p", "state", "due", "pinned__exact")

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """The entries that are in the view of the request."""
        self.request = request
        rows, view = super().get_queryset(request, exclude_parameters), saved_view(SAVED_VIEWS, request)
        return rows.filter(resolve(view.condition, request)) if view else rows

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.describe_rows(self.result_list)

    def describe_rows(self, rows: Iterable[Any]) -> None:
        """Give rows their state and end, and what the list leaves out or marks in each of them."""
        now, policies = timezone.now(), Policy.objects.of_each({row.workspace_id for row in rows})
        seen, same = workspaces_of(self.request), columns.constant(self.request)
        for row in rows:
            row.is_one_of_several = seen is None or len(seen) > 1  # then the workspace stands beside the scope
            row.same, row.searched = same, self.query
            row.ends_at = policies[row.workspace_id].end_of(row)
            row.state = state_of(row, row.ends_at, now)

    @property
    def column_choices(self) -> list[tuple[str, Any, bool]]:
        """The columns to choose from, by name and label, and whether each is chosen."""
        wanted = columns.chosen(self.request)
        return [(name, label, name in wanted) for name, label in columns.CHOICES.items()]


@admin.register(Entry)
class EntryAdmin(WordSearch, Adding, EntryColumns, EntryHistory, RestrictedAdmin):
    """The main page of the platform. Everything here goes through memories.entries, and so into the history."""

    members_may: Needs = {**EDIT, "add": Right.CURATE}
    declared = OF_ENTRIES
    show_add_link = False  # its button stands above the list
    has_page_context = True
    form = EntryForm
    inlines = [SlotInline]
    list_display = [columns.ALWAYS, *columns.CHOICES]
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
    list_before_template = "admin/memories/entries_head.html"
    change_form_outer_before_template = "admin/memories/entry_state.html"
    change_form_outer_after_template = "admin/memories/entry_related.html"

    # what is shown

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("scope", "workspace", "access").defer("terms")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return EntryList

    def get_list_display(self, request: HttpRequest) -> list[str]:
        return columns.shown(request)

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(require_POST(columns.choose))
        return [path("columns/", page, name="memories_entry_columns"), *super().get_urls()]

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
