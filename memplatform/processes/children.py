"""The processes the supervisor keeps alive: what they are, how they start, stop and start again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memplatform.postgres.programs import open_log
from memplatform.processes.parent_watch import STARTED_BY

BASE_DIR = Path(__file__).resolve().parent.parent.parent
STEADY_SECONDS = 60  # one that lived this long has not failed in a row
_BACK_OFF_MAX = 30.0


@dataclass(frozen=True)
class Program:
    command: tuple[str, ...]
    nice: int = 0


def programs(host: str, port: int) -> dict[str, Program]:
    """Every child, by its name in Heartbeat. Fresh interpreters: none inherits a loaded model."""
    python = sys.executable
    return {
        "web": Program((python, "-m", "memplatform.processes.web", host, str(port))),
        "embedder": Program((python, "manage.py", "embedder"), nice=10),
        "worker": Program((python, "manage.py", "worker"), nice=5),
    }


@dataclass
class Child:
    name: str
    program: Program
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    due_at: float = field(default=0.0)

    def start(self, environment: Mapping[str, str]) -> None:
        """In a session of its own: Ctrl-C in the terminal reaches the supervisor alone."""
        with open_log(self.log) as output:
            self.process = subprocess.Popen(
                self.program.command,
                cwd=BASE_DIR,
                env={**os.environ, **environment, **self.environment, "OMP_NUM_THREADS": "1"}
                | {"MEMPLATFORM_PROCESS": self.name, STARTED_BY: str(os.getpid())},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if self.program.nice:
            os.setpriority(os.PRIO_PROCESS, self.process.pid, self.program.nice)
        self.started_at = time.monotonic()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def has_exited(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def owns(self, pid: int) -> bool:
        """Whether a living process is in this child's group."""
        try:
            return self.process is not None and os.getpgid(pid) == self.process.pid
        except ProcessLookupError:
            return False

    def send(self, number: signal.Signals) -> None:
        """To the whole group, which outlives its leader when that was killed."""
        if self.process:
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):  # nobody left (macOS says it the second way)
                return

    def put_off(self) -> float:
        """After it ended: when to try again. Returns the seconds until then."""
        steady = time.monotonic() - self.started_at > STEADY_SECONDS
        self.failures = 1 if steady else self.failures + 1
        wait = min(_BACK_OFF_MAX, 0.5 * 2.0 ** (self.failures - 1))
        self.process = None
        self.due_at = time.monotonic() + wait
        return wait

    def last_words(self) -> str:
        with self.log.open("rb") as output:
            output.seek(max(0, self.log.stat().st_size - 4096))
            lines = output.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def stop(children: list[Child], seconds: float) -> None:
    """Ask all, then insist."""
    for child in children:
        child.send(signal.SIGTERM)
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(child.is_running() for child in children):
        time.sleep(0.05)
    for child in children:
        child.send(signal.SIGKILL)
        if child.process:
            child.process.wait()
