"""What jobs would do at this moment, in counts; nothing is left behind."""

from datetime import datetime

from memories import batches
from memories.choices import BufferState
from memories.consolidation import compression, extraction
from memories.consolidation import day_notes as archiving
from memories.lifecycle import access_counting, capacity, expiry, maintenance
from memories.lifecycle import purge as purging
from memories.models import ExtractionBatch, Workspace


def expire(workspace_id: int, *, now: datetime) -> dict[str, int]:
    return expiry.count_due(workspace_id, now=now)


def compress_days(workspace_id: int, *, now: datetime) -> dict[str, int]:
    return {"days": compression.waiting(Workspace.objects.get(pk=workspace_id), now).count()}


def compress(workspace_id: int) -> dict[str, int]:
    return compression.to_judge(workspace_id)


def keep_within(workspace_id: int, *, now: datetime) -> dict[str, int]:
    return capacity.count_surplus(workspace_id, now=now)


def archive(workspace_id: int, *, now: datetime) -> dict[str, int]:
    return {"notes": archiving.count_days(workspace_id, now=now)}


def purge(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """Counts, even where it is switched off."""
    found = purging.outlived(workspace_id, now=now).filter(scope__frozen=False)
    return {"scopes": found.values("scope_id").distinct().count(), "entries": found.count()}


def extract(*, now: datetime) -> dict[str, int]:
    return {
        "extraction_batches": ExtractionBatch.objects.filter(due_at__lte=now).exclude(state=BufferState.PARKED).count()
    }


def extract_day(workspace_id: int) -> dict[str, int]:
    return {"extraction_batches": extraction.waiting_in(workspace_id).exclude(state=BufferState.PARKED).count()}


def count_terms(workspace_id: int) -> dict[str, int]:
    """Counts, and takes it back scope by scope: only counting tells which are wrong."""
    return maintenance.count_terms_anew(workspace_id, is_dry=True)


def rehearse(*, now: datetime) -> dict[str, int]:
    return access_counting.count_uncounted(now=now)


def resume_batches() -> dict[str, int]:
    return {"batches": batches.waiting().count()}


def repair_index() -> dict[str, int]:
    return {"entries": maintenance.count_unindexed()}


def clean_up(*, now: datetime) -> dict[str, int]:
    return maintenance.count_outlived(now=now)
