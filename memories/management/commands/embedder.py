"""The embedder process: waits for entries to become stale, and indexes them; then whatever else there is to embed."""

import logging
import signal
import time
from types import FrameType
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import OperationalError, connection
from django.utils import timezone
from django.utils.module_loading import import_string

from memories import embeddings, postgresql, telemetry
from memories.index.model_change import change_models
from memories.index.search_rows import CHANNEL
from memories.index.worker import EmbedderWork, index_queued

log = logging.getLogger(__name__)
PAUSE_SECONDS = 5.0  # between looks when nobody notifies: leases and retries come due
RECONNECT_SECONDS = 1.0


class Command(BaseCommand):
    help = "Embeds what was written and keeps the search rows up to date, until it is stopped."

    def handle(self, **options: Any) -> None:
        self._stopping = self._waiting = False
        works: list[EmbedderWork] = [import_string(path) for path in settings.MEMORY_EMBEDDER_WORK]
        self._more: list[EmbedderWork] = [*works, change_models]
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._stop)
        if not embeddings.warm_up():
            log.warning("no embedder answers: recall is by keywords only, until one does")
        while not self._stopping:
            try:
                self._work()
            except (OperationalError, psycopg.OperationalError) as error:  # waiting for a notice is not Django's
                log.warning("the database is away: %s", str(error).strip())
                connection.close()
                postgresql.direct().close()
                time.sleep(RECONNECT_SECONDS)

    def _work(self) -> None:
        """Index until nothing waits, do what else there is, then sleep until somebody writes."""
        connection.ensure_connection()
        self._listen()
        self._woken_by: list[str] = []  # the traces of those who wrote what is worked on
        while not self._stopping:
            with telemetry.follow("index", self._woken_by):
                if index_queued(now=timezone.now()):
                    # a little of what is not to wait until all that was written before has its vectors
                    for work in self._more:
                        if getattr(work, "is_urgent", False):
                            work(now=timezone.now())
                    continue
                wanted_in = min((work(now=timezone.now()) for work in self._more), default=PAUSE_SECONDS)
            if wanted_in > 0:
                self._wait(min(wanted_in, PAUSE_SECONDS))

    def _listen(self) -> None:
        with postgresql.direct().cursor() as cursor:
            cursor.execute(f"LISTEN {CHANNEL}")
        self._listening = postgresql.direct().connection

    def _wait(self, seconds: float) -> None:
        if postgresql.direct().connection is not self._listening:  # whoever queues a task closes the one there was
            self._listen()
            return  # of what was written in between nobody was told: look once more
        self._waiting = True
        notices = self._listening.notifies(timeout=seconds, stop_after=1)
        self._woken_by = [notice.payload for notice in notices if notice.payload]
        self._waiting = False

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        """Finish what is being indexed; leave at once when nothing is."""
        self._stopping = True
        if self._waiting:
            raise SystemExit
