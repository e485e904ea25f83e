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
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api import idempotency
from memories.api.answers import StaleAnswer
from memories.api.requests import DatabaseAway, DiskIsFull
from memories.conf import conf
from memories.offline import DATABASE, FILES, STALE, LeaveToFiles, NotCached, database, replicas
from memories.offline.database import Transaction
from memories.telemetry import count_read
from memories.tenancy.access import Caller

log = structlog.get_logger(__name__)
Handler = Callable[..., Response]
#: A journal, or files, that cannot be written are no less away than the database; and some things only it can tell.
_UNREACHABLE = (OSError, NotCached)
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


def either(
    handler: Handler, offline: Handler, prepare: Callable[[Any, Request], None], *, refused: bool = False
) -> Handler:
    """The usual handler of a method, and the other one where it cannot answer; `prepare` reads the body again.

    A write that is `refused` is no call for the journal where replicas answer what is read: they would not show it. One
    of whose transaction nobody heard the end is taken, so that it is done once.
    """

    def instead(call: Any, request: Request, outage: Outage, path: dict[str, Any]) -> Response:
        is_away = not outage.has_database and outage.transaction is None
        if refused and is_away and replicas.are_there() and not conf.JOURNAL_BESIDE_REPLICAS:
            raise DatabaseAway
        prepare(call, request)
        try:
            return offline(call, replace(outage, repeat=idempotency.repeat_of(request)), **path)
        except _UNREACHABLE as problem:
            log.warning("offline.failed", problem=type(problem).__name__, detail=str(problem))
            raise (DiskIsFull if getattr(problem, "errno", None) in FULL else DatabaseAway) from problem

    @wraps(handler)
    def answer(call: Any, request: Request, **path: Any) -> Response:
        if getattr(request.auth, "is_from_cache", False) or database.is_away():
            return instead(call, request, Outage([DATABASE]), path)
        database.transaction_of_call.set(None)
        for is_last in (False, False, True):
            try:
                if is_switched_off(call.caller):
                    return instead(call, request, Outage([FILES], has_database=True), path)
                return handler(call, request, **path)
            except LeaveToFiles as left:
                outage = Outage([left.degraded], has_database=True, only_if_pending=left.is_pending and not is_last)
            except database.ERRORS as error:
                outage = _after(error)
            try:
                return instead(call, request, outage, path)
            except StreamEmptied:
                continue
            except database.ERRORS as error:
                return instead(call, request, _after(error), path)
        raise DatabaseAway

    return answer


def _after(error: Exception) -> Outage:
    """The outage of a connection that was lost; any other error of the database is raised again."""
    if not database.is_lost(error):
        raise error
    outage = Outage([DATABASE], transaction=database.transaction_of_call.get())
    database.let_go()
    return outage


def from_replica(handler: Handler) -> Handler:
    """A method that only reads, answered from a replica where one has what its workspace wrote last."""

    @wraps(handler)
    def answer(call: Any, request: Request, **path: Any) -> Response:
        if not replicas.are_there():
            return handler(call, request, **path)
        try:
            with replicas.fresh(call.caller.workspace_id) as reading:
                if reading is not None:
                    response = handler(call, request, **path)
                    count_read("replica")
                    return response
        except replicas.NeedsPrimary as why:
            log.info("replica.passed_over", why=type(why.__cause__ or why).__name__)
        count_read("primary")
        return handler(call, request, **path)

    return answer


def stale_or(handler: Handler, offline: Handler | None) -> Handler:
    """The answer of a method while the database is away: from a replica as it is, else the other one, else none."""

    @wraps(handler)
    def answer(call: Any, outage: Outage, **path: Any) -> Response:
        if replicas.are_there() and not outage.has_database:
            try:
                with replicas.stale(call.caller.workspace_id) as reading:
                    response = handler(call, call.request, **path)
                    response["X-Memplatform-Stale"] = reading.replayed_at.isoformat()
                    if isinstance(response.data, dict):  # mem0's former searches answer a bare list
                        mark = StaleAnswer.of(stale=True, replayed_at=reading.replayed_at)
                        response.data |= mark | {"degraded": [*response.data.get("degraded", ()), STALE]}
                    count_read("stale")
                    return response
            except (replicas.NeedsPrimary, LeaveToFiles) as why:
                log.info("replica.passed_over", why=type(why.__cause__ or why).__name__)
        if offline is None:
            raise DatabaseAway
        return offline(call, outage, **path)

    return answer


def noted(handler: Handler) -> Handler:
    """A write; whoever reads once it is answered finds it, also on a replica."""

    @wraps(handler)
    def answer(call: Any, request: Request, **path: Any) -> Response:
        response = handler(call, request, **path)
        replicas.note_write(call.caller.workspace_id)
        return response

    return answer
