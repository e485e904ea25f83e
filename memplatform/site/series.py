"""The numbers of a period by day, read from the rollups; hours that are not counted yet are counted now, bounded."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cached_property
from typing import Any, ClassVar

from django.db.models import Aggregate, F, Max, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.http import HttpRequest
from django.utils import timezone
from pgvector.django import VectorField

from channels_app.models import Channel
from memories.admin.access import in_workspaces, visible_workspaces
from memories.models import Entry, Policy, Spend, Workspace
from memories.models.entry import EntryQuerySet
from memories.models.state import State
from memories.staff.rights import workspaces_of
from memories.tenancy import access
from memplatform.operations import rollups
from memplatform.operations.models import EntryStock, HourlyCount, HourlyTime, RolledHour
from memplatform.operations.rollups import HOUR, LAGS, OF_RECALLS, OF_WRITES, Measured, counts_of, measure, quantile

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
    lengths: ClassVar = LENGTHS

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
    workspace_ids = frozenset({workspace.pk}) if workspace else workspaces_of(request)
    channel_rows = Channel.objects.filter(workspace__in=[row.pk for row in ([workspace] if workspace else mine)])
    channels = sorted(set(channel_rows.values_list("platform", flat=True)))
    channel_name = request.GET.get("channel", "")
    channel = channel_name if channel_name in channels else "" if channel_name == SHARED else None
    length = next((days for days in LENGTHS if str(days) == request.GET.get("days")), LENGTHS[0])
    today = now.astimezone(zone).date()
    days = tuple(today - timedelta(days=ago) for ago in reversed(range(length)))
    return Choice(Period(days, zone, now, workspace_ids, channel), mine, channels, workspace)


NAMES = (*OF_RECALLS, *OF_WRITES)
#: So many entries are counted at this moment; of more the last count in the background stands.
COUNTED = 10_000
#: The newest rows of what is not counted yet that are looked at.
OPEN_ROWS = 2_000
TOTAL = "total"


class VectorSum(Aggregate):
    """The sum of vectors, number by number."""

    function = "sum"
    output_field = VectorField()


@dataclass
class Usage:
    """What happened in a period, by day and in all."""

    period: Period
    by_day: dict[date, dict[str, int]] = field(default_factory=dict)

    def of(self, name: str) -> list[float | None]:
        """The numbers of a name, a day each."""
        return [float(self.by_day.get(day, {}).get(name, 0)) for day in self.period.days]

    def total(self, *names: str) -> int:
        return sum(numbers.get(name, 0) for numbers in self.by_day.values() for name in names)

    def share(self, of: Sequence[str], among: Sequence[str]) -> list[float | None]:
        """A share by day; None of a day of nothing."""
        shares: list[float | None] = []
        for day in self.period.days:
            numbers = self.by_day.get(day, {})
            whole = sum(numbers.get(name, 0) for name in among)
            shares.append(sum(numbers.get(name, 0) for name in of) / whole if whole else None)
        return shares


@dataclass(frozen=True)
class Stock:
    """Entries as counted at a time: those in use, all that are kept, those in use that no recall ever served."""

    at: datetime
    live: int
    kept: int
    never_recalled: int
    ending: int  # within a week


class Numbers:
    """All numbers of a period; each kind is read when it is first asked for."""

    def __init__(self, period: Period) -> None:
        self.period = period
        self.stock_times: list[datetime] = []

    @cached_property
    def open(self) -> Measured:
        """What happened since the last hour that is counted, of the newest rows."""
        last = RolledHour.objects.aggregate(hour=Max("hour"))["hour"]
        since = max(last + HOUR, self.period.since) if last else self.period.since
        return measure(since, self.period.now, workspaces=self.period.seen, most=OPEN_ROWS)

    @cached_property
    def usage(self) -> Usage:
        """Recalls and writes."""
        rows = self._rows(HourlyCount.objects.filter(hour__gte=self.period.since), "hour")
        by_day: dict[date, dict[str, int]] = defaultdict(lambda: dict.fromkeys(NAMES, 0))
        for row in rows.values("day").annotate(**{f"{name}_": Sum(name) for name in NAMES}):
            by_day[row["day"]] = {name: row[f"{name}_"] for name in NAMES}
        for place, counts in self.open.counts.items():
            if self._is_asked(place.channel):
                for name, count in counts.items():
                    by_day[self._day(place.hour)][name] += count
        return Usage(self.period, dict(by_day))

    @cached_property
    def steps(self) -> dict[str, list[float]]:
        """The histogram of each step, of the whole period."""
        rows = self._rows(HourlyTime.objects.filter(hour__gte=self.period.since), "hour")
        return self._histograms(rows.values_list("step").annotate(sum=VectorSum("counts")), lambda step, _day: step)

    @cached_property
    def times(self) -> dict[tuple[str, date], list[float]]:
        """The histograms of recalls as a whole, and of what waits, by day."""
        rows = self._rows(HourlyTime.objects.filter(hour__gte=self.period.since, step__in=(TOTAL, *LAGS)), "hour")
        sums = rows.values_list("step", "day").annotate(sum=VectorSum("counts"))
        keyed_counts = ((((step, day)), counts) for step, day, counts in sums)
        return self._histograms(keyed_counts, lambda step, day: (step, day))

    def _histograms(self, rows: Iterable[Any], key_of: Any) -> dict[Any, list[float]]:
        sums = {key: [float(count) for count in counts] for key, counts in rows}
        for (place, step), buckets in self.open.times.items():
            if self._is_asked(place.channel):
                key = key_of(step, self._day(place.hour))
                before = sums.get(key, counts_of([]))
                sums[key] = [a + b for a, b in zip(before, counts_of(buckets), strict=True)]
        return sums

    def quantiles(self, step: str, share: float) -> list[float | None]:
        """A quantile of a step by day."""
        return [quantile(self.times.get((step, day), []), share) for day in self.period.days]

    @cached_property
    def stocks(self) -> dict[date, dict[tuple[str, str], tuple[int, int, int]]]:
        """By day, as last counted on it, of each type and state: how many, never recalled, and ending soon."""
        rows = EntryStock.objects.filter(at__gte=self.period.since)
        self.stock_times = sorted(rows.values_list("at", flat=True).distinct())
        last = {self._day(at): at for at in self.stock_times}
        latest_rows = self._rows(rows.filter(at__in=last.values()), "at").values_list("day", "type", "state")
        by_day: dict[date, dict[tuple[str, str], tuple[int, int, int]]] = defaultdict(dict)
        for day, kind, state, *sums in latest_rows.annotate(Sum("entries"), Sum("never_recalled"), Sum("ending")):
            by_day[day][kind, state] = (sums[0], sums[1], sums[2])
        if (present := self.present_stock) is not None:
            by_day[self.period.days[-1]] = present
        return dict(by_day)

    @cached_property
    def present_stock(self) -> dict[tuple[str, str], tuple[int, int, int]] | None:
        """The stock of this moment; None where there is too much to count while somebody waits."""
        entries: EntryQuerySet = in_workspaces(Entry.objects.exclude(subtype=access.SUBTYPE), self.period.seen)
        if self.period.channel is not None:
            entries = entries.filter(channel=self.period.channel)
        if entries.order_by()[: COUNTED + 1].count() > COUNTED:
            return None
        over, ending = Policy.objects.over_at([self.period.now, self.period.now + rollups.SOON])
        present: dict[tuple[str, str], tuple[int, int, int]] = {}
        for row in rollups.count_by_state(entries, over, ending):
            numbers = row["entries"], row["never_recalled"], row["ending"]
            before = present.get((row["type"], row["state"]), (0, 0, 0))
            present[row["type"], row["state"]] = tuple(map(sum, zip(before, numbers, strict=True)))  # type: ignore[assignment]
        return present

    def stock(self, of: State | None = None, kind: str = "") -> list[float | None]:
        """How many entries in a state, or of a type and in use, by day."""
        state = of or State.LIVE

        def counted(rows: dict[tuple[str, str], tuple[int, int, int]]) -> float:
            return float(sum(row[0] for (t, s), row in rows.items() if s == state and kind in ("", t)))

        return [counted(self.stocks[day]) if day in self.stocks else None for day in self.period.days]

    @cached_property
    def newest_stock(self) -> "Stock | None":
        """What there is in all, as last counted in the period."""
        if not self.stocks:
            return None
        rows = self.stocks[max(self.stocks)]
        live = [row for (_type, state), row in rows.items() if state == State.LIVE]
        entries, never, ending = (sum(row[n] for row in live) for n in range(3))
        total = sum(row[0] for row in rows.values())
        at = self.period.now if self.present_stock is not None else self.stock_times[-1]
        return Stock(at, live=entries, kept=total, never_recalled=never, ending=ending)

    @cached_property
    def spend(self) -> dict[date, dict[str, int]]:
        """Of the model by the local days of its workspaces: tokens asked and answered, and calls refused."""
        rows = in_workspaces(Spend.objects.filter(local_date__gte=self.period.days[0]), self.period.seen).order_by()
        sums = rows.values("local_date").annotate(
            asked=Sum("prompt_tokens"), answered=Sum("completion_tokens"), turned_away=Sum("refused"), made=Sum("calls")
        )
        return {row.pop("local_date"): row for row in sums}

    def _rows(self, rows: QuerySet[Any], moment: str) -> Any:
        """Those of the period's workspaces and channel, with the day of the page they belong to."""
        rows = in_workspaces(rows, self.period.seen).order_by()
        if self.period.channel is not None:
            rows = rows.filter(channel=self.period.channel)
        return rows.annotate(day=TruncDate(F(moment), tzinfo=self.period.zone))

    def _is_asked(self, channel: str) -> bool:
        return self.period.channel in (None, channel)

    def _day(self, moment: datetime) -> date:
        return moment.astimezone(self.period.zone).date()
