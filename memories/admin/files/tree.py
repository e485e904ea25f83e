"""The files of a scope as a tree: what stays, days by month, other folders, transcripts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import groupby
from typing import Any

from memories.admin.files.addresses import file_page, file_url_on
from memories.entries.files import folder_of
from memories.files.layout import ScopeFolder, day_of
from memories.models import FileProblem, FileState, Scope
from memories.notes.condition import Difference, FileCondition, conditions_of

#: Of so many days all months but the first are folded.
DAYS_OPEN = 40
_NUMBERS_SHOWN = 12
_COLORS = {
    Difference.NEW: "info",
    Difference.CHANGED: "info",
    Difference.GONE: "warning",
    FileProblem.SUPPRESSED: "warning",
}


class FileRow:
    """A file in a list."""

    def __init__(self, page: str, file: FileCondition, *, is_indexed: bool = True) -> None:
        """With the page of the scope's files. Of a transcript, which is never indexed, nothing can be out of step."""
        self.path, self.name, self.size = file.path, file.path.rpartition("/")[2], file.size
        self.url = file_url_on(page, file.path)
        self.changed_at = moment(file.found.mtime_ns) if file.found else None
        self.state: FileState | None = file.state
        self._file, self._page, self._is_indexed = file, page, is_indexed

    @cached_property
    def why(self) -> Any:
        """Why it is out of step; None: it is not."""
        return self._file.why if self._is_indexed else None

    @property
    def color(self) -> str:
        return _COLORS.get(self.why, "danger") if self.why else "success"

    @property
    def detail(self) -> str:
        return "" if self.lines else self._file.detail

    @property
    def lines(self) -> list[tuple[int, str]]:
        """The lines that are meant, with where they stand."""
        if self.why != FileProblem.SUPPRESSED:
            return []
        return [(n, file_url_on(self._page, self.path, n)) for n in meant_lines(self._file)[:_NUMBERS_SHOWN]]

    @property
    def more_lines(self) -> int:
        return max(len(meant_lines(self._file)) - _NUMBERS_SHOWN, 0) if self.lines else 0


def moment(nanoseconds: int) -> datetime:
    """A time of the disk."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def meant_lines(file: FileCondition) -> list[int]:
    """The numbers of the lines that are not remembered again."""
    if file.why != FileProblem.SUPPRESSED:
        return []
    return [int(number) for number in file.detail.split(", ") if number.isdecimal()]


@dataclass(frozen=True)
class Branch:
    """Files that stand together: those of a month, or of a folder."""

    rows: list[FileRow]
    on: date | None = None  # the first of a month
    folder: str = ""
    is_open: bool = True

    @property
    def out_of_step(self) -> int:
        return sum(1 for row in self.rows if row.why)


@dataclass(frozen=True)
class Tree:
    """The files of a scope."""

    long_term: list[FileRow]
    months: list[Branch]
    folders: list[Branch]
    transcripts: list[FileRow]

    @property
    def rows(self) -> list[FileRow]:
        """The files that are indexed."""
        return [*self.long_term, *(row for branch in (*self.months, *self.folders) for row in branch.rows)]

    @cached_property
    def out_of_step(self) -> list[FileRow]:
        return [row for row in self.rows if row.why]

    @property
    def entries(self) -> int:
        return sum(row.state.entry_count for row in self.rows if row.state)

    @property
    def line_count(self) -> int:
        return sum(row.state.line_count for row in self.rows if row.state)


def tree_of(scope: Scope) -> Tree:
    """The tree of a scope."""
    folder, files, page = folder_of(scope), conditions_of(scope), file_page(scope.pk)
    days = [file for file in files if _is_day(folder, file.path)]
    taken = {folder.long_term, *(file.path for file in days)}
    others = [file for file in files if file.path not in taken]
    return Tree(
        long_term=[FileRow(page, file) for file in files if file.path == folder.long_term],
        months=list(_months(page, sorted(days, key=lambda file: file.path, reverse=True))),
        folders=list(_folders(page, others)),
        transcripts=[
            FileRow(page, FileCondition(file.path, file, None), is_indexed=False)
            for file in reversed(folder.transcripts())
        ],
    )


def _is_day(folder: ScopeFolder, path: str) -> bool:
    day = day_of(path)
    return day is not None and folder.daily(day) == path


def _months(page: str, days: Sequence[FileCondition]) -> Iterable[Branch]:
    """The days by month, the newest first."""
    by_month = groupby(days, key=lambda file: (day_of(file.path) or date.min).replace(day=1))
    for number, (month, files) in enumerate(by_month):
        rows = [FileRow(page, file) for file in files]
        yield Branch(rows, on=month, is_open=number == 0 or len(days) <= DAYS_OPEN or any(row.why for row in rows))


def _folders(page: str, files: Sequence[FileCondition]) -> Iterable[Branch]:
    def folder(file: FileCondition) -> str:
        return file.path.rpartition("/")[0]

    for name, inside in groupby(sorted(files, key=lambda file: (folder(file), file.path)), key=folder):
        yield Branch([FileRow(page, file) for file in inside], folder=f"{name}/")
