"""Processes of a test's own, forked from one that has imported the product: an interpreter for each takes two seconds.

`start` is as `python -m MODULE ARGUMENTS` with an environment of its own. What begins is as much another process: it
has its own settings, connections and files, writes to a pipe, and can be killed.
"""

import atexit
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from typing import IO, Any

from memplatform.processes import forked
from tests import ROOT
from tests.support.processes import database_url

_ORDER_BYTES = 100_000


class Child:
    """As much of subprocess.Popen as the tests ask for."""

    def __init__(self, stdout: IO[str], status: IO[str]) -> None:
        self.stdout, self._status = stdout, status
        self.pid = int(status.readline())
        self.returncode: int | None = None

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stdout.close()
        self.wait()

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def poll(self) -> int | None:
        """The exit code, minus the signal of a killed one; None while it runs."""
        return self._look(0)

    def wait(self, seconds: float | None = None) -> int:
        """Until it has ended. Raises TimeoutExpired."""
        code = self._look(seconds)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), seconds or 0)
        return code

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode


Process = Child | subprocess.Popen[str]


def start(module: str, *arguments: str, **environment: str) -> Process:
    """Begin a process on the database of the tests; its output is a pipe."""
    variables = os.environ | {
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "memplatform.settings",
        "MEMPLATFORM_DATA": "/nonexistent",
        **environment,
    }
    if not forked.IS_POSSIBLE:
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True)
    (output, stdout), (status, tell) = os.pipe(), os.pipe()
    socket.send_fds(_nursery(), [json.dumps([module, arguments, variables]).encode()], [stdout, tell])
    os.close(stdout)
    os.close(tell)
    return Child(os.fdopen(output), os.fdopen(status))


@cache
def _nursery() -> socket.socket:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = os.environ | {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "memplatform.settings"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.nursery", str(there.fileno())],
        cwd=ROOT,
        env=environment | {"MEMPLATFORM_DATA": "/nonexistent"},
        pass_fds=[there.fileno()],
    )
    there.close()

    def end() -> None:
        here.close()
        process.wait()

    atexit.register(end)
    return here


def _serve(orders: socket.socket) -> None:
    while (received := socket.recv_fds(orders, _ORDER_BYTES, 2))[0]:
        _reap()
        stdout, tell = received[1]
        if os.fork() == 0:
            orders.close()
            _watch(json.loads(received[0]), stdout, tell)
        os.close(stdout)
        os.close(tell)
    _reap()


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _watch(order: Any, stdout: int, tell: int) -> None:
    """Fork the process and tell its id, and its exit code when it has ended."""
    pid = os.fork()
    if pid == 0:
        os.close(tell)
        _become(*order, stdout)
    os.close(stdout)
    os.write(tell, f"{pid}\n".encode())
    os.write(tell, f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n".encode())
    os._exit(0)


def _become(module: str, arguments: list[str], environment: dict[str, str], stdout: int) -> None:
    try:
        os.dup2(stdout, 1)
        os.close(stdout)
        os.environ.clear()
        os.environ.update(environment)
        forked._read_settings_again()
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        code = forked._code_of(sys.exception())
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    import gc

    import django

    gc.disable()
    django.setup()
    import tests.conftest
    import tests.memories.batches.conftest
    import tests.memories.webhooks.conftest  # noqa: F401

    gc.freeze()
    gc.enable()
    _serve(socket.socket(fileno=int(sys.argv[1])))
