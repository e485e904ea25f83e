"""Calls that could not be applied: tried again by a person who has mended what was wrong, or given up for good."""

from collections import Counter
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from channels_app.doors.files.outcomes import StillRunning
from channels_app.doors.files.replay import Effects, lock, outcome_of
from channels_app.models import ReplayedRecord, ReplayOutcome
from memories.exceptions import SessionBusy
from memories.offline.journal import Record, Stream

#: Calls that are tried again at once.
MOST = 50


def retry(calls: QuerySet[ReplayedRecord], effects: Effects, *, now: datetime) -> Counter[str]:
    """Apply parked calls in the order they came, each in a transaction of its own; how many came to which outcome."""
    parked = calls.filter(outcome=ReplayOutcome.PARKED).order_by("accepted_at", "pk")
    return Counter(_retry_one(pk, effects, now) for pk in list(parked.values_list("pk", flat=True)[:MOST]))


def discard(calls: QuerySet[ReplayedRecord], *, now: datetime) -> int:
    """Give parked calls up: the line stays with its reason, its words are removed. How many."""
    parked = calls.filter(outcome=ReplayOutcome.PARKED)
    return parked.update(outcome=ReplayOutcome.DISCARDED, body=None, replayed_at=now)


def _retry_one(pk: int, effects: Effects, now: datetime) -> str:
    """The outcome of one; one that somebody else has settled meanwhile keeps its own."""
    try:
        with transaction.atomic():
            call = ReplayedRecord.objects.select_for_update().get(pk=pk)
            record = _record_of(call.body)
            if call.outcome != ReplayOutcome.PARKED or record is None:
                return call.outcome
            stream = Stream(call.workspace_id, call.platform, call.account)
            lock(stream)
            call.outcome, call.reason = outcome_of(stream, record, effects)
            call.body = call.body if call.outcome == ReplayOutcome.PARKED else None
            call.replayed_at = now
            call.save(update_fields=["outcome", "reason", "body", "replayed_at"])
            return call.outcome
    except (SessionBusy, StillRunning):  # its session is in use; it waits as it did
        return ReplayOutcome.PARKED


def _record_of(body: dict[str, Any] | None) -> Record | None:
    """The call as the journal kept it; None of a line that was damaged there."""
    if not body or "kind" not in body:
        return None
    return Record(**body | {"uid": UUID(body["uid"])})
