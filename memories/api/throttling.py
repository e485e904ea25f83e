"""How often a key may call, counted for all web processes together."""

import math
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.conf import conf
from memories.models import BotKey

MINUTE = timedelta(minutes=1)


class KeyThrottle(BaseThrottle):
    """At most CALLS_PER_MINUTE calls of a key in a minute of the clock; then 429 until the next one begins."""

    _wait: float

    def allow_request(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, BotKey):
            return True
        now = timezone.now()  # calls are counted by the real clock, also in tests of time
        minute = now.replace(second=0, microsecond=0)
        self._wait = math.ceil((minute + MINUTE - now).total_seconds())
        return count_call(request.auth, minute) <= conf.CALLS_PER_MINUTE

    def wait(self) -> float:
        return self._wait


def count_call(key: BotKey, minute: datetime) -> int:
    """Count one more call of a key and say how many it has made in this minute.

    The table is unlogged: a transaction that writes nothing else does not wait for the disk.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_keyusage (key_id, minute, calls) VALUES (%s, %s, 1)"
            " ON CONFLICT (key_id, minute) DO UPDATE SET calls = memories_keyusage.calls + 1 RETURNING calls",
            [key.pk, minute],
        )
        return int(cursor.fetchone()[0])
