"""The error of the embedded database, and errors of the operating system in its words."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PostgresError(Exception):
    """The message is a whole sentence for a person; a command prints it and exits with 1."""


def disk_full(folder: Path) -> PostgresError:
    """The error of a folder whose disk has no room."""
    return PostgresError(f"The disk that holds {folder} is full.")


@contextmanager
def explain_os_errors(folder: Path) -> Iterator[None]:
    """Raise OSErrors of a folder as a PostgresError with a sentence."""
    try:
        yield
    except OSError as problem:
        match problem.errno:
            case errno.ENOSPC | errno.EDQUOT:
                raise disk_full(folder) from problem
            case errno.EACCES | errno.EPERM | errno.EROFS:
                name = problem.filename or folder
                raise PostgresError(f"Nothing can be kept in {folder}: {name} is not writable.") from problem
            case errno.EEXIST | errno.ENOTDIR:
                raise PostgresError(f"Nothing can be kept in {folder}: it is not a folder.") from problem
        raise
