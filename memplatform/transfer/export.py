"""Writing an export: a page of rows at a time, so that memory stays flat, and a run that was killed can go on."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext as _

from memories.exceptions import PlatformError
from memories.models import BufferedTurn, Scope, Workspace
from memplatform.transfer import markdown
from memplatform.transfer.records import END, FORMAT, HEAD
from memplatform.transfer.sections import Section, sections

RECORDS, FILES, MARKDOWN = "memory.jsonl", "files", "markdown"
_UNFINISHED, _POSITION = f"{RECORDS}.unfinished", f"{RECORDS}.position"
PAGE = 1_000
Report = Callable[[int, int], None]


class ExportRefused(PlatformError):
    """It cannot be exported there."""


@dataclass
class Position:
    """How far an export is: what is whole in its file, and the last row of the section it is at."""

    head: dict[str, Any]
    size: int = 0
    kind: str = ""
    after: list[int] = field(default_factory=list)  # its owner and its number
    counts: dict[str, int] = field(default_factory=dict)


@dataclass
class ExportReport:
    """What an export wrote."""

    counts: dict[str, int]
    files: int
    waiting: int  # turns that wait to be extracted, which no export holds
    resumed: bool


def export(
    workspace: Workspace,
    scope: Scope | None,
    folder: Path,
    *,
    now: datetime,
    history: bool = False,
    resume: bool = False,
    report: Report | None = None,
) -> ExportReport:
    """Export a workspace, or one scope of it, into a folder; the records are of one moment unless it was resumed.

    Raises ExportRefused or OSError.
    """
    head = head_of(workspace, scope, history=history)
    position = _begin(folder, head, resume=resume)
    resumed, all_sections = bool(position.size), list(sections(workspace, scope, history=history))
    with one_moment(), (folder / _UNFINISHED).open("ab") as file:
        file.truncate(position.size)
        if not resumed:
            _write(file, [head | {"at": now.isoformat()}])
        total = sum(section.rows.count() for section in all_sections) if report else 0
        for section in _left(all_sections, position.kind):
            for page, last in _pages(section, position):
                _write(file, page)
                position.counts[section.kind] = position.counts.get(section.kind, 0) + len(page)
                position.size, position.kind, position.after = file.tell(), section.kind, last
                _keep(folder, position)
                if report:
                    report(sum(position.counts.values()), total)
        _write(file, [{"record": END, "counts": position.counts}])
        files = markdown.write(workspace, scope, folder / FILES, folder / MARKDOWN)
    os.replace(folder / _UNFINISHED, folder / RECORDS)
    (folder / _POSITION).unlink(missing_ok=True)
    waiting = BufferedTurn.objects.filter(workspace_id=workspace.pk).count()
    return ExportReport(position.counts, files, waiting, resumed)


def head_of(workspace: Workspace, scope: Scope | None, *, history: bool) -> dict[str, Any]:
    """What the first line says, but for the time."""
    return {
        "record": HEAD,
        "format": FORMAT,
        "workspace": str(workspace.uid),
        "scope": str(scope.uid) if scope else None,
        "history": history,
    }


def _begin(folder: Path, head: dict[str, Any], *, resume: bool) -> Position:
    """Where it begins. Raises ExportRefused where something else is in the way."""
    if (folder / RECORDS).exists():
        raise ExportRefused(_("In “%(folder)s” lies an export already; name another folder.") % {"folder": folder})
    if not (folder / _POSITION).exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Position(head)
    if not resume:
        message = _("In “%(folder)s” lies an export that was interrupted; --resume goes on with it.")
        raise ExportRefused(message % {"folder": folder})
    position = Position(**json.loads((folder / _POSITION).read_text()))
    if position.head != head:
        message = _("The export in “%(folder)s” is of something else, or another version made it; name another folder.")
        raise ExportRefused(message % {"folder": folder})
    return position


@contextmanager
def one_moment() -> Iterator[None]:
    """A transaction that sees one moment, whatever is written meanwhile; inside another one, what that sees."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic(), connection.cursor() as cursor:
        if is_outermost:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _left(all_sections: list[Section], kind: str) -> list[Section]:
    kinds = [section.kind for section in all_sections]
    return all_sections[kinds.index(kind) if kind else 0 :]


def _pages(section: Section, position: Position) -> Iterator[tuple[list[dict[str, Any]], list[int]]]:
    """The records of a section, a page at a time, each with where its last row stands."""
    for rows in section.pages(position.after if position.kind == section.kind else [], PAGE):
        yield list(section.records(rows)), [rows[-1].owner_number, rows[-1].pk]


def as_lines(records: Iterable[dict[str, Any]]) -> bytes:
    """Records as JSON Lines, in UTF-8."""
    return "".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n" for one in records).encode()


def _write(file: Any, records: list[dict[str, Any]]) -> None:
    file.write(as_lines(records))
    file.flush()
    os.fsync(file.fileno())


def _keep(folder: Path, position: Position) -> None:
    draft = folder / f"{_POSITION}.new"
    draft.write_text(json.dumps(asdict(position)))
    os.replace(draft, folder / _POSITION)
