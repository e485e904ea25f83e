"""What happened is counted by hour, workspace and channel, as often as one likes (A14)."""

from datetime import UTC, datetime, timedelta
from math import log2
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memories import entries
from memories.models import Entry, EntryAccess, Policy, RecallTrace, Scope, Workspace
from memplatform.operations import rollups
from memplatform.operations.models import EntryStock, HourlyCount, HourlyTime, MostRecalled, RolledHour
from memplatform.operations.rollups import bucket_of, counts_of, quantile
from tests.conftest import make_draft

pytestmark = pytest.mark.django_db
HOUR = datetime(2026, 3, 1, 8, tzinfo=UTC)


def asked(workspace: Workspace, verdict: str | None, key: str, at: datetime, **columns: Any) -> RecallTrace:
    verdict_of = {"verdict": verdict} if verdict else {}
    defaults = {"scopes": [], "scope_keys": [key], "served": [1, 2], "tokens": 10, "timings": {"total": 50.0}}
    return RecallTrace.objects.create(
        workspace=workspace, message="?", evidence=verdict_of, created_at=at, **defaults | columns
    )


def counted(**where: Any) -> dict[str, object]:
    """The numbers of one row, without those that are nothing."""
    row = HourlyCount.objects.filter(**where).values().get()
    numbers = {name: value for name, value in row.items() if name not in ("id", "workspace_id", "channel", "hour")}
    return {name: value for name, value in numbers.items() if value}


def test_an_hour_is_counted_by_workspace_and_channel(workspace: Workspace, stranger: Workspace) -> None:
    asked(workspace, "found", "telegram:direct_u1", HOUR, used=[1])
    asked(workspace, "none", "telegram:direct_u2", HOUR + timedelta(minutes=59), degraded=["embedding"])
    asked(workspace, None, "my%20bot:group_g1", HOUR)
    asked(workspace, "weak", "main", HOUR)
    asked(stranger, "found", "telegram:direct_u1", HOUR)
    asked(workspace, "found", "telegram:direct_u1", HOUR + timedelta(hours=1))
    rollups.take_hour(HOUR, now=HOUR + timedelta(hours=1))
    data = {"found": 1, "none": 1, "degraded": 1, "served": 4, "reported": 2, "used": 1, "tokens": 20}
    assert counted(workspace=workspace, channel="telegram") == data
    assert counted(workspace=workspace, channel="my bot") == {"unneeded": 1, "served": 2, "tokens": 10}
    assert counted(workspace=workspace, channel="") == {"weak": 1, "served": 2, "tokens": 10}
    assert counted(workspace=stranger)["found"] == 1
    assert sum(HourlyTime.objects.get(workspace=workspace, channel="telegram").counts) == 2


def test_counted_again_an_hour_is_the_same_or_what_has_become_of_it(workspace: Workspace) -> None:
    trace = asked(workspace, "found", "telegram:direct_u1", HOUR)
    now = HOUR + timedelta(hours=1)
    for _twice in range(2):
        rollups.take_hour(HOUR, now=now)
    assert counted() == {"found": 1, "served": 2, "tokens": 10}
    RecallTrace.objects.filter(pk=trace.pk).update(used=[1, 2])
    rollups.take_hour(HOUR, now=now)
    assert counted() == {"found": 1, "served": 2, "tokens": 10, "reported": 2, "used": 2}
    RecallTrace.objects.all().delete()  # the person was erased
    rollups.take_hour(HOUR, now=now)
    assert not HourlyCount.objects.exists() and RolledHour.objects.count() == 1


def test_an_hour_is_due_when_it_is_over_and_an_hour_a_day_and_three_days_later() -> None:
    end = HOUR + timedelta(hours=1)
    assert not rollups.is_due(HOUR, None, end - timedelta(seconds=1))
    taken, times = None, []
    for minute in range(4 * 24 * 60):
        if rollups.is_due(HOUR, taken, now := end + timedelta(minutes=minute)):
            taken = now
            times.append(now - end)
    assert times == [timedelta(0), timedelta(hours=1), timedelta(days=1), timedelta(days=3)]


def test_only_hours_whose_records_are_kept_are_counted_and_none_twice(workspace: Workspace) -> None:
    now = timezone.now()
    Workspace.objects.update(created_at=now - timedelta(hours=5))
    first = rollups.roll_up(now=now)
    assert first["hours"] == 5 and rollups.roll_up(now=now)["hours"] == 0
    RolledHour.objects.create(hour=now - rollups.KEPT - timedelta(days=1), taken_at=now)
    rollups.forget_old(now=now)
    assert RolledHour.objects.count() == 5


def test_what_came_is_told_apart_from_what_was_known(workspace: Workspace, scope: Scope) -> None:
    now = timezone.now()
    for minute, words in enumerate(("the tea is green", "the cat is Mochi", "the tea is green")):
        draft = make_draft(scope, words, at=now + timedelta(minutes=minute), slots={"channel": "lark"})
        entries.remember(draft, now=now, actor="bot:test")
    rollups.take_hour(rollups.start_of_hour(now), now=now)
    assert counted(workspace=workspace, channel="lark") == {"created": 2, "repeated": 1}


def test_what_is_told_late_came_as_well(workspace: Workspace, scope: Scope) -> None:
    """A backlog of turns has times before what is known; it makes nothing newer, and rests on messages of its own."""
    now = timezone.now()
    for minute, words in enumerate(("the tea is green", "the tea is green", "the tea is green!", "the tea is green")):
        at = now - timedelta(minutes=minute)
        entries.remember(make_draft(scope, words, at=at, origins=(f"message-{minute}",)), now=now, actor="bot:test")
    rollups.take_hour(rollups.start_of_hour(now), now=now)
    came = counted(workspace=workspace)
    assert came["created"] + came.get("merged", 0) + came.get("repeated", 0) == 4


def test_the_stock_is_counted_by_type_and_state(workspace: Workspace, scope: Scope) -> None:
    Policy.objects.create(workspace=workspace, kind="ttl", entry_type="fact", scope_kind="user", value=10)
    fact = {"type": "fact", "tier": 2}
    kept, old, gone, soon = (
        entries.remember(make_draft(scope, words, at=HOUR - timedelta(days=days), **fact), now=HOUR, actor="t").entry
        for words, days in (("the cat is Mochi", 0), ("the tea is green", 30), ("the lamp broke", 0), ("it rains", 5))
    )
    entries.expire(gone, now=HOUR, actor="t")
    EntryAccess.objects.filter(entry=kept).delete()
    EntryAccess.objects.create(entry=kept, workspace=workspace, access_count=3)
    for _twice in range(2):
        rollups.take_stock(workspace, now=HOUR)
    rows = {row.state: (row.entries, row.never_recalled, row.ending) for row in EntryStock.objects.all()}
    assert rows == {"live": (2, 1, 1), "due": (1, 1, 1), "expired": (1, 1, 0)}
    assert MostRecalled.objects.get().entries == [kept.pk]
    assert not rollups.stocks_due(HOUR) and rollups.stocks_due(HOUR + timedelta(hours=6))
    assert old.pk and soon.pk and Entry.objects.count() == 4


def test_waits_are_looked_at_once_a_minute_and_kept_when_the_hour_is_counted(workspace: Workspace) -> None:
    for minute in range(3):
        rollups.sample(now=HOUR + timedelta(minutes=minute))
    rollups.take_hour(HOUR, now=HOUR + timedelta(hours=1))
    assert {row.step: sum(row.counts) for row in HourlyTime.objects.all()} == dict.fromkeys(rollups.LAGS, 3)


def test_a_percentile_is_at_most_an_eighth_from_the_true_one() -> None:
    chance = Random(7)
    times = sorted(chance.lognormvariate(4, 1.2) for _ in range(999))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {bucket_of('t')} FROM unnest(%s::float8[]) t", [[*times, 0.2, 1.0, 1e9]])
        *buckets, below, one, beyond = (row[0] for row in cursor.fetchall())
    assert (below, one, beyond) == (0, 1, 63)
    counts = counts_of((bucket, 1) for bucket in buckets)
    for share in (0.5, 0.95):
        result = quantile(counts, share)
        assert result and abs(log2(result / times[int(len(times) * share)])) < log2(1.1225)
    assert quantile([0.0] * 64, 0.5) is None
