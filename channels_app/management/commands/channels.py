"""The process that talks with platforms: fetches messages, has them answered, sends what is to be sent."""

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from types import FrameType
from typing import Any

import psycopg
import structlog
from django.core.management.base import BaseCommand
from django.db import Error, close_old_connections, connection
from django.utils import timezone

from channels_app.models import Chat, Connection, ConnectionProblem, NoticeMode
from channels_app.platforms import intake, notices, platform_named, work
from channels_app.platforms.wire import Conflicting, Incoming, KeyRefused, PlatformFailure, TryLater
from memories import postgresql
from memories.conf import conf
from memories.secrets import SecretUnreadable

log = structlog.get_logger(__name__)
PAUSE_SECONDS = 1.0  # between looks when nobody notifies: pauses and leases come due
BUSY_SECONDS = 0.1  # between looks while something is at work, or was reported a moment ago
NOTICES_SECONDS, RENEW_SECONDS = 5.0, 5.0
PULL_LEASE, PULL_PAUSE = timedelta(seconds=45), timedelta(seconds=10)  # a fetch takes half a minute at most


class Command(BaseCommand):
    help = "Talks with the platforms that channels are connected to, until it is stopped."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self._stopping = threading.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._stop)
        self._pulling: dict[int, threading.Thread] = {}
        with ThreadPoolExecutor(conf.CHANNEL_THREADS, "chat") as threads:
            self._running: dict[Future[None], Chat] = {}
            while not self._stopping.is_set():
                try:
                    self._work(threads)
                except (Error, psycopg.Error) as problem:
                    log.warning("channels.database_away", reason=type(problem).__name__)
                    connection.close()
                    postgresql.direct().close()
                    self._stopping.wait(PAUSE_SECONDS)

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        """Finish what is being answered; what is not is taken up by the next process."""
        self._stopping.set()

    def _work(self, threads: ThreadPoolExecutor) -> None:
        connection.ensure_connection()
        listening = postgresql.direct()
        with listening.cursor() as cursor:
            cursor.execute(f"LISTEN {intake.CHANNEL}")
        next_notices = next_renewal = next_pull = busy_until = 0.0
        while not self._stopping.is_set():
            for future in [future for future in self._running if future.done()]:
                del self._running[future]
                if failure := future.exception():  # one chat must not end the others; its lease brings it up again
                    log.error("channels.failed", exc_info=failure)
            if time.monotonic() >= next_renewal:
                work.renew(self._running.values(), now=timezone.now())
                next_renewal = time.monotonic() + RENEW_SECONDS
            is_free = len(self._running) < conf.CHANNEL_THREADS
            if is_free and (chat := work.claim_chat(now=timezone.now(), pulled=self._pulling)) is not None:
                self._running[threads.submit(self._work_on, chat)] = chat
                continue
            if time.monotonic() >= next_pull:
                # Begin to fetch for connections for which nobody does; each has a thread, here or in another process
                self._pulling = {pk: thread for pk, thread in self._pulling.items() if thread.is_alive()}
                free = Connection.objects.to_pull(now=timezone.now()).exclude(pk__in=self._pulling)
                for row in free.claim(10, pulled_until=timezone.now() + PULL_LEASE):
                    thread = threading.Thread(target=self._pull, args=(row.pk,), name=f"pull {row.pk}", daemon=True)
                    self._pulling[row.pk] = thread
                    thread.start()
                next_pull = time.monotonic() + PAUSE_SECONDS
            if time.monotonic() >= next_notices:
                for row in Connection.objects.filter(is_enabled=True).exclude(notices=NoticeMode.OFF):
                    notices.announce_new_memories(row, now=timezone.now())
                work.put_back_offered(now=timezone.now())
                next_notices = time.monotonic() + NOTICES_SECONDS
            if self._running or time.monotonic() < busy_until:
                self._stopping.wait(BUSY_SECONDS)  # and not for each of what comes by the hundred
                notices_of_others = listening.connection.notifies(timeout=0)
            else:
                notices_of_others = listening.connection.notifies(timeout=PAUSE_SECONDS, stop_after=1)
            if any(list(notices_of_others)):
                busy_until = time.monotonic() + 2 * intake.SETTLING.total_seconds()

    def _work_on(self, chat: Chat) -> None:
        try:
            work.work_on(chat, timezone.now)
        finally:
            close_old_connections()

    def _pull(self, pk: int) -> None:
        """Fetch the messages of a connection until it fails, is switched off, or this process stops."""
        row = Connection.objects.select_related("channel", "workspace").get(pk=pk)
        mine = Connection.objects.filter(pk=pk, is_enabled=True, version=row.version)

        def keep(messages: Sequence[Incoming], cursor: Mapping[str, Any]) -> None:
            intake.keep(row, messages, now=timezone.now(), cursor=cursor)

        def is_over() -> bool:
            is_ours = mine.update(pulled_until=timezone.now() + PULL_LEASE)
            return self._stopping.is_set() or not is_ours

        problem, pause = ConnectionProblem.NONE, PULL_PAUSE
        try:
            platform = platform_named(row.channel.platform)
            platform.pull(intake.account_of(row), row.cursor, keep, is_over, timezone.now)
            pause = timedelta(0)
        except KeyRefused:
            problem = ConnectionProblem.REFUSED
        except Conflicting:
            problem = ConnectionProblem.CONFLICT
        except SecretUnreadable:
            problem = ConnectionProblem.SECRET
        except TryLater as refusal:
            problem, pause = ConnectionProblem.AWAY, timedelta(seconds=refusal.seconds or PULL_PAUSE.total_seconds())
        except (PlatformFailure, Error):
            log.exception("channels.pull_failed", connection=pk)
        try:
            columns = {"problem": problem, "problem_at": timezone.now()} if problem else {}
            Connection.objects.filter(pk=pk).update(pulled_until=timezone.now() + pause, **columns)
        finally:
            connection.close()
