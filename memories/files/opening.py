"""How a file of the workspace is opened: name by name from its folder, and never through a link, symbolic or hard.

A path was looked at before; what somebody puts in its place meanwhile is refused here.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils.translation import gettext as _

from memories.exceptions import FileUnreadable, FileUnwritable, PathNotAllowed
from memories.files.layout import ScopeFolder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe with nobody at its other end is not waited for
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600  # memories of people: for this account, until its owner says otherwise
_ASTRAY = {errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ENXIO, errno.ENODEV, errno.EINVAL}


@contextmanager
def folder_of(folder: ScopeFolder, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """The open folder a path lies in, and the name of the file there.

    Raises PathNotAllowed, and FileNotFoundError where a folder is not there and is not to be made.
    """
    if not folder.owns(path):
        raise PathNotAllowed()
    *above, name = path.split("/")
    with _refusals():
        fd = _top(folder.workspace.parent, create=create)
    try:
        for part in (folder.workspace.name, *above):
            with _refusals():
                inner = _below(fd, part, create=create)
            os.close(fd)
            fd = inner
        yield fd, name
    finally:
        os.close(fd)


def open_file(folder_fd: int, name: str, flags: int) -> int:
    """A regular file of one name. Raises PathNotAllowed for all else, FileNotFoundError where none is there or made.

    A file with a second name may be another scope's, or none of ours: what it says is neither told nor added to.
    """
    with _refusals():
        fd = os.open(name, flags | _FILE, _FILE_MODE, dir_fd=folder_fd)
    opened = os.fstat(fd)
    if not stat.S_ISREG(opened.st_mode) or opened.st_nlink > 1:
        os.close(fd)
        raise PathNotAllowed()
    return fd


def write_all(fd: int, data: bytes) -> None:
    """Write to the end. Raises FileUnwritable."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    except OSError as error:
        raise FileUnwritable(_("This file cannot be written: %s.") % error.strerror) from error


def _top(place: Path, *, create: bool) -> int:
    """The folder of all workspaces; where its owner made it a link, that is followed."""
    try:
        return os.open(place, _FOLDER & ~os.O_NOFOLLOW)
    except FileNotFoundError:
        if not create:
            raise
    place.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    return os.open(place, _FOLDER & ~os.O_NOFOLLOW)


def _below(fd: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=fd)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(name, _FOLDER_MODE, dir_fd=fd)
        os.fsync(fd)
    except FileExistsError:
        pass  # by another process, just now
    return os.open(name, _FOLDER, dir_fd=fd)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except PermissionError as error:
        raise FileUnreadable(_("The platform's account may not open this file.")) from error
    except OSError as error:
        if error.errno in _ASTRAY:
            raise PathNotAllowed() from error
        raise FileUnwritable(_("This file cannot be opened: %s.") % error.strerror) from error
