"""The home page: first what needs somebody, then how the platform is used. Every number comes from a bounded query.

From there lines are put off, done again, and the time zone of all pages is chosen.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import islice
from typing import Any
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib import messages
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from memories.admin.access import in_workspaces
from memories.admin.batches.list import EMPTY
from memories.admin.labels import actor_label, batch_name
from memories.admin.masking import is_secret
from memories.admin.pages import ZONE_COOKIE, chosen_zone, zone_named
from memories.choices import Verdict
from memories.language.text import only_asks_to_keep
from memories.models import Batch, Entry, EntryAccess, RecallTrace
from memories.models.recall_trace import NOT_LOOKING_BACK
from memories.staff.rights import needs
from memories.tenancy.resolver import starts_of_keys
from memplatform.operations.models import Incident, IncidentKind, MostRecalled, Snooze
from memplatform.site import charts, figures, first_day
from memplatform.site.attention import Item, Viewer, ago, items
from memplatform.site.series import Numbers, Period, chosen

#: Rows of each short list.
LATEST = 6
#: Rows looked through for questions: what is said in between is none.
READ = 60
INCIDENTS = 12
#: The newest recalls that are looked through.
LOOKED_AT = 2_000
#: An incident of less than a minute; that a process ended is shown however soon another took its place.
_PASSED_AT_ONCE = Q(ended_at__lt=F("began_at") + timedelta(minutes=1)) & ~Q(kind=IncidentKind.STOPPED)


def questions(period: Period, verdict: Verdict) -> list[RecallTrace]:
    """The newest questions of the period with a verdict, of the newest recalls; a wish to keep something is none."""
    newest = in_workspaces(RecallTrace.objects.filter(NOT_LOOKING_BACK, created_at__gte=period.since), period.seen)
    if period.channel:
        newest = newest.filter(scope_keys__0__startswith=starts_of_keys(period.channel)[0])
    elif period.channel is not None:  # shared by several, as the figures have it
        newest = newest.filter(~Q(scope_keys__0__contains=":") | Q(scope_keys=[]))
    looked_at = newest.order_by("-created_at", "-id").values("pk")[:LOOKED_AT]
    rows = RecallTrace.objects.filter(pk__in=looked_at, evidence__verdict=verdict)
    newest_rows = rows.only("message", "created_at").order_by("-created_at", "-id")[:READ]
    return list(islice((row for row in newest_rows if not only_asks_to_keep(row.message)), LATEST))


@dataclass(frozen=True)
class Recalled:
    """A memory and how often recalls served it."""

    entry: Entry
    count: int

    @property
    def words(self) -> str:
        """What it says; of a credential only that it is one."""
        return _("A credential") if is_secret(self.entry) else str(self.entry)

    @property
    def address(self) -> str:
        return reverse("admin:memories_entry_change", args=[self.entry.pk])


def most_recalled(period: Period) -> list[Recalled]:
    """The memories in use that were served most often, of those that were when they were counted last."""
    recalled = in_workspaces(MostRecalled.objects.all(), period.seen).values_list("entries", flat=True)
    ids = [entry for entries in recalled for entry in entries]
    counts = EntryAccess.objects.filter(entry__in=ids).values_list("entry_id", "access_count")
    entries: Any = in_workspaces(Entry.objects.live().filter(pk__in=ids), period.seen)
    if period.channel is not None:
        entries = entries.filter(channel=period.channel)
    rows = entries.in_bulk()
    ranked = sorted(counts, key=lambda pair: (-pair[1], pair[0]))
    return [Recalled(rows[pk], count) for pk, count in ranked if pk in rows][:LATEST]


#: Parts of the platform, as people call them.
PARTS: dict[str, Any] = {
    "platform": gettext_lazy("The platform"),
    "database": gettext_lazy("The database"),
    "web": gettext_lazy("The web"),
    "worker": gettext_lazy("The worker"),
    "embedder": gettext_lazy("The embedder"),
    "channels": gettext_lazy("The connection to chat platforms"),
    "mcp": gettext_lazy("MCP"),
    "queue": gettext_lazy("The task queue"),
    "schedules": gettext_lazy("The schedules"),
    "embedding": gettext_lazy("The embedding of new memories"),
    "model": gettext_lazy("The model"),
    "recall": gettext_lazy("A part of the platform"),
}


@dataclass(frozen=True)
class Happened:
    """An incident, as people read it."""

    text: str
    began_at: datetime
    ended_at: datetime | None
    lasted: str


def incidents(period: Period) -> list[Happened]:
    """The newest incidents that reach into the period, those that last first."""
    rows = Incident.objects.filter(Q(ended_at__isnull=True) | Q(ended_at__gte=period.since))
    rows = rows.exclude(_PASSED_AT_ONCE)
    newest = rows.order_by(F("ended_at").desc(nulls_first=True), "-began_at")[:INCIDENTS]
    return [
        Happened(
            f"{PARTS.get(row.part, row.part)} {IncidentKind(row.kind).label}",
            row.began_at,
            row.ended_at,
            ago(((row.ended_at or period.now) - row.began_at).total_seconds()),
        )
        for row in newest
    ]


#: When a line that is put off until tomorrow is back, by the clock of the page.
MORNING = time(6)
RETRY, DISMISS, TOMORROW, WEEK, SHOW = "retry", "dismiss", "tomorrow", "week", "show"


def sorted_out(lines: Iterable[Item], user_id: int, now: datetime) -> tuple[list[Item], int]:
    """The lines a person wants to see now, and how many they have put off."""
    put_off = {row.key: row for row in Snooze.objects.filter(Q(until__isnull=True) | Q(until__gt=now), user=user_id)}
    every = list(lines)
    visible_items = []
    for item in every:
        snooze = put_off.get(item.key)
        if snooze is None or (snooze.until is None and snooze.mark != item.mark):
            visible_items.append(item)
    return visible_items, len(every) - len(visible_items)


def put_off(item: Item, user_id: int, until: datetime | None, *, now: datetime) -> None:
    """Hide a line from a person until a moment; None: until it is about something else."""
    Snooze.objects.filter(user=user_id, until__lte=now).delete()
    Snooze.objects.update_or_create(user_id=user_id, key=item.key, defaults={"until": until, "mark": item.mark})


@needs("read")
@require_POST
def act(request: HttpRequest) -> HttpResponse:
    """Do with a line what the form asks: again, dismissed, put off; or show all that were put off."""
    viewer, what = Viewer(request, timezone.now()), request.POST.get("do", "")
    user_id = int(request.user.pk or 0)
    if what == SHOW:
        Snooze.objects.filter(user=user_id).exclude(key__startswith=first_day.KEY).delete()
    elif item := next((item for item in items(viewer) if item.key == request.POST.get("key")), None):
        outcome = _("You may not do that.")
        if what == RETRY and item.retry:
            count = item.retry()
            outcome = ngettext("%(n)d is being tried again.", "%(n)d are being tried again.", count) % {"n": count}
        elif what == DISMISS and item.mark:
            put_off(item, user_id, None, now=viewer.now)
            outcome = _("Dismissed: it comes back when there is something new.")
        elif what in (TOMORROW, WEEK):
            day = timezone.localtime(viewer.now).date() + timedelta(days=7 if what == WEEK else 1)
            put_off(item, user_id, timezone.make_aware(datetime.combine(day, MORNING)), now=viewer.now)
            outcome = _("Put off until %(day)s.") % {"day": date_format(day, "DATE_FORMAT")}
        messages.success(request, outcome)
    else:
        messages.info(request, _("It needs nobody any more."))
    return HttpResponseRedirect(f"{reverse('admin:index')}#attention")


_YEAR = 365 * 86_400
#: Offered as one types; any other name of a zone may be written.
OFFERED = (
    "UTC", "Asia/Shanghai", "Asia/Hong_Kong", "Asia/Taipei", "Asia/Singapore", "Asia/Tokyo", "Asia/Seoul",
    "Asia/Kolkata", "Asia/Dubai", "Europe/London", "Europe/Lisbon", "Europe/Paris", "Europe/Berlin", "Europe/Moscow",
    "Africa/Johannesburg", "America/Sao_Paulo", "America/New_York", "America/Chicago", "America/Denver",
    "America/Los_Angeles", "Australia/Sydney", "Pacific/Auckland",
)  # fmt: skip


@needs("read")
@require_POST
def choose_zone(request: HttpRequest) -> HttpResponse:
    """Keep the zone of the form for this browser; empty: that of the workspaces again."""
    response = HttpResponseRedirect(f"{reverse('admin:index')}#period")
    name = "" if "reset" in request.POST else request.POST.get("zone", "").strip()
    if not name:
        response.delete_cookie(ZONE_COOKIE, samesite="Lax")
    elif name in available_timezones() and zone_named(name):
        secure = bool(settings.SESSION_COOKIE_SECURE)
        response.set_cookie(ZONE_COOKIE, name, max_age=_YEAR, secure=secure, httponly=True, samesite="Lax")
    else:
        messages.error(request, _("“%(name)s” is not a time zone, such as Asia/Shanghai.") % {"name": name[:64]})
    return response


def page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the home page, added to unfold's; of this person's workspaces only."""
    viewer = Viewer(request, timezone.now())
    if viewer.seen is not None and not viewer.seen:
        return {**context, "is_stranger": True, "items": [], "figures": []}
    visible_items, put_off = sorted_out(items(viewer), int(request.user.pk or 0), viewer.now)
    latest = in_workspaces(Batch.objects.exclude(EMPTY).select_related("scope"), viewer.seen)
    newest = latest.order_by("-created_at", "-id")[:LATEST]
    choice = chosen(request, viewer.now)  # the period the address asks for
    numbers = Numbers(choice.period)
    return {
        **context,
        "first_day": first_day.steps(viewer),
        "items": visible_items,
        "put_off": put_off,
        "batches": [(batch, batch_name(batch), actor_label(batch.actor)) for batch in newest],
        "choice": choice,
        "zones": OFFERED,
        "zone": chosen_zone(request) or "",
        "figures": list(figures.figures(numbers)),
        "charts": list(charts.charts(numbers)),
        "steps": charts.step_times(numbers),
        "stock": numbers.newest_stock,
        "unanswered": questions(choice.period, Verdict.NONE),
        "doubtful": questions(choice.period, Verdict.WEAK),
        "incidents": incidents(choice.period),
        "most_recalled": most_recalled(choice.period),
    }
