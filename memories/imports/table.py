"""A table in CSV: a row a memory, with at least the column `content`."""

import csv
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from memories.choices import EntryType
from memories.imports.batch import FileRefused, Found, Heard, LeftOut, LeftOutReason, Reader, time_of

_WORDS = ("type", "subtype", "category", "project", "topic")
_SLOT = "slot."
_KNOWN = {"content", "who", "at", "tier", "importance", "pinned", "expires_at", *_WORDS}


def read(path: Path, heard: Heard) -> Reader:
    """Its rows; without a type a row is a fact. Columns `slot.NAME` are slots. Raises FileRefused."""
    with path.open("rb") as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        rows = csv.DictReader(text, strict=True)
        try:
            _check_columns(rows.fieldnames or [])
            for row in rows:
                heard(file.tell())
                try:
                    yield _found(rows.line_num, {name: value or "" for name, value in row.items()})
                except ValueError as problem:
                    yield LeftOut(path.name, LeftOutReason.UNSTORABLE, rows.line_num, str(problem))
        except (csv.Error, UnicodeDecodeError) as problem:
            message = _("Line %(number)d: %(why)s") % {"number": rows.reader.line_num, "why": problem}
            raise FileRefused(message) from problem


def _check_columns(names: Any) -> None:
    unknown = [name for name in names if name not in _KNOWN and not name.startswith(_SLOT)]
    if "content" not in names or unknown:
        known = ", ".join([*sorted(_KNOWN - {"content"}), f"{_SLOT}NAME"])
        message = _("The first line names the columns: content, and of the others only these: %(known)s.")
        raise FileRefused(message % {"known": known})


def _found(number: int, row: dict[Any, Any]) -> Found:
    if None in row:
        raise ValueError(_("It has more cells than there are columns."))
    fields: dict[str, Any] = {name: row[name] for name in _WORDS if row.get(name)}
    fields.setdefault("type", EntryType.FACT)
    if fields["type"] == EntryType.FACT:
        fields["tier"] = int(row.get("tier") or 2)
    if row.get("importance"):
        fields["importance"] = float(row["importance"])
    fields["pinned"] = row.get("pinned", "").strip().lower() in ("1", "true", "yes")
    fields["expires_at"] = time_of(row.get("expires_at"))
    slots = {name.removeprefix(_SLOT): value for name, value in row.items() if name.startswith(_SLOT) and value}
    who, at = row.get("who", ""), time_of(row.get("at"))
    return Found(number=number, content=row["content"], who=who, at=at, fields=fields, slots=slots)
