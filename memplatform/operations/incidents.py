"""Incidents: from when to when a part of the platform did not do what it should. A clean restart is none.

Two write them down: the supervisor, of the processes it keeps alive and of a database it cannot reach; and a job every
minute, of what is late, silent or missing from answers. Both may tell of the same: a part has one incident of a kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import Error, connection
from django.db.models import Min

from memories.models import RecallTrace
from memplatform.operations import health
from memplatform.operations.health import Condition
from memplatform.operations.models import Heartbeat, Incident, IncidentKind

DATABASE, PLATFORM, RECALL = "database", "platform", "recall"
#: How many are kept, and for how long.
KEPT, KEPT_FOR = 1_000, timedelta(days=400)
#: Recalls of the last minutes that are looked at, and the share of them from which answers count as degraded.
RECENT, DEGRADED_SHARE, RECALLS = timedelta(minutes=2), 0.05, 500
#: After its start a worker catches up for so long.
SETTLING = timedelta(minutes=6)
Found = Mapping[tuple[str, IncidentKind], datetime]


def begin(part: str, kind: IncidentKind, at: datetime, *, now: datetime) -> None:
    """An incident has begun, or still lasts."""
    Incident.objects.bulk_create([Incident(part=part, kind=kind, began_at=at, seen_at=now)], ignore_conflicts=True)
    Incident.objects.filter(part=part, kind=kind, ended_at=None).update(seen_at=now)


def end(part: str, *kinds: IncidentKind, now: datetime) -> None:
    """The incidents of a part, of these kinds, are over."""
    Incident.objects.filter(part=part, kind__in=kinds, ended_at=None).update(ended_at=now, seen_at=now)


def observe(outages: Found, *, now: datetime) -> int:
    """Write down what is found now, with its beginning, and end what was found before and is not now; how many last."""
    for (part, kind), at in outages.items():
        begin(part, kind, at, now=now)
    mine = Incident.objects.filter(ended_at=None).exclude(kind=IncidentKind.STOPPED).exclude(part__in=(DATABASE, "web"))
    for incident in mine:
        if (incident.part, incident.kind) not in outages:
            end(incident.part, IncidentKind(incident.kind), now=now)
    return len(outages)


def is_settled(*, now: datetime) -> bool:
    """Whether the worker has run for a while: after a restart, what waited meanwhile is late for a moment."""
    started = Heartbeat.objects.filter(name="worker").aggregate(at=Min("started_at"))["at"]
    return started is not None and now - started > SETTLING


def found_in(condition: Condition, *, now: datetime) -> Found:
    """What the condition of the platform says is missing or late, and since when."""
    if condition.figures is None:
        return {}
    figures, outages = condition.figures, {}
    for name in (*condition.missing, *(part for part in condition.behind if part in (health.MCP, *health.NEEDED))):
        silence = figures.silence.get(name, 0.0)
        outages[name, IncidentKind.SILENT] = now - timedelta(seconds=silence)
    ages = {"queue": figures.queue_age, "schedules": figures.schedules_late, "embedding": figures.lag}
    for name, age in ages.items():
        if name in condition.behind:
            outages[name, IncidentKind.LATE] = now - timedelta(seconds=age)
    if "model" in condition.behind:
        outages["model", IncidentKind.AWAY] = now - timedelta(seconds=figures.model_failed_ago)
    return outages


def degraded(*, now: datetime) -> Found:
    """Whether answers of the last minutes were made without a part of the platform."""
    newest = RecallTrace.objects.filter(created_at__gt=now - RECENT).order_by("-created_at")
    rows = list(newest.values_list("created_at", "degraded__len")[:RECALLS])
    without = [at for at, number in rows if number]
    return {(RECALL, IncidentKind.DEGRADED): min(without)} if len(without) > DEGRADED_SHARE * len(rows) else {}


def forget_old(*, now: datetime) -> None:
    """Keep the newest."""
    Incident.objects.filter(began_at__lt=now - KEPT_FOR).delete()
    beyond = Incident.objects.order_by("-began_at", "-pk").values("pk")[KEPT : 2 * KEPT]
    Incident.objects.filter(pk__in=list(beyond.values_list("pk", flat=True))).delete()


@dataclass
class Downtimes:
    """What the supervisor sees go and come, kept until the database takes it: it may be what is away."""

    waiting: list[tuple[str, IncidentKind, datetime, datetime | None]] = field(default_factory=list)
    since: dict[str, tuple[IncidentKind, datetime]] = field(default_factory=dict)

    def gone(self, part: str, kind: IncidentKind, at: datetime) -> None:
        """A part is gone since a moment; the first word stands until it is back."""
        if part not in self.since:
            self.since[part] = kind, at
            self.waiting.append((part, kind, at, None))

    def back(self, part: str, at: datetime) -> None:
        """A part does its work again."""
        if part in self.since:
            kind, began_at = self.since.pop(part)
            self.waiting.append((part, kind, began_at, at))

    def write(self, *, now: datetime) -> None:
        """Write down what was seen; what the database does not take waits."""
        try:
            while self.waiting:
                part, kind, began_at, ended_at = self.waiting[0]
                begin(part, kind, began_at, now=ended_at or now)
                if ended_at:
                    end(part, kind, now=ended_at)
                del self.waiting[0]
        except Error:
            connection.close()
