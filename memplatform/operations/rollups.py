"""What happened, counted by hour, workspace and channel: what the home page draws is read from these rows alone.

An hour is counted when it is over, and again an hour, a day and three days later: what a bot says of an answer, and
what is imported or erased, comes after the hour it belongs to. It is counted in one transaction that replaces what was
counted before: killed at any moment, it has been counted or it has not.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any
from urllib.parse import unquote

from django.db import connection, transaction
from django.db.models import Case, Count, F, Min, Q, QuerySet, Value, When
from django.utils import timezone

from memories.choices import BufferState
from memories.conf import conf
from memories.models import Entry, EntryAccess, ExtractionBatch, IndexQueueItem, Policy, Workspace
from memories.models.entry import EntryQuerySet
from memories.models.state import MARKS, State
from memories.tenancy import access
from memplatform.operations import incidents
from memplatform.operations.models import BUCKETS, EntryStock, HourlyCount, HourlyTime, MostRecalled, RolledHour

#: Buckets that double the time: each is a third of an octave wide, so that counts of hours add up to those of months.
#: The first holds what took less than one unit, the last what took over 1,664,510: milliseconds up to half an hour,
#: seconds up to nineteen days. A quantile is the middle of its bucket: at most an eighth (12.3 %) from the true one.
A_DOUBLING = 3


def bucket_of(duration: str) -> str:
    """In SQL, the bucket of a time, from 0 on; `duration` is an expression of a number."""
    return (
        f"CASE WHEN {duration} < 1 THEN 0"
        f" ELSE least({BUCKETS - 1}, 1 + floor({A_DOUBLING} * log(2, ({duration})::numeric)))::int END"
    )


def counts_of(buckets: Iterable[tuple[int, int]]) -> list[float]:
    """The counts of a histogram, of pairs of a bucket and its count."""
    counts = [0.0] * BUCKETS
    for bucket, count in buckets:
        counts[bucket] += count
    return counts


def quantile(counts: Sequence[float], share: float) -> float | None:
    """The time below which a share of them lies, in the histogram's unit; None of nothing."""
    total = sum(counts)
    if not total:
        return None
    bucket = next(n for n, count in enumerate(accumulate(counts)) if count and count >= share * total)
    return 0.5 if bucket == 0 else float(2 ** ((bucket - 0.5) / A_DOUBLING))


EMBEDDING, EXTRACTION = "embedding-lag", "extraction-lag"
#: Steps that are no steps of a recall: their times are in seconds, and cannot be counted once more later.
LAGS = (EMBEDDING, EXTRACTION)
_ADD = f"""
INSERT INTO operations_hourlytime AS kept (hour, workspace_id, channel, step, counts)
SELECT %(hour)s, w.id, '', %(step)s, array_fill(0, ARRAY[bucket]) || ARRAY[1] || array_fill(0, ARRAY[63 - bucket])
FROM memories_workspace w CROSS JOIN LATERAL (
    SELECT {bucket_of("coalesce((%(waits)s::jsonb ->> w.id::text)::float8, 0)")} AS bucket
) found
ON CONFLICT (hour, workspace_id, channel, step) DO UPDATE SET counts = kept.counts + excluded.counts
"""  # noqa: S608 (constants)


def sample(*, now: datetime) -> None:
    """Add the lags of this minute to the hour's: of each workspace how long its oldest waits, or 0."""
    rows = IndexQueueItem.objects.without_vector().values_list("workspace_id").annotate(since=Min("since"))
    batches = ExtractionBatch.objects.exclude(state=BufferState.PARKED).order_by().values_list("workspace_id")
    oldest = {EMBEDDING: dict(rows), EXTRACTION: dict(batches.annotate(since=Min("began_at")))}
    hour = now.replace(minute=0, second=0, microsecond=0)
    with transaction.atomic(), connection.cursor() as cursor:
        for step, since in oldest.items():
            waits = {str(pk): max((now - at).total_seconds(), 0.0) for pk, at in since.items()}
            cursor.execute(_ADD, {"hour": hour, "step": step, "waits": json.dumps(waits)})


#: The hour of a row, its workspace and its channel: the first part of its scope's key, as far as it names a platform.
_TRACES = """
    SELECT date_trunc('hour', created_at, 'UTC') AS hour, workspace_id,
        CASE WHEN strpos(scope_keys[1], ':') > 0 THEN split_part(scope_keys[1], ':', 1) ELSE '' END AS channel,
        coalesce(evidence ->> 'verdict', '') AS verdict, degraded, served, coalesce(used, overlap) AS used, tokens,
        timings
    FROM memories_recalltrace
    WHERE created_at >= %(since)s AND created_at < %(until)s AND NOT query ? 'as_of'
        AND (%(seen)s::bigint[] IS NULL OR workspace_id = ANY (%(seen)s::bigint[]))
    ORDER BY created_at DESC LIMIT %(most)s
"""
_RECALLS = f"""
SELECT hour, workspace_id, channel,
    count(*) FILTER (WHERE verdict = 'found'), count(*) FILTER (WHERE verdict = 'weak'),
    count(*) FILTER (WHERE verdict = 'none'), count(*) FILTER (WHERE verdict = ''),
    count(*) FILTER (WHERE degraded <> '{{}}'), coalesce(sum(cardinality(served)), 0),
    coalesce(sum(cardinality(served)) FILTER (WHERE used IS NOT NULL), 0), coalesce(sum(cardinality(used)), 0),
    coalesce(sum(tokens), 0)
FROM ({_TRACES}) trace GROUP BY 1, 2, 3
"""  # noqa: S608 (constants)
_TIMES = f"""
SELECT hour, workspace_id, channel, step.key, {bucket_of("step.value::float8")}, count(*)
FROM ({_TRACES}) trace CROSS JOIN LATERAL jsonb_each_text(timings) step
WHERE verdict <> '' GROUP BY 1, 2, 3, 4, 5
"""  # noqa: S608 (constants)
#: That an entry was stated once more: later than before, or, reported late, by another message.
_AGAIN = "c.op = 'U' AND c.batch_id IS NULL AND c.old ?| ARRAY['stated_at', 'origins']"
#: What came: a new entry, or one that was stated once more. What a batch does to entries did not come.
_WRITES = f"""
SELECT date_trunc('hour', c.at, 'UTC'), w.id, coalesce(e.channel, ''),
    count(*) FILTER (WHERE c.op = 'I' AND c.batch_id IS NULL), count(*) FILTER (WHERE c.op = 'I' AND c.batch_id > 0),
    count(*) FILTER (WHERE {_AGAIN} AND c.old ? 'content'), count(*) FILTER (WHERE {_AGAIN} AND NOT c.old ? 'content'),
    count(*) FILTER (WHERE c.op = 'U' AND c.old -> 'expired_at' = 'null')
FROM memories_workspace w CROSS JOIN LATERAL (
    SELECT at, op, row_id, batch_id, old FROM memories_change
    WHERE workspace_id = w.id AND at >= %(since)s AND at < %(until)s AND table_name = 'memories_entry'
    ORDER BY at DESC LIMIT %(most)s
) c LEFT JOIN memories_entry e ON e.id = c.row_id AND e.workspace_id = w.id
WHERE (%(seen)s::bigint[] IS NULL OR w.id = ANY (%(seen)s::bigint[])) AND e.subtype IS DISTINCT FROM 'canary'
GROUP BY 1, 2, 3
"""  # noqa: S608 (constants)
OF_RECALLS = ("found", "weak", "none", "unneeded", "degraded", "served", "reported", "used", "tokens")
OF_WRITES = ("created", "derived", "merged", "repeated", "expired")


@dataclass(frozen=True)
class Place:
    """An hour of UTC on a channel of a workspace."""

    hour: datetime
    workspace_id: int
    channel: str


@dataclass
class Measured:
    """What happened by place, and how long the steps of recalls took: pairs of a bucket and its count."""

    counts: defaultdict[Place, defaultdict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )
    times: defaultdict[tuple[Place, str], list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add rows of an hour, a workspace, a channel, and a number for each of the names."""
        for hour, workspace_id, channel, *numbers in rows:
            counts = self.counts[Place(hour, workspace_id, unquote(channel))]
            for name, number in zip(names, numbers, strict=True):
                counts[name] += int(number)


def measure(
    since: datetime, until: datetime, *, workspaces: frozenset[int] | None = None, most: int | None = None
) -> Measured:
    """What happened from a moment on and before another: in these workspaces (None: all), of the `most` newest rows."""
    values = {"since": since, "until": until, "seen": None if workspaces is None else sorted(workspaces), "most": most}
    result = Measured()
    with connection.cursor() as cursor:
        cursor.execute(_RECALLS, values)
        result.add(OF_RECALLS, cursor.fetchall())
        cursor.execute(_WRITES, values)
        result.add(OF_WRITES, cursor.fetchall())
        cursor.execute(_TIMES, values)
        for hour, workspace_id, channel, step, bucket, count in cursor.fetchall():
            result.times[Place(hour, workspace_id, unquote(channel)), step].append((bucket, count))
    return result


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


def stocks_due(now: datetime) -> QuerySet[Workspace]:
    """The workspaces whose stock was not counted in this slot yet."""
    return Workspace.objects.exclude(pk__in=MostRecalled.objects.filter(at__gte=slot_of(now)).values("workspace_id"))


def take_stock(workspace: Workspace, *, now: datetime) -> None:
    """Count what a workspace holds, by channel, type and state, in place of what was counted in the same slot."""
    at, policies = slot_of(now), Policy.objects.of(workspace.pk)
    stock = count_by_state(Entry.objects.filter(workspace=workspace), policies.over(now), policies.over(now + SOON))
    rows = [EntryStock(workspace=workspace, at=at, **row) for row in stock]
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


def count_by_state(entries: EntryQuerySet, over: Q, ending: Q) -> Iterable[Any]:
    """Entries by channel, type and state: how many, never recalled, and ending soon.

    `over` is the condition that the time of an entry is over, and `ending` that it will soon be.
    """
    marks = [
        When(Q(**{f"{column.removesuffix('_id')}__isnull": False}), Value(state)) for state, column in MARKS.items()
    ]
    state = Case(*marks, When(over, Value(State.DUE)), default=Value(State.LIVE))
    unread = Q(access__isnull=True) | Q(access__access_count=0)
    return (
        entries.exclude(subtype=access.SUBTYPE)
        .order_by()
        .annotate(mark=state)
        .values("channel", "type", state=F("mark"))
        .annotate(entries=Count("*"), never_recalled=Count("pk", filter=unread), ending=Count("pk", filter=ending))
    )


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
        hours += take_hour(hour, now=now)
    forget_old(now=now)
    incidents.forget_old(now=now)
    workspaces = list(stocks_due(now))
    for workspace in workspaces:
        take_stock(workspace, now=now)
    return {"hours": hours, "stocks": len(workspaces)}


def count_due(*, now: datetime) -> dict[str, int]:
    """How many hours and stocks are due."""
    return {"hours": sum(1 for _hour in due_hours(now)), "stocks": len(stocks_due(now))}


def due_hours(now: datetime) -> Iterator[datetime]:
    """The hours that are to be counted, the newest first."""
    times_by_hour = dict(RolledHour.objects.values_list("hour", "taken_at"))
    # The first hour that can be counted: records of older ones are being removed, or nobody was there yet
    began = Workspace.objects.aggregate(at=Min("created_at"))["at"] or now
    hour, oldest = start_of_hour(now) - HOUR, start_of_hour(max(began, now - conf.TRACE_TTL + HOUR))
    while hour >= oldest:
        if is_due(hour, times_by_hour.get(hour), now):
            yield hour
        hour -= HOUR


def is_due(hour: datetime, taken_at: datetime | None, now: datetime) -> bool:
    """Whether an hour that was counted last at `taken_at`, or never, is to be counted now."""
    moments = [hour + HOUR + after for after in AGAIN_AFTER]
    return any(moment <= now and (taken_at is None or taken_at < moment) for moment in moments)


def take_hour(hour: datetime, *, now: datetime) -> bool:
    """Count an hour, in place of what was counted of it before; False where another process is at it."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_LOCK, int(hour.timestamp()) // 3600])
            if not cursor.fetchone()[0]:
                return False
        result = measure(hour, hour + HOUR)
        HourlyCount.objects.filter(hour=hour).delete()
        HourlyCount.objects.bulk_create(HourlyCount(**vars(place), **counts) for place, counts in result.counts.items())
        HourlyTime.objects.filter(hour=hour).exclude(step__in=LAGS).delete()
        HourlyTime.objects.bulk_create(
            HourlyTime(**vars(place), step=step, counts=counts_of(buckets))
            for (place, step), buckets in result.times.items()
        )
        row = RolledHour(hour=hour, taken_at=now)
        RolledHour.objects.bulk_create([row], update_conflicts=True, unique_fields=["hour"], update_fields=["taken_at"])
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
