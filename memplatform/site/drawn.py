"""Which charts the home page shows, and the table of times by step."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from memories.admin.recall_traces import labels
from memories.choices import Verdict
from memories.kinds import EntryType
from memories.models.state import State
from memplatform.operations.rollups import EMBEDDING, EXTRACTION, LAGS, quantile
from memplatform.site.charts import Chart, Series, number, percent
from memplatform.site.series import TOTAL, Numbers

SEARCHED = ("found", "weak", "none")
_COLORS = ("mp-c1", "mp-c2", "mp-c3", "mp-c4", "mp-c5", "mp-c6", "mp-c7", "mp-c8")
_STATE_COLORS = ("mp-c1", "mp-c3", "mp-c4", "mp-c5", "mp-c6", "mp-c2", "mp-c7", "mp-c8")
#: Steps of a recall, as they are called beside a recall trace.
STEPS: dict[str, Any] = {TOTAL: gettext_lazy("The whole recall"), **labels.STEPS}


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
    yield from _of_recalls(numbers)
    yield from _of_memories(numbers)
    yield from _of_time(numbers)
    if numbers.period.channel is None:
        yield _of_spend(numbers)


def _of_recalls(numbers: Numbers) -> Iterator[Chart]:
    days, usage = numbers.period.days, numbers.usage
    found = [
        Series(str(Verdict.FOUND.label), "mp-c1", usage.of("found")),
        Series(str(Verdict.WEAK.label), "mp-c3", usage.of("weak")),
        Series(str(Verdict.NONE.label), "mp-c4", usage.of("none")),
        Series(_("No memory needed"), "mp-c5", usage.of("unneeded")),
    ]
    yield Chart(_("Recalls by what was found"), days, found)
    used = [
        Series(_("Found"), "mp-c1", usage.share(["found"], SEARCHED)),
        Series(_("Used in the answer"), "mp-c2", usage.share(["used"], ["reported"])),
    ]
    hint = _("Found: of the recalls that looked into memory. Used: of the memories served whose answer is known.")
    yield Chart(_("Found and used"), days, used, hint, is_stacked=False, most=1.0, show=percent)


def _of_memories(numbers: Numbers) -> Iterator[Chart]:
    days, usage = numbers.period.days, numbers.usage
    came = [
        Series(pgettext("memories", "Created"), "mp-c1", usage.of("created")),
        Series(_("Made of others"), "mp-c6", usage.of("derived")),
        Series(pgettext("memories", "Merged"), "mp-c3", usage.of("merged")),
        Series(pgettext("memories", "Known already"), "mp-c5", usage.of("repeated")),
    ]
    yield Chart(_("What came in"), days, came, _("Made of others: by extraction, compression, notes and imports."))
    types = [(kind.label, numbers.stock(kind=kind.value)) for kind in EntryType]
    states = [(state.label, numbers.stock(state)) for state in State]
    yield _of_stock(_("Memories in use by type"), days, types, _COLORS)
    yield _of_stock(_("Memories by state"), days, states, _STATE_COLORS)


def _of_stock(
    title: str, days: Sequence[date], counts: Iterable[tuple[Any, Sequence[float | None]]], colors: Sequence[str]
) -> Chart:
    """A chart of counts that are taken once a day; a kind there is nothing of keeps its color, and is left out."""
    named = zip(counts, colors, strict=False)
    series = [Series(str(label), color, values) for (label, values), color in named if any(values)]
    return Chart(title, days, series, _("As last counted on each day."))


def _of_time(numbers: Numbers) -> Iterator[Chart]:
    days = numbers.period.days
    taken = [
        Series(_("Half take less"), "mp-c1", numbers.quantiles(TOTAL, 0.5)),
        Series(_("All but a twentieth take less"), "mp-c4", numbers.quantiles(TOTAL, 0.95)),
    ]
    hint = _("Of the recalls that looked into memory; aim: under 200 ms.")
    yield Chart(_("How long recalls take"), days, taken, hint, is_stacked=False, show=milliseconds)
    if numbers.period.channel is None:
        waited = [
            Series(_("For the embedding"), "mp-c2", numbers.quantiles(EMBEDDING, 0.95)),
            Series(_("For the extraction"), "mp-c6", numbers.quantiles(EXTRACTION, 0.95)),
        ]
        hint = _("The oldest, looked at once a minute: for 95 of 100 minutes it waited no longer.")
        yield Chart(_("How long work waits"), days, waited, hint, is_stacked=False, show=seconds)


def _of_spend(numbers: Numbers) -> Chart:
    days = numbers.period.days
    names = (("asked", _("Tokens asked"), "mp-c2"), ("answered", _("Tokens answered"), "mp-c1"))
    spent = [
        Series(label, color, [float(numbers.spend.get(day, {}).get(name) or 0) for day in days])
        for name, label, color in names
    ]
    return Chart(_("Tokens of the platform's own model"), days, spent, _("By the days of each workspace."))


def step_times(numbers: Numbers) -> list[StepTimes]:
    """Each step with its median and its 95th percentile, the slowest first."""
    found = []
    for step, counts in numbers.steps.items():
        half, most = quantile(counts, 0.5), quantile(counts, 0.95)
        if step not in LAGS and half is not None and most is not None:
            name = str(STEPS.get(step, step))
            found.append((most, StepTimes(name, number(sum(counts)), milliseconds(half), milliseconds(most))))
    return [row for _most, row in sorted(found, key=lambda one: -one[0])]
