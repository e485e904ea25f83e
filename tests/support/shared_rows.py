"""Rows that many tests read: written once, and rolled back when the last of them is done.

Each test has a savepoint of its own within, as Django's TestCase has within its class.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.test import override_settings

from memories import embeddings

#: What the fixtures of each test set, which come later than this.
SETTINGS = {
    "MEMORY_SESSION_STALE_AFTER": timedelta(hours=48),
    "TEST_CLOCK": True,
}
T = TypeVar("T")


@contextmanager
def kept_for_many(write: Callable[[], T], blocker: Any, **settings: Any) -> Iterator[T]:
    """What `write` returns under these settings, for a fixture of many tests; `blocker` is django_db_blocker."""
    around = transaction.atomic()
    around._from_testcase = True  # type: ignore[attr-defined]
    with blocker.unblock():
        around.__enter__()
    try:
        with blocker.unblock(), override_settings(**SETTINGS | settings):
            embeddings.forget()
            written = write()
        yield written
    finally:
        with blocker.unblock():
            transaction.set_rollback(True)
            around.__exit__(None, None, None)
