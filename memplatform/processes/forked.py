"""A process forked from this one: what is imported here is there at once, and its memory is shared until it is written.

A child of another role begins with the settings of its own environment: no connection, lock or file of the parent's
goes with it. Only what is imported is shared; a process that embeds or counts (prometheus_client) has to begin that
after the fork.
"""

import gc
import importlib
import logging
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings
from django.db import connections
from django.utils import translation

from memories.language import text

#: Elsewhere programs are started anew: libraries of macOS do not survive a fork.
IS_POSSIBLE = sys.platform == "linux"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_NAME_BYTES = 15  # of a process, as Linux keeps it


class Forked:
    """As much of subprocess.Popen as the supervisor asks for."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, minus the signal of a killed one; None while it runs."""
        return self.returncode if self.returncode is not None else self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Until it has ended; the exit code."""
        while self.returncode is None:
            self._reap(0)
        return self.returncode

    def _reap(self, options: int) -> int | None:
        pid, status = os.waitpid(self.pid, options)
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


@dataclass(frozen=True)
class Streams:
    """File descriptors a forked process goes on with; it closes all others."""

    input: int
    output: int


def start(name: str, work: Callable[[], object], environment: Mapping[str, str], streams: Streams) -> Forked:
    """Fork a process that does this work in a session of its own, with this environment, and ends.

    `name` is what tools show of it. Call it while no other thread holds a lock the child may want.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    text.load()  # here, for all of them
    gc.collect()
    gc.freeze()  # the collector would write to what is shared
    here, there = os.pipe()
    pid = os.fork()
    if pid:
        os.close(there)
        os.read(here, 1)  # until it leads its own group: a signal to that must not miss it
        os.close(here)
        gc.unfreeze()
        return Forked(pid)
    try:
        os.setsid()
        for signal_number in _SIGNALS:
            signal.signal(signal_number, signal.SIG_DFL)
        for source, target in ((streams.input, 0), (streams.output, 1), (streams.output, 2)):
            os.dup2(source, target)
        for number in {*map(int, os.listdir("/proc/self/fd"))} - {0, 1, 2}:
            with suppress(OSError):  # the one that listed them
                os.close(number)  # locks and connections of the parent; and its pipe, so that it goes on
        with open("/proc/self/comm", "w") as file:
            file.write(name[:_NAME_BYTES])
        os.environ.clear()
        os.environ.update(environment)
        logging.disable(logging.NOTSET)
        translation.deactivate_all()
        _read_settings_again()
        work()
    finally:
        code = _code_of(sys.exception())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # what the parent would do at its end is not for us


def _read_settings_again() -> None:
    """The settings of this process: whose database it logs in to, and what else depends on which one it is."""
    module = importlib.reload(sys.modules[os.environ["DJANGO_SETTINGS_MODULE"]])
    for name in filter(str.isupper, dir(module)):  # into the same object: libraries keep their defaults there
        setattr(settings, name, getattr(module, name))
    for database in connections.all(initialized_only=True):
        del connections[database.alias]  # the parent's; psycopg closes none in another process
    vars(connections).pop("settings", None)
    vars(connections)["_settings"] = None  # they are read when next asked for


def _code_of(end: BaseException | None) -> int:
    """The exit code for what ended the work, as the interpreter gives it; a reason goes to the log."""
    if end is None:
        return 0
    if not isinstance(end, SystemExit):
        traceback.print_exception(end)
    elif end.code is None or isinstance(end.code, int):
        return end.code or 0
    else:
        print(end.code, file=sys.stderr)
    return 1


#: What the supervisor keeps of a child.
Process = subprocess.Popen[bytes] | Forked
