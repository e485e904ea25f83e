"""What another program kept, opened: a file, a zip of files or a folder, read a piece at a time within bounds.

Nothing is unpacked to the disk. A zip says how much it unpacks to, and no more than that is ever read of it: one that
says too much is refused before. What is nested too deep, or is one item of many megabytes, is refused by its name.
"""

import os
import re
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import ijson
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _

from memories.choices import Category, EntryType
from memories.exceptions import PlatformError
from memories.files.layout import readable
from memories.imports.batch import LeftOut, LeftOutReason
from memories.language.text import is_storable


class FileRefused(PlatformError):
    """This file cannot be imported."""


@dataclass(frozen=True, kw_only=True)
class FileItem:
    """Something a file holds: a memory or a turn of a conversation, which becomes an event of its day as well."""

    number: int  # of the row, or of the item in its list
    content: str
    path: str = ""  # of the file it stands in, where there are several
    who: str = ""  # whose it is, where the file says so
    also: tuple[str, ...] = ()  # other names by which that one may be chosen
    at: datetime | None = None
    is_turn: bool = False
    title: str = ""  # of its conversation
    message: tuple[str, int] = ("", 0)  # it is part of: the conversation by its id there, and its place in it
    fields: dict[str, Any] = field(default_factory=dict)  # of the draft
    slots: dict[str, str] = field(default_factory=dict)


Reader = Iterator[FileItem | LeftOut]
#: Who hears how many bytes are read.
OnBytesRead = Callable[[int], None]
#: How deep lists and objects may stand in one another, and how large an item may be, which is read as a whole.
DEPTH_MOST, ITEM_BYTES = 100, 32 * 1024 * 1024
#: What a zip or a folder may hold: files, and bytes of those that are read, unpacked. A text is packed to a tenth of
#: its size; what would grow more than two hundredfold is no export.
FILES_MOST, UNPACKED_BYTES, PACKED_MOST = 50_000, 4 * 1024**3, 200
#: So many seconds are the year 5138: more are milliseconds.
_MILLISECONDS = 100_000_000_000
#: Where lines of the profile are kept.
PROJECT, TOPIC = "_global", "_profile"
_DIRECTORY_BYTES = 16 * 1024 * 1024
_BEGINNING, _CHUNK = 100_000, 1024 * 1024
_ESCAPED, _STRING = re.compile(rb"\\.", re.DOTALL), re.compile(rb'"[^"]*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ZIP, _ZIP_END, _ZIP64_END = b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06"


@dataclass(frozen=True)
class Member:
    """One file of a bundle."""

    path: str  # in the bundle, as far as it is readable
    size: int
    open: Callable[[], IO[bytes]]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def beginning(self) -> str:
        """Its first characters. Raises FileRefused."""
        try:
            with self.open() as file:
                return file.read(_BEGINNING).removeprefix(BOM_UTF8).decode("utf-8", errors="replace")
        except _UNREADABLE as problem:
            raise FileRefused(_("“%(name)s” cannot be read.") % {"name": readable(self.path)}) from problem


_UNREADABLE = (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error)


@dataclass
class Bundle:
    """A file, a zip or a folder of another program. Raises FileRefused where it is none of them, or too much."""

    path: Path
    on_bytes_read: OnBytesRead = lambda _bytes: None
    left_out: list[LeftOut] = field(default_factory=list)  # what lies there and is never read: links
    opened: set[str] = field(default_factory=set)
    _before: int = 0  # bytes of the files that were read to their end

    @cached_property
    def members(self) -> list[Member]:
        """Its files, in the order of their paths."""
        try:
            if self.is_single:
                return [Member(readable(self.path.name), self.path.stat().st_size, lambda: self.path.open("rb"))]
            members = self._in_folder() if self.path.is_dir() else self._in_zip()
            return sorted(members, key=lambda member: member.path)
        except _UNREADABLE as problem:
            raise FileRefused(_("“%(name)s” cannot be read.") % {"name": readable(str(self.path))}) from problem

    @cached_property
    def is_single(self) -> bool:
        """Whether it is one file, no folder and no zip, whatever that is called."""
        if self.path.is_dir():
            return False
        with self.path.open("rb") as file:
            return file.read(len(_ZIP)) not in (_ZIP, _ZIP_END)

    def named(self, *patterns: str) -> list[Member]:
        """The files of such names or paths; a file that stands alone may have any."""
        if self.is_single:
            return self.members
        return [
            member
            for member in self.members
            if any(fnmatch(member.path if "/" in pattern else member.name, pattern) for pattern in patterns)
        ]

    @contextmanager
    def reading(self, member: Member) -> Iterator[tuple[BinaryIO, OnBytesRead]]:
        """A file of it, open, and who hears how much of it is read. Raises FileRefused."""
        self.opened.add(member.path)
        try:
            with member.open() as file:
                yield cast(BinaryIO, file), lambda count: self.on_bytes_read(self._before + count)
        except _UNREADABLE as problem:
            raise FileRefused(_("“%(name)s” cannot be read.") % {"name": readable(member.path)}) from problem
        self._before += member.size

    def text(self, member: Member, most: int) -> str | LeftOut:
        """The text of a file in UTF-8, its lines ended by LF alone; or why it is left out. Raises FileRefused."""
        self.opened.add(member.path)
        if member.size > most:
            return LeftOut(readable(member.path), LeftOutReason.TOO_LARGE)
        with self.reading(member) as (file, on_bytes_read):
            raw = file.read(most)
            on_bytes_read(len(raw))
        try:
            content = raw.removeprefix(BOM_UTF8).decode("utf-8")
        except UnicodeDecodeError:
            return LeftOut(readable(member.path), LeftOutReason.NO_TEXT)
        if not is_storable(content):
            return LeftOut(readable(member.path), LeftOutReason.NO_TEXT)
        return content.replace("\r\n", "\n").replace("\r", "\n")

    def rest(self) -> Iterator[LeftOut]:
        """What lies there and was not read."""
        yield from self.left_out
        for member in self.members:
            if member.path not in self.opened:
                yield LeftOut(readable(member.path), LeftOutReason.OTHER_FILE)

    @property
    def size(self) -> int:
        return sum(member.size for member in self.members)

    def _in_folder(self) -> Iterator[Member]:
        count = 0
        for place, folders, names in os.walk(self.path):
            for name in [*folders, *names]:
                path = Path(place, name)
                inside = path.relative_to(self.path).as_posix()
                if path.is_symlink():
                    self.left_out.append(LeftOut(readable(inside), LeftOutReason.LINK))
                elif name in names and path.is_file():
                    count += 1
                    yield Member(readable(inside), path.stat().st_size, lambda path=path: path.open("rb"))  # type: ignore[misc]
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
            if count > FILES_MOST:
                raise FileRefused(self._too_many())

    def _in_zip(self) -> Iterator[Member]:
        # The table of contents, which is read as a whole
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - 70_000))
            end = file.read()
        place = end.rfind(_ZIP_END)
        size = int.from_bytes(end[place + 12 : place + 16], "little")
        if size == 0xFFFFFFFF:
            place = end.rfind(_ZIP64_END)
            size = int.from_bytes(end[place + 40 : place + 48], "little") if place >= 0 else size
        if size > _DIRECTORY_BYTES:
            raise FileRefused(self._too_many())
        archive = zipfile.ZipFile(self.path)
        files = [about for about in archive.infolist() if not about.is_dir()]
        if len(files) > FILES_MOST:
            raise FileRefused(self._too_many())
        for about in files:
            if about.flag_bits & 1:
                raise FileRefused(_("“%(name)s” is encrypted.") % {"name": readable(about.filename)})
            is_bomb = about.file_size > ITEM_BYTES and about.file_size > PACKED_MOST * max(about.compress_size, 1)
            if is_bomb or about.file_size > UNPACKED_BYTES:
                message = _("“%(name)s” would unpack to %(size)d MB out of %(packed)d KB; it is not read.")
                sizes = {"size": about.file_size // 1_000_000, "packed": about.compress_size // 1_000}
                raise FileRefused(message % {"name": readable(about.filename), **sizes})
            yield Member(about.filename, about.file_size, lambda about=about: archive.open(about))  # type: ignore[misc]

    def _too_many(self) -> str:
        message = _("“%(name)s” holds more than %(most)d files; name the file in it that holds memories.")
        return message % {"name": readable(self.path.name), "most": FILES_MOST}


def items(bundle: Bundle, member: Member, *lists: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON file with their numbers, one after another: of its list, of one it names, or one a line.

    Raises FileRefused.
    """
    number = 0
    try:
        with bundle.reading(member) as (file, on_bytes_read):
            beginning = file.read(_BEGINNING).removeprefix(BOM_UTF8).lstrip()
            list_names = [name for name in lists if f'"{name.rpartition(".")[2]}"'.encode() in beginning] or lists
            prefixes = ["item"] if beginning[:1] == b"[" else [f"{name}.item" for name in list_names]
            for prefix in [*prefixes, *([""] if beginning[:1] == b"{" else [])]:
                file.seek(0)
                if file.read(len(BOM_UTF8)) != BOM_UTF8:
                    file.seek(0)
                watched = _Watched(file, on_bytes_read)
                for item in ijson.items(watched, prefix, use_float=True, multiple_values=True, buf_size=_CHUNK):
                    watched.since = 0
                    number += 1
                    yield number, item if isinstance(item, dict) else {}
                if number:
                    return
    except _TooLarge as problem:
        message = _(
            "“%(name)s”: its item %(number)d has over %(most)d MB; so much is not read at once. Split the file."
        )
        most = ITEM_BYTES // 1024 // 1024
        raise FileRefused(message % {"name": member.name, "number": number + 1, "most": most}) from problem
    except RecursionError as problem:
        raise FileRefused(nested_too_deep(member.name, number + 1)) from problem
    except (ijson.JSONError, UnicodeDecodeError) as problem:
        message = _("After its item %(number)d: %(why)s")
        raise FileRefused(message % {"number": number, "why": str(problem).splitlines()[0]}) from problem


def nested_too_deep(name: str, number: int) -> str:
    """The sentence about an item, or a line, of a file that is nested too deep."""
    message = _("“%(name)s”: in its item %(number)d, lists and objects stand in one another more than %(most)d deep.")
    return message % {"name": name, "number": number, "most": DEPTH_MOST}


class _TooLarge(Exception):
    """One item of a file is larger than is read at once."""


@dataclass
class _Watched:
    """A file of JSON that is read, with how much of it came since the last item was whole, and how deep it is there.

    A reader of JSON would use up the memory of the machine over a million brackets before it gave anything.
    """

    file: BinaryIO
    on_bytes_read: OnBytesRead
    since: int = 0
    depth: int = 0
    is_in_string: bool = False
    rest: bytes = b""  # the beginning of an escape whose end comes next

    def read(self, size: int = -1) -> bytes:
        """Raises _TooLarge, and RecursionError for what is nested deeper than DEPTH_MOST."""
        if self.since > ITEM_BYTES:
            raise _TooLarge
        data = self.file.read(size)
        self.since += len(data)
        self.on_bytes_read(self.file.tell())
        plain = _ESCAPED.sub(b"", self.rest + data)
        self.rest = b"\\" if plain.endswith(b"\\") else b""
        plain = _STRING.sub(b"", (b'"' if self.is_in_string else b"") + plain.removesuffix(b"\\"))
        outside, quote, _inside = plain.partition(b'"')
        self.is_in_string = bool(quote)
        for sign in outside.translate(None, delete=_NO_BRACKETS):
            self.depth += 1 if sign in b"[{" else -1
            if self.depth > DEPTH_MOST:
                raise RecursionError
        return data


def check_depth(value: Any) -> None:
    """Raises RecursionError for what is nested deeper than DEPTH_MOST; it does not recurse itself."""
    level = [value]
    for _depth in range(DEPTH_MOST + 1):
        inner = [item for item in level if isinstance(item, dict | list)]
        level = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
        if not level:
            return
    raise RecursionError


def time_of(value: Any, *, is_end: bool = False) -> datetime | None:
    """A time as files write it: ISO 8601, without a zone in UTC, or seconds or milliseconds since 1970.

    Of a day alone its noon, which is that day in nearly every zone; of the time something ends its end. Raises
    ValueError.
    """
    if value is None or value == "":
        return None
    message = _("“%(text)s” is not a time.") % {"text": str(value)[:100]}
    if isinstance(value, int | float):
        try:
            return datetime.fromtimestamp(value / 1000 if abs(value) > _MILLISECONDS else value, UTC)
        except (ValueError, OverflowError, OSError) as problem:
            raise ValueError(message) from problem
    if day := parse_date(str(value)):
        return datetime.combine(day, time(12), UTC) + (timedelta(hours=12) if is_end else timedelta())
    if (read := parse_datetime(str(value))) is None:
        raise ValueError(message)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def slots_of(values: Any) -> dict[str, str]:
    """What a foreign program kept beside a memory, as slots: of what is nested under the names above it, as `a.b`."""
    slots: dict[str, str] = {}
    level: list[tuple[str, Any]] = [("", values if isinstance(values, dict) else {})]
    while level:
        name, value = level.pop(0)
        if isinstance(value, dict):
            level += [(f"{name}.{inner}" if name else str(inner), child) for inner, child in value.items()]
        elif isinstance(value, list):
            plain = [str(child) for child in value if isinstance(child, str | int | float)]
            slots[name] = ", ".join(plain)
            level += [(f"{name}.{n}", child) for n, child in enumerate(value) if isinstance(child, dict | list)]
        elif isinstance(value, str | int | float):
            slots[name] = str(value)
    return {name: value for name, value in slots.items() if value != ""}


def fact(categories: Any = ()) -> dict[str, Any]:
    """The fields of a fact; of its categories, the first that there is here, and the first other one as its topic."""
    names = [str(name) for name in categories or () if name]
    category = next((name for name in names if name in Category.values), "")
    topic = next((name for name in names if name != category), "")
    return {"type": EntryType.FACT, "tier": 2, "category": category, "topic": topic[:100]}


def profile(category: str = Category.IDENTITY) -> dict[str, Any]:
    """The fields of a line of the profile, which goes with every message."""
    lasting = {"project": PROJECT, "topic": TOPIC, "importance": 1.0}
    return {"type": EntryType.FACT, "tier": 1, "category": category, **lasting}
