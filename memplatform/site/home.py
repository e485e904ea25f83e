"""The home page: first what needs somebody, then how the platform is used. Every number comes from a bounded query."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from memories.admin.access import in_workspaces
from memories.admin.batches.list import EMPTY
from memories.admin.clock import chosen_zone
from memories.admin.labels import actor_label, batch_name
from memories.choices import Verdict
from memories.models import Batch
from memplatform.site import drawn, figures, lists, snoozes
from memplatform.site.attention import Viewer
from memplatform.site.attention.lines import items
from memplatform.site.clock import OFFERED
from memplatform.site.periods import chosen
from memplatform.site.series import Numbers

LATEST = 6


def page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the home page, added to unfold's."""
    return {**context, **what_is_shown(request)}


def what_is_shown(request: HttpRequest) -> dict[str, Any]:
    """Of this person's workspaces only."""
    viewer = Viewer(request, timezone.now())
    if viewer.seen is not None and not viewer.seen:
        return {"is_stranger": True, "items": [], "figures": []}
    shown, put_off = snoozes.sorted_out(items(viewer), int(request.user.pk or 0), viewer.now)
    latest = in_workspaces(Batch.objects.exclude(EMPTY).select_related("scope"), viewer.seen)
    newest = latest.order_by("-created_at", "-id")[:LATEST]
    return {
        "items": shown,
        "put_off": put_off,
        "batches": [(one, batch_name(one), actor_label(one.actor)) for one in newest],
        **_used(request, viewer),
    }


def _used(request: HttpRequest, viewer: Viewer) -> dict[str, Any]:
    """How it was used in the period the address asks for."""
    choice = chosen(request, viewer.now)
    numbers = Numbers(choice.period)
    return {
        "choice": choice,
        "zones": OFFERED,
        "zone": chosen_zone(request) or "",
        "figures": list(figures.figures(numbers)),
        "charts": list(drawn.charts(numbers)),
        "steps": drawn.step_times(numbers),
        "stock": numbers.newest_stock,
        "unanswered": lists.questions(choice.period, Verdict.NONE),
        "doubtful": lists.questions(choice.period, Verdict.WEAK),
        "incidents": lists.incidents(choice.period),
        "most_recalled": lists.most_recalled(choice.period),
    }
