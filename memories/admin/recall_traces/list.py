"""The list and the page of recall traces."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from memories.admin.access import VIEW, Colors, RestrictedAdmin
from memories.admin.filters import DaysFilter, condition_filter
from memories.admin.recall_traces.detail import query_label, replay_context, trace_context
from memories.choices import Verdict
from memories.models import RecallTrace, Scope

_COLORS = Colors(
    {Verdict.FOUND.label: "success", Verdict.WEAK.label: "warning", Verdict.NONE.label: "danger"}
    | {_("No memory needed"): None}
)

#: What did not answer in time, the graver first, and what answered in its place.
DEGRADED = {
    "embedding": _("words alone"),
    "embedding_pending": _("the newest by words alone"),
    "rerank": _("not reranked"),
}


#: What kind of answer was given.
AnswerFilter = condition_filter(
    _("answer"),
    "answer",
    {verdict.value: (verdict.label, Q(evidence__verdict=verdict.value)) for verdict in Verdict}
    | {
        "unneeded": (_("No memory needed"), Q(evidence__verdict__isnull=True)),
        "degraded": (_("Degraded"), ~Q(degraded=[])),
    },
)


@admin.register(RecallTrace)
class RecallTraceAdmin(RestrictedAdmin):
    """Read only."""

    members_may = VIEW
    has_page_context = True
    has_history = False
    list_display = ["created_at", "question", "served_count", "how", "without", "milliseconds", "bot", "session_key"]
    list_display_links = ["created_at", "question"]
    list_filter = [AnswerFilter, ("created_at", DaysFilter)]
    list_select_related = ["bot"]
    ordering = ["-created_at", "-id"]
    fieldsets = [
        (None, {"fields": ["message", "created_at", "bot", "session_key", "scope_names", "rule", "conditions"]}),
        (_("Evidence"), {"fields": ["signs", "degraded", "tokens", "note"], "classes": ["tab"]}),
    ]
    readonly_fields = ["scope_names", "conditions", "signs"]
    change_form_before_template = "admin/memories/trace.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows, match = super().get_queryset(request), request.resolver_match
        is_list = match and str(match.url_name).endswith("_changelist")
        return rows.defer("candidates") if is_list else rows

    @display(description=_("message"))
    def question(self, trace: RecallTrace) -> str:
        return trace.message[:90] or "—"

    @display(description=_("served"))
    def served_count(self, trace: RecallTrace) -> int:
        return len(trace.served)

    @display(description=_("answer"), label=_COLORS)
    def how(self, trace: RecallTrace) -> Any:
        """Whether it was enough to answer with."""
        return Verdict(trace.verdict).label if trace.verdict else _("No memory needed")

    @display(description=_("degraded"), label="warning")
    def without(self, trace: RecallTrace) -> Any:
        """What did not answer in time, the graver first."""
        return next((label for part, label in DEGRADED.items() if part in trace.degraded), None)

    @display(description=_("ms"))
    def milliseconds(self, trace: RecallTrace) -> str:
        return f"{trace.timings.get('total', 0):.0f}"

    @display(description=_("scopes"))
    def scope_names(self, trace: RecallTrace) -> str:
        scopes = Scope.objects.filter(pk__in=trace.scopes, workspace_id=trace.workspace_id)
        return ", ".join(map(str, scopes)) or "—"

    @display(description=_("query"))
    def conditions(self, trace: RecallTrace) -> str:
        """The parameters of the query beside the message, in words."""
        return query_label(trace.query) or "—"

    @display(description=_("evidence"))
    def signs(self, trace: RecallTrace) -> str:
        """Whether it was enough to answer with, and by which signs, in words."""
        verdict = Verdict(trace.verdict).label if trace.verdict else ""
        signs = {name: value for name, value in trace.evidence.items() if name != "verdict"}
        return format_html("{}{}", f"{verdict} · " if verdict else "", query_label(signs) or "—")

    def page_context(self, request: HttpRequest, row: RecallTrace) -> dict[str, Any]:
        timezone.activate(row.workspace.zone())  # one clock a page: that of the workspace where it was asked
        is_replayed = "again" in request.GET and not row.is_purged
        return trace_context(row) | (replay_context(row, now=timezone.now()) if is_replayed else {})
