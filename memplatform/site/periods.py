"""What the charts of the home page are of: days in the reader's zone, workspaces they may see, one channel or all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from django.http import HttpRequest
from django.utils import timezone

from channels_app.models import Channel
from memories.admin.access import visible_workspaces
from memories.models import Workspace
from memories.staff.rights import workspaces_of

#: Days the reader may choose from.
LENGTHS = (7, 30, 90)
#: In the address, of memory that several channels share.
SHARED = "-"


@dataclass(frozen=True)
class Period:
    """The last days, today included, by the clock of the page; the workspaces (None: all), and the channel."""

    days: tuple[date, ...]
    zone: tzinfo
    now: datetime
    seen: frozenset[int] | None
    channel: str | None = None  # None: all

    @property
    def since(self) -> datetime:
        """When its first day began."""
        return datetime.combine(self.days[0], time.min, tzinfo=self.zone)


@dataclass(frozen=True)
class Choice:
    """What can be chosen, and what was."""

    period: Period
    workspaces: Sequence[Workspace]
    channels: Sequence[str]
    workspace: Workspace | None

    @property
    def lengths(self) -> tuple[int, ...]:
        return LENGTHS

    @property
    def length(self) -> int:
        return len(self.period.days)

    @property
    def channel(self) -> str:
        """As the address names it; empty: all."""
        return SHARED if self.period.channel == "" else self.period.channel or ""


def chosen(request: HttpRequest, now: datetime) -> Choice:
    """What the address of the page asks for: `days`, `of` (a workspace) and `channel`; what is unknown is left out."""
    zone, mine = timezone.get_current_timezone(), list(visible_workspaces(request))
    workspace = next((row for row in mine if str(row.pk) == request.GET.get("of")), None)
    seen = frozenset({workspace.pk}) if workspace else workspaces_of(request)
    known = Channel.objects.filter(workspace__in=[row.pk for row in ([workspace] if workspace else mine)])
    channels = sorted(set(known.values_list("platform", flat=True)))
    asked = request.GET.get("channel", "")
    channel = asked if asked in channels else "" if asked == SHARED else None
    length = next((days for days in LENGTHS if str(days) == request.GET.get("days")), LENGTHS[0])
    today = now.astimezone(zone).date()
    days = tuple(today - timedelta(days=ago) for ago in reversed(range(length)))
    return Choice(Period(days, zone, now, seen, channel), mine, channels, workspace)
