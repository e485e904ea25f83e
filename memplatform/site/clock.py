"""The reader chooses the time zone of all pages of the admin."""

from zoneinfo import available_timezones

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memories.admin.clock import COOKIE, zone_named
from memories.staff.rights import needs

_YEAR = 365 * 86_400
#: Offered as one types; any other name of a zone may be written.
OFFERED = (
    "UTC", "Asia/Shanghai", "Asia/Hong_Kong", "Asia/Taipei", "Asia/Singapore", "Asia/Tokyo", "Asia/Seoul",
    "Asia/Kolkata", "Asia/Dubai", "Europe/London", "Europe/Lisbon", "Europe/Paris", "Europe/Berlin", "Europe/Moscow",
    "Africa/Johannesburg", "America/Sao_Paulo", "America/New_York", "America/Chicago", "America/Denver",
    "America/Los_Angeles", "Australia/Sydney", "Pacific/Auckland",
)  # fmt: skip


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the zone of the form for this browser; empty: that of the workspaces again."""
    response = HttpResponseRedirect(f"{reverse('admin:index')}#period")
    name = "" if "reset" in request.POST else request.POST.get("zone", "").strip()
    if not name:
        response.delete_cookie(COOKIE, samesite="Lax")
    elif name in available_timezones() and zone_named(name):
        secure = bool(settings.SESSION_COOKIE_SECURE)
        response.set_cookie(COOKIE, name, max_age=_YEAR, secure=secure, httponly=True, samesite="Lax")
    else:
        messages.error(request, _("“%(name)s” is not a time zone, such as Asia/Shanghai.") % {"name": name[:64]})
    return response


choose = needs("read")(choose)
