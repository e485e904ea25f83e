"""The short lists of the home page: questions without an answer, what ends soon, what is recalled most. All bounded."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memories.admin.access import in_workspaces
from memories.admin.masking import is_secret
from memories.choices import Verdict
from memories.models import Entry, EntryAccess, RecallTrace
from memories.models.recall_trace import NOT_LOOKING_BACK
from memories.tenancy.keys import starts_of_keys
from memplatform.operations.models import Incident, IncidentKind, MostRecalled
from memplatform.site.attention.items import ago
from memplatform.site.periods import Period

LATEST = 6
INCIDENTS = 12
#: The newest recalls that are looked through.
LOOKED_AT = 2_000
#: An incident of less than a minute; that a process ended is told however soon another took its place.
_PASSED_AT_ONCE = Q(ended_at__lt=F("began_at") + timedelta(minutes=1)) & ~Q(kind=IncidentKind.STOPPED)


def questions(period: Period, verdict: Verdict) -> list[RecallTrace]:
    """The newest questions of the period with a verdict, of the newest recalls."""
    newest = in_workspaces(RecallTrace.objects.filter(NOT_LOOKING_BACK, created_at__gte=period.since), period.seen)
    if period.channel:
        newest = newest.filter(scope_keys__0__startswith=starts_of_keys(period.channel)[0])
    looked_at = newest.order_by("-created_at", "-id").values("pk")[:LOOKED_AT]
    rows = RecallTrace.objects.filter(pk__in=looked_at, evidence__verdict=verdict)
    return list(rows.only("message", "created_at").order_by("-created_at", "-id")[:LATEST])


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
    found = in_workspaces(MostRecalled.objects.all(), period.seen).values_list("entries", flat=True)
    ids = [entry for entries in found for entry in entries]
    counts = EntryAccess.objects.filter(entry__in=ids).values_list("entry_id", "access_count")
    entries: Any = in_workspaces(Entry.objects.live().filter(pk__in=ids), period.seen)
    if period.channel is not None:
        entries = entries.filter(channel=period.channel)
    rows = entries.in_bulk()
    ranked = sorted(counts, key=lambda one: (-one[1], one[0]))
    return [Recalled(rows[pk], count) for pk, count in ranked if pk in rows][:LATEST]


#: Parts of the platform, as people call them.
PARTS: dict[str, Any] = {
    "platform": gettext_lazy("The platform"),
    "database": gettext_lazy("The database"),
    "web": gettext_lazy("The web"),
    "worker": gettext_lazy("The worker"),
    "embedder": gettext_lazy("The embedder"),
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
