"""Calls the journal accepts: what is kept of one, so that it can be applied later as if it came now."""

from dataclasses import asdict
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from memories.api.idempotency import KeyTaken
from memories.api.offline import Outage, StreamEmptied
from memories.models.ids import uuid7
from memories.offline import journal
from memories.offline.journal import KeyReused, Record, Stream
from memories.tenancy.access import Caller

#: The calls there are.
TURN, EVENTS = "turn", "events"


def accept(
    stream: Stream, kind: str, caller: Caller, outage: Outage, request: dict[str, Any], *, now: datetime
) -> bool:
    """Put a call into the journal: it is on the disk when this returns. False: it was there already, under its key.

    `request` is the call as it came. Raises KeyTaken, OSError, and StreamEmptied where the database can take it.
    """
    repeat, transaction = outage.repeat, outage.transaction
    names = ("workspace_id", "language", "actor", "permissions", "scope_patterns", "bot_id", "folder")
    record = Record(
        uid=uuid7(),
        kind=kind,
        accepted_at=now.isoformat(),
        body={
            "caller": {name: getattr(caller, name) for name in names} | {"zone": str(caller.zone)},
            "request": request,
        },
        bot_id=caller.bot_id,
        repeat_key=repeat.key if repeat else "",
        fingerprint=repeat.fingerprint if repeat else "",
        transaction=asdict(transaction) if transaction else None,
    )
    try:
        accepted = journal.append(stream, record, only_if_pending=outage.only_if_pending)
    except KeyReused as error:
        raise KeyTaken from error
    if accepted is None:
        raise StreamEmptied
    return accepted.uid == record.uid


def caller_of(record: Record) -> Caller:
    """Who made the call, with the rights it had."""
    told = record.body["caller"]
    lists = {name: tuple(told[name]) for name in ("permissions", "scope_patterns")}
    return Caller(**told | lists | {"zone": ZoneInfo(told["zone"])})
