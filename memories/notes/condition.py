"""Which files of a scope are out of step with their index, why, and having them indexed now (C12).

What lies in the folder of a workspace and is not remembered, each with the reason: nothing is left out in silence.

What is hidden, such as the folder of git, is no memory and not listed. What is too large or no UTF-8 was tried, and is
listed with the words of that refusal.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memories.conf import conf
from memories.entries.files import folder_of
from memories.files.layout import (
    MAIN,
    FoundFile,
    ScopeFolder,
    is_plain,
    keys_of_folders,
    readable,
    scope_folder,
    scope_folders,
)
from memories.models import FileProblem, FileState, Scope, Workspace
from memories.notes.index import SyncReport, sync_files
from memories.tenancy.resolver import kind_of_key


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
    file = folder_of(scope).file_at(path)
    return FileCondition(path, file, state) if file or state else None


def index_out_of_step(
    scope: Scope, *, now: datetime, seconds: float | None = None, conditions: Iterable[FileCondition] | None = None
) -> SyncReport:
    """Index what is out of step, also what could not be indexed before; after so many seconds it stops between files.

    `conditions` are those of the files that are meant; None: of all.
    """
    files = conditions_of(scope) if conditions is None else conditions
    return sync_files(scope, [file.path for file in files if file.why is not None], now=now, seconds=seconds)


MOST = 500
_NOTES, _SCOPES = "memory", "scopes"
#: Files people take for notes; others, such as pictures, are not listed.
_ENDINGS = (".md", ".markdown", ".mdown", ".txt")


class PassedOverReason(TextChoices):
    """Why a file, or a folder of a scope, is not remembered."""

    NAME = "name", pgettext_lazy("passed over", "This name would not mean the same on every disk: rename it.")
    ENDING = "ending", pgettext_lazy("passed over", "Only files whose names end in .md are read.")
    PLACE = "place", pgettext_lazy("passed over", "Only MEMORY.md and what lies in the folder memory is read.")
    SECOND = "second", pgettext_lazy("passed over", "Only the folder with + for colons is read: move the files there.")
    SCOPE = "scope", pgettext_lazy("passed over", "No scope has this key: nobody could ask for what lies in it.")
    LINK = "link", pgettext_lazy("passed over", "It is a link, and links are not followed.")
    NO_FILE = "no_file", pgettext_lazy("passed over", "It is no file.")
    TOO_LARGE = "too_large", pgettext_lazy("passed over", "It is too large to be indexed; split it.")
    UNREADABLE = "unreadable", pgettext_lazy("passed over", "It cannot be read.")


@dataclass(frozen=True)
class PassedOver:
    """Something in the folder of a workspace that is not remembered."""

    path: str  # as it can be shown; of a folder with `/` at its end
    reason: PassedOverReason
    detail: str = ""


def passed_over(workspace: Workspace, *, most: int = MOST) -> list[PassedOver]:
    """What lies in a workspace's folder and is passed over, at most so many, by path."""
    by_path = {file.path: file for file in islice(chain(_walk(workspace), _unreadable(workspace)), most)}
    return sorted(by_path.values(), key=lambda file: file.path)


def _unreadable(workspace: Workspace) -> Iterator[PassedOver]:
    """What indexing could not read, other than by its size, which is looked at on the disk."""
    states = FileState.objects.filter(workspace=workspace, problem=FileProblem.UNREADABLE).order_by("path")
    for path, size, detail in states.values_list("path", "size", "detail"):
        too_large = size > conf.FILE_MAX_BYTES
        yield PassedOver(path, PassedOverReason.TOO_LARGE if too_large else PassedOverReason.UNREADABLE, detail)


def _walk(workspace: Workspace) -> Iterator[PassedOver]:
    """What a walk through the folder passes over."""
    main = scope_folder(workspace.folder, MAIN)
    scope_keys = set(Scope.objects.in_workspace(workspace.pk).values_list("key", flat=True))
    keys = keys_of_folders(scope_folders(workspace.folder), scope_keys)

    def folder_of(name: str) -> ScopeFolder | None:
        """The folder of the scope that the name of a folder below memory/scopes/ stands for; None: nobody's."""
        key = keys.get(name, "")
        return scope_folder(workspace.folder, key) if key in scope_keys or kind_of_key(key) else None

    for top, folders, names in os.walk(main.workspace):
        inside = Path(top).relative_to(main.workspace).as_posix()
        place = "" if inside == "." else f"{inside}/"
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if os.path.islink(f"{top}/{name}")]
        for name in links:
            yield PassedOver(f"{readable(place + name)}/", PassedOverReason.LINK)
        if place == f"{_NOTES}/{_SCOPES}/":
            for name in [name for name in folders if name not in links]:
                if (folder := folder_of(name)) is None:
                    reason = PassedOverReason.SCOPE
                elif name not in (MAIN, os.path.basename(folder.base)):
                    reason = PassedOverReason.SECOND
                else:
                    continue
                folders.remove(name)
                yield PassedOver(f"{readable(place + name)}/", reason)
        owner: ScopeFolder | None = main
        match place.split("/"):
            case ["memory", "scopes", name, _, *_] if name != MAIN:
                owner = folder_of(name)
        for name in sorted(name for name in names if not name.startswith(".")):
            with suppress(FileNotFoundError):
                if why := _reason(Path(top), place, name, owner):
                    yield PassedOver(readable(place + name), why)


def _reason(top: Path, place: str, name: str, owner: ScopeFolder | None) -> PassedOverReason | None:
    """Why a file is passed over; None: it is not, or nobody takes it for a note."""
    if not name.casefold().endswith(_ENDINGS):
        return None
    status = os.lstat(top / name)
    if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1):
        return PassedOverReason.LINK
    if not stat.S_ISREG(status.st_mode):
        return PassedOverReason.NO_FILE
    if owner is not None and owner.owns(place + name):
        return PassedOverReason.TOO_LARGE if status.st_size > conf.FILE_MAX_BYTES else None
    if not name.endswith(".md"):
        return PassedOverReason.ENDING
    is_named = all(map(is_plain, filter(None, [*place.split("/"), name])))
    return PassedOverReason.PLACE if is_named else PassedOverReason.NAME
