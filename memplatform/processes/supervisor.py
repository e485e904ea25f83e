"""Watching over the children: one that ends is started again, one that falls silent is killed first."""

import signal
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from django.db import Error, connection
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.models import Heartbeat
from memplatform import postgres
from memplatform.processes.children import Child, stop
from memplatform.processes.workload import Workload

SILENT_AFTER = timedelta(seconds=30)
#: One that is silent and computes: a request keeps its interpreter busy, which will be over; for so long at most.
BUSY_FOR = timedelta(minutes=3)
FIRST_BEAT_WITHIN = timedelta(seconds=60)
_TICK = 0.2
_LOOK_EVERY = 5.0
_JUMP = timedelta(seconds=15)  # between two looks: the machine slept, or its clock was moved
STOP_SECONDS = 22.0


@dataclass
class Supervisor:
    children: list[Child]
    environment: dict[str, str]
    data: Path | None  # of the embedded database; None: it is somebody else's
    say: Callable[[str], None]
    trusted_since: datetime = field(default_factory=timezone.now)
    looked_at: datetime = field(default_factory=timezone.now)
    pids: dict[str, set[int]] = field(default_factory=dict)
    workload: Workload = field(default_factory=Workload)
    called_busy: set[int] = field(default_factory=set)

    def start(self) -> None:
        """An embedded database is this supervisor's alone: whoever left a row there has ended."""
        now = timezone.now()
        forget(before=now if self.data else now - SILENT_AFTER)
        for child in self.children:
            child.start(self.environment)

    def stop(self) -> None:
        stop(self.children, STOP_SECONDS)
        try:
            for name, pids in self.pids.items():
                Heartbeat.objects.filter(name=name, pid__in=pids).delete()
        except Error:  # the database has stopped before: the rows grow old
            connection.close()

    def watch(self, until: Callable[[], bool]) -> None:
        """Until the question is answered with yes; a signal ends it by an exception."""
        next_look = 0.0
        while not until():
            self.revive_database()
            for child in self.children:
                self.revive(child)
            if time.monotonic() >= next_look:
                self.listen(now=timezone.now())
                next_look = time.monotonic() + _LOOK_EVERY
            time.sleep(_TICK)

    def revive_database(self) -> None:
        if self.data and not postgres.is_up(self.data):
            self.say(_("The database has stopped; starting it again."))
            try:
                postgres.up(self.data)
            except postgres.PostgresError as problem:
                self.say(str(problem))
                time.sleep(_LOOK_EVERY)

    def revive(self, child: Child) -> None:
        if child.has_exited():
            self.bury(child, _("%(name)s has ended") % {"name": child.name})
        elif child.process is None and time.monotonic() >= child.due_at:
            child.start(self.environment)

    def bury(self, child: Child, what: str) -> None:
        child.send(signal.SIGKILL)  # the rest of its group
        if child.process:
            child.process.wait()
        wait = child.put_off()
        self.say(
            _("%(what)s and starts again in %(wait).1f s; its last words in %(log)s: %(words)s")
            % {"what": what, "wait": wait, "log": child.log, "words": child.last_words() or "–"}
        )
        try:
            Heartbeat.objects.filter(name=child.name, pid__in=self.pids.pop(child.name, set())).delete()
        except Error:  # the database is away: these rows grow old, which says the same
            connection.close()

    def listen(self, *, now: datetime) -> None:
        """Nobody is called silent for a time in which the database was away or the machine slept."""
        try:
            beats = list(Heartbeat.objects.all())
        except Error:
            connection.close()
            self.trusted_since = now
            return
        if abs(now - self.looked_at) > _JUMP:
            self.trusted_since = now
        self.looked_at = now
        for child in self.children:
            mine = [beat for beat in beats if beat.name == child.name and child.owns(beat.pid)]
            self.pids.setdefault(child.name, set()).update(beat.pid for beat in mine)
            if child.process and is_silent(mine, now=now, since=self._since(child, now), busy=self._busy(child, mine)):
                self.bury(child, _("%(name)s gives no sign of life") % {"name": child.name})
        self.workload.forget_all_but({beat.pid for beat in beats})

    def _busy(self, child: Child, beats: Iterable[Heartbeat]) -> set[int]:
        """Those of a child's processes that compute; one that was silent for long is told of once."""
        busy = {beat.pid for beat in beats if self.workload.is_busy(beat.pid, time.monotonic())}
        late = {beat.pid for beat in beats if self.looked_at - beat.beat_at > SILENT_AFTER} & busy
        for pid in late - self.called_busy:
            self.say(_("%(name)s (process %(pid)d) is busy and does not answer.") % {"name": child.name, "pid": pid})
        self.called_busy = (self.called_busy - {beat.pid for beat in beats}) | late
        return busy

    def _since(self, child: Child, now: datetime) -> datetime:
        started = now - timedelta(seconds=time.monotonic() - child.started_at)
        return max(self.trusted_since, started)


def is_silent(
    beats: Iterable[Heartbeat], *, now: datetime, since: datetime, busy: Collection[int] = frozenset()
) -> bool:
    """Has any of the child's processes missed its time? `since` is when listening to it began.

    `busy` are those that compute: they have BUSY_FOR, since a loop without end computes as well.
    """
    waited = [(now - max(beat.beat_at, since), beat.pid in busy) for beat in beats]
    if not waited:
        return now - since > FIRST_BEAT_WITHIN
    return any(silence > (BUSY_FOR if computes else SILENT_AFTER) for silence, computes in waited)


def forget(*, before: datetime) -> None:
    """Rows of processes that ended without anybody watching; a living one writes its row again."""
    Heartbeat.objects.filter(beat_at__lt=before).delete()
