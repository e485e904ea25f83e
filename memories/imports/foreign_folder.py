"""A folder of markdown another program kept: MEMORY.md and YYYY-MM-DD.md, at its root or in memory/ (D8)."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from django.utils.translation import gettext as _

from memories.conf import conf
from memories.exceptions import FolderRefused
from memories.files import layout
from memories.files.names import readable
from memories.imports.left_out import LeftOut, LeftOutReason
from memories.language import text

LONG_TERM, NOTES = "MEMORY.md", "memory"
_DAILY = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
#: A special file such as a pipe must not keep the import waiting.
_OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class FoundFile:
    """A file to import: what is to be remembered at all times, or the notes of a day."""

    path: str  # in the folder
    on: date | None = None  # None: MEMORY.md


class FileLeftOut(Exception):
    """A file cannot be imported."""

    def __init__(self, reason: LeftOutReason) -> None:
        super().__init__(reason)
        self.reason = reason


def open_folder(name: str | Path) -> Path:
    """The folder of this name, with all links on the way to it followed. Raises FolderRefused."""
    try:
        folder = Path(name).expanduser().resolve(strict=True)
        is_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError) as problem:
        raise FolderRefused(_("There is no folder “%(name)s”.") % {"name": name}) from problem
    if not is_folder:
        raise FolderRefused(_("“%(name)s” is no folder.") % {"name": name})
    if _is_live(folder):
        message = _("“%(name)s” lies among the platform's own files: these are indexed by themselves, never imported.")
        raise FolderRefused(message % {"name": name})
    return folder


def _is_live(folder: Path) -> bool:
    """Whether it is the folder of the platform's own files, or lies in it, however it is spelled."""
    try:
        return any(place.samefile(layout.root()) for place in (folder, *folder.parents))
    except OSError:  # there are none yet
        return False


def find_files(folder: Path) -> tuple[list[FoundFile], list[LeftOut]]:
    """The files to import, MEMORY.md first and days in their order, and what else of markdown lies there.

    Raises FolderRefused where nothing of the kind is there.
    """
    found: list[FoundFile] = []
    left_out: list[LeftOut] = []
    for path, kind in sorted(_listed(folder)):
        reason = _wrong_kind(kind) or _wrong_name(path)
        if reason:
            left_out.append(LeftOut(readable(path), reason))
        else:
            found.append(FoundFile(path, _day_of(path)))
    if not (found or left_out):
        raise FolderRefused(
            _("Nothing to import in “%(name)s”: neither MEMORY.md nor 2026-01-31.md, nor in its folder memory.")
            % {"name": folder}
        )
    return sorted(found, key=lambda file: (file.on or date.min, file.path)), left_out


def _listed(folder: Path) -> Iterator[tuple[str, int]]:
    """Path and kind of all that is named as markdown, at the root and in memory/. Raises FolderRefused."""
    for place in ("", NOTES):
        if place and (folder / place).is_symlink():
            yield place, stat.S_IFLNK
            continue
        try:
            with os.scandir(folder / place) as names:
                for name in names:
                    if name.name.endswith(".md"):
                        yield os.path.join(place, name.name), stat.S_IFMT(name.stat(follow_symlinks=False).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            raise FolderRefused(_("“%(name)s” cannot be read.") % {"name": folder / place}) from problem


def _wrong_kind(kind: int) -> LeftOutReason | None:
    if kind == stat.S_IFREG:
        return None
    return LeftOutReason.LINK if kind == stat.S_IFLNK else LeftOutReason.NO_FILE


def _wrong_name(path: str) -> LeftOutReason | None:
    name = os.path.basename(path)
    if name == LONG_TERM:
        return None
    if _DAILY.fullmatch(name):
        return None if _day_of(path) else LeftOutReason.NO_DAY
    return LeftOutReason.NAME


def _day_of(path: str) -> date | None:
    named = _DAILY.fullmatch(os.path.basename(path))
    try:
        return date.fromisoformat(named[1]) if named else None
    except ValueError:
        return None


def read_file(folder: Path, file: FoundFile) -> str:
    """The text of a file, its lines ended by LF alone, without a byte order mark. Raises FileLeftOut."""
    try:
        with os.fdopen(os.open(folder / file.path, _OPENING), "rb") as opened:
            about = os.fstat(opened.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise FileLeftOut(LeftOutReason.NO_FILE)
            if about.st_size > conf.FILE_MAX_BYTES:
                raise FileLeftOut(LeftOutReason.TOO_LARGE)
            raw = opened.read(conf.FILE_MAX_BYTES)
        content = raw.decode("utf-8-sig")
    except OSError as problem:
        raise FileLeftOut(LeftOutReason.UNREADABLE) from problem
    except UnicodeDecodeError as problem:
        raise FileLeftOut(LeftOutReason.NO_TEXT) from problem
    if not text.is_storable(content):
        raise FileLeftOut(LeftOutReason.NO_TEXT)
    if not content.strip():
        raise FileLeftOut(LeftOutReason.EMPTY)
    return content.replace("\r\n", "\n").replace("\r", "\n")


def lines_of(content: str, limit: int) -> Iterator[str]:
    """The lines of a text, those of more characters than `limit` in pieces."""
    for line in content.splitlines():
        if len(line) <= limit:
            yield line
        else:
            bare = line.strip()
            yield from (bare[start : start + limit] for start in range(0, len(bare), limit))


def parts(content: str, limit: int) -> Iterator[str]:
    """A text in parts of at most so many characters, cut between lines."""
    part: list[str] = []
    length = 0
    for line in lines_of(content, limit):
        if part and length + len(line) > limit:
            yield "\n".join(part).strip()
            part, length = [], 0
        if part or line.strip():  # none begins with nothing
            part.append(line)
            length += len(line) + 1
    if part:
        yield "\n".join(part).strip()
