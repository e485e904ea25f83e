"""The job that counts hours: each when it is over, and again an hour, a day and three days later.

What a bot says of an answer, and what is imported or erased, comes after the hour it belongs to. An hour is counted in
one transaction that replaces what was counted before: killed at any moment, it has been counted or it has not.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Min
from django.utils import timezone

from memories.conf import conf
from memories.models import EntryStock, HourlyCount, HourlyTime, RolledHour, Workspace
from memplatform.operations import incidents
from memplatform.operations.rollups import stocks
from memplatform.operations.rollups.histogram import counts_of
from memplatform.operations.rollups.lags import LAGS
from memplatform.operations.rollups.measuring import Place, measure

HOUR = timedelta(hours=1)
#: How long after its end an hour is counted once more.
AGAIN_AFTER = (timedelta(0), HOUR, timedelta(days=1), timedelta(days=3))
#: One run counts for so long at most; what is left is for the next.
WORKS_FOR = timedelta(seconds=40)
#: How long the rows are kept: a year, to compare with, and a month.
KEPT = timedelta(days=400)
_LOCK = 7_305_118  # any number nobody else uses


def start_of_hour(moment: datetime) -> datetime:
    """The hour a moment is in; zones that are half an hour off have other hours, and the same rows."""
    return moment.replace(minute=0, second=0, microsecond=0)


def roll_up(*, now: datetime) -> dict[str, int]:
    """Count the hours that are due, the newest first, and the stock of entries; how many of each."""
    hours, until = 0, timezone.now() + WORKS_FOR
    for hour in due_hours(now):
        if timezone.now() > until:
            break
        hours += take(hour, now=now)
    forget_old(now=now)
    incidents.forget_old(now=now)
    return {"hours": hours, "stocks": stocks.take_due(now=now)}


def count_due(*, now: datetime) -> dict[str, int]:
    """How many hours and stocks are due."""
    return {"hours": sum(1 for _hour in due_hours(now)), "stocks": len(stocks.due(now))}


def due_hours(now: datetime) -> Iterator[datetime]:
    """The hours that are to be counted, the newest first."""
    taken = dict(RolledHour.objects.values_list("hour", "taken_at"))
    # The first hour that can be counted: records of older ones are being removed, or nobody was there yet
    began = Workspace.objects.aggregate(at=Min("created_at"))["at"] or now
    hour, oldest = start_of_hour(now) - HOUR, start_of_hour(max(began, now - conf.TRACE_TTL + HOUR))
    while hour >= oldest:
        if is_due(hour, taken.get(hour), now):
            yield hour
        hour -= HOUR


def is_due(hour: datetime, taken_at: datetime | None, now: datetime) -> bool:
    """Whether an hour that was counted last at `taken_at`, or never, is to be counted now."""
    moments = [hour + HOUR + after for after in AGAIN_AFTER]
    return any(moment <= now and (taken_at is None or taken_at < moment) for moment in moments)


def take(hour: datetime, *, now: datetime) -> bool:
    """Count an hour, in place of what was counted of it before; False where another process is at it."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_LOCK, int(hour.timestamp()) // 3600])
            if not cursor.fetchone()[0]:
                return False
        measured = measure(hour, hour + HOUR)
        HourlyCount.objects.filter(hour=hour).delete()
        HourlyCount.objects.bulk_create(
            HourlyCount(**_columns(place), **counts) for place, counts in measured.counts.items()
        )
        HourlyTime.objects.filter(hour=hour).exclude(step__in=LAGS).delete()
        HourlyTime.objects.bulk_create(
            HourlyTime(**_columns(place), step=step, counts=counts_of(buckets))
            for (place, step), buckets in measured.times.items()
        )
        rolled = RolledHour(hour=hour, taken_at=now)
        RolledHour.objects.bulk_create(
            [rolled], update_conflicts=True, unique_fields=["hour"], update_fields=["taken_at"]
        )
    return True


def forget_old(*, now: datetime) -> int:
    """Remove what is older than the home page ever shows; how many rows."""
    before = now - KEPT
    old = (
        HourlyCount.objects.filter(hour__lt=before),
        HourlyTime.objects.filter(hour__lt=before),
        RolledHour.objects.filter(hour__lt=before),
        EntryStock.objects.filter(at__lt=before),
    )
    return sum(rows.delete()[0] for rows in old)


def _columns(place: Place) -> dict[str, object]:
    return {"hour": place.hour, "workspace_id": place.workspace_id, "channel": place.channel}
