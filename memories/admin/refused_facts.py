"""Refused facts: what models offered that was not kept, why, and on what it was said to rest, for a month (D5)."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from memories.admin.access import VIEW, RestrictedAdmin, workspaces_of
from memories.admin.filters import DaysFilter, ExactTextFilter, condition_filter
from memories.admin.labels import MODEL_JOBS, job_label
from memories.admin.model_figures import figures_of_models
from memories.choices import Refusal
from memories.models import RefusedFact

SHOWN_CHARS = 240
JobFilter = condition_filter(_("job"), "job", {name: (label, Q(purpose=name)) for name, label in MODEL_JOBS.items()})


class ModelFilter(ExactTextFilter):
    """By the exact name of the model."""

    title = _("model")
    parameter_name = "model"


@admin.register(RefusedFact)
class RefusedFactAdmin(RestrictedAdmin):
    """Read only."""

    members_may = VIEW
    has_history = False
    list_display = ["created_at", "text", "why", "model", "job", "whose"]
    list_display_links = ["created_at", "text"]
    list_filter = [
        ("reason", ChoicesDropdownFilter),
        JobFilter,
        ModelFilter,
        ("created_at", DaysFilter),
    ]
    list_select_related = ["scope"]
    ordering = ["-created_at", "-id"]
    sortable_by = ["created_at"]
    search_fields = ["content", "quote", "run"]
    search_help_text = _("Words of the fact or of its quote, or a run")
    list_before_template = "admin/memories/model_figures.html"
    fields = ["content", "quote", "why", ("model", "job", "run"), ("scope", "created_at"), "origins"]
    readonly_fields = ["why", "job"]

    @display(description=_("content"))
    def text(self, fact: RefusedFact) -> str:
        """What was stated, and below it the words it was said to rest on."""
        quote = format_html('<q class="mp-quoted">{}</q>', _cut(fact.quote)) if fact.quote else ""
        return format_html('<span class="mp-clamp">{}</span>{}', _cut(fact.content), quote)

    @display(description=_("reason"), ordering="reason")
    def why(self, fact: RefusedFact) -> str:
        return str(Refusal(fact.reason).label)

    @display(description=_("job"))
    def job(self, fact: RefusedFact) -> str:
        return job_label(fact.purpose)

    @display(description=_("scope"))
    def whose(self, fact: RefusedFact) -> str:
        return str(fact.scope) if fact.scope else "—"

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """The figures of a month by model, above the list."""
        return {"models": figures_of_models(workspaces_of(request), timezone.now())}


def _cut(words: str) -> str:
    return words if len(words) <= SHOWN_CHARS else f"{words[: SHOWN_CHARS - 1]}…"
