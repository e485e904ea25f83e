"""The process that builds the indexes of large scopes: started by the supervisor when the worker asks for it.

The worker plans (memories.index.large_scopes) and owns no table; the supervisor works as the owner, and so does what it
starts.
"""

import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection

from memories.index.large_scopes import CHANNEL
from memplatform.environment import PYTHON, WORKING_FOLDER
from memplatform.postgres.programs import open_log
from memplatform.processes.children import STARTED_BY

_COMMAND = ("-m", "memplatform.processes.command_line", "index_large_scopes")
_STOP_SECONDS = 3.0


@dataclass
class IndexBuilder:
    """At most one such process; `listening` is the connection on which it is asked for."""

    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    listening: object = field(default=None)

    def look(self) -> None:
        """Start it where it was asked for since the last look. Raises django.db.Error."""
        if self.process is not None and self.process.poll() is not None:
            self.process = None
        connection.ensure_connection()
        if self.listening is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self.listening = connection.connection
        with connection.wrap_database_errors:
            is_asked = any(notice.channel == CHANNEL for notice in connection.connection.notifies(timeout=0))
        if is_asked and self.process is None:
            environment = {**os.environ, "MEMPLATFORM_PROCESS": "", STARTED_BY: str(os.getpid())}
            with open_log(self.log) as output:
                self.process = subprocess.Popen(
                    (*PYTHON, *_COMMAND),
                    cwd=WORKING_FOLDER,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )

    def stop(self) -> None:
        """End it; what it was building is dropped and built again the next time."""
        if self.process is None:
            return
        self.process.terminate()
        end = time.monotonic() + _STOP_SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        self.process.kill()
        self.process.wait()
