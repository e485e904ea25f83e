"""The charts of the home page as SVG, drawn here: no script, nothing from elsewhere.

A chart holds shapes alone, so that it may be stretched to any width; its table says the same in words.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from math import ceil, log10
from typing import Any

from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from memories.admin import recall_traces
from memories.choices import EntryType, Verdict
from memories.models.state import State
from memplatform.operations.rollups import EMBEDDING, EXTRACTION, LAGS, quantile
from memplatform.site.series import TOTAL, Numbers

WIDTH, HEIGHT = 600, 160
#: Of the place of a day, what its bar takes.
BAR = 0.72


def number(value: float) -> str:
    """A count with its thousands apart; one digit behind the point where it is small and no whole number."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:,.1f}"


@dataclass(frozen=True)
class Series:
    """One name with a value a day; None where there is no figure for the day. `color` is a class of admin.css."""

    name: str
    color: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Chart:
    """Series over days: bars on top of one another, or lines."""

    title: str
    days: Sequence[date]
    series: Sequence[Series]
    hint: str = ""
    is_stacked: bool = True
    most: float = 0.0  # of the scale; 0: what the values need
    show: Callable[[float], str] = field(default=number)

    @property
    def is_empty(self) -> bool:
        return not any(value for series in self.series for value in series.values)

    @property
    def top(self) -> float:
        """The end of the scale: a round number above all values."""
        if self.most:
            return self.most
        if self.is_stacked:
            highest = max((sum(values) for values in self._days()), default=0.0)
        else:
            highest = max((value or 0 for series in self.series for value in series.values), default=0.0)
        # the next of 1, 2, 5, 10, 20 … above it
        if highest <= 0:
            return 1.0
        size = float(10 ** ceil(log10(highest) - 1))
        return next((size * step for step in (1, 2, 5) if size * step >= highest), size * 10)

    @property
    def scale(self) -> list[str]:
        """What is written beside it: the end of the scale, and its middle."""
        return [self.show(self.top), self.show(self.top / 2)]

    @property
    def ends(self) -> list[str]:
        """What is written beneath it: the first day, the middle, and the last."""
        days = [self.days[0], self.days[len(self.days) // 2], self.days[-1]]
        return [date_format(day, "MONTH_DAY_FORMAT") for day in days]

    @property
    def table(self) -> list[tuple[date, list[str]]]:
        """The same in words, the newest day first."""
        rows = zip(self.days, zip(*(series.values for series in self.series), strict=True), strict=True)
        days = [(day, ["—" if value is None else self.show(value) for value in values]) for day, values in rows]
        return days[::-1]

    @property
    def svg(self) -> SafeString:
        """The shapes; the figure around them has the name and the table."""
        if self.is_stacked:
            place, top = WIDTH / len(self.days), self.top
            columns: list[tuple[SafeString, str]] = []
            for n, values in enumerate(self._days()):
                foot, left_edge = float(HEIGHT), n * place + place * (1 - BAR) / 2
                bars = []
                for series, value in zip(self.series, values, strict=True):
                    if height := value / top * HEIGHT:
                        foot -= height
                        path = f"M{left_edge:.1f} {foot:.1f}h{place * BAR:.1f}v{height:.1f}h-{place * BAR:.1f}z"
                        bars.append((series.color, path))
                # The day in words, for whoever rests the pointer there
                parts = (f"{row.name} {self.show(row.values[n] or 0)}" for row in self.series if row.values[n])
                words = f"{date_format(self.days[n], 'DATE_FORMAT')}: {', '.join(parts)}"
                columns.append((format_html_join("", '<path class="{}" d="{}"/>', bars), words))
            shapes = format_html_join("", "<g>{}<title>{}</title></g>", (day for day in columns if day[0]))
        else:
            lines = ((series.color, self._line(series.values)) for series in self.series)
            shapes = format_html_join("", '<path class="mp-line-of {}" d="{}"/>', lines)
        middle = HEIGHT / 2
        return format_html(
            '<svg class="mp-chart" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
            '<path class="mp-grid" d="M0 1H{}M0 {}H{}M0 {}H{}"/>{}</svg>',
            *(WIDTH, HEIGHT, self.title, WIDTH, middle, WIDTH, HEIGHT - 1, WIDTH, shapes),
        )

    def _days(self) -> list[list[float]]:
        by_day = zip(*(series.values for series in self.series), strict=True)
        return [[value or 0 for value in values] for values in by_day]

    def _line(self, values: Sequence[float | None]) -> str:
        """Through the days with a value; a day without a value interrupts it, one between two such is a dash."""
        place, top = WIDTH / len(self.days), self.top
        points = [
            None if value is None else (n * place + place / 2, HEIGHT - min(value / top, 1) * (HEIGHT - 2) - 1)
            for n, value in enumerate(values)
        ]
        parts = []
        for before, point in pairwise([None, *points]):
            if point:
                start = "L" if before else f"M{point[0] - place / 4:.1f} {point[1]:.1f}L"
                parts.append(f"{start}{point[0] + (0 if before else place / 4):.1f} {point[1]:.1f}")
        return "".join(parts)


SEARCHED = ("found", "weak", "none")
_COLORS = ("mp-c1", "mp-c2", "mp-c3", "mp-c4", "mp-c5", "mp-c6", "mp-c7", "mp-c8")
_STATE_COLORS = ("mp-c1", "mp-c3", "mp-c4", "mp-c5", "mp-c6", "mp-c2", "mp-c7", "mp-c8")
#: Steps of a recall, as they are called beside a recall trace.
STEPS: dict[str, Any] = {TOTAL: gettext_lazy("The whole recall"), **recall_traces.STEPS}


@dataclass(frozen=True)
class StepTimes:
    """A step of recalls, how often it was taken, and how long it took, in milliseconds."""

    name: str
    count: str
    half: str
    most: str


def milliseconds(value: float) -> str:
    """With its unit; seconds from ten on."""
    return _("%(n)s s") % {"n": number(value / 1000)} if value >= 10_000 else _("%(n)s ms") % {"n": number(value)}


def seconds(value: float) -> str:
    """With its unit, the largest that fits; what was less than a second waited for nothing."""
    for size, unit in ((7_200, _("%(n)s h")), (120, _("%(n)s min"))):
        if value >= size:
            return unit % {"n": number(value / (size / 2))}
    return _("%(n)s s") % {"n": number(value if value >= 1 else 0)}


def charts(numbers: Numbers) -> Iterator[Chart]:
    """All that have to do with this channel, or with all."""
    yield from _of_memory(numbers)
    days = numbers.period.days
    durations = [
        Series(_("p50"), "mp-c1", numbers.quantiles(TOTAL, 0.5)),
        Series(_("p95"), "mp-c4", numbers.quantiles(TOTAL, 0.95)),
    ]
    hint = _("Of the recalls that looked into memory; aim: under 200 ms.")
    yield Chart(_("How long recalls take"), days, durations, hint, is_stacked=False, show=milliseconds)
    if numbers.period.channel is None:
        waits = [
            Series(_("For the embedding"), "mp-c2", numbers.quantiles(EMBEDDING, 0.95)),
            Series(_("For the extraction"), "mp-c6", numbers.quantiles(EXTRACTION, 0.95)),
        ]
        hint = _("The oldest, looked at once a minute: for 95 of 100 minutes it waited no longer.")
        yield Chart(_("How long work waits"), days, waits, hint, is_stacked=False, show=seconds)
        names = (("asked", _("Tokens asked"), "mp-c2"), ("answered", _("Tokens answered"), "mp-c1"))
        series = [
            Series(label, color, [float(numbers.spend.get(day, {}).get(name) or 0) for day in days])
            for name, label, color in names
        ]
        yield Chart(_("Tokens of the platform's own model"), days, series, _("By the days of each workspace."))


def _of_memory(numbers: Numbers) -> Iterator[Chart]:
    """Of what was asked of it, what came in and what there is."""
    days, usage = numbers.period.days, numbers.usage
    verdicts = [
        Series(str(Verdict.FOUND.label), "mp-c1", usage.of("found")),
        Series(str(Verdict.WEAK.label), "mp-c3", usage.of("weak")),
        Series(str(Verdict.NONE.label), "mp-c4", usage.of("none")),
        Series(_("No memory needed"), "mp-c5", usage.of("unneeded")),
    ]
    yield Chart(_("Recalls by what was found"), days, verdicts)
    rates = [
        Series(_("Hit rate"), "mp-c1", usage.share(["found"], SEARCHED)),
        Series(_("Reference rate"), "mp-c2", usage.share(["used"], ["reported"])),
    ]
    hint = _("Hits: of the recalls that looked into memory. References: of the memories served whose answer is known.")
    yield Chart(_("Hit rate and reference rate"), days, rates, hint, is_stacked=False, most=1.0, show="{:.0%}".format)
    arrivals = [
        Series(pgettext("memories", "Created"), "mp-c1", usage.of("created")),
        Series(_("Made of others"), "mp-c6", usage.of("derived")),
        Series(pgettext("memories", "Merged"), "mp-c3", usage.of("merged")),
        Series(pgettext("memories", "Known already"), "mp-c5", usage.of("repeated")),
    ]
    yield Chart(_("What came in"), days, arrivals, _("Made of others: by extraction, compression, notes and imports."))
    types = [(kind.label, numbers.stock(kind=kind.value)) for kind in EntryType]
    states = [(state.label, numbers.stock(state)) for state in State]
    yield _of_stock(_("Memories in use by type"), days, types, _COLORS)
    yield _of_stock(_("Memories by state"), days, states, _STATE_COLORS)


def _of_stock(
    title: str, days: Sequence[date], counts: Iterable[tuple[Any, Sequence[float | None]]], colors: Sequence[str]
) -> Chart:
    """A chart of counts that are taken once a day; a kind there is nothing of keeps its color, and is left out."""
    colored_counts = zip(counts, colors, strict=False)
    series = [Series(str(label), color, values) for (label, values), color in colored_counts if any(values)]
    return Chart(title, days, series, _("As last counted on each day."))


def step_times(numbers: Numbers) -> list[StepTimes]:
    """Each step with its median and its 95th percentile, the slowest first."""
    rows = []
    for step, counts in numbers.steps.items():
        half, most = quantile(counts, 0.5), quantile(counts, 0.95)
        if step not in LAGS and half is not None and most is not None:
            name = str(STEPS.get(step, step))
            rows.append((most, StepTimes(name, number(sum(counts)), milliseconds(half), milliseconds(most))))
    return [row for _most, row in sorted(rows, key=lambda row: -row[0])]
