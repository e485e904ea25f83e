"""Leases: one process at a time works on a row, and another one when that is killed.

Rows are claimed in one short transaction that stores the end of the lease in them; the work is done outside any
transaction, and its results are stored in another. After a kill nothing needs repair: the lease runs out.

Processes that wait for work (LISTEN) are woken once it is committed. A NOTIFY inside a transaction holds a lock of the
whole server until its commit is on disk: the transactions of all bots are then written to it one after the other, never
together. Where a NOTIFY is lost with a killed process, the listener looks by itself some seconds later.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Self, TypeVar

from django.db import connection, models, transaction
from django.db.models import DurationField, ExpressionWrapper, F, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Least, Power

from memories import telemetry

M = TypeVar("M", bound=models.Model)
#: Doublings after which a pause no longer grows: enough for any, and no number overflows.
_DOUBLINGS = 20


def backoff(first: timedelta, failures: Combinable, *, longest: timedelta) -> Least:
    """The pause after so many earlier failures, as SQL: `first`, then twice as long each time, `longest` at most."""
    doubled = Value(first) * Power(Value(2.0), Least(failures, Value(_DOUBLINGS)))
    return Least(ExpressionWrapper(doubled, DurationField()), Value(longest))


class LeaseQuerySet(models.QuerySet[M]):
    """Rows that are claimed, whatever their lease is called."""

    def claim(self, limit: int, *, counting: str = "", **lease: Any) -> list[M]:
        """Store a lease in the first `limit` rows not locked by others, and return them with it.

        `counting` names the column that counts the claims of a row.
        """
        with transaction.atomic():
            rows = list(self.select_for_update(skip_locked=True, of=("self",))[:limit])
            counted = {counting: F(counting) + 1} if counting else {}
            if rows:
                self.model._base_manager.filter(pk__in=[row.pk for row in rows]).update(**lease, **counted)
        for row in rows:
            for name, value in lease.items():
                setattr(row, name, value)
            if counting:
                setattr(row, counting, getattr(row, counting) + 1)
        return rows

    def lock(self) -> list[M]:
        """These rows, locked until the transaction ends, in order of their ids against deadlocks."""
        return list(self.order_by("pk").select_for_update(of=("self",)))


class RetryQuerySet(LeaseQuerySet[M]):
    """Rows with `retry_at`, the end of the lease and of a pause, and `failures`, which makes the pause longer."""

    def free(self, *, now: datetime) -> Self:
        """Those that may be claimed."""
        return self.filter(Q(retry_at__isnull=True) | Q(retry_at__lte=now))

    def postpone(self, ids: Iterable[int], *, now: datetime, first: timedelta, longest: timedelta) -> None:
        """Count a failure of these rows and postpone them, longer after each."""
        with transaction.atomic():
            rows = [row.pk for row in self.filter(pk__in=ids).lock()]
            pause = backoff(first, F("failures"), longest=longest)
            self.filter(pk__in=rows).update(failures=F("failures") + 1, retry_at=Value(now) + pause)


def wake_on_commit(channel: str) -> None:
    """Wake who listens on this channel, once the transaction is committed; at once where there is none."""
    notify = _notifier(channel)
    waiting = (set(connection.savepoint_ids), notify)
    if not any(row[:2] == waiting for row in connection.run_on_commit):
        transaction.on_commit(notify, robust=True)


@cache
def _notifier(channel: str) -> Callable[[], None]:
    """One for each channel, so that a transaction notices that it is to wake it already.

    A function with a name: where the connection breaks just after the commit, Django logs by that name what failed, and
    the call goes on to say that it is done.
    """

    def notify() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [channel, telemetry.traceparent()])

    return notify
