"""Whether the database is away: found out by one thread, so that no request waits for it (C11).

A web process watches a connection of its own, which ends the moment the server does, and asks it something twice a
second: a server that hangs ends nothing and refuses nothing, it is silent. Only that connection is asked, so that a
statement may take its time. Where nothing watches, a call that has lost its connection says so, and the first call of
each second after that asks again.
"""

import contextlib
import os
import selectors
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

import psycopg
import structlog
from django.db import InterfaceError, InternalError, OperationalError, connection, connections
from psycopg.errors import DiskFull
from psycopg.pq import ConnStatus, ExecStatus
from psycopg_pool import PoolTimeout

from memories.offline.open_connections import PRIMARY
from memories.tenancy import row_level_security

log = structlog.get_logger(__name__)

#: Between two questions whether it is back.
PROBE_SECONDS = 1.0
#: What a connection may take to be made: by the watch, and by whoever uses one (memplatform.settings).
CONNECT_SECONDS = 2
#: Between two questions whether it is still there; when it is slow, so that what a replica can answer does not wait for
#: it; and how long it may leave a question unanswered. Together, with the answer from files, less than two seconds.
PULSE_SECONDS, SLOW_SECONDS, SILENCE_SECONDS = 0.4, 0.3, 1.2
#: SQLSTATEs that end a connection: its class of errors, and a server that stops, has crashed or does not serve yet.
_LOST_CLASS, _LOST = "08", {"57P01", "57P02", "57P03"}
#: That of a server which takes no writes: a former primary is as good as away.
_TAKES_NO_WRITES = "25006"
#: Whether the server takes writes; it is asked of the watched connection.
_QUESTION = b"SELECT NOT (pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean)"
#: Errors among which are those of a connection that is lost (`is_lost`).
ERRORS = (OperationalError, InterfaceError, InternalError, PoolTimeout)

_away = threading.Event()
_asking = threading.Lock()
_next_probe = 0.0
#: How often this process has begun to watch a connection anew: the server may be another one since, or have crashed.
generation = 0
_wake: int | None = None  # where the watch is woken to look again; None: nothing watches
#: The transaction in which this call has begun to write, for a commit that nobody hears of.
transaction_of_call: ContextVar["Transaction | None"] = ContextVar("the transaction of this call", default=None)


@dataclass(frozen=True)
class Transaction:
    """A transaction that writes to a session."""

    number: str
    platform: str
    account: str
    session_key: str


def is_away() -> bool:
    """Whether the database does not answer, or too slowly for this call; never waits for it to."""
    if _away.is_set() and _wake is None:
        _ask_again()
    return _away.is_set() or PRIMARY.are_refused()


def is_lost(error: BaseException) -> bool:
    """Whether an error says that there is no connection any more, or none to be had."""
    if isinstance(error, PoolTimeout | InterfaceError):
        return True
    if isinstance(error, InternalError):
        return getattr(error.__cause__, "sqlstate", None) == _TAKES_NO_WRITES
    if not isinstance(error, OperationalError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    if state is None:
        return isinstance(error.__cause__, psycopg.OperationalError | PoolTimeout)
    return state.startswith(_LOST_CLASS) or state in _LOST


def is_disk_full(error: BaseException) -> bool:
    """Whether an error says that the database has no room to write: it reads all the same."""
    return isinstance(error, OperationalError) and isinstance(error.__cause__, DiskFull)


def suspect() -> None:
    """Take the database for away, until it has answered; a connection was lost, and not ended from here."""
    if PRIMARY.are_refused():
        return
    if not _away.is_set():
        log.warning("database.away")
    _away.set()
    if _wake is not None:
        os.write(_wake, b"?")


def let_go() -> None:
    """Give up this thread's connection, which is broken, so that nothing waits for another one."""
    suspect()
    row_level_security.forget()
    if connection.in_atomic_block:
        return
    if connection.connection is not None:
        connection.connection.close()  # so that the pool does not keep it, wall and all
    connection.close()


def watch(when_back: Callable[[], None]) -> None:
    """Watch the database until the process ends, from a thread of its own; `when_back` is called when it was away."""
    global _wake  # noqa: PLW0603 (one watch a process)
    if (own := _own_connection()) is None:
        _lose()  # before the first call asks for it
    ear, _wake = os.pipe()
    threading.Thread(target=_watch_for_ever, args=(ear, own, when_back), name="database watch", daemon=True).start()


def _watch_for_ever(ear: int, own: psycopg.Connection | None, when_back: Callable[[], None]) -> None:
    while True:
        if own is None:
            _lose()
            time.sleep(PROBE_SECONDS)
        else:
            with contextlib.closing(own):
                if not _watch_while_it_answers(own, ear, when_back):
                    return
        patience = threading.Timer(SILENCE_SECONDS, _lose)  # a proxy may take longer to refuse
        patience.start()
        own = _own_connection()
        patience.cancel()


def _lose() -> None:
    """It is away: no call waits any longer for an answer, or for a connection."""
    if not _away.is_set():
        log.warning("database.away")
        _away.set()
    PRIMARY.end_all()
    connections["default"].close_pool()  # type: ignore[attr-defined]


def _watch_while_it_answers(own: psycopg.Connection, ear: int, when_back: Callable[[], None]) -> bool:
    """Return when the connection has ended or is silent; asked to look, it looks. False: nobody will ask any more."""
    with selectors.DefaultSelector() as selector:
        selector.register(own.fileno(), selectors.EVENT_READ)
        selector.register(ear, selectors.EVENT_READ)
        while (seconds := pulse_of(own, _QUESTION, PRIMARY.spare, _lose)) is not None:
            if _mark_answering():
                when_back()
            if seconds < SLOW_SECONDS:
                PRIMARY.admit()
            for key, _events in selector.select(PULSE_SECONDS):
                if key.fd == ear and not os.read(ear, 4_096):
                    return False
    return True  # one that has ended may be had anew


def pulse_of(own: psycopg.Connection, question: bytes, *notices: Callable[[], None]) -> float | None:
    """The seconds a server takes to answer a question by yes; None where it does not within SILENCE_SECONDS.

    The first of `notices` is called when it is slow, the second when it is silent.
    """
    begun, server, is_yes = time.monotonic(), own.pgconn, False
    with selectors.DefaultSelector() as selector, contextlib.suppress(psycopg.Error):
        selector.register(server.socket, selectors.EVENT_READ)
        server.send_query(question)
        for number, seconds in enumerate((SLOW_SECONDS, SILENCE_SECONDS)):
            seconds_left = seconds
            while seconds_left > 0:
                seconds_left = begun + seconds - time.monotonic()
                selector.select(max(seconds_left, 0))
                server.consume_input()  # what came while this process slept is read before anybody is told
                while not server.is_busy():
                    if (result := server.get_result()) is None:
                        return time.monotonic() - begun if server.status == ConnStatus.OK and is_yes else None
                    is_yes = result.status == ExecStatus.TUPLES_OK and result.get_value(0, 0) == b"t"
            for notice in notices[number : number + 1]:
                notice()
    return None


def _ask_again() -> None:
    """Ask whether it is back, at most once every PROBE_SECONDS and by one thread; the others go on without it."""
    global _next_probe  # noqa: PLW0603 (threads of this process)
    with _asking:
        if time.monotonic() < _next_probe:
            return
        _next_probe = time.monotonic() + PROBE_SECONDS
    if own := _own_connection():
        own.close()
        _mark_answering()


def _own_connection() -> psycopg.Connection | None:
    """A connection of one's own, past the pool; None when there is none to be had, or it leads to what only follows."""
    global generation  # noqa: PLW0603 (one watch a process)
    try:
        parameters = connections["default"].get_connection_params()
        own = psycopg.connect(**parameters | {"connect_timeout": CONNECT_SECONDS, "autocommit": True})
    except psycopg.Error:
        return None
    if pulse_of(own, _QUESTION) is None:
        own.close()
        return None
    generation += 1
    return own


def _mark_answering() -> bool:
    """It answers; whether it was away. The pool begins anew: it holds what is broken, and would not try for long."""
    if not _away.is_set():
        return False
    connections["default"].close_pool()  # type: ignore[attr-defined]
    PRIMARY.admit()
    _away.clear()
    log.info("database.back")
    return True
