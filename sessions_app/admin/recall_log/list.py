"""The list and the page of recall traces."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from memories.admin.access import VIEW, RestrictedAdmin, workspaces_of
from memories.admin.filters import DaysFilter, ReachableFilter, resolve
from memories.admin.recall_traces.detail import replay_context, trace_context
from memories.admin.recall_traces.labels import DEGRADED, RULES, query_label
from memories.admin.saved_views import ViewedChangeList, saved_view
from memories.admin.word_search import TRACES, WordSearch
from memories.models import RecallTrace, Scope
from sessions_app.admin.recall_log.askers import askers_of
from sessions_app.admin.recall_log.columns import VERDICTS, TraceColumns
from sessions_app.admin.recall_log.filters import (
    SAVED_VIEWS,
    AnswerFilter,
    AskerFilter,
    ChannelFilter,
    ChatFilter,
)
from sessions_app.admin.recall_log.reply import reply_of

_BY_WORKSPACE = ("workspace", ReachableFilter)


class TraceLog(ViewedChangeList):
    """Gives each row of the page the one who asked and the chat: two queries more, however many rows."""

    saved_views, all_rows, said_by_views = SAVED_VIEWS, _("All"), ("p", "answer")

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """The traces that are in the view of the request."""
        rows, view = super().get_queryset(request, exclude_parameters), saved_view(SAVED_VIEWS, request)
        if view is None:
            return rows
        return rows.alias(made_of_it=Coalesce("used", "overlap")).filter(resolve(view.condition, request))

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows, seen = list(self.result_list), workspaces_of(request)
        askers = askers_of(rows)
        for row in rows:
            row.asker_shown, row.searched = askers[row.pk], self.query
            row.is_one_of_several = seen is None or len(seen) > 1
        self.result_list = rows


@admin.register(RecallTrace)
class RecallTraceAdmin(WordSearch, TraceColumns, RestrictedAdmin):
    """Read only."""

    members_may = VIEW
    has_page_context = True
    has_history = False
    list_display = ["text", "place", "colored_state", "outcome", "created"]
    list_display_links = ["text"]
    list_filter = [
        AnswerFilter,
        AskerFilter,
        ChatFilter,
        ChannelFilter,
        ("bot", ReachableFilter),
        _BY_WORKSPACE,
        ("created_at", DaysFilter),
    ]
    list_select_related = ["bot", "workspace"]
    list_before_template = "admin/sessions_app/recall_log_head.html"
    word_index = TRACES
    search_fields = ["message"]
    search_help_text = _("Words of the question in English or Chinese, “a phrase as written”, or a recall’s id")
    ordering = ["-created_at", "-id"]
    sortable_by: list[str] = []
    fieldsets = [
        (None, {"fields": ["message", "created_at", "bot", "session_key", "scope_names", "why_asked", "conditions"]}),
        (_("Evidence"), {"fields": ["signs", "missing", "tokens", "note"], "classes": ["tab"]}),
    ]
    readonly_fields = ["scope_names", "why_asked", "conditions", "signs", "missing"]
    change_form_before_template = "admin/memories/trace.html"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return TraceLog

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows, match = super().get_queryset(request), request.resolver_match
        is_page = match and str(match.url_name).endswith("_change")
        return rows if is_page else rows.defer("candidates", "terms")

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        """Without the workspace for those who see one."""
        seen = workspaces_of(request)
        is_one = seen is not None and len(seen) == 1
        return [one for one in self.list_filter if not (is_one and one == _BY_WORKSPACE)]

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
        verdict = [str(VERDICTS.get(trace.verdict, trace.verdict))] if trace.verdict else []
        return " · ".join(filter(None, [*verdict, query_label(trace.evidence)])) or "—"

    @display(description=_("need"))
    def why_asked(self, trace: RecallTrace) -> Any:
        """Why memory was asked, or was not."""
        return RULES.get(trace.rule, trace.rule) or "—"

    @display(description=_("degraded"))
    def missing(self, trace: RecallTrace) -> str:
        """What was not there in time, by what answered in its place."""
        return ", ".join(str(DEGRADED.get(part, part)) for part in trace.degraded) or "—"

    def page_context(self, request: HttpRequest, row: RecallTrace) -> dict[str, Any]:
        timezone.activate(row.workspace.zone())  # one clock a page: that of the workspace where it was asked
        is_replayed = "again" in request.GET and not row.is_purged
        asker = askers_of([row])[row.pk]
        context = trace_context(row) | {"asker": asker, "reply": reply_of(row, asker.session)}
        return context | (replay_context(row, now=timezone.now()) if is_replayed else {})
