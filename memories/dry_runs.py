"""What jobs would do: some plan batches that wait for somebody to decide, the others count."""

from datetime import datetime

from memories import batch, expiry, extraction, upkeep
from memories.choices import BatchVerb, BufferState
from memories.models import Parcel, Scope


def expire(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Plans: a batch for each scope, to be approved or refused."""
    planned = [plan.counts.get(BatchVerb.EXPIRE, 0) for plan in expiry.plan_due(workspace_id, now=now, run=run)]
    return {"scopes": len(planned), "entries": sum(planned)}


def extract(*, now: datetime) -> dict[str, int]:
    return {"parcels": Parcel.objects.filter(due_at__lte=now).exclude(state=BufferState.PARKED).count()}


def extract_day(workspace_id: int) -> dict[str, int]:
    return {"parcels": extraction.waiting_in(workspace_id).count()}


def count_terms(workspace_id: int) -> dict[str, int]:
    return {"scopes": Scope.objects.in_workspace(workspace_id).count()}


def resume_batches() -> dict[str, int]:
    return {"batches": batch.waiting().count()}


def repair_index() -> dict[str, int]:
    return {"entries": upkeep.count_unindexed()}


def clean_up(*, now: datetime) -> dict[str, int]:
    return upkeep.count_outlived(now=now)
