"""Recall traces: why the bot said that, candidate by candidate."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display

from memories.admin.access import VIEW, Colors, RestrictedAdmin
from memories.admin.filters import DaysFilter
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


class AnswerFilter(DropdownFilter):
    """What kind of answer was given."""

    title = _("answer")
    parameter_name = "answer"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*Verdict.choices, ("unneeded", _("No memory needed")), ("degraded", _("Degraded"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        conditions = {verdict.value: Q(evidence__verdict=verdict.value) for verdict in Verdict}
        conditions |= {"unneeded": Q(evidence__verdict__isnull=True), "degraded": ~Q(degraded=[])}
        return queryset.filter(conditions[self.value()]) if self.value() in conditions else queryset


@admin.register(RecallTrace)
class RecallTraceAdmin(RestrictedAdmin):
    """Read only: what happened, happened."""

    members_may = VIEW
    has_history = False
    list_display = ["created_at", "asked", "served_count", "how", "without", "milliseconds", "bot", "session_key"]
    list_display_links = ["created_at", "asked"]
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
        return (
            super().get_queryset(request).defer("candidates")
            if self._is_list(request)
            else super().get_queryset(request)
        )

    def _is_list(self, request: HttpRequest) -> bool:
        match = request.resolver_match
        return bool(match and str(match.url_name).endswith("_changelist"))

    @display(description=_("message"))
    def asked(self, trace: RecallTrace) -> str:
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
        """What was asked for beside the message, in words."""
        return query_label(trace.query) or "—"

    @display(description=_("evidence"))
    def signs(self, trace: RecallTrace) -> str:
        """Whether it was enough to answer with, and by which signs, in words."""
        verdict = Verdict(trace.verdict).label if trace.verdict else ""
        known = {name: value for name, value in trace.evidence.items() if name != "verdict"}
        return format_html("{}{}", f"{verdict} · " if verdict else "", query_label(known) or "—")

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        trace = self.get_object(request, object_id) if object_id else None
        if trace:  # one clock a page: that of the workspace where it was asked
            timezone.activate(trace.workspace.zone())
        more = {**(trace_context(trace) if trace else {}), **(extra_context or {})}
        if trace and "again" in request.GET and not trace.is_purged:
            more |= replay_context(trace, now=timezone.now())
        answer: HttpResponse = super().changeform_view(request, object_id, form_url, more)
        return answer
