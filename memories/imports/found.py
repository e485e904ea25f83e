"""What the readers of foreign files find in them, one after another."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ijson
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from memories.choices import Category, EntryType
from memories.exceptions import PlatformError
from memories.imports.left_out import LeftOut


class FileRefused(PlatformError):
    """This file cannot be imported."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Something a file says: a memory or, `is_said`, what was said on a day."""

    number: int  # of the row, or of the item in its list
    content: str
    who: str = ""  # whose it is, where the file says so
    at: datetime | None = None
    is_said: bool = False
    fields: dict[str, Any] = field(default_factory=dict)  # of the draft
    slots: dict[str, str] = field(default_factory=dict)


Reader = Iterator[Found | LeftOut]


def items(path: Path, *lists: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON file with their numbers, one after another: of its list, of one it names, or one a line.

    Raises FileRefused.
    """
    number = 0
    try:
        with path.open("rb") as file:
            start = file.read(1)
            while start.isspace():
                start = file.read(1)
            file.seek(0)
            prefixes = ["item"] if start == b"[" else [f"{name}.item" for name in lists]
            for prefix in prefixes:
                file.seek(0)
                for item in ijson.items(file, prefix, use_float=True, multiple_values=True):
                    number += 1
                    yield number, item if isinstance(item, dict) else {}
                if number:
                    return
            if start == b"{":
                file.seek(0)
                for number, item in enumerate(ijson.items(file, "", use_float=True, multiple_values=True), start=1):
                    yield number, item
    except (ijson.JSONError, UnicodeDecodeError) as problem:
        message = _("After its item %(number)d: %(why)s")
        raise FileRefused(message % {"number": number, "why": str(problem).splitlines()[0]}) from problem


def time_of(value: Any) -> datetime | None:
    """A time as files tell it: ISO 8601, without a zone in UTC, or seconds since 1970. Raises ValueError."""
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
    """The fields of a fact; of its categories, the first that is known here, and the first other one as its topic."""
    names = [str(name) for name in categories or () if name]
    known = next((name for name in names if name in Category.values), "")
    topic = next((name for name in names if name != known), "")
    return {"type": EntryType.FACT, "tier": 2, "category": known, "topic": topic[:100]}
