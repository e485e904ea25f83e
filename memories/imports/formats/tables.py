"""Lists of memories, a row each.

mem0: the JSON of its `get_all`, as a list or with its `results`. A table in CSV: a row a memory, with at least the
column `content`.
"""

import csv
from io import TextIOWrapper
from typing import Any

from django.utils.translation import gettext as _

from memories.choices import EntryType
from memories.imports.batch import LeftOut, LeftOutReason
from memories.imports.bundle import Bundle, FileItem, FileRefused, Reader, fact, items, slots_of, time_of

_PLACES = ("user_id", "agent_id", "run_id", "app_id")


def read_mem0(bundle: Bundle) -> Reader:
    """Its memories: each a fact, with its metadata as slots. Raises FileRefused."""
    for member in bundle.named("*.json*"):
        for number, item in items(bundle, member, "results", "memories"):
            try:
                content = str(item.get("memory") or item.get("text") or "")
                at = time_of(item.get("updated_at") or item.get("created_at"))
                ends = time_of(item.get("expiration_date"), is_end=True)
            except ValueError as problem:
                yield LeftOut(member.path, LeftOutReason.UNSTORABLE, number, str(problem))
                continue
            who = next((str(item[name]) for name in _PLACES if item.get(name)), "")
            places = {name: item[name] for name in _PLACES[1:] if item.get(name)}
            fields = fact(item.get("categories")) | {"expires_at": ends, "pinned": item.get("immutable") is True}
            slots = slots_of(item.get("metadata")) | slots_of(places)
            where: dict[str, Any] = {"number": number, "path": member.path}
            yield FileItem(content=content, who=who, at=at, fields=fields, slots=slots, **where)


_WORDS = ("type", "subtype", "category", "project", "topic")
_SLOT = "slot."
_COLUMNS = {"content", "who", "at", "tier", "importance", "pinned", "expires_at", *_WORDS}


def read_csv(bundle: Bundle) -> Reader:
    """Its rows; without a type a row is a fact. Columns `slot.NAME` are slots. Raises FileRefused."""
    for member in bundle.named("*.csv"):
        with bundle.reading(member) as (file, on_bytes_read):
            rows = csv.DictReader(TextIOWrapper(file, encoding="utf-8-sig", newline=""), strict=True)
            try:
                names = rows.fieldnames or []
                unknown = [name for name in names if name not in _COLUMNS and not name.startswith(_SLOT)]
                if "content" not in names or unknown:
                    columns = ", ".join([*sorted(_COLUMNS - {"content"}), f"{_SLOT}NAME"])
                    message = _("The first line names the columns: content, and of the others only these: %(columns)s.")
                    raise FileRefused(message % {"columns": columns})
                for row in rows:
                    on_bytes_read(file.tell())
                    try:
                        yield _csv_item(rows.line_num, {name: value or "" for name, value in row.items()})
                    except ValueError as problem:
                        yield LeftOut(member.path, LeftOutReason.UNSTORABLE, rows.line_num, str(problem))
            except (csv.Error, UnicodeDecodeError) as problem:
                message = _("Line %(number)d: %(why)s") % {"number": rows.reader.line_num, "why": problem}
                raise FileRefused(message) from problem


def _csv_item(number: int, row: dict[Any, Any]) -> FileItem:
    if None in row:
        raise ValueError(_("It has more cells than there are columns."))
    fields: dict[str, Any] = {name: row[name] for name in _WORDS if row.get(name)}
    fields.setdefault("type", EntryType.FACT)
    if fields["type"] == EntryType.FACT:
        fields["tier"] = int(row.get("tier") or 2)
    if row.get("importance"):
        fields["importance"] = float(row["importance"])
    fields["pinned"] = row.get("pinned", "").strip().lower() in ("1", "true", "yes")
    fields["expires_at"] = time_of(row.get("expires_at"), is_end=True)
    slots = {name.removeprefix(_SLOT): value for name, value in row.items() if name.startswith(_SLOT) and value}
    who, at = row.get("who", ""), time_of(row.get("at"))
    return FileItem(number=number, content=row["content"], who=who, at=at, fields=fields, slots=slots)
