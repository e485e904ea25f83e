"""Work the supervisor has done by a process of its own, one at a time, when there is some: an errand.

The supervisor works as the owner of the tables, and so does what it starts.
"""

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection

from channels_app import tasks
from channels_app.doors.files import replay
from memories.index.large_scopes import CHANNEL
from memplatform.environment import PYTHON, WORKING_FOLDER
from memplatform.postgres.programs import open_log
from memplatform.processes.children import STARTED_BY

_MODULE = ("-m", "memplatform.processes.command_line")
_COMMAND = (*_MODULE, "index_large_scopes")
_REPLAY = (*_MODULE, "hosts", "--replay")
_FORGET_EVERY = 60.0
_STOP_SECONDS = 3.0


@dataclass
class Errand:
    """At most one process at a time, which writes to `log`."""

    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    def look(self) -> None:
        """Start it where there is work. Raises django.db.Error."""
        raise NotImplementedError

    def is_running(self) -> bool:
        """Whether the one that was started last has not ended."""
        return self.process is not None and self.process.poll() is None

    def begin(self, command: tuple[str, ...]) -> None:
        """Start it."""
        environment = {**os.environ, "MEMPLATFORM_PROCESS": "", STARTED_BY: str(os.getpid())}
        with open_log(self.log) as output:
            self.process = subprocess.Popen(
                (*PYTHON, *command),
                cwd=WORKING_FOLDER,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End it; what it was at is done again the next time."""
        if self.process is None:
            return
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_STOP_SECONDS)
        self.process.kill()
        self.process.wait()


@dataclass
class IndexBuilder(Errand):
    """Builds the indexes of large scopes when the worker asks for it, which plans (memories.index.large_scopes) and
    owns no table. `listening` is the connection on which it is asked for.
    """

    listening: object = field(default=None)

    def look(self) -> None:
        """Start it where it was asked for since the last look. Raises django.db.Error."""
        connection.ensure_connection()
        if self.listening is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self.listening = connection.connection
        with connection.wrap_database_errors:
            is_asked = any(notice.channel == CHANNEL for notice in connection.connection.notifies(timeout=0))
        if is_asked and not self.is_running():
            self.begin(_COMMAND)


@dataclass
class OfflineKeeper(Errand):
    """Brings into the database what the web of this host accepted while it was away, and drops the keys it kept for
    that time which are not let in any more. Both lie on this disk, and the jobs of a worker look at theirs.
    """

    replays: bool = True  # where no embedder runs, which looks at the journal every second
    forgets_at: float = 0.0

    def look(self) -> None:
        """Start a replay where calls wait. Raises django.db.Error."""
        if self.replays and not self.is_running() and replay.replayable():
            self.begin(_REPLAY)
        if time.monotonic() >= self.forgets_at:
            self.forgets_at = time.monotonic() + _FORGET_EVERY
            tasks.forget_keys()


def of_host(parts: list[str], logs: Path) -> list[Errand]:
    """The errands of a host that runs these parts."""
    errands: list[Errand] = []
    if "worker" in parts:
        errands.append(IndexBuilder(logs / "indexes.log"))
    if "web" in parts:
        errands.append(OfflineKeeper(logs / "journal.log", replays="embedder" not in parts))
    return errands
