"""The files of markdown an export brings along: what lies here already is never overwritten."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from memories.entries.files import folder_of
from memories.exceptions import PathNotAllowed
from memories.files.layout import FoundFile, ScopeFolder, resolve_path
from memories.models import Scope
from memplatform.transfer.export import FILES


@dataclass
class ImportedFiles:
    """The folder of an export's files; None: it came without."""

    export: Path | None
    _kept: dict[tuple[int, str], bool] = field(default_factory=dict)

    def holds(self, scope: Scope, path: str) -> bool:
        """Whether a line of this path can stay one: its file comes along, or lies here with the same words."""
        key = scope.pk, path
        if key not in self._kept:
            folder = folder_of(scope)
            source, target = self._place(folder, path), folder.workspace / path
            is_same = source is not None and target.is_file() and target.read_bytes() == source.read_bytes()
            self._kept[key] = source is not None and (is_same or not target.exists())
        return self._kept[key]

    def bring(self, scopes: Iterable[Scope]) -> int:
        """Copy the files of these scopes that are not here; how many."""
        copied = 0
        for folder in map(folder_of, scopes):
            for found in self._of(folder):
                source, target = self._place(folder, found.path), resolve_path([folder], found.path)[1]
                if source and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, target)
                    copied += 1
        return copied

    def _there(self, folder: ScopeFolder) -> ScopeFolder | None:
        return replace(folder, workspace=self.export / FILES) if self.export else None

    def _of(self, folder: ScopeFolder) -> Iterator[FoundFile]:
        if there := self._there(folder):
            yield from [*there.files(), *there.transcripts()]

    def _place(self, folder: ScopeFolder, path: str) -> Path | None:
        """A file of the export that this scope may have, behind the same wall as those here."""
        there = self._there(folder)
        try:
            place = resolve_path([there], path)[1] if there else None
        except PathNotAllowed:
            return None
        return place if place and place.is_file() else None
