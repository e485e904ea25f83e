# ruff: noqa: S608 (names of tables)
"""Removing what was found, a few hundred rows a transaction: after a kill the rest is still written down."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Model

from memories.entries import erase, evidence
from memories.entries.locks import lock_scopes
from memories.index import scope_statistics
from memories.models import Batch, BatchChange, BufferedTurn, DailyEvent, Entry, Erasure, Recorded, Scope
from memories.models.change import acting, forget_history
from memories.models.table import Fate, children_first, tables
from memplatform.erasure import collect
from sessions_app.models import Flush, Session, SessionEvent

CHUNK = 500


def in_order() -> list[type[Model]]:
    """The tables rows are removed from.

    Entries go before messages: by the messages an erasure that goes on tells what others said too.
    """
    return children_first(model for model, table in tables() if table.fate in (Fate.REMOVED, Fate.CLEARED))


def remove_all(erasure: Erasure, *, now: datetime) -> None:
    """Remove every row that was found and is still there; counts are kept with each transaction."""
    for model in in_order():
        table = model._meta.db_table
        while rows := collect.take(erasure, table, CHUNK):
            with transaction.atomic(), acting(erasure.actor):
                count = STEPS[model](erasure, rows, now) if model in STEPS else _plainly(model, erasure, rows)
                collect.done(erasure, table, rows)
                add(erasure, table, count)


def add(erasure: Erasure, name: str, count: int) -> None:
    """Count what was removed."""
    erasure.counts = {**erasure.counts, name: erasure.counts.get(name, 0) + count}
    erasure.save(update_fields=["counts"])


def _execute(statement: str, *values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def _plainly(model: type[Model], erasure: Erasure, rows: list[int]) -> int:
    """Remove rows on which nothing else hangs, or what does goes along; the history of some outlived them."""
    table = model._meta.db_table
    count = _execute(f"DELETE FROM {table} WHERE workspace_id = %s AND id = ANY(%s)", erasure.workspace_id, rows)
    if issubclass(model, Recorded):
        forget_history(erasure.workspace_id, table, rows)
    return count


def _entries(erasure: Erasure, rows: list[int], now: datetime) -> int:
    scopes = Scope.objects.filter(pk__in=Entry.objects.filter(pk__in=rows).values("scope_id"))
    for scope in lock_scopes(scopes, frozen_too=True).values():
        scope_statistics.raise_version(scope)
    return erase.erase_entries(erasure.workspace_id, rows, now=now)


def _days(erasure: Erasure, rows: list[int], now: datetime) -> int:
    return erase.erase_days(erasure.workspace_id, rows, now=now)


def _buffered(erasure: Erasure, rows: list[int], now: datetime) -> int:
    """With what waits beside them no longer than it has to: an extraction batch that is empty goes."""
    count = _plainly(BufferedTurn, erasure, rows)
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
    return _plainly(Batch, erasure, rows)


def _flushes(erasure: Erasure, rows: list[int], now: datetime) -> int:
    return _execute(
        "UPDATE sessions_app_flush SET goes_on_with = '' WHERE workspace_id = %s AND id = ANY(%s)",
        erasure.workspace_id,
        rows,
    )


def _events(erasure: Erasure, rows: list[int], now: datetime) -> int:
    events = SessionEvent.objects.filter(workspace_id=erasure.workspace_id, pk__in=rows).select_related("session")
    if origins := [event.session.origin_of(event) for event in events]:
        evidence.forget(erasure.workspace_id, origins)
    return _plainly(SessionEvent, erasure, rows)


def _sessions(erasure: Erasure, rows: list[int], now: datetime) -> int:
    _execute(
        "DELETE FROM sessions_app_flush WHERE workspace_id = %s AND session_id = ANY(%s)", erasure.workspace_id, rows
    )
    return _plainly(Session, erasure, rows)


def _scopes(erasure: Erasure, rows: list[int], now: datetime) -> int:
    """The sessions of groups go on: in them the person's scope was only who spoke last."""
    _execute("UPDATE sessions_app_session SET user_scope_id = NULL WHERE user_scope_id = ANY(%s)", rows)
    _execute("UPDATE memories_refusedfact SET scope_id = NULL WHERE scope_id = ANY(%s)", rows)
    return _plainly(Scope, erasure, rows)


#: How rows go that are not simply removed; every table whose words are cleared is here.
STEPS: Mapping[type[Model], Callable[[Erasure, list[int], datetime], int]] = {
    BufferedTurn: _buffered,
    BatchChange: _plans,
    Entry: _entries,
    DailyEvent: _days,
    Batch: _batches,
    Flush: _flushes,
    SessionEvent: _events,
    Session: _sessions,
    Scope: _scopes,
}
