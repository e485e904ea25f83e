"""The list of batches: those that wait for approval, and those that were applied, by whom and why."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display

from memories import batches
from memories.admin.access import Colors, RestrictedAdmin
from memories.admin.batches import detail, trial
from memories.admin.batches.actions import OF_BATCHES, batches_of_run
from memories.admin.batches.branch import OF_BRANCHES
from memories.admin.batches.detail import STATE_COLORS, is_irreversible, is_plan, summary, summary_of
from memories.admin.labels import BATCH_JOBS, actor_label, batch_name
from memories.admin.lists import Condition, DaysFilter, ReachableFilter, condition_filter
from memories.admin.pages import column, own_page, return_url
from memories.choices import BatchState
from memories.models import Batch
from memories.staff.rights import VIEW, may_in, needs
from memories.staff.roles import Right

_COLORS = Colors({state.label: color for state, color in STATE_COLORS.items()})
#: Batches of a run on a page.
PER_PAGE = 100
#: Batches of runs that found nothing to do.
EMPTY = Q(state=BatchState.APPLIED, counts={})
_TWO_LINES = '{} <span class="mp-beneath">{}</span>'
_PROPOSED = Q(state=BatchState.PROPOSED)
#: Where a batch stands, as tabs above the list.
VIEWS: Mapping[str, tuple[Any, Condition]] = {
    "waiting": (_("Waiting"), _PROPOSED),
    "held": (_("Held by the safety limit"), _PROPOSED & ~Q(held_because=[])),
    "applied": (_("Applied"), Q(state__in=[BatchState.APPLYING, BatchState.APPLIED])),
    "undone": (_("Undone"), Q(state=BatchState.UNDONE)),
    "refused": (_("Refused"), Q(state=BatchState.REFUSED)),
}
ViewFilter = condition_filter(_("state"), "view", VIEWS)
JobFilter = condition_filter(_("job"), "job", {name: (label, Q(name=name)) for name, label in BATCH_JOBS.items()})


class EmptyFilter(DropdownFilter):
    """Runs that changed nothing are left out, unless they are asked for."""

    title = _("runs that changed nothing")
    parameter_name = "empty"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("shown", _("Shown, too"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() == "shown" else queryset.exclude(EMPTY)


@admin.register(Batch)
class BatchAdmin(RestrictedAdmin):
    """Batches are made elsewhere; here they are looked at, approved, refused and undone."""

    when_empty = _(
        "Changes that were made together stand here: by jobs, imports and people. Nothing has been changed yet."
    )
    members_may = VIEW
    has_history = False
    list_display = ["created_at", "name_label", "place", "colored_state", "what", "why"]
    list_display_links = ["created_at", "name_label"]
    list_filter = [ViewFilter, JobFilter, ("workspace", ReachableFilter), EmptyFilter, ("created_at", DaysFilter)]
    declared = (*OF_BATCHES, *OF_BRANCHES)
    list_select_related = ["scope", "workspace"]
    list_before_template = "admin/memories/batches_waiting.html"
    search_fields = ["name", "actor", "run", "reason", "scope__key"]
    search_help_text = _("Part of a job, a person, a reason or a scope")
    ordering = ["-created_at", "-id"]
    name_label = column(_("name"), lambda batch: format_html(_TWO_LINES, batch_name(batch), actor_label(batch.actor)))
    place = column(_("scope"), lambda batch: format_html(_TWO_LINES, batch.scope or "—", batch.workspace))
    colored_state = column(_("state"), lambda batch: BatchState(batch.state).label, label=_COLORS)
    what = column(_("what it does"), summary)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("<path:object_id>/run/", view(self.run), name="memories_batch_run"),
            path("<path:object_id>/try/", view(self.try_plan), name="memories_batch_try"),
            *super().get_urls(),
        ]

    @needs(Right.READ)
    def run(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """All that the run of a batch planned, as one plan: a line for each scope."""
        batch: Batch = self.reach(request, object_id, "view")
        planned = list(batches_of_run(batch))
        waiting = [row for row in planned if row.state == BatchState.PROPOSED]
        page = Paginator(planned, PER_PAGE).get_page(request.GET.get("page"))
        rows = [
            {
                "batch": row,
                "what": summary(row),
                "state": BatchState(row.state).label,
                "color": STATE_COLORS[BatchState(row.state)],
                "is_open": row.state == BatchState.PROPOSED,
                "reasons": batches.approval_reasons(row) if row.state == BatchState.PROPOSED else [],  # why it is held
            }
            for row in page
        ]
        context = {
            "title": batch_name(batch),
            "batch": batch,
            "who": actor_label(batch.actor),
            "back": return_url(request, reverse("admin:memories_batch_changelist")),
            "may": may_in(request, batch.workspace_id),
            "waiting": waiting,
            "applied": sum(not is_irreversible(row) for row in batches.with_effect(batches_of_run(batch))),
            "was_applied": any(row.state == BatchState.APPLIED for row in planned),
            "summary": summary_of(waiting or [row for row in planned if not is_plan(row.state)] or planned),
            "states": [(BatchState(state).label, n) for state, n in Counter(row.state for row in planned).items()],
            "rows": rows,
            "page": page,
        }
        return own_page(request, "admin/memories/batch_run.html", context, self)

    @needs(Right.CURATE)
    def try_plan(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Last week's questions, with the plan and without."""
        return trial.page(self, request, self.reach(request, object_id, "curate"))

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        current_view, rest = request.GET.get("view", ""), request.GET.copy()
        for name in ("view", "p", "state__exact"):
            rest.pop(name, None)
        tabs = []
        for view, label in [("", _("All")), *((view, label) for view, (label, _condition) in VIEWS.items())]:
            query = rest.copy()
            if view:
                query["view"] = view
            tabs.append((f"?{query.urlencode()}", label, view == current_view))
        return {
            "waiting": self.get_queryset(request).filter(state=BatchState.PROPOSED).count(),
            "tabs": tabs,
        }

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        if object_id is None:  # there is no form to add one
            return super().changeform_view(request, object_id, form_url, extra_context)
        batch = self.reach(request, object_id, "view")
        return detail.page(self, request, batch) if request.method == "GET" else HttpResponseNotAllowed(["GET"])

    @display(description=_("reason"))
    def why(self, batch: Batch) -> str:
        """Why it waits, or why it was made."""
        is_held = batch.state == BatchState.PROPOSED and batch.held_because
        return format_html(
            '<span class="mp-clamp">{}</span>',
            " ".join(batches.approval_reasons(batch)) if is_held else batch.reason_in_words or "—",
        )
