"""How statements reach PostgreSQL: those of every turn planned once a connection, and what goes through a pooler.

A plan that does not depend on how large a scope is takes PostgreSQL longer to make than to run, and Django longer than
that to write down. Recalls stay out of this: each is planned for its own scope.

A pooler lends a connection for one transaction: nothing of a session may be left on it. What is set for a session
otherwise, the wall and the actor of a request, the role of the web, its longest statement, goes here with each
transaction, in the message that brings its first statement: no round trip more. It ends with it, so that the next
transaction on the same connection, somebody else's, begins without any. `direct` leads past the pooler, for what has to
stay on one connection: locks of a session, and waiting for notices.
"""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import Cursor
from django.db.backends.utils import CursorWrapper
from psycopg import Connection, Copy
from psycopg.pq import TransactionStatus

DIRECT = "direct"
#: The settings of every transaction of this call, by name: texts.
_settings: ContextVar[Mapping[str, str]] = ContextVar("what each transaction is told", default=MappingProxyType({}))


def is_pooled() -> bool:
    """Whether this process reaches the database through such a pooler."""
    return bool(settings.DATABASE_IS_POOLED)


def put_settings(values: Mapping[str, str]) -> None:
    """Set these for every transaction of this call, from the next statement on."""
    _settings.set({**_settings.get(), **values})


def remove_settings(*names: str) -> None:
    """Set these no more."""
    if not _settings.get().keys().isdisjoint(names):
        _settings.set({name: text for name, text in _settings.get().items() if name not in names})


@contextmanager
def putting_settings(values: Mapping[str, str]) -> Iterator[None]:
    """The same for as long as the block lasts."""
    before = _settings.set({**_settings.get(), **values})
    try:
        yield
    finally:
        _settings.reset(before)


def direct() -> BaseDatabaseWrapper:
    """The connection of this thread that is the same from one transaction to the next: for LISTEN."""
    return connections[DIRECT] if is_pooled() else connection


@contextmanager
def lock_of_session(number: int) -> Iterator[bool]:
    """Take an advisory lock across transactions, if it is free; yields whether it was. A killed process has none."""
    with session() as its_own:
        with its_own.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
            (is_mine,) = cursor.fetchone()
        try:
            yield is_mine
        finally:
            if is_mine:
                with its_own.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_unlock(%s)", [number])


@contextmanager
def session() -> Iterator[BaseDatabaseWrapper]:
    """A connection that stays one from one transaction to the next, closed with the block; without a pooler the one
    there is.
    """
    if not is_pooled():
        yield connection
        return
    own = connections[DIRECT].copy()
    try:
        yield own
    finally:
        own.close()


_Cursor: Any = Cursor  # Django's, of whose parents its types know nothing


class PooledCursor(_Cursor):  # type: ignore[misc]
    """Begins each transaction with its settings, and each statement outside of one, which is one by itself."""

    _dropped = 0  # results of settings, before those of the statement

    def _start_query(self, query: Any = None) -> Generator[Any, Any, None]:
        if self._pgconn.transaction_status == TransactionStatus.IDLE:
            _begun_with(self._conn).clear()
        yield from super()._start_query(query)

    def _execute_send(self, query: Any, **options: Any) -> None:
        self._dropped = 0
        statements: list[bytes] = []
        # An empty query asks whether anybody is there; after an error nothing is heard but its end
        if query.query and self._pgconn.transaction_status != TransactionStatus.INERROR:
            # What each transaction begins with. A SET reads nothing: it may stand before the choice of an isolation
            # level.
            local_settings = {**settings.DATABASE_TRANSACTION_SETTINGS, **_settings.get()}
            quoted = {name: text.replace("\0", "").replace("'", "''") for name, text in local_settings.items()}
            statements = [f"SET LOCAL {name} = '{text}'; ".encode() for name, text in quoted.items()]
        if statements and statements != _begun_with(self._conn):
            query.query = b"".join(statements) + query.query
            self._dropped = len(statements)
            if self._pgconn.transaction_status == TransactionStatus.INTRANS:
                _begun_with(self._conn)[:] = statements
        elif query.query.startswith(b"ROLLBACK TO"):
            _begun_with(self._conn).clear()  # what was set since then is as it was
        super()._execute_send(query, **options)

    def _set_results(self, results: Sequence[Any]) -> None:
        super()._set_results(results[self._dropped :])

    @contextmanager
    def copy(self, statement: Any, params: Any = None, **options: Any) -> Iterator[Copy]:
        """Like that of psycopg, which takes one statement at a time: the settings go before it."""
        self._conn.execute("SELECT 1")
        with super().copy(statement, params, **options) as copy:
            yield copy


def _begun_with(raw: Connection[Any]) -> list[bytes]:
    """The settings that the open transaction of a connection has begun with."""
    settings_sent: list[bytes] = raw.__dict__.setdefault("_memplatform_settings", [])
    return settings_sent


M = TypeVar("M", bound=models.Model)


class _PreparedCursor(psycopg.Cursor[Any]):
    """Sends the values beside the statement, which the server keeps; Django's own writes them into it."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_PreparedCursor":
        return super().execute(query, params, **{**options, "prepare": True})


def cursor() -> CursorWrapper:
    """A cursor like `connection.cursor()` whose statements are planned once a connection.

    Where statements are logged it is just that: the log shows them with their values. Behind a pooler it is, too: what
    is planned on one connection is not there on the next.
    """
    if connection.queries_logged or is_pooled():
        return connection.cursor()
    connection.ensure_connection()
    raw: Any = _PreparedCursor(connection.connection)
    return connection.make_cursor(raw)


def rows(statement: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """The rows of a statement that is planned once a connection."""
    with cursor() as db_cursor:
        db_cursor.execute(statement, values)
        rows: list[Any] = db_cursor.fetchall()
    return rows


@cache
def columns(model: type[models.Model], alias: str, *only: str) -> str:
    """The columns of a model as a statement selects them for `instance`: all, or those of these fields."""
    return ", ".join(f'{alias}."{field.column}"' for field in _fields(model, only))


def instance(model: type[M], row: Sequence[Any], *only: str) -> M:
    """A stored row as an instance, of the values that `columns` selects."""
    fields = _fields(model, only)
    values = [
        (json.loads(value) if isinstance(field, models.JSONField) and value is not None else value)
        for field, value in zip(fields, row, strict=True)
    ]
    return model.from_db(DEFAULT_DB_ALIAS, [field.attname for field in fields], values)


@cache
def _fields(model: type[models.Model], only: tuple[str, ...]) -> tuple[models.Field[Any, Any], ...]:
    fields = model._meta.concrete_fields
    return tuple(field for field in fields if not only or field.name in only)
