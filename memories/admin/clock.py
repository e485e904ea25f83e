"""The clock of a page: one time zone for all its times, which the reader may choose and a cookie keeps."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest
from django.utils import timezone

from memories.models import Workspace

#: Holds the name of the zone somebody chose.
COOKIE = "memplatform_zone"


def zone_named(name: str) -> ZoneInfo | None:
    """The time zone of this name; None where there is none."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a path that is no zone
        return None


def chosen_zone(request: HttpRequest) -> ZoneInfo | None:
    """The zone the reader chose for all pages."""
    return zone_named(request.COOKIES.get(COOKIE, ""))


def show_zone_of(request: HttpRequest, workspace: Workspace) -> None:
    """Show the times of a page by the clock of its workspace, unless the reader chose another for all pages."""
    if chosen_zone(request) is None:
        timezone.activate(workspace.zone())
