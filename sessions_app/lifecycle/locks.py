"""Messages of one session one after another (B7): an advisory lock, a bounded wait, and few who wait.

Held until the transaction ends. Nothing but SQL happens under it, so that it is never held for long.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable

from memories.conf import conf
from memories.exceptions import SessionBusy
from sessions_app.models import Session

#: Advisory locks are told apart by their highest byte.
SESSION_LOCK = 2 << 56
_BITS = (1 << 56) - 1

_counting = threading.Lock()
_waiting = 0


def acquire_lock(workspace_id: int, platform: str, account: str, key: str) -> None:
    """Be the only one who writes to a session, until the transaction ends. It need not exist yet.

    Who comes while it is taken waits, in the order of arrival, SESSION_WAIT at most; where SESSION_WAITERS threads of
    this process wait already, nobody else does. Raises SessionBusy.
    """
    number = _number_of(workspace_id, platform, account, key)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
        if cursor.fetchone()[0]:
            return
        with _waiter_slot(), _lock_timeout():
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


def lock_session(session: Session) -> None:
    """The same for a session that exists, read again as it stands then. Raises SessionBusy."""
    acquire_lock(session.workspace_id, session.platform, session.account, session.key)
    session.refresh_from_db()


def _number_of(workspace_id: int, platform: str, account: str, key: str) -> int:
    """Two sessions that shared one would only wait for each other now and then."""
    named = "\0".join([str(workspace_id), platform, account, key]).encode()
    return SESSION_LOCK | int.from_bytes(hashlib.blake2b(named, digest_size=8).digest()) & _BITS


@contextmanager
def _waiter_slot() -> Iterator[None]:
    global _waiting  # noqa: PLW0603 (threads of this process)
    with _counting:
        if _waiting >= conf.SESSION_WAITERS:
            raise SessionBusy
        _waiting += 1
    try:
        yield
    finally:
        with _counting:
            _waiting -= 1


@contextmanager
def _lock_timeout() -> Iterator[None]:
    """A limit to what this statement waits for, and to nothing after it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        before = cursor.fetchone()[0]
        cursor.execute(
            "SELECT set_config('lock_timeout', %s, true)", [f"{int(conf.SESSION_WAIT.total_seconds() * 1000)}"]
        )
        try:
            yield
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise SessionBusy from error
            raise
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [before])
