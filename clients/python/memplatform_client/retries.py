"""Whether a call is tried again, and when. A write has its key, so that trying again never does it twice."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

Outcome = httpx.Response | httpx.RequestError

FIRST_PAUSE = 0.5  # seconds; twice as long after each attempt
LONGEST_PAUSE = 8.0
LONGEST_WAIT = 60.0  # what an answer may ask for, before it is told as the error it is
PASSING = {429, 502, 503, 504}


def pause_after(outcome: Outcome, attempt: int) -> float | None:
    """Seconds until the call is tried again; None: what came is what there is."""
    backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt) * random.uniform(0.5, 1)  # noqa: S311 (no secret)
    if isinstance(outcome, httpx.RequestError):
        return None if isinstance(outcome, httpx.UnsupportedProtocol) else backoff
    asked = _seconds(outcome.headers.get("Retry-After"))
    if asked is None:
        return backoff if outcome.status_code in PASSING else None
    return None if outcome.is_success or asked > LONGEST_WAIT else max(asked, 0.0) + backoff / 5


def _seconds(retry_after: str | None) -> float | None:
    """Of a header that holds seconds or a date."""
    if retry_after is None or retry_after.isdecimal():
        return None if retry_after is None else float(retry_after)
    try:
        return (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):  # neither; or a date without its zone
        return None
