"""Recalls read from servers that follow the database, as long as these have what the asker wrote last (D9).

Who writes notes how far the log of the database has come (`note_write`), in a table every host sees; it says neither
who nor what. A reader asks the database for the note of its workspace, and a replica how far it has replayed the log,
on the connection it is then read by: a replica that is behind the note, or behind the database by more than
REPLICA_SECONDS, is not read. Notes are not logged, and gone after a crash and on a replica that was promoted: where the
database may be another one than before, a replica has to have all of its log first (`_floor`).

While a call reads from a replica, Django's `default` is a connection to it, in a transaction that only reads and has
the wall of the call's workspace. What is written beside is done by `aside`; what a replica cannot do raises
NeedsPrimary, and the call begins again without.

Where the database is away a replica answers alone, however far behind: a call is told so (`Reading.is_stale`).
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import psycopg
import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from psycopg.errors import QueryCanceled

from memories import postgresql
from memories.conf import conf
from memories.offline import database
from memories.offline.open_connections import PRIMARY, Connections, EndableConnection
from memories.offline.postgresql.base import ReplicaWrapper
from memories.tenancy import row_level_security

log = structlog.get_logger(__name__)

#: Workspaces share so many notes: one that shares with a busy one asks the database more often.
BUCKETS = 4_096
#: The note of writes that are of no one workspace; everybody minds it.
OF_ALL = -1
#: Between two samples of how far the log has come.
_SAMPLE_SECONDS = 0.25
_NOTE = """
    INSERT INTO memories_writeposition AS noted (bucket, position)
    VALUES (%s, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'))
    ON CONFLICT (bucket) DO UPDATE SET position = greatest(noted.position, excluded.position)
"""
_WRITTEN = """
    SELECT coalesce((SELECT max(position) FROM memories_writeposition WHERE bucket IN (%s, %s)), 0),
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, pg_postmaster_start_time()
"""
#: What is asked first in each transaction on a replica; it sets the wall, too.
_REPLAYED = """
    SELECT set_config('transaction_read_only', 'on', true), set_config(%s, %s, true), pg_is_in_recovery(),
        coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::bigint,
        coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())
"""
_PULSE = b"SELECT true"


T = TypeVar("T")
#: Why a replica is passed over that is well.
UNREAD = "unread"


class NeedsPrimary(Exception):
    """A replica cannot do this; raised before anything is written."""


@dataclass(frozen=True)
class Reading:
    """What a call reads from."""

    primary: Any  # Django's connection to the database itself
    replayed_at: datetime  # the time of the last transaction the replica has
    is_stale: bool = False  # the database is away: this is what was known then


_reading: ContextVar[Reading | None] = ContextVar("the replica this call reads from", default=None)


class Replica:
    """One of the addresses; behind it may be several servers."""

    def __init__(self, number: int, settings_dict: dict[str, Any]) -> None:
        self.number, self.server, self._pools = number, Connections(), dict[str, Any]()
        PRIMARY.others.append(self.server)
        self._left_out_until, self._why = 0.0, ""
        options = dict(settings_dict["OPTIONS"])
        if pool := options.get("pool"):
            kind = type("ReplicaConnection", (EndableConnection,), {"server": self.server})
            options["pool"] = {**pool, "connection_class": kind}
        self._settings = settings_dict | {"OPTIONS": options}

    def wrapper(self) -> ReplicaWrapper:
        """A connection of Django's, not yet made."""
        defaults = connections[DEFAULT_DB_ALIAS].settings_dict
        return ReplicaWrapper({**defaults, **self._settings}, self.server, self._pools)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Those of a connection of one's own, past the pool."""
        parameters = self.wrapper().get_connection_params()
        return parameters | {"connect_timeout": database.CONNECT_SECONDS, "autocommit": True}

    @property
    def is_left_out(self) -> bool:
        """Whether it was not to be used a moment ago."""
        return self.server.are_refused() or time.monotonic() < self._left_out_until

    def leave_out(self, why: str) -> None:
        """Do not ask it again for a second."""
        if why != self._why:
            log.warning("replica.left_out", replica=self.number, why=why)
        self._why = why
        self._left_out_until = time.monotonic() + database.PROBE_SECONDS

    def note_read(self) -> None:
        """It was read."""
        if self._why:
            log.info("replica.back", replica=self.number)
        self._why = ""


@cache
def _replicas() -> tuple[Replica, ...]:
    return tuple(Replica(number, address) for number, address in enumerate(settings.DATABASE_REPLICAS, start=1))


def are_there() -> bool:
    """Whether calls of this process may read from a replica."""
    return bool(settings.DATABASE_REPLICAS)


# -- what was written


def note_write(workspace_id: int | None) -> None:
    """Note that something of a workspace was committed, or of any; who reads after this returns finds it."""
    if settings.HAS_REPLICAS:
        with postgresql.cursor() as cursor:
            cursor.execute(_NOTE, [OF_ALL if workspace_id is None else workspace_id % BUCKETS])


def note_write_after_commit(workspace_id: int | None) -> None:
    """The same, by a process that answers no calls, once its transaction is committed."""
    if settings.HAS_REPLICAS and settings.PROCESS != "web":  # a call notes at its end
        transaction.on_commit(partial(note_write, workspace_id), robust=True)


@dataclass(frozen=True)
class _Written:
    """How far the log had come when a workspace wrote last, and has come now."""

    noted: int
    now: int


class _Primary:
    """What this process knows of the database: since when it may be another one, and how far its log was when."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: object = None
        self._floor = 0
        self._samples: deque[tuple[float, int]] = deque()

    def written(self, workspace_id: int) -> _Written:
        """Asks the database."""
        generation = database.generation
        ((noted, now, began),) = postgresql.rows(_WRITTEN, [OF_ALL, workspace_id % BUCKETS])
        with self._lock:
            if (generation, began) != self._server:
                self._server, self._floor = (generation, began), now
                self._samples.clear()
            moment = time.monotonic()
            if not self._samples or moment - self._samples[-1][0] >= _SAMPLE_SECONDS:
                self._samples.append((moment, now))
            oldest = moment - conf.REPLICA_SECONDS
            while self._samples and self._samples[0][0] < oldest:
                self._samples.popleft()
            return _Written(max(noted, self._floor), now)

    def is_recent(self, position: int) -> bool:
        """Whether the log had come no further than this within REPLICA_SECONDS, as far as this process knows."""
        with self._lock:
            return bool(self._samples) and position >= self._samples[0][1]


_primary = _Primary()


# -- reading


def reading() -> Reading | None:
    """What this call reads from; None: from the database itself."""
    return _reading.get()


def is_stale() -> bool:
    """Whether this call is answered by a replica because the database is away."""
    now = _reading.get()
    return now is not None and now.is_stale


def need_primary() -> None:
    """Raises NeedsPrimary where this call reads from a replica."""
    if _reading.get() is not None:
        raise NeedsPrimary


def aside(write: Callable[[], T]) -> T | None:
    """Write to the database in the middle of a call that reads from a replica; None where it is known to be away.

    Raises NeedsPrimary where it has gone just now: the call begins again, and says so.
    """
    now = _reading.get()
    if now is None:
        return write()
    if now.is_stale:
        return None
    token, replica = _reading.set(None), connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = now.primary
    try:
        return write()
    except database.ERRORS as error:
        if not database.is_lost(error):
            raise
        raise NeedsPrimary from error
    finally:
        connections[DEFAULT_DB_ALIAS] = replica
        _reading.reset(token)


@contextmanager
def fresh(workspace_id: int) -> Iterator[Reading | None]:
    """Read from a replica that has all this workspace has written; None: there is no such one.

    Raises NeedsPrimary where the replica fails in the middle.
    """
    positions = _primary.written(workspace_id)

    def is_fresh(is_follower: bool, position: int) -> str:
        if not is_follower:
            return "follows nobody"
        if position < positions.now and not _primary.is_recent(position):
            return "behind"
        return "" if position >= positions.noted else UNREAD

    with _read(workspace_id, is_fresh) as now:
        yield now


@contextmanager
def stale(workspace_id: int | None) -> Iterator[Reading]:
    """Read from a replica, as it is. Raises NeedsPrimary where none is to be had, and as `fresh` does."""
    with _read(workspace_id, lambda _is_follower, _position: "", is_stale=True) as now:
        if now is None:
            raise NeedsPrimary
        yield now


def workspace_of_key(digest: str) -> int | None:
    """The workspace of a key, as a replica knows it. Raises NeedsPrimary."""
    with stale(None), connection.cursor() as cursor:
        cursor.execute("SELECT memplatform_workspace_of_key(%s)", [digest])
        (workspace_id,) = cursor.fetchone()
    return None if workspace_id is None else int(workspace_id)


Refuses = Callable[[bool, int], str]


@contextmanager
def _read(workspace_id: int | None, refuses: Refuses, *, is_stale: bool = False) -> Iterator[Reading | None]:
    """Read from the first replica, in any order, that is not refused."""
    everyone, primary = _replicas(), connections[DEFAULT_DB_ALIAS]
    for replica in sorted(random.sample(everyone, len(everyone)), key=lambda each: each.is_left_out):
        with ExitStack() as attempt:
            if replica.server.are_refused() or (replica.is_left_out and not is_stale):
                continue
            try:
                follows, position, replayed_at = attempt.enter_context(_begun(replica, workspace_id))
            except database.ERRORS as error:
                replica.leave_out(type(error.__cause__ or error).__name__)
                continue
            if why := refuses(follows, position):
                if why != UNREAD:
                    replica.leave_out(why)
                continue
            replica.note_read()
            stack = attempt.pop_all()
        break
    else:
        yield None
        return
    try:
        with stack:
            now = Reading(primary, replayed_at, is_stale)
            token = _reading.set(now)
            try:
                yield now
            finally:
                _reading.reset(token)
    except database.ERRORS as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise
        if database.is_lost(error):
            replica.leave_out(type(error.__cause__ or error).__name__)
        raise NeedsPrimary from error


@contextmanager
def _begun(replica: Replica, workspace_id: int | None) -> Iterator[tuple[bool, int, datetime]]:
    """Django's connection is one to a replica, in a transaction inside the wall of a workspace.

    Whether the replica follows anybody, how far it has come, and until when.
    """
    wall = row_level_security.wall_of([] if workspace_id is None else [workspace_id])
    own, primary = replica.wrapper(), connections[DEFAULT_DB_ALIAS]
    own.execute_wrappers = primary.execute_wrappers  # the call's limits and traces
    with ExitStack() as stack:
        stack.callback(own.close)
        if postgresql.is_pooled():
            stack.enter_context(postgresql.putting_settings(wall))
        connections[DEFAULT_DB_ALIAS] = own
        stack.callback(connections.__setitem__, DEFAULT_DB_ALIAS, primary)
        stack.enter_context(transaction.atomic())
        with own.cursor() as cursor:
            cursor.execute(_REPLAYED, [name_and_text for pair in wall.items() for name_and_text in pair])
            _read_only, _wall, follows, position, replayed_at = cursor.fetchone()
        yield follows, position, replayed_at


# -- watching


def watch() -> None:
    """Watch the replicas until the process ends, a thread each: no call waits for one that is silent."""
    for replica in _replicas():
        threading.Thread(
            target=_watch_for_ever, args=(replica,), name=f"watch of replica {replica.number}", daemon=True
        ).start()


def _watch_for_ever(replica: Replica) -> None:
    while True:
        try:
            own: psycopg.Connection[Any] = psycopg.connect(**replica.parameters)
        except psycopg.Error:
            replica.leave_out("away")
            replica.server.end_all()
            time.sleep(database.PROBE_SECONDS)
            continue
        with closing(own):
            while (seconds := database.pulse_of(own, _PULSE, replica.server.end_all)) is not None:
                if seconds < database.SLOW_SECONDS:
                    replica.server.admit()
                time.sleep(database.PULSE_SECONDS)
        replica.server.end_all()  # it has ended, or is silent
