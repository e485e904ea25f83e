"""Having the worker apply what the journal holds, a few seconds after somebody has seen that it can."""

import threading
import time

import structlog
from django.db import Error, connection
from django_q.tasks import async_task

from memories.offline import journal

log = structlog.get_logger(__name__)

TASK = "channels_app.tasks.replay_journal"
#: Seconds between two tasks a process queues.
QUEUED_EVERY = 3.0
_queueing = threading.Lock()
_queued_at: float | None = None


def replay_soon() -> None:
    """Queue a replay, unless this process did a moment ago; one that cannot be queued is made up for every minute."""
    global _queued_at  # noqa: PLW0603 (threads of this process)
    with _queueing:
        if _queued_at is not None and time.monotonic() - _queued_at < QUEUED_EVERY:
            return
        _queued_at = time.monotonic()
    try:
        async_task(TASK, group="mem:replay")
    except Error as problem:
        log.warning("replay.not_queued", problem=type(problem).__name__)


def replay_if_pending() -> None:
    """The same where any stream holds calls, by the thread that has seen that the database is back."""
    if journal.streams():
        replay_soon()
        connection.close()
