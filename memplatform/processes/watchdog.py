"""Keeping the task cluster at work: noticing that it died, hangs, or is stopped by one bad row, and starting it anew.

django-q2 does not survive everything. An idle worker killed with -9 takes the queue's lock to its grave, and the
cluster then neither works nor stops; one malformed schedule row stops all schedules. So the cluster runs in a process
group of its own under this one, which sends it a pulse, listens to what its workers do, and beats in its place.
"""

import os
import select
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import Error, connection
from django.utils import timezone
from django_q.models import Schedule
from django_q.tasks import async_task

from memplatform.environment import PYTHON, WORKING_FOLDER
from memplatform.operations import hosts
from memplatform.operations.jobs import queue, registry
from memplatform.operations.models import Heartbeat
from memplatform.postgres.server import is_alive
from memplatform.processes import heartbeat
from memplatform.processes.children import STARTED_BY, send_to_group
from memplatform.processes.cluster import PROGRESS

log = structlog.get_logger(__name__)
NAME = "worker"
DEATHS = 3  # as often as a failing task is tried
STOP_SECONDS = 17.0  # before the supervisor loses its patience
_FIRST_SIGN = 45.0  # a slow machine takes its time to start a cluster
_TICK = 0.5
_JUMP = 15.0  # between two rounds: the machine slept
_LOOK_EVERY = 60.0
_ENSURE_EVERY = 3_600.0
_LATE = timedelta(minutes=3)  # of a schedule: something stops them
_SHARED = 10  # beside other machines' clusters a pulse may go to them: so many times more patience
_BACK_OFF_MAX = 30.0


@dataclass
class TaskProgress:
    """What each worker is doing, read from lines: `+pid task` when it begins, `-pid task` when it ends.

    Times are seconds of the monotonic clock.
    """

    workers: int
    since: float  # when a line was last read, or listening began
    busy: dict[int, tuple[str, float]] = field(default_factory=dict)  # by process: its task, and since when
    deaths: Counter[str] = field(default_factory=Counter)  # by task: workers that died over it
    heard: bool = False
    pulse: str = ""  # the task sent to see whether anything moves
    ended_at: float | None = None  # when it did
    _rest: str = ""

    def restart(self, now: float) -> None:
        """Begin anew with a new cluster; how many workers each task has killed is kept."""
        self.busy, self.since, self.heard, self._rest = {}, now, False, ""
        self.expect("")

    def expect(self, pulse: str) -> None:
        self.pulse, self.ended_at = pulse, None

    def read(self, text: str, now: float) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            pid, _space, task = line[1:].partition(" ")
            if line.startswith("+"):
                self.busy[int(pid)] = (task, now)
            else:
                self.busy.pop(int(pid), None)
                self.deaths.pop(task, None)
                self.ended_at = now if task == self.pulse else self.ended_at
            self.heard, self.since = True, now

    def collect_dead(self, is_alive: Callable[[int], bool]) -> list[str]:
        """The tasks whose worker died over them since the last call."""
        dead = [pid for pid in self.busy if not is_alive(pid)]
        tasks = [self.busy.pop(pid)[0] for pid in dead]
        self.deaths.update(tasks)
        return tasks

    def restart_clock(self, now: float) -> None:
        """Count silence from now on: the database was away, or the machine slept."""
        self.since = now
        self.ended_at = None if self.ended_at is None else now
        self.busy = {pid: (task, now) for pid, (task, _since) in self.busy.items()}

    def silence(self, now: float, timeout: float) -> float:
        """Seconds since anything moved; while every worker is busy, those the oldest task is over its timeout."""
        if len(self.busy) < self.workers:
            return now - self.since
        oldest = min(since for _task, since in self.busy.values())
        return max(0.0, now - oldest - timeout)


@dataclass
class Watchdog:
    quiet: float = 30.0  # seconds without a sign of work after which the cluster is started anew
    pulse_every: float = 8.0
    stopping: bool = False
    process: subprocess.Popen[bytes] | None = None
    failures: int = 0
    started_at: datetime = field(default_factory=timezone.now)
    lost: list[str] = field(default_factory=list)  # tasks whose worker died

    def __post_init__(self) -> None:
        self.timeout = settings.TASK_SECONDS + 30.0
        self.progress = TaskProgress(settings.TASK_WORKERS, time.monotonic())
        self.alone = True
        self.pipe = -1
        self.stepped_at = self.begun_at = time.monotonic()
        self.start_at = self.next_pulse = self.next_beat = self.next_look = self.next_ensure = 0.0

    def run(self) -> None:
        """Keep the cluster at work until `stopping` is set, by a signal."""
        away = False
        while not self.stopping:
            try:
                self._step(timezone.now(), time.monotonic())
                away = False
            except Error as problem:
                if not away:
                    log.warning("worker.database_away", reason=str(problem).strip())
                away = True
                connection.close()
                self.progress.restart_clock(time.monotonic())
                time.sleep(_TICK)
        # Let what runs finish, for as long as the supervisor lets us
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("worker.unfinished", tasks=len(self.progress.busy))
        self._kill()

    def _step(self, now: datetime, ticks: float) -> None:
        if self.process is None:
            self._start(now, ticks)
            return
        ready, _, _ = select.select([self.pipe], [], [], _TICK)
        if ready and (lines := os.read(self.pipe, 65_536)):
            self.progress.read(lines.decode(), ticks)
        elif ready:  # nobody is left to write
            time.sleep(_TICK)
        if ticks - self.stepped_at > _JUMP:
            self.progress.restart_clock(ticks)
        self.stepped_at = ticks
        problem, ended_at = "", self.progress.ended_at
        if self.process is None or self.process.poll() is not None:
            problem = "it ended"
        elif self.progress.silence(ticks, self.timeout) > self._patience():
            problem = "it hangs"
        elif ended_at is not None and ticks - ended_at > self._patience() + self.pulse_every:
            problem = "it does not keep what tasks answer"
        if problem:
            log.error("worker.restarted", reason=problem)
            self._replace(ticks)
            return
        self.lost += self.progress.collect_dead(is_alive)
        self._requeue_lost(now)
        self._check_schedules(now, ticks)
        # The next pulse, once the last one has run and its row is gone
        if self.process is not None and ticks >= self.next_pulse and not queue.is_queued(self.progress.pulse):
            pulse = async_task("memplatform.tasks.pulse", q_options={"save": False, "ack_failure": True})
            self.progress.expect(pulse)
            self.next_pulse = ticks + self.pulse_every
        # A heartbeat, only while the cluster works: the supervisor and /readyz miss it when it does not
        works = self.progress.heard and self.progress.silence(ticks, self.timeout) < 0.8 * self._patience()
        if works and ticks >= self.next_beat:
            heartbeat.beat(NAME, self.started_at, now=now, using="default")
            self.next_beat = ticks + heartbeat.BEAT_SECONDS
            self.failures = 0

    def _start(self, now: datetime, ticks: float) -> None:
        """Requeue what the last cluster left behind, then start a new one, which must not have taken any of it yet."""
        if ticks < self.start_at:
            time.sleep(_TICK)
            return
        self._requeue_lost(now)
        self._count_others(now)
        if self.alone:
            queue.release_all(now=now)
        self.pipe, far_end = os.pipe()
        os.set_blocking(far_end, False)
        self.process = subprocess.Popen(
            (*PYTHON, "-m", "memplatform.processes.cluster"),
            cwd=WORKING_FOLDER,
            env={**os.environ, PROGRESS: str(far_end), STARTED_BY: str(os.getpid())},
            stdin=subprocess.PIPE,
            pass_fds=[far_end],
            start_new_session=True,
        )
        os.close(far_end)
        self.progress.restart(ticks)
        self.begun_at, self.next_pulse = ticks, 0.0

    def _patience(self) -> float:
        if not self.progress.heard:
            return max(self.quiet, _FIRST_SIGN)
        return self.quiet if self.alone else self.quiet * _SHARED

    def _requeue_lost(self, now: datetime) -> None:
        """Tasks that lost their worker run again; those that kill every worker do not."""
        while self.lost:
            task, deaths = self.lost[0], self.progress.deaths[self.lost[0]]
            if deaths >= DEATHS:
                queue.set_aside(task, deaths, now=now)
            else:
                queue.release(task, now=now)
            del self.lost[0]

    def _check_schedules(self, now: datetime, ticks: float) -> None:
        """The schedule rows, every hour, and when one is late: a bad one stops all."""
        if ticks < self.next_look:
            return
        self.next_look = ticks + _LOOK_EVERY
        self._count_others(now)
        oldest = Schedule.objects.exclude(repeats=0).filter(next_run__lt=now - _LATE).order_by("next_run").first()
        grace = _LATE.total_seconds()
        if oldest and ticks - self.begun_at > 2 * grace:
            log.error("worker.restarted", reason="schedules do not run", schedule=oldest.name)
            self._replace(ticks)
        if ticks >= self.next_ensure or (oldest and ticks - self.begun_at > grace):
            registry.sync_schedules(now=now)
            self.next_ensure = ticks + _ENSURE_EVERY

    def _count_others(self, now: datetime) -> None:
        fresh = Heartbeat.objects.filter(name=NAME, beat_at__gt=now - timedelta(seconds=30))
        self.alone = not fresh.exclude(host=settings.HOST_NAME, pid=os.getpid()).exists() and not any(
            NAME in host.parts for host in hosts.others(now=now)
        )

    def _replace(self, ticks: float) -> None:
        """Kill what is left; one that never worked is given more time before the next."""
        self._kill()
        self.lost += self.progress.collect_dead(lambda _pid: False)
        self.start_at = ticks + min(_BACK_OFF_MAX, 2.0**self.failures - 1)
        self.failures += 1

    def _kill(self) -> None:
        if self.process is None:
            return
        send_to_group(self.process, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()
        os.close(self.pipe)
        self.process = None
