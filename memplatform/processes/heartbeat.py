"""Heartbeats: a row in the database every few seconds, from a thread with a connection of its own."""

import logging
import os
import threading
import time
from datetime import datetime

from django.db import Error, connections
from django.utils import timezone

from memplatform.operations.models import Heartbeat
from memplatform.processes.children import end_with_parent

BEAT_SECONDS = 5
_ALIAS = "heartbeat"
log = logging.getLogger(__name__)


def start(name: str) -> None:
    """Beat until the process ends, through database outages; and end the process when its parent is gone."""
    end_with_parent()
    threading.Thread(target=_beat_for_ever, args=(name,), name="heartbeat", daemon=True).start()


def _beat_for_ever(name: str) -> None:
    # Not from the pool: when requests hold every connection, the process is busy, not dead
    own = connections["default"].copy(_ALIAS)
    own.settings_dict["OPTIONS"].pop("pool", None)
    own.settings_dict["OPTIONS"]["connect_timeout"] = BEAT_SECONDS
    connections[_ALIAS] = own
    started_at = timezone.now()
    while True:
        try:
            beat(name, started_at, now=timezone.now(), using=_ALIAS)
        except Error as problem:  # the database is away; it will be back
            log.warning("heartbeat.missed process=%s reason=%s", name, type(problem).__name__)
            connections[_ALIAS].close()
        time.sleep(BEAT_SECONDS)


def beat(name: str, started_at: datetime, *, now: datetime, using: str, pid: int | None = None) -> None:
    """Note a sign of life of this process, or of the one with this id."""
    Heartbeat.objects.using(using).bulk_create(
        [Heartbeat(name=name, pid=pid or os.getpid(), started_at=started_at, beat_at=now)],
        update_conflicts=True,
        unique_fields=["host", "name", "pid"],
        update_fields=["started_at", "beat_at"],
    )
