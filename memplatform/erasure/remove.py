"""Removing what was found, a few hundred rows a transaction: after a kill the rest is still written down."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from memories.entries import erase, evidence
from memories.entries.locks import lock_scopes
from memories.index import scope_statistics
from memories.models import Entry, Erasure, Scope
from memories.models.change import acting, forget_history
from memplatform.erasure import collect
from sessions_app.models import SessionEvent

CHUNK = 500
Remove = Callable[[Erasure, list[int], datetime], int]
#: Called after each transaction.
Report = Callable[[], None]


def remove_all(erasure: Erasure, *, now: datetime, report: Report) -> None:
    """Remove every row that was found and is still there; counts are kept with each transaction."""
    for table, remove in _REMOVE.items():
        while rows := collect.take(erasure, table, CHUNK):
            with transaction.atomic(), acting(erasure.actor):
                count = remove(erasure, rows, now)
                collect.done(erasure, table, rows)
                add(erasure, table, count)
            report()


def add(erasure: Erasure, name: str, count: int) -> None:
    """Count what was removed."""
    erasure.counts = {**erasure.counts, name: erasure.counts.get(name, 0) + count}
    erasure.save(update_fields=["counts"])


def _execute(statement: str, *values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def _plainly(table: str) -> Remove:
    """Of rows nothing else hangs on, or what does goes along."""

    def remove(erasure: Erasure, rows: list[int], now: datetime) -> int:
        statement = f"DELETE FROM {table} WHERE workspace_id = %s AND id = ANY(%s)"  # noqa: S608 (names of this file)
        return _execute(statement, erasure.workspace_id, rows)

    return remove


def _entries(erasure: Erasure, rows: list[int], now: datetime) -> int:
    scopes = Scope.objects.filter(pk__in=Entry.objects.filter(pk__in=rows).values("scope_id"))
    for scope in lock_scopes(scopes, frozen_too=True).values():
        scope_statistics.raise_version(scope)
    return erase.erase_entries(erasure.workspace_id, rows, now=now)


def _days(erasure: Erasure, rows: list[int], now: datetime) -> int:
    return erase.erase_days(erasure.workspace_id, rows, now=now)


def _buffered(erasure: Erasure, rows: list[int], now: datetime) -> int:
    """With what waits beside them no longer than it has to: an extraction batch that is empty goes."""
    count = _execute(
        "DELETE FROM memories_bufferedturn WHERE workspace_id = %s AND id = ANY(%s)", erasure.workspace_id, rows
    )
    _execute(
        "DELETE FROM memories_extractionbatch b WHERE workspace_id = %s"
        " AND NOT EXISTS (SELECT FROM memories_bufferedturn t WHERE t.batch_id = b.id)",
        erasure.workspace_id,
    )
    _execute(  # whoever works on the others has to begin anew, without these
        "UPDATE memories_extractionbatch b SET state = 'waiting', claim = NULL, error = '', turn_count = left_in.turns,"
        " tokens = left_in.tokens FROM (SELECT batch_id, count(*) AS turns, sum(tokens) AS tokens"
        " FROM memories_bufferedturn WHERE workspace_id = %s GROUP BY batch_id) left_in"
        " WHERE left_in.batch_id = b.id AND b.turn_count <> left_in.turns",
        erasure.workspace_id,
    )
    return count


def _plans(erasure: Erasure, rows: list[int], now: datetime) -> int:
    return _execute(
        "UPDATE memories_batchchange SET draft = '{}', note = CASE state WHEN 'planned' THEN 'erased' ELSE '' END,"
        " state = CASE state WHEN 'planned' THEN 'left' ELSE state END WHERE workspace_id = %s AND id = ANY(%s)",
        erasure.workspace_id,
        rows,
    )


def _batches(erasure: Erasure, rows: list[int], now: datetime) -> int:
    _execute("UPDATE memories_batch SET undoes_id = NULL WHERE undoes_id = ANY(%s)", rows)
    return _plainly("memories_batch")(erasure, rows, now)


def _pinned(erasure: Erasure, rows: list[int], now: datetime) -> int:
    """With their history, in which the questions stand."""
    count = _plainly("memories_pinnedtest")(erasure, rows, now)
    forget_history(erasure.workspace_id, "memories_pinnedtest", rows)
    return count


def _flushes(erasure: Erasure, rows: list[int], now: datetime) -> int:
    return _execute(
        "UPDATE sessions_app_flush SET goes_on_with = '' WHERE workspace_id = %s AND id = ANY(%s)",
        erasure.workspace_id,
        rows,
    )


def _events(erasure: Erasure, rows: list[int], now: datetime) -> int:
    events = SessionEvent.objects.filter(workspace_id=erasure.workspace_id, pk__in=rows).select_related("session")
    if origins := [one.session.origin_of(one) for one in events]:
        evidence.forget(erasure.workspace_id, origins)
    return _plainly("sessions_app_sessionevent")(erasure, rows, now)


def _sessions(erasure: Erasure, rows: list[int], now: datetime) -> int:
    _execute(
        "DELETE FROM sessions_app_flush WHERE workspace_id = %s AND session_id = ANY(%s)", erasure.workspace_id, rows
    )
    count = _plainly("sessions_app_session")(erasure, rows, now)
    forget_history(erasure.workspace_id, "sessions_app_session", rows)
    return count


def _scopes(erasure: Erasure, rows: list[int], now: datetime) -> int:
    """The sessions of groups go on: in them the person's scope was only who spoke last."""
    _execute("UPDATE sessions_app_session SET user_scope_id = NULL WHERE user_scope_id = ANY(%s)", rows)
    _execute("UPDATE memories_refusedfact SET scope_id = NULL WHERE scope_id = ANY(%s)", rows)
    return _plainly("memories_scope")(erasure, rows, now)


def _with_history(table: str) -> Remove:
    """Of rows whose history tells of the person as well; some may be gone, and their history is not."""

    def remove(erasure: Erasure, rows: list[int], now: datetime) -> int:
        count = _plainly(table)(erasure, rows, now)
        forget_history(erasure.workspace_id, table, rows)
        return count

    return remove


#: By table, in this order: what hangs on something goes before it.
_REMOVE: Mapping[str, Remove] = {
    "memories_bufferedturn": _buffered,
    "memories_batchchange": _plans,
    "memories_refusedfact": _plainly("memories_refusedfact"),
    "memories_recalltrace": _plainly("memories_recalltrace"),
    "memories_pinnedtest": _pinned,
    "memories_webhookdelivery": _plainly("memories_webhookdelivery"),
    "memories_entry": _entries,
    "memories_dailyevent": _days,
    "memories_batch": _batches,
    "memories_filestate": _plainly("memories_filestate"),
    "sessions_app_flush": _flushes,
    "sessions_app_sessionevent": _events,
    "sessions_app_session": _sessions,
    "memories_scope": _scopes,
    "channels_app_consent": _with_history("channels_app_consent"),
    "channels_app_identity": _with_history("channels_app_identity"),
    "channels_app_person": _with_history("channels_app_person"),
}
