"""The history of an entry: who changed what, when, from which value to which, down to the words (F2)."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import rjieba
from django.db import connection, models

from memories.choices import Operation
from memories.entries import versions
from memories.entries.fields import FIELDS, Use
from memories.models import Change, Entry, Slot

#: Slots are written just after their entry; changes by one actor within this time are one step.
TOGETHER = timedelta(seconds=5)
_PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+|[^\W_]+|\s+|.", re.DOTALL)
_COLUMNS: dict[str, Any] = {column.attname: column for column in Entry._meta.concrete_fields}

Before = Any
After = Any


@dataclass(kw_only=True)
class Revision:
    """What one actor changed at once: columns and slots, each with its value before and after."""

    version: int
    at: datetime
    actor: str
    operation: Operation
    batch_id: int | None = None
    run: str = ""
    columns: dict[str, tuple[Before, After]] = field(default_factory=dict)
    slots: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)

    @property
    def wording(self) -> list[tuple[str, str]] | None:
        """How the content was reworded; None when it was not."""
        before, after = self.columns.get("content", (None, None))
        return None if before is None or after is None else word_diff(before, after)


def history_of(entry: Entry) -> list[Revision]:
    """Every step of an entry's life, the first one first."""
    return _joined(_entry_steps(entry), _slot_steps(entry))


def word_diff(old: str, new: str) -> list[tuple[str, str]]:
    """Two texts as runs of words that stayed (=), went (-) or came (+).

    What stayed and went, joined, is the old text; what stayed and came the new one. Chinese is cut into words.
    """
    ours, theirs = _pieces(old), _pieces(new)
    runs: list[tuple[str, str]] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs).get_opcodes():
        if kind == "equal":
            runs.append(("=", "".join(ours[a:b])))
            continue
        runs.extend((sign, text) for sign, text in (("-", "".join(ours[a:b])), ("+", "".join(theirs[c:d]))) if text)
    return runs


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for piece in _PIECE.findall(text):
        pieces.extend(rjieba.cut(piece) if piece[0] >= "\u3040" else [piece])
    return pieces


def _entry_steps(entry: Entry) -> list[Revision]:
    """Walk back from the row as it is: a change holds what was, the row or the change after it what became of it."""
    steps = []
    row = _row(entry)
    for change in versions.changes_of(entry).order_by("-version", "-id"):
        created = change.op == Operation.INSERT
        differing = {name: (None, row[name]) for name in row} if created else _against(change.old, row)
        step = _step(change, change.version)
        step.columns = _shown(differing, created=created)
        steps.append(step)
        row.update(change.old)
    return steps[::-1]


def _against(old: dict[str, Any], row: dict[str, Any]) -> dict[str, tuple[Before, After]]:
    return {name: (before, row.get(name)) for name, before in old.items()}


def _row(entry: Entry) -> dict[str, Any]:
    """The row as the history writes values down."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT to_jsonb(e)::text FROM memories_entry e WHERE id = %s AND workspace_id = %s",
            [entry.pk, entry.workspace_id],
        )
        found = cursor.fetchone()
    columns: dict[str, Any] = json.loads(found[0]) if found else {}
    return columns


def _shown(differing: dict[str, tuple[Before, After]], *, created: bool) -> dict[str, tuple[Before, After]]:
    shown = {}
    for attname, (before, after) in differing.items():
        column = _COLUMNS.get(attname)
        if column is None or Use.SHOW not in FIELDS[column.name] or (created and after in (None, "", [], False)):
            continue
        shown[column.name] = (_read(column, before), _read(column, after))
    return shown


def _read(column: Any, value: Any) -> Any:
    return column.to_python(value) if isinstance(column, models.DateTimeField) else value


def _slot_steps(entry: Entry) -> list[Revision]:
    """The changes of an entry's slots, the first one first; they take the version of the entry they belong to."""
    slots = {
        slot.pk: {"name": slot.name, "value": slot.value}
        for slot in Slot.objects.filter(workspace_id=entry.workspace_id, entry=entry)
    }
    steps = []
    for change in versions.slot_changes_of(entry).order_by("-id"):
        after = dict(slots.get(change.row_id, {}))
        versions.undo(change, slots)
        before = slots.get(change.row_id, {})
        step = _step(change, 0)
        step.slots = _slot_values(before, after)
        steps.append(step)
    return steps[::-1]


def _slot_values(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
    names = dict.fromkeys(filter(None, [before.get("name"), after.get("name")]))
    return {
        name: (
            before["value"] if before.get("name") == name else None,
            after["value"] if after.get("name") == name else None,
        )
        for name in names
    }


def _step(change: Change, version: int) -> Revision:
    return Revision(
        version=version,
        at=change.at,
        actor=change.actor,
        operation=Operation(change.op) if version else Operation.UPDATE,
        batch_id=change.batch_id,
        run=change.run,
    )


def _joined(steps: list[Revision], slots: Iterable[Revision]) -> list[Revision]:
    """Changes of slots with the change of the entry they were written with, or as steps between."""
    joined: list[Revision] = []
    for step in sorted([*steps, *slots], key=lambda step: step.at):
        last = joined[-1] if joined else None
        if step.version or last is None:
            joined.append(step)
        elif _at_once(last, step):
            last.slots.update(step.slots)
        else:
            step.version = last.version
            joined.append(step)
    return joined


def _at_once(one: Revision, other: Revision) -> bool:
    by = (one.actor, one.batch_id, one.run)
    return by == (other.actor, other.batch_id, other.run) and other.at - one.at <= TOGETHER
