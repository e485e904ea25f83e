"""Operators read times by the clock of their workspaces, where these share one; else by UTC. The page says which."""

from collections.abc import Callable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from memories.models import Workspace


class OperatorsZone:
    """Sets the time zone for a page of the admin, and takes it back after it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (request.path.startswith(reverse("admin:index")) and request.user.is_authenticated):
            return self._get_response(request)
        with timezone.override(_zone_of(request)):
            return self._get_response(request)


def _zone_of(request: HttpRequest) -> ZoneInfo:
    workspaces = Workspace.objects.all()
    if not request.user.is_superuser:
        workspaces = workspaces.filter(members__user=request.user.pk)
    zones = list(workspaces.order_by().values_list("time_zone", flat=True).distinct()[:2])
    try:
        return ZoneInfo(zones[0] if len(zones) == 1 else "UTC")
    except (ZoneInfoNotFoundError, ValueError):  # set before names were checked
        return ZoneInfo("UTC")


def shown(request: HttpRequest) -> list[str]:
    """For the corner of every page: a name and a colour."""
    return [timezone.get_current_timezone_name(), "info"]
