"""The home page: first what needs somebody, then how the platform is used. Every number comes from a bounded query."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from memories.admin.access import in_workspaces
from memories.admin.batches.list import EMPTY
from memories.admin.labels import batch_name
from memories.choices import Verdict
from memories.models import Batch
from memplatform.site import figures
from memplatform.site.attention import Viewer
from memplatform.site.attention.lines import items

LATEST = 6


def page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the home page, added to unfold's."""
    return {**context, **what_is_shown(request)}


def what_is_shown(request: HttpRequest) -> dict[str, Any]:
    """Of this person's workspaces only."""
    viewer = Viewer(request, timezone.now())
    if viewer.seen is not None and not viewer.seen:
        return {"is_stranger": True, "items": [], "figures": []}
    latest = in_workspaces(Batch.objects.exclude(EMPTY).select_related("scope"), viewer.seen)
    return {
        "items": items(viewer),
        "figures": list(figures.figures(viewer.seen, viewer.recalls, viewer.now)),
        "batches": [(batch, batch_name(batch)) for batch in latest.order_by("-created_at", "-id")[:LATEST]],
        "unanswered": figures.questions(viewer.recalls, Verdict.NONE, LATEST),
        "doubtful": figures.questions(viewer.recalls, Verdict.WEAK, LATEST),
    }
