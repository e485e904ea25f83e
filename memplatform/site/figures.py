"""The figures of the home page (A14): each says what it counts, and costs the same however much is stored."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.fields.json import KT
from django.urls import reverse
from django.utils.translation import gettext as _

from memories.admin.access import in_workspaces
from memories.choices import Verdict
from memories.language import text
from memories.models import Entry, Policy, RecallTrace
from memories.models.recall_trace import NOT_LOOKING_BACK
from memories.models.state import State, in_state

DAY = timedelta(days=1)
#: Recalls of the last day the shares are of.
SAMPLE = 1_000
#: Rows are counted up to here; from there on it is «more than».
COUNTED = 100_000
#: The newest entries the average length is of.
MEASURED = 500
#: Changes of the last day that are looked through for what came, in each workspace.
CHANGES = 10_000

#: What came: a new entry, or an entry that was stated once more. What a batch does to entries did not come.
_CAME = """
SELECT count(*) FILTER (WHERE c.op = 'I'), count(*) FILTER (WHERE c.op = 'U')
FROM memories_workspace w CROSS JOIN LATERAL (
    SELECT table_name, op, old, batch_id FROM memories_change
    WHERE workspace_id = w.id AND at > %(since)s ORDER BY at DESC LIMIT %(most)s
) c
WHERE (%(seen)s::bigint[] IS NULL OR w.id = ANY(%(seen)s::bigint[]))
  AND c.table_name = 'memories_entry' AND c.batch_id IS NULL AND (c.op = 'I' OR (c.op = 'U' AND c.old ? 'stated_at'))
"""


@dataclass(frozen=True)
class Figure:
    """A number with its name, and what it counts."""

    name: str
    value: str
    hint: str = ""
    address: str = ""


@dataclass(frozen=True)
class Recalls:
    """The newest recalls of the last day; what needed no memory is neither a hit nor a miss."""

    count: int = 0
    is_more: bool = False
    by_verdict: dict[str, list[int]] = field(default_factory=dict)  # ids of traces, the newest first
    degraded: int = 0
    p95: float = 0.0  # milliseconds, of those that looked into memory
    used: int = 0
    reported: int = 0  # entries served by recalls that were reported on

    def of(self, verdict: Verdict) -> list[int]:
        return self.by_verdict.get(verdict, [])

    @property
    def searched(self) -> int:
        """How many looked into memory."""
        return sum(len(self.of(verdict)) for verdict in Verdict)


def share(part: int, whole: int) -> str:
    """A percentage; a dash of nothing."""
    return f"{part / whole:.0%}" if whole else "—"


def recalls(seen: frozenset[int] | None, now: datetime) -> Recalls:
    """The numbers of the newest recalls of the last day, in one query."""
    newest = in_workspaces(RecallTrace.objects.filter(NOT_LOOKING_BACK, created_at__gt=now - DAY), seen).order_by(
        "-created_at", "-id"
    )
    rows = list(
        newest.annotate(verdict=KT("evidence__verdict")).values_list(
            "pk", "verdict", "degraded__len", "timings__total", "served__len", "used__len", "overlap__len"
        )[: SAMPLE + 1]
    )
    by_verdict: dict[str, list[int]] = {}
    times, degraded, used, reported = [], 0, 0, 0
    for pk, verdict, is_degraded, took, served, named, pointed_to in rows[:SAMPLE]:
        by_verdict.setdefault(verdict or "", []).append(pk)
        times += [float(took or 0)] if verdict else []
        degraded += bool(is_degraded)
        used_here = pointed_to if named is None else named
        if used_here is not None:
            used, reported = used + used_here, reported + (served or 0)
    times.sort()
    return Recalls(
        count=len(rows[:SAMPLE]),
        is_more=len(rows) > SAMPLE,
        by_verdict=by_verdict,
        degraded=degraded,
        p95=times[int(len(times) * 0.95)] if times else 0.0,
        used=used,
        reported=reported,
    )


def figures(seen: frozenset[int] | None, asked: Recalls, now: datetime) -> Iterator[Figure]:
    """All of them, with their aims."""
    yield in_use(seen, now)
    yield from _of_recalls(asked)
    yield dedup(seen, now)
    yield tokens(seen)


def in_use(seen: frozenset[int] | None, now: datetime) -> Figure:
    """Entries that can be recalled at this moment; beside them all that are kept, and those of the last day."""
    entries = in_workspaces(Entry.objects.all(), seen)
    counts = {
        "kept": _counted(entries),
        "new": _counted(entries.filter(created_at__gt=now - DAY)),
    }
    address = f"{reverse('admin:memories_entry_changelist')}?state={State.LIVE}"
    hint = _("can be recalled now; %(kept)s kept in all, %(new)s of the last day") % counts
    live = entries.filter(in_state(State.LIVE, Policy.objects.over(now)))
    return Figure(_("Memories in use"), _counted(live), hint, address)


def _counted(rows: QuerySet[Any]) -> str:
    number = rows.order_by()[: COUNTED + 1].count()
    return f"{COUNTED:,}+" if number > COUNTED else f"{number:,}"


def _of_recalls(asked: Recalls) -> Iterator[Figure]:
    list_of = reverse("admin:memories_recalltrace_changelist")
    more = "+" if asked.is_more else ""
    needed = _("in the last day; %(n)s looked into memory") % {"n": f"{asked.searched:,}{more}"}
    yield Figure(_("Recalls"), f"{asked.count:,}{more}", needed, list_of)
    found = len(asked.of(Verdict.FOUND))
    numbers = {"n": f"{found:,}", "all": f"{asked.searched:,}", "weak": f"{len(asked.of(Verdict.WEAK)):,}"}
    hint = _("%(n)s of %(all)s that looked into memory, %(weak)s more perhaps; aim: over 60%%") % numbers
    yield Figure(_("Found"), share(found, asked.searched), hint, f"{list_of}?answer={Verdict.FOUND}")
    numbers = {"n": f"{asked.used:,}", "all": f"{asked.reported:,}"}
    hint = _("%(n)s of %(all)s served memories whose answer is known; aim: over 40%%") % numbers
    yield Figure(_("Used in the answer"), share(asked.used, asked.reported), hint)
    hint = _("of the recalls that look into memory take longer; aim: under 200 ms")
    yield Figure(_("Slowest twentieth"), f"{asked.p95:.0f} ms" if asked.searched else "—", hint)


def dedup(seen: frozenset[int] | None, now: datetime) -> Figure:
    """Of what bots and people had remembered in the last day, the share that was known already (A10)."""
    workspaces = None if seen is None else sorted(seen)
    with connection.cursor() as cursor:
        cursor.execute(_CAME, {"since": now - DAY, "most": CHANGES, "seen": workspaces})
        new, known = cursor.fetchone()
    numbers = {"n": f"{known:,}", "all": f"{known + new:,}"}
    hint = _("%(n)s of %(all)s that came in the last day were merged or skipped; aim: over 35%%") % numbers
    return Figure(_("Known already"), share(known, known + new), hint)


def tokens(seen: frozenset[int] | None) -> Figure:
    """How long memories are, on average of the newest."""
    newest = in_workspaces(Entry.objects.all(), seen).order_by("-created_at", "-id")
    lengths = [text.count_tokens(content) for content in newest.values_list("content", flat=True)[:MEASURED]]
    hint = _("on average of the newest %(n)s; aim: under 200") % {"n": f"{len(lengths):,}"}
    return Figure(_("Tokens a memory"), f"{sum(lengths) / len(lengths):.0f}" if lengths else "—", hint)


def questions(asked: Recalls, verdict: Verdict, most: int) -> list[RecallTrace]:
    """The newest questions of the last day with a verdict."""
    rows = RecallTrace.objects.filter(pk__in=asked.of(verdict)[:most]).only("message", "created_at")
    return list(rows.order_by("-created_at", "-id"))
