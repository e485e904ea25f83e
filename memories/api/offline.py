"""Answering a call without the database (C11, A4): when, and what the call is given for it.

A call that can do so names its handler: `@Method(…, offline=answer)`, where `answer(call, outage, **path)` uses files
and the journal and no database. It is asked when the key was admitted from the cache, the database being away; when the
workspace's database path is switched off; when the usual handler raises `LeaveToFiles`; and when it loses its
connection. `call.body`, `call.query`, `call.caller` (with `folder`) and `call.now` are as usual. `outage.degraded` goes
into the answer as it is. A write hands `outage` on to the journal: it knows the Idempotency-Key, and the transaction
whose end nobody heard. A call without such a handler is answered 503 while the database is away.
"""

import errno
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api import idempotency
from memories.api.requests import DatabaseAway, DiskIsFull
from memories.conf import conf
from memories.models import BotKey
from memories.offline import DATABASE, FILES, LeaveToFiles, NotKnown, database
from memories.offline.database import Transaction
from memories.tenancy.access import Caller

log = structlog.get_logger(__name__)
Handler = Callable[..., Response]
#: A journal, or files, that cannot be written are no less away than the database; and some things only it can tell.
_UNREACHABLE = (OSError, NotKnown)
FULL = (errno.ENOSPC, errno.EDQUOT)


class StreamEmptied(Exception):
    """Nothing waits in the journal any more: the database can take this call."""


@dataclass(frozen=True)
class Outage:
    """Why a call is answered without the database, and what a write needs so that it is done once."""

    degraded: list[str]
    has_database: bool = False  # it is there, and the files answer by choice, or the journal holds earlier calls
    only_if_pending: bool = False  # a write goes into the journal behind others, and not alone (StreamEmptied)
    transaction: Transaction | None = None  # that had begun to write it when the connection was lost
    repeat: idempotency.Repeat | None = None  # its Idempotency-Key


def is_switched_off(caller: Caller) -> bool:
    """Whether the files answer although the database is there: for the whole platform, or for a workspace."""
    return not (conf.ENABLED and caller.uses_database)


def either(handler: Handler, offline: Handler, prepare: Callable[[Any, Request], None]) -> Handler:
    """The usual handler of a method, and the other one where it cannot answer; `prepare` reads the body again."""

    def instead(call: Any, request: Request, outage: Outage, path: dict[str, Any]) -> Response:
        prepare(call, request)
        try:
            return offline(call, replace(outage, repeat=idempotency.repeat_of(request)), **path)
        except _UNREACHABLE as problem:
            log.warning("offline.failed", problem=type(problem).__name__, detail=str(problem))
            raise (DiskIsFull if getattr(problem, "errno", None) in FULL else DatabaseAway) from problem

    @wraps(handler)
    def answer(call: Any, request: Request, **path: Any) -> Response:
        if is_from_cache(request) or database.is_away():
            return instead(call, request, Outage([DATABASE]), path)
        database.begin_call()
        for is_last in (False, False, True):
            try:
                if is_switched_off(call.caller):
                    return instead(call, request, Outage([FILES], has_database=True), path)
                return handler(call, request, **path)
            except LeaveToFiles as left:
                outage = Outage([left.degraded], has_database=True, only_if_pending=left.is_pending and not is_last)
            except (OperationalError, InterfaceError, PoolTimeout) as error:
                outage = _after(error)
            try:
                return instead(call, request, outage, path)
            except StreamEmptied:
                continue
            except (OperationalError, InterfaceError, PoolTimeout) as error:
                return instead(call, request, _after(error), path)
        raise DatabaseAway

    return answer


def _after(error: Exception) -> Outage:
    """The outage of a connection that was lost; any other error of the database is raised again."""
    if not database.is_lost(error):
        raise error
    outage = Outage([DATABASE], transaction=database.transaction_of_call())
    database.let_go()
    return outage


def is_from_cache(request: Request) -> bool:
    """Whether the key of a request was admitted while the database was away."""
    return isinstance(request.auth, BotKey) and request.auth.is_from_cache
