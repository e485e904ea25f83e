"""The files of markdown an export brings along: what lies here already is never overwritten."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from memories.entries.files import folder_of
from memories.exceptions import PathNotAllowed
from memories.files.layout import ScopeFolder, folder_in, resolve_path
from memories.models import Scope
from memplatform.transfer.export import FILES


@dataclass
class ImportedFiles:
    """The folder of an export's files; None: it came without."""

    export: Path | None
    _kept: dict[tuple[int, str], str] = field(default_factory=dict)

    def place_of(self, scope: Scope, path: str) -> str:
        """Where a line of this path stays one here: its file comes along, or lies here with the same words; else empty.

        The folder of the scope may have its name of before, there or here.
        """
        key = scope.pk, path
        if key not in self._kept:
            folder, there = folder_of(scope), self._there(scope)
            source = _file(there, path) if there else None
            here = _moved(path, there, folder) if there and source else ""
            target = folder.workspace / here
            is_same = source is not None and target.is_file() and target.read_bytes() == source.read_bytes()
            self._kept[key] = here if source and (is_same or not target.exists()) else ""
        return self._kept[key]

    def bring(self, scopes: Iterable[Scope]) -> int:
        """Copy the files of these scopes that are not here; how many."""
        copied = 0
        for scope in scopes:
            folder, there = folder_of(scope), self._there(scope)
            if there is None:
                break
            for found in [*there.files(), *there.transcripts()]:
                source, path = _file(there, found.path), _moved(found.path, there, folder)
                target = resolve_path([folder], path)[1]
                if source and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, target)
                    copied += 1
        return copied

    def _there(self, scope: Scope) -> ScopeFolder | None:
        return folder_in(self.export / FILES, scope.key) if self.export else None


def _moved(path: str, there: ScopeFolder, here: ScopeFolder) -> str:
    """The path here of a file of an export."""
    return here.base + path.removeprefix(there.base)


def _file(there: ScopeFolder, path: str) -> Path | None:
    """A file of the export that this scope may have, behind the same wall as those here."""
    try:
        place = resolve_path([there], path)[1]
    except PathNotAllowed:
        return None
    return place if place.is_file() else None
