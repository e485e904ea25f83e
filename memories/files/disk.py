"""Reading and writing files: appended under a lock, rewritten whole or not at all, on the disk when a call returns.

A file is opened name by name from its folder, and never through a link, symbolic or hard: a path was looked at before,
and what somebody puts in its place meanwhile is refused here. Others write these files too: editors, git, scripts. They
know nothing of locks, so what is there is looked at again before it is replaced.
"""

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

from django.utils.translation import gettext as _

from memories.conf import conf
from memories.exceptions import FileBusy, FileUnreadable, FileUnwritable, PathNotAllowed
from memories.files.comments import STAMPS
from memories.files.layout import ScopeFolder, changed_ns
from memories.files.parsing import closing

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
    root, follow = folder.workspace.parent, _FOLDER & ~os.O_NOFOLLOW  # where its owner made it a link, that is followed
    with _refusals():
        try:
            fd = os.open(root, follow)
        except FileNotFoundError:
            if not create:
                raise
            root.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            fd = os.open(root, follow)
    try:
        for part in (folder.workspace.name, *above):
            with _refusals():
                try:
                    inner = os.open(part, _FOLDER, dir_fd=fd)
                except FileNotFoundError:
                    if not create:
                        raise
                    with suppress(FileExistsError):  # by another process, just now
                        os.mkdir(part, _FOLDER_MODE, dir_fd=fd)
                        os.fsync(fd)
                    inner = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd, name
    finally:
        os.close(fd)


def open_file(folder_fd: int, name: str, flags: int) -> int:
    """A regular file of one name. Raises PathNotAllowed for all else, FileNotFoundError where none is there or made.

    A file with a second name may be another scope's, or none of ours: what it says is neither shown nor added to.
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


_FIRST_WAIT, _LONGEST_WAIT = 0.000_5, 0.02  # seconds between two looks at a lock


@contextmanager
def locked(folder: ScopeFolder, path: str, flags: int, *, create: bool) -> Iterator[tuple[int, str, int]]:
    """Folder, name and file, the file locked. Raises FileBusy, and FileNotFoundError where it is not to be made."""
    until = time.monotonic() + conf.FILE_LOCK_SECONDS
    with folder_of(folder, path, create=create) as (folder_fd, name):
        while True:
            fd = open_file(folder_fd, name, flags | (os.O_CREAT if create else 0))
            try:
                pause = _FIRST_WAIT
                while True:
                    try:
                        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError as error:
                        if time.monotonic() > until:
                            raise FileBusy() from error
                    time.sleep(pause)
                    pause = min(2 * pause, _LONGEST_WAIT)
                if is_same(folder_fd, name, fd):  # else it was replaced while we waited
                    yield folder_fd, name, fd
                    return
            finally:
                os.close(fd)  # and the lock with it


def is_same(folder_fd: int, name: str, fd: int) -> bool:
    """Whether a name still leads to an open file: a rewrite, ours or an editor's, puts another in its place."""
    try:
        there = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))


LINE_CHARS = 20_000  # of one line that is shown
_CHUNK = 1 << 20
_ATTEMPTS = 5  # of what others change at the same time
_STAMPS = tuple(stamp.encode() for stamp in STAMPS)
_LONE_LF = re.compile(r"(?<!\r)\n")


@dataclass(frozen=True)
class FileText:
    """A file as it was read: without its BOM, its line ends as they are."""

    text: str
    changed_ns: int
    size: int
    sha256: str


def read(folder: ScopeFolder, path: str) -> FileText | None:
    """The text of a file; None: it is not there. Raises FileUnreadable: too large, or not UTF-8."""
    try:
        with folder_of(folder, path) as (folder_fd, name):
            data, status = _steady(folder_fd, name)
    except FileNotFoundError:
        return None
    text = _text_of(data)
    return FileText(text, changed_ns(status), status.st_size, hashlib.sha256(data).hexdigest())


def read_lines(folder: ScopeFolder, path: str, first: int, count: int) -> tuple[list[str], bool]:
    """Some lines of a file of any size, from line `first` (1 …) on, and whether there are more. No file, no lines.

    What is not UTF-8 is shown as �, and of a very long line its beginning.
    """
    try:
        with folder_of(folder, path) as (folder_fd, name):
            fd = open_file(folder_fd, name, os.O_RDONLY)
    except FileNotFoundError:
        return [], False
    lines: list[str] = []
    with os.fdopen(fd, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(_lines(file.readline), start=1):
            if number >= first + count:
                return lines, True
            if number >= first:
                lines.append(line)
    return lines, False


def append(folder: ScopeFolder, path: str, text: str, *, first_line: str = "", once: str = "", below: str = "") -> int:
    """Add lines to the end of a file, and answer the number of the first.

    A new file begins with `first_line`, where one is given, and an empty line. A last line without an end gets one.
    Lines with the words `once` are added once: where they stand already, nothing is. The line `below` follows them
    unless the file has it.
    """
    for _attempt in range(_ATTEMPTS):
        with locked(folder, path, os.O_RDWR | os.O_APPEND, create=True) as (folder_fd, name, fd):
            size = os.fstat(fd).st_size
            if once and (line := _line_with(fd, size, once)):
                return line - text.count("\n", 0, text.index(once))
            tail = _Tail.of(fd, size)
            lead = f"{first_line}\n\n" if size == 0 and first_line else tail.lead(fd)
            rest = f"{below}\n" if below and not _line_with(fd, size, below) else ""
            plain = f"{lead}{text.rstrip()}\n{rest}".replace("\r\n", "\n").replace("\r", "\n")
            data = plain.replace("\n", tail.end).encode()
            # Write at the end; what was only half written is taken back
            try:
                write_all(fd, data)
            except FileUnwritable:
                with suppress(OSError):
                    os.ftruncate(fd, size)
                raise
            if size == 0:
                os.fsync(folder_fd)
            if is_same(folder_fd, name, fd) or _holds(folder, path, data):
                return tail.lines + 1 + lead.count("\n")
    raise FileBusy()


def rewrite(folder: ScopeFolder, path: str, change: Callable[[str], str]) -> None:
    """Replace the text of a file by what `change` makes of it: all of it or nothing, whatever happens meanwhile.

    `change` is given the text as `read` gives it, and empty text where there is no file. Its BOM, the ends of its lines
    and who may read it stay. What somebody saves at the same moment is not overwritten: `change` is asked again.
    """
    for _attempt in range(_ATTEMPTS):
        try:
            with locked(folder, path, os.O_RDWR, create=False) as (folder_fd, name, _fd):
                data, before = _steady(folder_fd, name)
                text = _text_of(data)
                new_text = change(text)
                if new_text == text:
                    return
                if "\r\n" in text and not _LONE_LF.search(text):
                    new_text = _LONE_LF.sub("\r\n", new_text)
                bom = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
                if _swap(folder_fd, name, bom + new_text.encode(), before):
                    return
        except FileNotFoundError:
            if not (text := change("")):
                return
            append(folder, path, text)
            return
    raise FileBusy()


def _steady(folder_fd: int, name: str) -> tuple[bytes, os.stat_result]:
    """The bytes of a file, read again where somebody wrote while they were read."""
    for attempt in range(_ATTEMPTS):
        with os.fdopen(open_file(folder_fd, name, os.O_RDONLY), "rb") as file:
            before = os.fstat(file.fileno())
            if before.st_size > conf.FILE_MAX_BYTES:
                raise FileUnreadable(_too_large(before.st_size))
            data = file.read(conf.FILE_MAX_BYTES + 1)
            after = os.fstat(file.fileno())
        if _is_unchanged(before, after) or attempt == _ATTEMPTS - 1:
            break
    if len(data) > conf.FILE_MAX_BYTES:
        raise FileUnreadable(_too_large(len(data)))
    return data, after


def _is_unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    return os.path.samestat(before, after) and (before.st_mtime_ns, before.st_size) == (
        after.st_mtime_ns,
        after.st_size,
    )


def _too_large(size: int) -> str:
    return _("This file has %(size)d bytes; more than %(most)d are not read as a whole.") % {
        "size": size,
        "most": conf.FILE_MAX_BYTES,
    }


def _text_of(data: bytes) -> str:
    try:
        return data.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = _newlines(data.removeprefix(BOM_UTF8)[: error.start]) + 1
        raise FileUnreadable(_("Line %d of this file is not UTF-8.") % line) from error


def _newlines(data: bytes) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def _lines(readline: Callable[[int], str]) -> Iterator[str]:
    """The lines of a file without their ends, never more of one in memory than is shown."""
    while line := readline(LINE_CHARS + 1):
        text = line.rstrip("\n")
        while line and not line.endswith("\n"):
            line = readline(LINE_CHARS)
        yield text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…"


@dataclass(frozen=True)
class _Tail:
    """How a file ends: what its lines end in, how many there are, whether the last has its end."""

    end: str
    lines: int
    is_ended: bool
    may_be_open: bool  # something may have begun that would take in what follows

    @classmethod
    def of(cls, fd: int, size: int) -> Self:
        """Of an open file, which is read in parts."""
        lines, last, end, signs = 0, b"", "", 0
        os.lseek(fd, 0, os.SEEK_SET)
        while chunk := os.read(fd, _CHUNK):
            lines += _newlines(chunk) - (last == b"\r" and chunk[:1] == b"\n")
            last = chunk[-1:]
            end = end or ("\r\n" if b"\r\n" in chunk else "\n" if b"\n" in chunk else "")
            brackets = abs(chunk.count(b"<") - sum(map(chunk.count, _STAMPS)))
            signs += chunk.count(b"```") + chunk.count(b"~~~") + brackets
        is_empty = size <= len(BOM_UTF8) and last in (b"", BOM_UTF8[-1:])
        return cls(end or "\n", lines, is_empty or last in (b"\n", b"\r"), signs > 0)

    def lead(self, fd: int) -> str:
        """What is to stand before new lines, so that they are lines of their own."""
        lead = "" if self.is_ended else "\n"
        size = os.fstat(fd).st_size
        if not self.may_be_open or size > conf.FILE_MAX_BYTES:
            return lead
        return lead + closing(os.pread(fd, size, 0).decode(errors="replace") + lead)


def _line_with(fd: int, size: int, words: str) -> int | None:
    """The number of the first line of a file that holds some words."""
    before, words_there, _after = os.pread(fd, size, 0).partition(words.encode())
    return _newlines(before) + 1 if words_there else None


def _holds(folder: ScopeFolder, path: str, data: bytes) -> bool:
    """Whether the file that took the place of the one we wrote to has our lines all the same."""
    try:
        with folder_of(folder, path) as (folder_fd, name):
            return data.strip() in _steady(folder_fd, name)[0]
    except (FileNotFoundError, FileUnreadable):
        return False


def _swap(folder_fd: int, name: str, data: bytes, before: os.stat_result) -> bool:
    """Put a changed copy in the place of a file; False: it was changed by somebody else meanwhile."""
    mark = f".rewrite-{hashlib.sha256(name.encode()).hexdigest()[:16]}-"
    for leftover in os.listdir(folder_fd):
        if leftover.startswith(mark):  # by a process that was killed: we hold the lock, nobody else is at it
            os.unlink(leftover, dir_fd=folder_fd)
    draft = f"{mark}{secrets.token_hex(4)}.tmp"
    fd = open_file(folder_fd, draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with suppress(PermissionError):  # another's file stays another's where we may say so
            os.fchown(fd, before.st_uid, before.st_gid)
        os.fchmod(fd, before.st_mode & 0o7777)
        write_all(fd, data)
        if not _is_unchanged(before, os.stat(name, dir_fd=folder_fd, follow_symlinks=False)):
            return False
        os.rename(draft, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        draft = ""
        os.fsync(folder_fd)
        return True
    finally:
        os.close(fd)
        if draft:
            os.unlink(draft, dir_fd=folder_fd)
