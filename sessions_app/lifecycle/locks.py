"""The lock of a session: an advisory lock with a bounded wait and a bounded number of waiters (B7).

It lasts until the transaction ends. Nothing but SQL happens under it, so that this is never long.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable

from memories import prepared
from memories.conf import conf
from memories.exceptions import SessionBusy
from memories.models import Scope
from memories.offline import database
from sessions_app.models import Session

#: Advisory locks are told apart by their highest byte.
SESSION_LOCK = 2 << 56
_BITS = (1 << 56) - 1

_counting = threading.Lock()
_waiting = 0


#: Of the scopes of a session, what tells one from another; locked, they are read whole.
_SCOPE = ("id", "workspace", "key", "kind")
_OPEN = f"""
    SELECT o.is_locked, o.transaction, (o.session).id IS NOT NULL, u.id IS NOT NULL, c.id IS NOT NULL,
        {prepared.columns(Scope, "u", *_SCOPE)}, {prepared.columns(Scope, "c", *_SCOPE)},
        {prepared.columns(Session, "(o.session)")}
    FROM memplatform_open_session(%s::bigint, %s::bigint, %s::text, %s::text, %s::text) o
    LEFT JOIN memories_scope u ON u.id = (o.session).user_scope_id
    LEFT JOIN memories_scope c ON c.id = (o.session).chat_scope_id
"""  # noqa: S608 (names of ours)


def acquire_lock(workspace_id: int, platform: str, account: str, key: str) -> Session | None:
    """Lock a session, which need not exist yet, until the transaction ends; the session with its scopes, if it does.

    Waits in the order of arrival, SESSION_WAIT at most; not at all where SESSION_WAITERS threads of this process wait
    already. Of the scopes only what names them is read. Raises SessionBusy.
    """
    place = [workspace_id, platform, account, key]
    # sessions that share a number only wait for each other
    digest = hashlib.blake2b("\0".join(map(str, place)).encode(), digest_size=8).digest()
    number = SESSION_LOCK | int.from_bytes(digest) & _BITS
    is_locked, transaction, *stored = prepared.rows(_OPEN, [number, *place])[0]
    database.note_transaction(database.Transaction(transaction, platform, account, key))
    if not is_locked:
        with connection.cursor() as cursor, _waiter_slot(), _lock_timeout(cursor):
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])
        _is_locked, _transaction, *stored = prepared.rows(_OPEN, [number, *place])[0]
    # A session with its scopes, as `_OPEN` reads them
    exists, has_user, has_chat, *columns = stored
    if not exists:
        return None
    width = len(_SCOPE)
    user, chat, own = columns[:width], columns[width : 2 * width], columns[2 * width :]
    session = prepared.instance(Session, own)
    session.user_scope = prepared.instance(Scope, user, *_SCOPE) if has_user else None
    session.chat_scope = prepared.instance(Scope, chat, *_SCOPE) if has_chat else None
    return session


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
