"""What lies in the folder of a workspace and is not remembered, each with the reason: nothing is left out in silence.

What is hidden, such as the folder of git, is no memory and not told of. What is too large or no UTF-8 was tried, and is
told with the words of that refusal.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from django.db.models import TextChoices
from django.utils.translation import pgettext_lazy

from memories.conf import conf
from memories.files.layout import MAIN, ScopeFolder, keys_of_folders, scope_folder, scope_folders
from memories.files.names import is_plain, readable
from memories.models import FileProblem, FileState, Scope, Workspace
from memories.tenancy.keys import kind_of_key

MOST = 500
_NOTES, _SCOPES = "memory", "scopes"
#: Files people take for notes; others, such as pictures, are not told of.
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
    found = chain(_walk(workspace), _unreadable(workspace))
    by_path = {one.path: one for one in islice(found, most)}
    return sorted(by_path.values(), key=lambda one: one.path)


def _unreadable(workspace: Workspace) -> Iterator[PassedOver]:
    """What indexing could not read, other than by its size, which is looked at on the disk."""
    states = FileState.objects.filter(workspace=workspace, problem=FileProblem.UNREADABLE).order_by("path")
    for path, size, detail in states.values_list("path", "size", "detail"):
        too_large = size > conf.FILE_MAX_BYTES
        yield PassedOver(path, PassedOverReason.TOO_LARGE if too_large else PassedOverReason.UNREADABLE, detail)


def _walk(workspace: Workspace) -> Iterator[PassedOver]:
    main = scope_folder(workspace.folder, MAIN)
    folder_of = _scope_names(workspace)
    for top, folders, names in os.walk(main.workspace):
        inside = Path(top).relative_to(main.workspace).as_posix()
        place = "" if inside == "." else f"{inside}/"
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        yield from _links(top, place, folders)
        if place == f"{_NOTES}/{_SCOPES}/":
            own = [name for name in folders if not os.path.islink(f"{top}/{name}")]
            unread = {name: why for name in own if (why := _unread(name, folder_of(name)))}
            yield from (PassedOver(f"{readable(place + name)}/", why) for name, why in unread.items())
            folders[:] = [name for name in folders if name not in unread]
        owner = _owner(place, main, folder_of)
        for name in sorted(name for name in names if not _is_hidden(name)):
            with suppress(FileNotFoundError):
                if reason := _reason(Path(top), place, name, owner):
                    yield PassedOver(readable(place + name), reason)


def _links(top: str, place: str, folders: list[str]) -> Iterator[PassedOver]:
    for name in folders:
        if os.path.islink(f"{top}/{name}"):
            yield PassedOver(f"{readable(place + name)}/", PassedOverReason.LINK)


def _owner(place: str, main: ScopeFolder, folder_of: Callable[[str], ScopeFolder | None]) -> ScopeFolder | None:
    match place.split("/"):
        case ["memory", "scopes", name, _, *_]:
            return main if name == MAIN else folder_of(name)
    return main


def _scope_names(workspace: Workspace) -> Callable[[str], ScopeFolder | None]:
    """The folder of the scope that the name of a folder below memory/scopes/ stands for; None: nobody's."""
    known = set(Scope.objects.in_workspace(workspace.pk).values_list("key", flat=True))
    keys = keys_of_folders(scope_folders(workspace.folder), known)

    def folder_of(name: str) -> ScopeFolder | None:
        key = keys.get(name, "")
        return scope_folder(workspace.folder, key) if key in known or kind_of_key(key) else None

    return folder_of


def _unread(name: str, folder: ScopeFolder | None) -> PassedOverReason | None:
    """Why nothing in a folder among those of scopes is read, which stands for the scope with this one; None: it is."""
    if folder is None:
        return PassedOverReason.SCOPE
    is_read = name in (MAIN, os.path.basename(folder.base))
    return None if is_read else PassedOverReason.SECOND


def _reason(top: Path, place: str, name: str, owner: ScopeFolder | None) -> PassedOverReason | None:
    """Why a file is passed over; None: it is not, or nobody takes it for a note."""
    if not name.casefold().endswith(_ENDINGS):
        return None
    found = os.lstat(top / name)
    if stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink > 1):
        return PassedOverReason.LINK
    if not stat.S_ISREG(found.st_mode):
        return PassedOverReason.NO_FILE
    if owner is not None and owner.owns(place + name):
        return PassedOverReason.TOO_LARGE if found.st_size > conf.FILE_MAX_BYTES else None
    if not name.endswith(".md"):
        return PassedOverReason.ENDING
    is_named = all(map(is_plain, filter(None, [*place.split("/"), name])))
    return PassedOverReason.PLACE if is_named else PassedOverReason.NAME


def _is_hidden(name: str) -> bool:
    return name.startswith(".")
