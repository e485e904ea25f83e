"""Batches: what was changed together, by whom and why, row by row."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from memories.admin.filters import DaysFilter
from memories.admin.wall import LOOK, Colors, WalledAdmin, WalledInline
from memories.choices import BatchState, BatchVerb, ChangeState
from memories.models import Batch, BatchChange

_COLORS = Colors(
    {
        BatchState.PROPOSED.label: "warning",
        BatchState.APPLYING.label: "info",
        BatchState.APPLIED.label: "success",
        BatchState.UNDONE.label: None,
        BatchState.REFUSED.label: "danger",
    }
)


class ChangeInline(WalledInline):
    """The rows of a batch, a page at a time."""

    model = BatchChange
    members_may = LOOK
    fields = ["position", "said_verb", "entry_link", "said_state", "note"]
    readonly_fields = fields
    ordering = ["position"]
    per_page = 50
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("entry")

    @display(description=_("verb"))
    def said_verb(self, change: BatchChange) -> str:
        return str(BatchVerb(change.verb).label)

    @display(
        description=_("state"), label=Colors({ChangeState.APPLIED.label: "success", ChangeState.LEFT.label: "warning"})
    )
    def said_state(self, change: BatchChange) -> Any:
        return ChangeState(change.state).label

    @display(description=_("entry"))
    def entry_link(self, change: BatchChange) -> str:
        if change.entry is None or change.entry.workspace_id != change.workspace_id:
            return "—"
        address = reverse("admin:memories_entry_change", args=[change.entry_id])
        return format_html('<a class="mp-link" href="{}">{}</a>', address, str(change.entry) or change.entry_id)


@admin.register(Batch)
class BatchAdmin(WalledAdmin):
    """Read only: a batch is made by what it did."""

    members_may = LOOK
    has_history = False
    list_display = [
        "created_at",
        "said_name",
        "scope",
        "workspace",
        "actor",
        "colored_state",
        "changes_count",
        "reason",
    ]
    list_display_links = ["created_at", "said_name"]
    list_filter = [("state", ChoicesDropdownFilter), ("created_at", DaysFilter)]
    list_select_related = ["scope", "workspace"]
    search_fields = ["name", "actor", "run", "reason"]
    ordering = ["-created_at", "-id"]
    inlines = [ChangeInline]
    fields = [
        ("name", "colored_state"), ("actor", "run"), "reason", "held_because", ("scope", "workspace"),
        ("created_at", "applied_at", "closed_at"), "counts", "cost", "undoes", "uid",
    ]  # fmt: skip
    readonly_fields = ["colored_state", "uid"]

    @display(description=_("name"))
    def said_name(self, batch: Batch) -> str:
        return str(BatchVerb(batch.name).label) if batch.name in BatchVerb.values else batch.name

    @display(description=_("state"), label=_COLORS)
    def colored_state(self, batch: Batch) -> Any:
        return BatchState(batch.state).label

    @display(description=_("changes"))
    def changes_count(self, batch: Batch) -> int:
        return sum(number for number in batch.counts.values() if isinstance(number, int))
