"""What the jobs of conversations would do."""

from datetime import datetime

from sessions_app.lifecycle import cleanup, close


def sweep_sessions(*, now: datetime) -> dict[str, int]:
    return close.count_stale(now=now)


def clean_events(*, now: datetime) -> dict[str, int]:
    return cleanup.count_old(now=now)
