"""A PostgreSQL behind a pooler that lends a connection for one transaction: nothing of a session may be left on it.

What is set for a session otherwise, the wall and the actor of a request, the role of the web, its longest statement,
goes here with each transaction, in the message that brings its first statement: no round trip more. It ends with it,
so that the next transaction on the same connection, somebody else's, begins without any.

`direct` leads past the pooler, for what has to stay on one connection: locks of a session, and waiting for notices.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import Cursor
from psycopg import Connection, Copy
from psycopg.pq import TransactionStatus

DIRECT = "direct"
#: The settings of every transaction of this call, by name: texts.
_settings: ContextVar[Mapping[str, str]] = ContextVar("what each transaction is told", default=MappingProxyType({}))


def is_on() -> bool:
    """Whether this process reaches the database through such a pooler."""
    return bool(settings.DATABASE_IS_POOLED)


def put(values: Mapping[str, str]) -> None:
    """Set these for every transaction of this call, from the next statement on."""
    _settings.set({**_settings.get(), **values})


def remove(*names: str) -> None:
    """Set these no more."""
    if not _settings.get().keys().isdisjoint(names):
        _settings.set({name: text for name, text in _settings.get().items() if name not in names})


@contextmanager
def putting(values: Mapping[str, str]) -> Iterator[None]:
    """The same for as long as the block lasts."""
    before = _settings.set({**_settings.get(), **values})
    try:
        yield
    finally:
        _settings.reset(before)


def direct() -> BaseDatabaseWrapper:
    """The connection of this thread that is the same from one transaction to the next: for LISTEN."""
    return connections[DIRECT] if is_on() else connection


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
    if not is_on():
        yield connection
        return
    own = connections[DIRECT].copy()
    try:
        yield own
    finally:
        own.close()


def _quoted(text: str) -> str:
    return "'" + text.replace("\0", "").replace("'", "''") + "'"


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
        if query.query and (statements := self._missing()):  # an empty one asks whether anybody is there
            query.query = b"".join(statements) + query.query
            self._dropped = len(statements)
            if self._pgconn.transaction_status == TransactionStatus.INTRANS:
                _begun_with(self._conn)[:] = statements
        elif query.query.startswith(b"ROLLBACK TO"):
            _begun_with(self._conn).clear()  # what was set since then is as it was
        super()._execute_send(query, **options)

    def _set_results(self, results: Sequence[Any]) -> None:
        super()._set_results(results[self._dropped :])

    def _missing(self) -> list[bytes]:
        if self._pgconn.transaction_status == TransactionStatus.INERROR:
            return []  # nothing is heard but its end
        # What each transaction begins with. A SET reads nothing: it may stand before the choice of an isolation level.
        wanted = {**settings.DATABASE_TRANSACTION_SETTINGS, **_settings.get()}
        statements = [f"SET LOCAL {name} = {_quoted(text)}; ".encode() for name, text in wanted.items()]
        return [] if _begun_with(self._conn) == statements else statements

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
