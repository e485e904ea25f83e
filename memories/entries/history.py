"""The history of an entry: who changed which value when, and how the words differ (F2)."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import rjieba
from django.db import models

from memories.choices import Operation
from memories.entries import versions
from memories.entries.fields import FIELDS, Use
from memories.language.word_lists import source
from memories.models import Change, Entry, Slot

#: Slots are written just after their entry; changes by one actor within this time are one revision.
TOGETHER = timedelta(seconds=5)
_MONTH = rf"(?:{source('calendar', 'months')}|{source('calendar', 'short_months')})(?![a-z])\.?"
#: Dates and times of day stand for one thing: with another number they are another.
_DATE = re.compile(
    r"((?<!\d)\d{1,4}[-/.:]\d{1,2}(?:[-/.:]\d{1,4})?(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?(?!\d)"
    rf"|(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}}(?!\d))?"
    rf"|(?<![a-z]){_MONTH} \d{{1,2}}(?!\d)(?:st|nd|rd|th)?(?:,? \d{{4}}(?!\d))?"
    r"|(?:(?<!\d)[\d〇零一二三四五六七八九]{2,4}年)?(?<!\d)[\d一二三四五六七八九十]{1,3}月[\d一二三四五六七八九十]{1,3}[日号])",
    re.IGNORECASE,
)
_PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+|[^\W_]+|\s+|.", re.DOTALL)
_COLUMNS: dict[str, Any] = {column.attname: column for column in Entry._meta.concrete_fields}

Before = Any
After = Any


@dataclass(kw_only=True)
class Revision:
    """The columns and slots one actor changed at once, each with its value before and after."""

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
        """The difference of the content; None when it was not changed."""
        before, after = self.columns.get("content", (None, None))
        return None if before is None or after is None else word_diff(before, after)


def history_of(entry: Entry) -> list[Revision]:
    """The revisions of an entry, oldest first."""
    return _joined(_entry_steps(entry), _slot_steps(entry))


def word_diff(old: str, new: str) -> list[tuple[str, str]]:
    """The difference of two texts, as runs of words that are kept (=), removed (-) or added (+).

    Kept and removed runs joined are the old text, kept and added runs the new one. Chinese is cut into words.
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
    for n, part in enumerate(_DATE.split(text)):
        if n % 2:
            pieces.append(part)
            continue
        for piece in _PIECE.findall(part):
            pieces.extend(rjieba.cut(piece) if piece[0] >= "\u3040" else [piece])
    return pieces


def _entry_steps(entry: Entry) -> list[Revision]:
    """Walk back from today's row: a change holds the values before it, the row or the next change those after it."""
    steps = []
    row = versions.stored_columns(entry)
    for change in versions.changes_of(entry).order_by("-version", "-id"):
        created = change.op == Operation.INSERT
        old = dict.fromkeys(row) if created else change.old
        step = _step(change, change.version)
        step.columns = _shown({name: (value, row.get(name)) for name, value in old.items()}, created=created)
        steps.append(step)
        row.update(change.old)
    return steps[::-1]


def _shown(differing: dict[str, tuple[Before, After]], *, created: bool) -> dict[str, tuple[Before, After]]:
    shown = {}
    for attname, (before, after) in differing.items():
        column = _COLUMNS.get(attname)
        if column is None or Use.SHOW not in FIELDS[column.name] or (created and after in (None, "", [], False)):
            continue
        is_time = isinstance(column, models.DateTimeField)
        shown[column.name] = (column.to_python(before), column.to_python(after)) if is_time else (before, after)
    return shown


def _slot_steps(entry: Entry) -> list[Revision]:
    """The changes of an entry's slots, oldest first, without a version yet."""
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
    """Revisions in order of time; changes of slots join the revision they were written with, or take its version."""
    joined: list[Revision] = []
    for step in sorted([*steps, *slots], key=lambda step: step.at):
        last = joined[-1] if joined else None
        if step.version or last is None:
            joined.append(step)
        elif _actor_of(last) == _actor_of(step) and step.at - last.at <= TOGETHER:
            last.slots.update(step.slots)
        else:
            step.version = last.version
            joined.append(step)
    return joined


def _actor_of(step: Revision) -> tuple[str, int | None, str]:
    return step.actor, step.batch_id, step.run
