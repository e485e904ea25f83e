"""One supervisor a data folder, and how the last one ended."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class AlreadyRunning(Exception):
    """The message is a whole sentence."""


@contextmanager
def only_one(data: Path) -> Iterator[bool]:
    """Yields whether the last supervisor was killed: its children then take some seconds to notice."""
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
