"""The lock of a file: whoever writes holds it, and knows that it is still the file of that name."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memories.conf import conf
from memories.exceptions import FileBusy
from memories.files.layout import ScopeFolder
from memories.files.opening import folder_of, open_file

_FIRST_WAIT, _LONGEST_WAIT = 0.000_5, 0.02  # seconds between two looks at a lock


@contextmanager
def locked(folder: ScopeFolder, path: str, flags: int, *, create: bool) -> Iterator[tuple[int, str, int]]:
    """Folder, name and file, the file locked. Raises FileBusy, and FileNotFoundError where it is not to be made."""
    until = time.monotonic() + conf.FILE_LOCK_SECONDS
    with folder_of(folder, path, create=create) as (folder_fd, name):
        fd = _lock(folder_fd, name, flags | (os.O_CREAT if create else 0), until)
        try:
            yield folder_fd, name, fd
        finally:
            os.close(fd)  # and the lock with it


def is_same(folder_fd: int, name: str, fd: int) -> bool:
    """Whether a name still leads to an open file: a rewrite, ours or an editor's, puts another in its place."""
    try:
        there = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))


def _lock(folder_fd: int, name: str, flags: int, until: float) -> int:
    while True:
        fd = open_file(folder_fd, name, flags)
        try:
            _wait(fd, until)
            if is_same(folder_fd, name, fd):
                held, fd = fd, -1
                return held
        finally:
            if fd >= 0:
                os.close(fd)


def _wait(fd: int, until: float) -> None:
    pause = _FIRST_WAIT
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise FileBusy() from error
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_WAIT)
