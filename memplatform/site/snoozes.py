"""Lines of the home page that somebody has put off, and what may be done with one from there."""

from collections.abc import Iterable
from datetime import datetime, time, timedelta

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from memories.staff.rights import needs
from memplatform.operations.models import Snooze
from memplatform.site.attention.items import Item, Viewer
from memplatform.site.attention.lines import items

#: When a line that is put off until tomorrow is back, by the clock of the page.
MORNING = time(6)
RETRY, DISMISS, TOMORROW, WEEK, SHOW = "retry", "dismiss", "tomorrow", "week", "show"


def sorted_out(found: Iterable[Item], user_id: int, now: datetime) -> tuple[list[Item], int]:
    """The lines a person wants to see now, and how many they have put off."""
    put_off = {row.key: row for row in Snooze.objects.filter(Q(until__isnull=True) | Q(until__gt=now), user=user_id)}
    every = list(found)
    shown = [item for item in every if not _is_put_off(item, put_off.get(item.key))]
    return shown, len(every) - len(shown)


def _is_put_off(item: Item, snooze: Snooze | None) -> bool:
    return snooze is not None and (snooze.until is not None or snooze.mark == item.mark)


def put_off(item: Item, user_id: int, until: datetime | None, *, now: datetime) -> None:
    """Hide a line from a person until a moment; None: until it is about something else."""
    Snooze.objects.filter(user=user_id, until__lte=now).delete()
    Snooze.objects.update_or_create(user_id=user_id, key=item.key, defaults={"until": until, "mark": item.mark})


@require_POST
def act(request: HttpRequest) -> HttpResponse:
    """Do with a line what the form asks: again, dismissed, put off; or show all that were put off."""
    viewer, what = Viewer(request, timezone.now()), request.POST.get("do", "")
    user_id = int(request.user.pk or 0)
    if what == SHOW:
        Snooze.objects.filter(user=user_id).delete()
    elif item := next((item for item in items(viewer) if item.key == request.POST.get("key")), None):
        messages.success(request, _done(item, what, user_id, viewer.now))
    else:
        messages.info(request, _("It needs nobody any more."))
    return HttpResponseRedirect(f"{reverse('admin:index')}#attention")


act = needs("read")(act)


def _done(item: Item, what: str, user_id: int, now: datetime) -> str:
    """Do it; what is said of it."""
    if what == RETRY and item.retry:
        count = item.retry()
        return ngettext("%(n)d is being tried again.", "%(n)d are being tried again.", count) % {"n": count}
    if what == DISMISS and item.mark:
        put_off(item, user_id, None, now=now)
        return _("Dismissed: it comes back when there is something new.")
    if what not in (TOMORROW, WEEK):
        return _("You may not do that.")
    day = timezone.localtime(now).date() + timedelta(days=7 if what == WEEK else 1)
    put_off(item, user_id, timezone.make_aware(datetime.combine(day, MORNING)), now=now)
    return _("Put off until %(day)s.") % {"day": date_format(day, "DATE_FORMAT")}
