"""Errors of the embedded database, each one sentence for a person."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PostgresError(Exception):
    """The message is a whole sentence; a command prints it and exits with 1."""


class UnsupportedProcessor(PostgresError):
    pass


class DiskFull(PostgresError):
    pass


class FolderNotWritable(PostgresError):
    pass


class AccountMissing(PostgresError):
    pass


class PackageMissing(PostgresError):
    pass


class PathUnusable(PostgresError):
    pass


class SocketFolderRefused(PostgresError):
    pass


class StartFailed(PostgresError):
    pass


class StopFailed(PostgresError):
    pass


class BackupFailed(PostgresError):
    pass


class RestoreFailed(PostgresError):
    pass


_FULL = {errno.ENOSPC, errno.EDQUOT}
_NO_FOLDER = {errno.EEXIST, errno.ENOTDIR}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def explain_os_errors(folder: Path) -> Iterator[None]:
    """Raise OSErrors of a folder as PostgresErrors with a sentence."""
    try:
        yield
    except OSError as problem:
        if problem.errno in _FULL:
            raise DiskFull(f"The disk that holds {folder} is full.") from problem
        if problem.errno in _REFUSED:
            place = problem.filename or folder
            raise FolderNotWritable(f"Nothing can be kept in {folder}: {place} is not writable.") from problem
        if problem.errno in _NO_FOLDER:
            raise FolderNotWritable(f"Nothing can be kept in {folder}: it is not a folder.") from problem
        raise
