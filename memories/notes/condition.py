"""Which files of a scope are out of step with their index, why, and having them indexed now (C12)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from memories.entries.files import folder_of
from memories.files.layout import FoundFile
from memories.models import FileProblem, FileState, Scope
from memories.notes.index import SyncReport, sync_files


class Difference(TextChoices):
    """How a file differs from what was indexed of it."""

    NEW = "new", _("It is not indexed yet.")
    CHANGED = "changed", _("It was changed since it was indexed.")
    GONE = "gone", _("The file is gone; its lines go out of use when this is indexed.")


@dataclass(frozen=True)
class FileCondition:
    """A file as it lies on the disk, beside what was indexed of it; at least one of the two."""

    path: str
    found: FoundFile | None
    state: FileState | None

    @property
    def why(self) -> Difference | FileProblem | None:
        """Why it is out of step; None: it is not."""
        if self.found is None:
            return Difference.GONE
        if self.state is None:
            return Difference.NEW
        if self.state.problem:
            return FileProblem(self.state.problem)
        is_same = (self.state.modified_ns, self.state.size) == (self.found.changed_ns, self.found.size)
        return None if is_same else Difference.CHANGED

    @property
    def detail(self) -> str:
        """What there is besides: an error, or the numbers of the lines that are meant."""
        return self.state.detail if self.state and isinstance(self.why, FileProblem) else ""

    @property
    def size(self) -> int:
        """Its bytes; of one that is gone those it had."""
        return self.found.size if self.found else self.state.size if self.state else 0


def conditions_of(scope: Scope) -> list[FileCondition]:
    """The files of a scope, by path."""
    return conditions_of_each([scope])[scope.pk]


def conditions_of_each(scopes: Collection[Scope]) -> dict[int, list[FileCondition]]:
    """The files of each of some scopes of one workspace, by path."""
    states: dict[int, dict[str, FileState]] = {scope.pk: {} for scope in scopes}
    for state in FileState.objects.filter(scope__in=list(states)):
        states[state.scope_id][state.path] = state
    conditions = {}
    for scope in scopes:
        files, indexed = {file.path: file for file in folder_of(scope).files()}, states[scope.pk]
        paths = sorted(files.keys() | indexed.keys())
        conditions[scope.pk] = [FileCondition(path, files.get(path), indexed.get(path)) for path in paths]
    return conditions


def condition_of(scope: Scope, path: str) -> FileCondition | None:
    """One file; None: nothing lies there, and nothing was indexed."""
    state: Any = FileState.objects.filter(workspace_id=scope.workspace_id, scope=scope, path=path).first()
    file = folder_of(scope).found(path)
    return FileCondition(path, file, state) if file or state else None


def index_out_of_step(
    scope: Scope, *, now: datetime, seconds: float | None = None, conditions: Iterable[FileCondition] | None = None
) -> SyncReport:
    """Index what is out of step, also what could not be indexed before; after so many seconds it stops between files.

    `conditions` are those of the files that are meant; None: of all.
    """
    meant = conditions_of(scope) if conditions is None else conditions
    return sync_files(scope, [file.path for file in meant if file.why is not None], now=now, seconds=seconds)
