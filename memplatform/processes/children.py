"""The processes the supervisor keeps alive: how they start, stop and start again, and end with who started them."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from memplatform.environment import MANAGE, PYTHON, WORKING_FOLDER
from memplatform.postgres.programs import open_log
from memplatform.processes import forked

#: The id of whoever starts a process: looked up later, the parent may be another already.
STARTED_BY = "MEMPLATFORM_STARTED_BY"
_LOOK_EVERY = 1.0  # second, at the parent
_GRACE = 5.0
STEADY_SECONDS = 60  # one that lived this long has not failed in a row
_BACK_OFF_MAX = 30.0


@dataclass(frozen=True)
class Program:
    command: tuple[str, ...]
    work: Callable[[], object] | None = None  # the same, for a process forked from this one; None: it is never forked
    nice: int = 0
    address: tuple[str, int] | None = None  # of one that knows no database: the supervisor asks it, and beats for it


def programs(host: str, port: int, mcp_port: int | None = None) -> dict[str, Program]:
    """Every child, by its name in Heartbeat."""
    module = (*PYTHON, "-m")
    children = {"web": Program((*module, "memplatform.processes.web", host, str(port)), partial(_serve, host, port))}
    for name, nice in (("embedder", 19), ("worker", 5), ("channels", 5)):
        command = (*module, "memplatform.processes.command_line", name)
        children[name] = Program(command, partial(_command, name), nice)
    if mcp_port:
        command = (*module, "memplatform.processes.mcp", host, str(mcp_port))
        children["mcp"] = Program(command, address=(host, mcp_port))
    return children


def _serve(host: str, port: int) -> None:
    from memplatform.processes import web  # which needs its own settings

    web.main(host, port)


def _command(name: str) -> None:
    from memplatform.processes import command_line

    command_line.main([MANAGE, name])


@dataclass
class Child:
    name: str
    program: Program
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    process: forked.Process | None = None
    started_at: float = 0.0
    failures: int = 0
    due_at: float = field(default=0.0)

    def start(self) -> None:
        """In a session of its own: Ctrl-C in the terminal reaches the supervisor alone."""
        environment = {**os.environ, **self.environment, "OMP_NUM_THREADS": "1"}
        environment |= {"MEMPLATFORM_PROCESS": self.name, STARTED_BY: str(os.getpid())}
        with open_log(self.log) as output, Path(os.devnull).open() as nothing:
            if self.program.work and forked.IS_POSSIBLE:
                streams = forked.Streams(nothing.fileno(), output.fileno())
                self.process = forked.start(f"mem {self.name}", self.program.work, environment, streams)
            else:
                self.process = subprocess.Popen(
                    self.program.command,
                    cwd=WORKING_FOLDER,
                    env=environment,
                    stdin=nothing,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        if self.program.nice:
            os.setpriority(os.PRIO_PROCESS, self.process.pid, self.program.nice)
        self.started_at = time.monotonic()

    def has_exited(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def owns(self, pid: int) -> bool:
        """Whether a living process is in this child's group."""
        try:
            return self.process is not None and os.getpgid(pid) == self.process.pid
        except ProcessLookupError:
            return False

    def send(self, number: signal.Signals) -> None:
        if self.process:
            send_to_group(self.process, number)

    def put_off(self) -> float:
        """Schedule the next start after an exit, later with every failure in a row; the seconds until then."""
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


def send_to_group(leader: forked.Process, number: signal.Signals) -> None:
    """Signal a whole process group, which outlives its leader when that was killed."""
    try:
        os.killpg(leader.pid, number)
    except (ProcessLookupError, PermissionError):  # nobody left (macOS reports the second)
        return


def stop(children: list[Child], seconds: float) -> None:
    """Send SIGTERM to all, and SIGKILL to those still running after so many seconds."""
    for child in children:
        child.send(signal.SIGTERM)
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(child.process and not child.has_exited() for child in children):
        time.sleep(0.05)
    for child in children:
        child.send(signal.SIGKILL)
        if child.process:
            child.process.wait()


def end_with_parent() -> None:
    """End this process when its parent is gone, killed or not. Call it early, unless the parent has named itself."""
    parent = int(os.environ.pop(STARTED_BY, "0")) or os.getppid()  # popped: our own children have us
    threading.Thread(target=_watch, args=(parent,), name="parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)
