"""What each worker of a cluster is doing, read from lines: `+pid task` when it begins, `-pid task` when it ends."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class TaskProgress:
    """Times are seconds of the monotonic clock."""

    workers: int
    since: float  # when anything was last heard, or listening began
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
