"""The figures of the home page (A14): each says what it counts, and costs the same however much is stored."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from memories.admin.access import in_workspaces
from memories.choices import Verdict
from memories.language import text
from memories.models import Entry, RecallTrace
from memories.models.recall_trace import NOT_LOOKING_BACK
from memories.models.state import State
from memories.tenancy import access
from memplatform.operations.rollups import quantile
from memplatform.site.charts import SEARCHED, milliseconds
from memplatform.site.series import COUNTED, TOTAL, Numbers

DAY = timedelta(days=1)
#: Recalls of the last day the shares are of.
SAMPLE = 1_000
#: The newest entries the average length is of.
MEASURED = 200


@dataclass(frozen=True)
class Figure:
    """A number with its name, and what it counts."""

    name: str
    value: str
    hint: str = ""
    address: str = ""


@dataclass(frozen=True)
class Recalls:
    """The newest recalls of the last day, as far as a line of what needs somebody is about them."""

    count: int = 0
    degraded: int = 0
    without: Counter[str] = field(default_factory=Counter)  # what they did without, by its name


def share(part: int, whole: int) -> str:
    """A percentage; a dash of nothing."""
    return f"{part / whole:.0%}" if whole else "—"


def recalls(workspace_ids: frozenset[int] | None, now: datetime) -> Recalls:
    """The newest recalls of the last day, in one query."""
    today = in_workspaces(RecallTrace.objects.filter(NOT_LOOKING_BACK, created_at__gt=now - DAY), workspace_ids)
    newest = today.order_by("-created_at", "-id")
    rows = list(newest.values_list("degraded", flat=True)[:SAMPLE])
    return Recalls(len(rows), sum(map(bool, rows)), Counter(name for names in rows for name in names))


def figures(numbers: Numbers) -> Iterator[Figure]:
    """All of a period, with their aims."""
    usage, period = numbers.usage, numbers.period
    yield in_use(numbers)
    list_of = reverse("admin:memories_recalltrace_changelist")
    searched, hits = usage.total(*SEARCHED), usage.total("found")
    questions = searched + usage.total("unneeded")
    yield Figure(_("Recalls"), f"{questions:,}", _("%(n)s looked into memory") % {"n": f"{searched:,}"}, list_of)
    counts = {"n": f"{hits:,}", "all": f"{searched:,}", "weak": f"{usage.total('weak'):,}"}
    hint = _("%(n)s of %(all)s that looked into memory, %(weak)s more perhaps; aim: over 60%%") % counts
    yield Figure(_("Hit rate"), share(hits, searched), hint, f"{list_of}?answer={Verdict.FOUND}")
    uses, reported = usage.total("used"), usage.total("reported")
    hint = _("%(n)s of %(all)s served memories whose answer is known; aim: over 40%%")
    yield Figure(_("Reference rate"), share(uses, reported), hint % {"n": f"{uses:,}", "all": f"{reported:,}"})
    slowest = quantile(numbers.steps.get(TOTAL, []), 0.95)
    hint = _("of recalls that look into memory: one in twenty takes longer; aim: under 200 ms")
    yield Figure(_("Latency, p95"), "—" if slowest is None else milliseconds(slowest), hint)
    repeated, arrivals = usage.total("merged", "repeated"), usage.total("created", "merged", "repeated")
    hint = _("%(n)s of %(all)s that came were merged or skipped; aim: over 35%%; %(made)s more were made in batches")
    counts = {"n": f"{repeated:,}", "all": f"{arrivals:,}", "made": f"{usage.total('derived'):,}"}
    yield Figure(_("Deduplication rate"), share(repeated, arrivals), hint % counts)
    # How long memories are, on average of the newest
    newest = in_workspaces(Entry.objects.exclude(subtype=access.SUBTYPE), period.seen).order_by("-created_at", "-id")
    lengths = [text.count_tokens(content) for content in newest.values_list("content", flat=True)[:MEASURED]]
    hint = _("on average of the newest %(n)s; aim: under 200") % {"n": f"{len(lengths):,}"}
    yield Figure(_("Tokens per memory"), f"{sum(lengths) / len(lengths):.0f}" if lengths else "—", hint)


def in_use(numbers: Numbers) -> Figure:
    """Entries that can be recalled: of few at this moment, of many as last counted; beside them all that are kept."""
    address = f"{reverse('admin:memories_entry_changelist')}?state={State.LIVE}"
    stock = numbers.newest_stock
    if stock is None:
        return Figure(_("Memories in use"), f"{COUNTED:,}+", _("They are counted every six hours."), address)
    if numbers.present_stock is not None:
        hint = _("can be recalled now; %(kept)s kept in all") % {"kept": f"{stock.kept:,}"}
        return Figure(_("Memories in use"), f"{stock.live:,}", hint, address)
    counts = {"kept": f"{stock.kept:,}", "at": date_format(localtime(stock.at), "TIME_FORMAT")}
    hint = _("can be recalled; %(kept)s kept in all; as counted at %(at)s") % counts
    return Figure(_("Memories in use"), f"{stock.live:,}", hint, address)
