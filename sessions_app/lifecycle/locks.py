"""The lock of a session: an advisory lock with a bounded wait and a bounded number of waiters (B7).

It lasts until the transaction ends. Nothing but SQL happens under it, so that this is never long.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable

from memories import prepared
from memories.conf import conf
from memories.exceptions import SessionBusy
from memories.offline import database
from sessions_app.models import Session

#: Advisory locks are told apart by their highest byte.
SESSION_LOCK = 2 << 56
_BITS = (1 << 56) - 1

_counting = threading.Lock()
_waiting = 0


def acquire_lock(workspace_id: int, platform: str, account: str, key: str) -> None:
    """Lock a session, which need not exist yet, until the transaction ends.

    Waits in the order of arrival, SESSION_WAIT at most; not at all where SESSION_WAITERS threads of this process wait
    already. Raises SessionBusy.
    """
    named = "\0".join([str(workspace_id), platform, account, key]).encode()
    # sessions that share a number only wait for each other
    number = SESSION_LOCK | int.from_bytes(hashlib.blake2b(named, digest_size=8).digest()) & _BITS
    with prepared.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s), pg_current_xact_id()::text", [number])
        is_locked, transaction = cursor.fetchone()
        database.note_transaction(database.Transaction(transaction, platform, account, key))
        if is_locked:
            return
        with _waiter_slot(), _lock_timeout(cursor):
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


def lock_session(session: Session) -> None:
    """Lock a session that exists, and read it again. Raises SessionBusy."""
    acquire_lock(session.workspace_id, session.platform, session.account, session.key)
    session.refresh_from_db()


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
def _lock_timeout(cursor: CursorWrapper) -> Iterator[None]:
    """SESSION_WAIT as the lock timeout of one statement. Raises SessionBusy."""
    cursor.execute("SELECT current_setting('lock_timeout')")
    before = cursor.fetchone()[0]
    limit = f"{int(conf.SESSION_WAIT.total_seconds() * 1000)}"
    cursor.execute("SELECT set_config('lock_timeout', %s, true)", [limit])
    try:
        yield
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise SessionBusy from error
        raise
    cursor.execute("SELECT set_config('lock_timeout', %s, true)", [before])
