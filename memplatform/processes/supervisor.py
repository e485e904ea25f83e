"""The supervisor of web, embedder and worker: restarts a child that ends, and kills one that falls silent.

Only one runs for a data folder (supervisor.pid).
"""

import fcntl
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
from django.conf import settings
from django.db import Error, connection, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from memplatform import postgres
from memplatform.operations import hosts
from memplatform.operations.incidents import DATABASE, PLATFORM, Downtimes
from memplatform.operations.models import Heartbeat, IncidentKind
from memplatform.processes import heartbeat
from memplatform.processes.children import Child, stop
from memplatform.processes.errands import Errand
from memplatform.processes.web import status_of

SILENT_AFTER = timedelta(seconds=30)
#: One that is silent and computes: a request keeps its interpreter busy, which will be over; for so long at most.
BUSY_FOR = timedelta(minutes=3)
FIRST_BEAT_WITHIN = timedelta(seconds=60)
ASK_SECONDS = 2.0  # an answer of a child that knows no database takes so long at most
_TICK = 0.2
_LOOK_EVERY = 5.0
_JUMP = timedelta(seconds=15)  # between two looks: the machine slept, or its clock was moved
STOP_SECONDS = 22.0
#: Share of one processor's time from which a process counts as busy; on a crowded machine it does not get all it wants.
BUSY_SHARE = 0.10
#: Seconds over which that share is taken.
WINDOW = 15.0


@dataclass
class Workload:
    """Tells busy processes from hung ones by the processor time, of all threads, they used since the last looks."""

    readings: dict[int, list[tuple[float, float]]] = field(default_factory=dict)  # pid: moment, processor seconds

    def is_busy(self, pid: int, ticks: float) -> bool:
        """Whether a process used BUSY_SHARE of a processor over WINDOW seconds; one just met is not busy."""
        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.Error:
            self.readings.pop(pid, None)
            return False
        processor_seconds = float(times.user + times.system)
        readings = self.readings.setdefault(pid, [])
        readings.append((ticks, processor_seconds))
        while len(readings) > 2 and ticks - readings[1][0] >= WINDOW:
            del readings[0]
        begun, before = readings[0]
        return ticks > begun and (processor_seconds - before) / (ticks - begun) >= BUSY_SHARE


@dataclass
class Supervisor:
    children: list[Child]
    data: Path | None  # of the embedded database; None: it is somebody else's
    say: Callable[[str], None]
    trusted_since: datetime = field(default_factory=timezone.now)
    looked_at: datetime = field(default_factory=timezone.now)
    pids: dict[str, set[int]] = field(default_factory=dict)
    workload: Workload = field(default_factory=Workload)
    called_busy: set[int] = field(default_factory=set)
    was_killed: bool = False  # the last supervisor of this folder
    downtimes: Downtimes = field(default_factory=Downtimes)
    errands: list[Errand] = field(default_factory=list)

    def start(self) -> None:
        """Start every child, and delete the heartbeats of processes that ended unwatched.

        On this host all earlier ones have; on others those with an old heartbeat.
        """
        now = timezone.now()
        here = Heartbeat.objects.filter(host=settings.HOST_NAME)
        if self.was_killed and (last := here.aggregate(at=Max("beat_at"))["at"]):
            self.downtimes.gone(PLATFORM, IncidentKind.STOPPED, last)
            self.downtimes.back(PLATFORM, now)
            self.downtimes.write(now=now)
        here.filter(beat_at__lt=now).delete()
        Heartbeat.objects.filter(beat_at__lt=now if self.data else now - SILENT_AFTER).delete()
        for child in self.children:
            child.start()

    def stop(self) -> None:
        for errand in self.errands:
            errand.stop()
        stop(self.children, STOP_SECONDS)
        for name in list(self.pids):
            self._forget(name)

    def watch(self, until: Callable[[], bool]) -> None:
        """Keep database and children running until a condition holds; a signal ends it by an exception."""
        next_look = 0.0
        while not until():
            if self.data and not postgres.is_up(self.data):
                self.say(_("The database has stopped; starting it again."))
                self.downtimes.gone(DATABASE, IncidentKind.STOPPED, timezone.now())
                try:
                    postgres.up(self.data)
                except postgres.PostgresError as problem:
                    self.say(str(problem))
                    time.sleep(_LOOK_EVERY)
            for child in self.children:
                if child.has_exited():
                    self.downtimes.gone(child.name, IncidentKind.STOPPED, timezone.now())
                    self.handle_exit(child, _("%(name)s has ended") % {"name": child.name})
                elif child.process is None and time.monotonic() >= child.due_at:
                    child.start()
            if time.monotonic() >= next_look:
                self.check_heartbeats(now=timezone.now())
                next_look = time.monotonic() + _LOOK_EVERY
            time.sleep(_TICK)

    def handle_exit(self, child: Child, what: str) -> None:
        child.send(signal.SIGKILL)  # the rest of its group
        if child.process:
            child.process.wait()
        wait = child.put_off()
        self.say(
            _("%(what)s and starts again in %(wait).1f s; its last words in %(log)s: %(words)s")
            % {"what": what, "wait": wait, "log": child.log, "words": child.last_words() or "–"}
        )
        self._forget(child.name)

    def _forget(self, name: str) -> None:
        """Delete the heartbeats of a child that has ended."""
        try:
            pids = self.pids.pop(name, set())
            Heartbeat.objects.filter(host=settings.HOST_NAME, name=name, pid__in=pids).delete()
        except Error:  # the database is away: these rows grow old, which says the same
            connection.close()

    def check_heartbeats(self, *, now: datetime) -> None:
        """Handle children without heartbeats; time without database, or asleep, does not count."""
        try:
            self._beat_for_others(now)
            hosts.see(now=now)
            beats = list(Heartbeat.objects.filter(host=settings.HOST_NAME))
            for errand in self.errands:
                errand.look()
        except Error:
            connection.close()
            self.trusted_since = now
            self.downtimes.gone(DATABASE, IncidentKind.AWAY, now)
            return
        self.downtimes.back(DATABASE, now)
        if abs(now - self.looked_at) > _JUMP:
            self.trusted_since = now
        self.looked_at = now
        for child in self.children:
            mine = [beat for beat in beats if beat.name == child.name and child.owns(beat.pid)]
            self.pids.setdefault(child.name, set()).update(beat.pid for beat in mine)
            started = now - timedelta(seconds=time.monotonic() - child.started_at)
            since = max(self.trusted_since, started)
            if (
                mine
                and min(beat.started_at for beat in mine)
                >= self.downtimes.since.get(child.name, (None, datetime.min.replace(tzinfo=UTC)))[1]
            ):
                self.downtimes.back(child.name, now)
            if child.process and is_silent(mine, now=now, since=since, busy=self._busy(child, mine)):
                if not takes_writes():
                    self.trusted_since = now
                    self.downtimes.gone(DATABASE, IncidentKind.AWAY, now)
                    return
                last = max((beat.beat_at for beat in mine), default=started)
                self.downtimes.gone(child.name, IncidentKind.SILENT, last)
                self.handle_exit(child, _("%(name)s gives no sign of life") % {"name": child.name})
        self.downtimes.write(now=now)
        alive = {beat.pid for beat in beats}
        self.workload.readings = {pid: reading for pid, reading in self.workload.readings.items() if pid in alive}

    def _beat_for_others(self, now: datetime) -> None:
        """Note a sign of life of each child that knows no database and answers, whatever it answers."""
        for child in self.children:
            if child.program.address and child.process and not child.has_exited():
                host, port = child.program.address
                if status_of(host, port, "/", ASK_SECONDS) is not None:
                    since = now - timedelta(seconds=time.monotonic() - child.started_at)
                    heartbeat.beat(child.name, since, now=now, using="default", pid=child.process.pid)

    def _busy(self, child: Child, beats: Iterable[Heartbeat]) -> set[int]:
        """The processes of a child that compute; one that was silent for long is reported once."""
        busy = {beat.pid for beat in beats if self.workload.is_busy(beat.pid, time.monotonic())}
        late = {beat.pid for beat in beats if self.looked_at - beat.beat_at > SILENT_AFTER} & busy
        for pid in late - self.called_busy:
            self.say(_("%(name)s (process %(pid)d) is busy and does not answer.") % {"name": child.name, "pid": pid})
        self.called_busy = (self.called_busy - {beat.pid for beat in beats}) | late
        return busy


def takes_writes() -> bool:
    """Whether a heartbeat could be written: on a full disk the database reads, and nobody's is."""
    try:
        with transaction.atomic():
            Heartbeat.objects.create(name=PLATFORM, pid=0, started_at=timezone.now(), beat_at=timezone.now())
            transaction.set_rollback(True)
    except Error:
        connection.close()
        return False
    return True


def is_silent(
    beats: Iterable[Heartbeat], *, now: datetime, since: datetime, busy: Collection[int] = frozenset()
) -> bool:
    """Whether any of a child's processes has missed its heartbeat; `since` is when listening to it began.

    `busy` are those that compute: they have BUSY_FOR, since a loop without end computes as well.
    """
    limits = [(now - max(beat.beat_at, since), BUSY_FOR if beat.pid in busy else SILENT_AFTER) for beat in beats]
    if not limits:
        return now - since > FIRST_BEAT_WITHIN
    return any(silence > limit for silence, limit in limits)


class AlreadyRunning(Exception):
    """The message is a whole sentence."""


@contextmanager
def pid_lock(data: Path) -> Iterator[bool]:
    """Hold the lock of a data folder; yields whether the last supervisor was killed: its children end later.

    Raises AlreadyRunning.
    """
    with (data / "supervisor.pid").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise AlreadyRunning(f"It is already running from this folder (process {file.read()}).") from None
        file.seek(0)
        was_killed = bool(file.read())
        _write(file.fileno(), str(os.getpid()))
        try:
            yield was_killed
        finally:
            _write(file.fileno(), "")


def _write(file: int, text: str) -> None:
    os.ftruncate(file, 0)
    os.write(file, text.encode())  # opened for appending: the end is the beginning now
