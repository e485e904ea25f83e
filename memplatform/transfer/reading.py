"""Reading the records of an export line by line; whoever meets a line that cannot be read is told which."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from memories.imports.batch import ITEM_BYTES, FileRefused, Heard, check_depth, nested_too_deep
from memories.language import text
from memplatform.transfer.export import RECORDS
from memplatform.transfer.records import (
    ACCESS,
    END,
    FORMAT,
    HEAD,
    KINDS,
    PARTS,
    RecordRefused,
    reference,
)

Line = tuple[int, dict[str, Any]]


@dataclass
class Contents:
    """What an export says it holds."""

    counts: Counter[str] = field(default_factory=Counter)
    scopes: set[UUID] = field(default_factory=set)
    sessions: set[UUID] = field(default_factory=set)
    remembered: set[UUID] = field(default_factory=set)  # memories and days
    is_whole: bool = False


def records_of(place: Path) -> Path:
    """The file of records of an export: this file, or the one in this folder."""
    return place / RECORDS if place.is_dir() else place


def is_export(place: Path) -> bool:
    """Whether a file or folder begins as an export does."""
    try:
        with records_of(place).open(encoding="utf-8") as file:
            head = json.loads(file.readline(10_000))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(head, dict) and head.get("record") == HEAD


def lines(file: Path, heard: Heard = lambda _bytes: None) -> Iterator[Line]:
    """The records of a file with their line numbers. Raises FileRefused."""
    done = 0
    with file.open("rb") as opened:
        for number, line in enumerate(iter(lambda: opened.readline(ITEM_BYTES + 1), b""), start=1):
            done += len(line)
            heard(done)
            try:
                if len(line) > ITEM_BYTES:
                    message = _("It has over %(most)d MB; no line of an export is so long.")
                    raise RecordRefused(message % {"most": ITEM_BYTES // 1024 // 1024})
                record = json.loads(line)
                check_depth(record)
                if not isinstance(record, dict):
                    raise RecordRefused(_("It is no record."))
                if b"\\u" in line and not text.is_storable(json.dumps(record, ensure_ascii=False)):
                    raise RecordRefused(_("NUL and lone surrogates cannot be stored."))
            except RecursionError as problem:
                raise FileRefused(nested_too_deep(file.name, number)) from problem
            except (ValueError, RecordRefused) as problem:
                raise refused(number, problem) from problem
            yield number, record


def refused(number: int, problem: Exception) -> FileRefused:
    """The error that names a line."""
    return FileRefused(_("Line %(number)d: %(why)s") % {"number": number, "why": problem})


def check(file: Path, heard: Heard) -> Contents:
    """Read a whole export before anything of it is written. Raises FileRefused with the first line that is wrong."""
    contents = Contents()
    number = 0
    for number, record in lines(file, heard):
        try:
            _check(number, record, contents)
        except RecordRefused as problem:
            raise refused(number, problem) from problem
    if not contents.is_whole:
        message = _("The file ends at line %(number)d, before its end: the export was interrupted, or the copy.")
        raise FileRefused(message % {"number": number})
    return contents


def _check(number: int, record: dict[str, Any], contents: Contents) -> None:
    kind = record.get("record")
    if (kind == HEAD) != (number == 1) or contents.is_whole:
        raise RecordRefused(_("This is no export, or two in one file."))
    if kind == HEAD:
        if record.get("format") != FORMAT:
            message = _("This export has format %(format)s; this version reads %(known)d.")
            raise RecordRefused(message % {"format": record.get("format"), "known": FORMAT})
    elif kind == END:
        contents.is_whole = True
        if record.get("counts") != dict(contents.counts):
            raise RecordRefused(_("Lines are missing: the counts at the end are others."))
    elif kind not in KINDS:
        raise RecordRefused(_("“%(kind)s” is no kind of record.") % {"kind": kind})
    else:
        contents.counts[str(kind)] += 1
        _check_columns(str(kind), record, contents)


def _check_columns(kind: str, record: dict[str, Any], contents: Contents) -> None:
    KINDS[kind].read(record)
    known = {"scope": contents.scopes, "session": contents.sessions}
    for name, of in KINDS[kind].references.items():
        uid = reference(record, name)
        if of in known and uid and uid not in known[of] and kind != "session":
            raise RecordRefused(_("“%(name)s” names none of this file.") % {"name": name})
    if kind in known:
        known[kind].add(UUID(str(record["uid"])))
    if kind in ("entry", "day"):
        contents.remembered.add(UUID(str(record["uid"])))
    for part, shape in PARTS.get(kind, {}).items():
        for hanging in record.get(part) or ():
            shape.read(hanging)
            number = {"slots": "number", "history": "slot"}.get(part)
            if number and not isinstance(hanging.get(number, ""), int | None):
                raise RecordRefused(_("“%(name)s” is missing.") % {"name": number})
    if kind == "entry" and record.get("access"):
        ACCESS.read(record["access"])
