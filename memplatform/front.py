"""The page at `/`: that the platform runs here, and where everything is."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memplatform import health
from memplatform.callers import may_see_details


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """For whoever opens the bare address: one sentence on the condition, and the addresses that lead on."""
    now = timezone.now()
    condition = health.examine(now)
    sentences = {
        "ok": _("Everything runs."),
        "behind": _("Everything runs; some work is behind its time."),
        "unavailable": _("Not ready to answer yet."),
    }
    context = {
        "status": condition.status,
        "sentence": sentences[condition.status],
        "links": _links(is_trusted=may_see_details(request, now=now)),
        "api": request.build_absolute_uri("/api/v1/"),
    }
    return render(request, "front.html", context, status=503 if condition.missing else 200)


def _links(*, is_trusted: bool) -> list[tuple[str, str, str]]:
    """Address, name and purpose; the API's own pages only for those who may open them."""
    links = [(reverse("admin:index"), _("Admin"), _("See, correct and restore what bots remember."))]
    if is_trusted:
        links.append((reverse("docs"), _("API"), _("Every call, to read and to try.")))
        links.append((reverse("schema"), _("Schema"), _("The same for programs (OpenAPI).")))
    links.append((reverse("readyz"), _("Health"), _("For load balancers and monitors.")))
    return links
