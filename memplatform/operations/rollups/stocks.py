"""How many entries there are of each type and state, counted four times a day: a million are read in the background."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, Count, F, Q, QuerySet, Value, When

from memories.models import Entry, EntryAccess, EntryStock, MostRecalled, Policy, Workspace
from memories.models.entry import EntryQuerySet
from memories.models.state import MARKS, State
from memories.tenancy import canaries

#: Stocks are counted at these hours of UTC, or as soon after as the worker runs; a later count of a slot replaces it.
SLOT = timedelta(hours=6)
#: What ends within this time ends soon.
SOON = timedelta(days=7)
#: Entries of a workspace that are named as recalled most often.
TOP = 20


def slot_of(moment: datetime) -> datetime:
    """The slot a moment is in."""
    hours = int(SLOT.total_seconds()) // 3600
    return moment.replace(hour=moment.hour // hours * hours, minute=0, second=0, microsecond=0)


def due(now: datetime) -> QuerySet[Workspace]:
    """The workspaces whose stock was not counted in this slot yet."""
    return Workspace.objects.exclude(pk__in=MostRecalled.objects.filter(at__gte=slot_of(now)).values("workspace_id"))


def take_due(*, now: datetime) -> int:
    """Count the stock of every workspace that is due, each in a transaction of its own; how many."""
    count = 0
    for workspace in due(now):
        take(workspace, now=now)
        count += 1
    return count


def take(workspace: Workspace, *, now: datetime) -> None:
    """Count what a workspace holds, in place of what was counted in the same slot."""
    at, rows = slot_of(now), counted(workspace, now)
    top = list(
        EntryAccess.objects.filter(workspace=workspace, access_count__gt=0)
        .order_by("-access_count", "entry_id")
        .values_list("entry_id", flat=True)[:TOP]
    )
    with transaction.atomic():
        # the row is the claim: of two at once the second waits here, and writes the same
        most = MostRecalled(workspace=workspace, entries=top, at=now)
        MostRecalled.objects.bulk_create(
            [most], update_conflicts=True, unique_fields=["workspace"], update_fields=["entries", "at"]
        )
        EntryStock.objects.filter(workspace=workspace, at=at).delete()
        EntryStock.objects.bulk_create(rows)


def counted(workspace: Workspace, now: datetime) -> list[EntryStock]:
    """The stock of this moment, by channel, type and state."""
    policies = Policy.objects.of(workspace.pk)
    rows = count(Entry.objects.filter(workspace=workspace), policies.over(now), policies.over(now + SOON))
    return [EntryStock(workspace=workspace, at=slot_of(now), **row) for row in rows]


def count(entries: EntryQuerySet, over: Q, ending: Q) -> Iterable[Any]:
    """Entries by channel, type and state: how many, never recalled, and ending soon.

    `over` is the condition that the time of an entry is over, and `ending` that it will soon be.
    """
    marks = [
        When(Q(**{f"{column.removesuffix('_id')}__isnull": False}), Value(state)) for state, column in MARKS.items()
    ]
    state = Case(*marks, When(over, Value(State.DUE)), default=Value(State.LIVE))
    unread = Q(access__isnull=True) | Q(access__access_count=0)
    return (
        entries.exclude(subtype=canaries.SUBTYPE)
        .order_by()
        .annotate(mark=state)
        .values("channel", "type", state=F("mark"))
        .annotate(entries=Count("*"), never_recalled=Count("pk", filter=unread), ending=Count("pk", filter=ending))
    )
