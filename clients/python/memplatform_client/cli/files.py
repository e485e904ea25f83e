"""Memories in a file: lines of text or Markdown, JSON, JSON Lines, an export of a platform."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from memplatform_client.cli.terminal import Problem, _
from memplatform_client.types import EntryType

MOST_CHARS = 8_000  # of one memory
MOST_BYTES = 50_000_000
TEXTS = ("content", "memory", "text")
LISTS = ("memories", "results", "entries", "items")
TYPES = get_args(EntryType)
#: What an export says of a memory that is not in use.
OVER = ("archived_at", "expired_at", "suppressed_at", "quarantined_at", "superseded_by")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_MARKS = re.compile(r"^\s*(?:#|```|---+\s*$|<!--)")


@dataclass
class Contents:
    """What a file holds: what is saved of each memory, and how many parts of it are left out, by the reason."""

    memories: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


def read(path: Path) -> Contents:
    """The memories of a file, each once. Raises Problem where it holds none."""
    try:
        if path.stat().st_size > MOST_BYTES:
            problem = _("%(path)s has over %(most)d MB. `manage.py import` on the platform takes files of any size.")
            raise Problem(problem % {"path": path, "most": MOST_BYTES // 1_000_000})
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(_("%(path)s cannot be read: %(why)s") % {"path": path, "why": error}) from error
    contents, seen = Contents(), set()
    for memory in _memories(text, contents, path):
        content = memory["content"].strip()
        if not content:
            continue
        if len(content) > MOST_CHARS:
            contents.leave_out(_("longer than %(most)d characters") % {"most": MOST_CHARS})
        elif content in seen:
            contents.leave_out(_("twice in the file"))
        else:
            seen.add(content)
            contents.memories.append({**memory, "content": content})
    if not contents.memories:
        problem = _(
            "%(path)s holds no memories this command can read: lines of text or Markdown, JSON or JSON Lines with"
            " `content`, `memory` or `text`, or an export of a platform. `manage.py import` on the platform reads more."
        )
        raise Problem(problem % {"path": path})
    return contents


def _memories(text: str, contents: Contents, path: Path) -> Iterator[dict[str, Any]]:
    if text.lstrip()[:1] not in ("{", "["):
        for line in text.splitlines():
            if _MARKS.match(line):
                contents.leave_out(_("headings and marks"))
            elif line.strip():
                yield {"content": _BULLET.sub("", line)}
        return
    try:
        rows = [json.loads(text)]
    except (ValueError, RecursionError):
        rows = [_row(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    rows = [one for row in rows for one in (row if isinstance(row, list) else _listed(row))]
    _check_scopes(rows, path)
    for row in rows:
        if isinstance(row, str):
            yield {"content": row}
        elif isinstance(row, dict) and (memory := _memory(row)):
            yield memory
        else:
            kind = row.get("record", "") if isinstance(row, dict) else ""
            contents.leave_out(_("no memory in use") + (f": {kind}" if kind else ""))


def _check_scopes(rows: list[Any], path: Path) -> None:
    """Raise Problem where an export holds what several people and groups told: here all of it would be of one."""
    scopes = {str(row.get("scope")) for row in rows if isinstance(row, dict) and row.get("record") == "entry"}
    if len(scopes) > 1:
        problem = _(
            "%(path)s holds the memories of %(n)d scopes, which would all come into one. `manage.py import` on the"
            " platform brings each into its own."
        )
        raise Problem(problem % {"path": path, "n": len(scopes)})


def _row(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = _("Line %(number)d is no JSON: %(why)s")
        raise Problem(problem % {"number": number, "why": error}) from error


def _listed(row: Any) -> list[Any]:
    """The rows of an object that holds them under a name of its own; else itself."""
    lists = [row[name] for name in LISTS if isinstance(row, dict) and isinstance(row.get(name), list)]
    return lists[0] if lists and "content" not in row else [row]


def _memory(row: dict[str, Any]) -> dict[str, Any] | None:
    """What is saved of a row: of an export only memories in use, with their kind and time."""
    if row.get("record", "entry") != "entry" or any(row.get(mark) for mark in OVER):
        return None
    end = _moment(row.get("expires_at"))
    if end and end <= datetime.now(UTC):
        return None
    text = next((row[name] for name in TEXTS if isinstance(row.get(name), str)), None)
    if text is None:
        return None
    memory = {"content": text}
    if at := _moment(row.get("stated_at") or row.get("created_at")):
        memory["at"] = at.isoformat()
    if end:
        memory["expires_at"] = end.isoformat()
    if row.get("type") in TYPES:
        memory["type"] = row["type"]
    return memory


def _moment(at: Any) -> datetime | None:
    """A moment that a file names with its place on earth; None: it names none."""
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) and "T" in at else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None
