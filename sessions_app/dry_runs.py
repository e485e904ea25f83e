"""What the jobs of conversations would do."""

from datetime import datetime

from sessions_app import cleaning, closing


def sweep_sessions(*, now: datetime) -> dict[str, int]:
    return closing.count_stale(now=now)


def clean_events(*, now: datetime) -> dict[str, int]:
    return cleaning.count_old(now=now)
