"""How many questions are asked at the same time, all processes together.

A place is a session-level advisory lock. A count in each process would let web, workers and commands add up; a row with
a lease would keep a place of a process that was killed. PostgreSQL gives the lock back the moment a connection ends.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.utils.translation import gettext as _

from memories.conf import conf
from memories.exceptions import ModelFailed

#: Advisory locks are told apart by their highest byte.
PLACE_LOCK = 5 << 56
_LOOK_AGAIN = (0.05, 0.25)  # seconds, by chance in between


@contextmanager
def place(until: float) -> Iterator[None]:
    """One of MEMORY_LLM_CALLS places, waited for until that moment of the monotonic clock. Raises ModelFailed."""
    number = _take(until)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [PLACE_LOCK + number])


def _take(until: float) -> int:
    while True:
        with connection.cursor() as cursor:
            for number in range(conf.LLM_CALLS):
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [PLACE_LOCK + number])
                if cursor.fetchone()[0]:
                    return number
        pause = random.uniform(*_LOOK_AGAIN)  # noqa: S311 (chance, not a secret)
        if time.monotonic() + pause >= until:
            raise ModelFailed(_("The model is busy with other questions."))
        time.sleep(pause)
