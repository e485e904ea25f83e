"""One import as one batch: what its files hold, what is written, and what is left out."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from uuid import uuid4

import ijson
from django.db import connection, transaction
from django.db.models import Count, QuerySet, TextChoices
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from memories import batches
from memories.batches.steps import CreateStep, PlanRow
from memories.choices import BatchState, BatchVerb, Category, ChangeState, EntryType, Outcome, SkipReason
from memories.exceptions import PlatformError, ScopeFrozen
from memories.models import Batch, BatchChange, Entry, Scope


class LeftOutReason(TextChoices):
    """Why something is not imported."""

    LINK = "link", pgettext_lazy("left out", "it is a link, and links are not followed")
    NO_FILE = "no_file", pgettext_lazy("left out", "it is no file")
    NAME = "name", pgettext_lazy("left out", "it is neither MEMORY.md nor named by its day, as 2026-01-31.md is")
    NO_DAY = "no_day", pgettext_lazy("left out", "there is no such day")
    TOO_LARGE = "too_large", pgettext_lazy("left out", "it is too large to be read as a whole")
    NO_TEXT = "no_text", pgettext_lazy("left out", "it is no text in UTF-8")
    UNREADABLE = "unreadable", pgettext_lazy("left out", "it cannot be read")
    EMPTY = "empty", pgettext_lazy("left out", "nothing stands in it")
    SUPPRESSED = "suppressed", pgettext_lazy("left out", "people took these words out of use before")
    ERASED = "erased", pgettext_lazy("left out", "it belongs to a person who was erased")
    NO_ENTRY = "no_entry", pgettext_lazy("left out", "what it refers to is not there")
    UNSTORABLE = "unstorable", pgettext_lazy("left out", "it cannot be stored")


#: What is named of what an import leaves out; of the rest there is the number.
MOST_NAMED = 1_000


@dataclass(frozen=True)
class LeftOut:
    """A file, or a line or row of one, that is not imported."""

    path: str
    reason: LeftOutReason
    line: int | None = None
    detail: str = ""


@dataclass
class AllLeftOut:
    """What an import leaves out: how much, and the first of it. A file of millions of such rows takes no more room."""

    count: int = 0
    first: list[LeftOut] = field(default_factory=list)

    def add(self, left_out: LeftOut, times: int = 1) -> None:
        """Count this, so many times."""
        self.first += [left_out] * min(times, MOST_NAMED - len(self.first))
        self.count += times

    def __iter__(self) -> Iterator[LeftOut]:
        return iter(self.first)


NAME = "import"
#: Two imports into one scope at once would both miss what the other plans.
_IMPORT_LOCK = 12 << 56
_OPEN = (BatchState.PROPOSED, BatchState.APPLYING, BatchState.APPLIED)
#: How far it is: of files, or of the bytes of one, that are read, then of rows that are written.
Report = Callable[[str, int, int], None]
FILES, READ, ROWS = "files", "bytes", "rows"


class Reading(Protocol):
    """What is read into the rows of a plan, and counted meanwhile."""

    def rows(self) -> Iterator[PlanRow]: ...


@dataclass
class ImportReport:
    """What an import wrote or, tried out, would write."""

    files: int = 0
    facts: int = 0
    events: int = 0
    merged: int = 0  # lines that became part of one that says nearly the same
    already: int = 0  # lines and days that are there already
    continued: int = 0  # rows of an import that was killed
    left_out: AllLeftOut = field(default_factory=AllLeftOut)
    profile: int = 0  # lines of the scope's profile after it
    batch: Batch | None = None

    def count(self, batch: Batch) -> None:
        """Count what became of each row of a batch."""
        rows = BatchChange.objects.filter(batch=batch).order_by()
        for verb, state, note, count in rows.values_list("verb", "state", "note").annotate(rows=Count("*")):
            if state == ChangeState.LEFT:
                reason = LeftOutReason.SUPPRESSED if note == SkipReason.SUPPRESSED else LeftOutReason.UNSTORABLE
                self.left_out.add(LeftOut("", reason), count)
            elif note == Outcome.MERGED:
                self.merged += count
            elif note == Outcome.SKIPPED:
                self.already += count
            elif verb == BatchVerb.CREATE:
                self.facts += count
            else:
                self.events += count


def carry_out(
    scope: Scope,
    reading: Reading,
    done: ImportReport,
    *,
    name: str,
    now: datetime,
    actor: str,
    is_dry: bool = False,
    report: Report | None = None,
) -> ImportReport:
    """Import what is read into a scope, after what a killed import has left to do; dry, only count it.

    Raises ScopeFrozen, and what the reading does.
    """
    if Scope.objects.get(pk=scope.pk).frozen:
        raise ScopeFrozen
    if is_dry:
        for row in reading.rows():
            if isinstance(row.step, CreateStep):
                done.facts += 1
            else:
                done.events += 1
    else:
        unfinished = Batch.objects.filter(scope=scope, name=NAME, state__in=(BatchState.PROPOSED, BatchState.APPLYING))
        for batch in list(unfinished.order_by("pk")):
            done.continued += BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED).count()
            _apply(batch, now, report)
        done.batch = _plan(scope, reading, now=now, actor=actor, name=name)
        if done.batch:
            _apply(done.batch, now, report)
            done.count(done.batch)
    done.profile = Entry.objects.in_scope(scope).live().filter(tier=1).count()
    return done


def _plan(scope: Scope, reading: Reading, *, now: datetime, actor: str, name: str) -> Batch | None:
    """The plan of what is not there yet; None where there is nothing."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_IMPORT_LOCK + scope.pk])
        rows = reading.rows()
        first = list(islice(rows, 1))
        if not first:
            return None
        run = f"{NAME}:{uuid4()}"
        return batches.plan(scope, chain(first, rows), name=NAME, run=run, actor=actor, now=now, reason=name)


def _apply(batch: Batch, now: datetime, report: Report | None) -> None:
    rows = BatchChange.objects.filter(batch=batch)
    total, before = rows.count(), rows.exclude(state=ChangeState.PLANNED).count()
    batches.apply_batch(batch, now=now, report=lambda done: report(ROWS, before + done, total) if report else None)


def imported(scope: Scope) -> QuerySet[BatchChange, tuple[str | None, str | None]]:
    """Words and day of all that imports brought into a scope, or are about to bring, and nobody undid."""
    rows = BatchChange.objects.filter(batch__scope=scope, batch__name=NAME, batch__state__in=_OPEN)
    rows = rows.filter(workspace_id=scope.workspace_id, state__in=(ChangeState.PLANNED, ChangeState.APPLIED))
    return rows.order_by().values_list("draft__content", "draft__date")


class FileRefused(PlatformError):
    """This file cannot be imported."""


@dataclass(frozen=True, kw_only=True)
class FileItem:
    """Something a file holds: a memory or a turn of a conversation, which becomes an event of its day as well."""

    number: int  # of the row, or of the item in its list
    content: str
    who: str = ""  # whose it is, where the file says so
    at: datetime | None = None
    is_turn: bool = False
    title: str = ""  # of its conversation
    message: tuple[str, int] = ("", 0)  # it is part of: the conversation by its id there, and its place in it
    fields: dict[str, Any] = field(default_factory=dict)  # of the draft
    slots: dict[str, str] = field(default_factory=dict)


Reader = Iterator[FileItem | LeftOut]
#: Who hears how many bytes of a file are read.
Heard = Callable[[int], None]
#: How deep lists and objects may stand in one another, and how large an item may be, which is read as a whole.
DEPTH_MOST, ITEM_BYTES = 100, 32 * 1024 * 1024
_BEGINNING, _CHUNK = 100_000, 1024 * 1024
_ESCAPED, _STRING = re.compile(rb"\\.", re.DOTALL), re.compile(rb'"[^"]*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def items(path: Path, heard: Heard, *lists: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON file with their numbers, one after another: of its list, of one it names, or one a line.

    Raises FileRefused.
    """
    number = 0
    try:
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING).removeprefix(BOM_UTF8).lstrip()
            named = [name for name in lists if f'"{name}"'.encode() in beginning] or lists
            prefixes = ["item"] if beginning[:1] == b"[" else [f"{name}.item" for name in named]
            for prefix in [*prefixes, *([""] if beginning[:1] == b"{" else [])]:
                for item in _built(file, prefix, heard):
                    number += 1
                    yield number, item if isinstance(item, dict) else {}
                if number:
                    return
    except _TooLarge as problem:
        message = _(
            "“%(name)s”: its item %(number)d has over %(most)d MB; so much is not read at once. Split the file."
        )
        most = ITEM_BYTES // 1024 // 1024
        raise FileRefused(message % {"name": path.name, "number": number + 1, "most": most}) from problem
    except RecursionError as problem:
        raise FileRefused(nested_too_deep(path.name, number + 1)) from problem
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
    heard: Heard
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
        self.heard(self.file.tell())
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


def _built(file: BinaryIO, prefix: str, heard: Heard) -> Iterator[Any]:
    """The values of a JSON file below a prefix. Raises _TooLarge, RecursionError, ijson.JSONError."""
    file.seek(0)
    if file.read(len(BOM_UTF8)) != BOM_UTF8:
        file.seek(0)
    watched = _Watched(file, heard)
    for item in ijson.items(watched, prefix, use_float=True, multiple_values=True, buf_size=_CHUNK):
        watched.since = 0
        yield item


def check_depth(value: Any) -> None:
    """Raises RecursionError for what is nested deeper than DEPTH_MOST; it does not recurse itself."""
    level = [value]
    for _depth in range(DEPTH_MOST + 1):
        inner = [item for item in level if isinstance(item, dict | list)]
        level = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
        if not level:
            return
    raise RecursionError


def time_of(value: Any) -> datetime | None:
    """A time as files write it: ISO 8601, without a zone in UTC, or seconds since 1970. Raises ValueError."""
    if value is None or value == "":
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    read = parse_datetime(str(value))
    if read is None:
        raise ValueError(_("“%(text)s” is not a time.") % {"text": value})
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def slots_of(values: Any) -> dict[str, str]:
    """What a foreign program kept beside a memory, as slots: plain values only."""
    pairs = values.items() if isinstance(values, dict) else ()
    return {str(name): str(value) for name, value in pairs if isinstance(value, str | int | float) and value != ""}


def fact(categories: Any = ()) -> dict[str, Any]:
    """The fields of a fact; of its categories, the first that there is here, and the first other one as its topic."""
    names = [str(name) for name in categories or () if name]
    category = next((name for name in names if name in Category.values), "")
    topic = next((name for name in names if name != category), "")
    return {"type": EntryType.FACT, "tier": 2, "category": category, "topic": topic[:100]}
