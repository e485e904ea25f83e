"""Charts as SVG, drawn here: no script, nothing from elsewhere. Numbers and names stand beside them as text.

A chart holds shapes alone, so that it may be stretched to any width; its table says the same in words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from math import ceil, log10

from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH, HEIGHT = 600, 160
#: Of the place of a day, what its bar takes.
BAR = 0.72


def number(value: float) -> str:
    """A count with its thousands apart; one digit behind the point where it is small and no whole number."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:,.1f}"


def percent(value: float) -> str:
    """A share of one."""
    return f"{value:.0%}"


@dataclass(frozen=True)
class Series:
    """One name with a value a day; None where nothing is known of the day. `color` is a class of admin.css."""

    name: str
    color: str
    values: Sequence[float | None]

    @property
    def total(self) -> float:
        return sum(value or 0 for value in self.values)


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
        return _round_up(highest)

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
        told = [(day, ["—" if value is None else self.show(value) for value in values]) for day, values in rows]
        return told[::-1]

    @property
    def svg(self) -> SafeString:
        """The shapes; the figure around them has the name and the table."""
        shapes = self._bars() if self.is_stacked else self._lines()
        middle = HEIGHT / 2
        return format_html(
            '<svg class="mp-chart" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
            '<path class="mp-grid" d="M0 1H{}M0 {}H{}M0 {}H{}"/>{}</svg>',
            *(WIDTH, HEIGHT, self.title, WIDTH, middle, WIDTH, HEIGHT - 1, WIDTH, shapes),
        )

    def _days(self) -> list[list[float]]:
        return [[value or 0 for value in values] for values in zip(*(one.values for one in self.series), strict=True)]

    def _bars(self) -> SafeString:
        place, top = WIDTH / len(self.days), self.top
        drawn: list[tuple[SafeString, str]] = []
        for n, values in enumerate(self._days()):
            foot, left = float(HEIGHT), n * place + place * (1 - BAR) / 2
            bars = []
            for series, value in zip(self.series, values, strict=True):
                if height := value / top * HEIGHT:
                    foot -= height
                    bars.append(
                        (series.color, f"M{left:.1f} {foot:.1f}h{place * BAR:.1f}v{height:.1f}h-{place * BAR:.1f}z")
                    )
            shapes = format_html_join("", '<path class="{}" d="{}"/>', bars)
            drawn.append((shapes, self._said(n)))
        return format_html_join("", "<g>{}<title>{}</title></g>", (one for one in drawn if one[0]))

    def _lines(self) -> SafeString:
        return format_html_join(
            "", '<path class="mp-line-of {}" d="{}"/>', ((one.color, self._line(one.values)) for one in self.series)
        )

    def _line(self, values: Sequence[float | None]) -> str:
        """Through the days that are known; a day without a value interrupts it, one between two such is a dash."""
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

    def _said(self, n: int) -> str:
        """A day in words, for whoever rests the pointer there."""
        values = (f"{one.name} {self.show(one.values[n] or 0)}" for one in self.series if one.values[n])
        return f"{date_format(self.days[n], 'DATE_FORMAT')}: {', '.join(values)}"


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20 … above it."""
    if value <= 0:
        return 1.0
    size = float(10 ** ceil(log10(value) - 1))
    return next((size * step for step in (1, 2, 5) if size * step >= value), size * 10)
