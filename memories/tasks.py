"""What the worker does for memories: one call a task; only the hourly ones read the clock themselves."""

from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

from memories import expiry, extraction, upkeep


def expire(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Nightly, at the workspace's own hour."""
    return expiry.expire_due(workspace_id, now=now, run=run)


def count_terms(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Nightly, at the workspace's own hour."""
    return upkeep.count_terms_anew(workspace_id)


def repair_index() -> dict[str, int]:
    """Hourly."""
    return upkeep.find_unindexed(now=timezone.now())


def clean_up() -> dict[str, int]:
    """Hourly."""
    return upkeep.clean_up(now=timezone.now())


def extract() -> dict[str, int]:
    """Every minute."""
    return extraction.extract_ready(timezone.now)


def extract_day(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Nightly, at the workspace's own hour."""
    return extraction.extract_all(_from(now), workspace_id=workspace_id)


def _from(now: datetime) -> Callable[[], datetime]:
    """A clock that begins at this moment: leases and limits go by the time that passes."""
    begun = timezone.now()
    return lambda: now + (timezone.now() - begun)
