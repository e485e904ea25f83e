"""Calls of a key in one minute, counted by this process alone while the database is away."""

import threading
from collections import Counter
from datetime import datetime

_counting = threading.Lock()
_calls: Counter[str] = Counter()
_minute: datetime | None = None


def count(digest: str, minute: datetime) -> int:
    """Count one more call of a key, and return how many it has made in this minute."""
    global _minute  # noqa: PLW0603 (threads of this process)
    with _counting:
        if minute != _minute:
            _calls.clear()
            _minute = minute
        _calls[digest] += 1
        return _calls[digest]
