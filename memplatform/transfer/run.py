"""One run of an import: where an export is brought, what its ids and files mean there, and what it has met so far."""

import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4, uuid5

from django.db.models import Model, QuerySet

from memories import batches
from memories.entries.files import folder_of
from memories.exceptions import PathNotAllowed
from memories.files.layout import ScopeFolder, folder_in, resolve_path
from memories.imports.batch import AllLeftOut, LeftOut, LeftOutReason
from memories.models import Batch, Scope, Workspace
from memories.models.change import acting
from memplatform.transfer.export import FILES
from memplatform.transfer.records import Place
from sessions_app.models import Session


@dataclass(frozen=True)
class Ids:
    """The ids of one export in the workspace or scope it is brought into."""

    place: UUID
    #: What stood here before and is the same as something of the export, by its id there.
    same: dict[UUID, UUID] = field(default_factory=dict)

    def derived(self, uid: UUID) -> UUID:
        """The id of what had this one there, where it is taken here."""
        return uuid5(self.place, str(uid))

    def beside(self, uid: UUID) -> UUID:
        """The id of what stands beside the session that is here for this one."""
        return uuid5(self.place, f"{uid}/beside")

    def here(self, rows: "QuerySet[Any]", uids: Collection[UUID]) -> dict[UUID, Any]:
        """The rows among these that were brought in for these ids, are the very same, or say the same."""
        names = {uid: [self.derived(uid), uid, *([self.same[uid]] if uid in self.same else [])] for uid in uids}
        by_uid = {row.uid: row for row in rows.filter(uid__in=[name for some in names.values() for name in some])}
        pairs = ((uid, next((by_uid[name] for name in some if name in by_uid), None)) for uid, some in names.items())
        return {uid: row for uid, row in pairs if row is not None}

    def new(self, model: type[Model], uids: Collection[UUID]) -> dict[UUID, UUID]:
        """The ids under which to store what is not here."""
        taken_uids = set(model._default_manager.filter(uid__in=uids).values_list("uid", flat=True))
        return {uid: self.derived(uid) if uid in taken_uids else uid for uid in uids}


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
            folder, there = folder_of(scope), self._folder_there(scope)
            source = _file(there, path) if there else None
            here = _path_here(path, there, folder) if there and source else ""
            target = folder.workspace / here
            is_same = source is not None and target.is_file() and target.read_bytes() == source.read_bytes()
            self._kept[key] = here if source and (is_same or not target.exists()) else ""
        return self._kept[key]

    def bring(self, scopes: Iterable[Scope]) -> int:
        """Copy the files of these scopes that are not here; how many."""
        count = 0
        for scope in scopes:
            folder, there = folder_of(scope), self._folder_there(scope)
            if there is None:
                break
            for file in [*there.files(), *there.transcripts()]:
                source, path = _file(there, file.path), _path_here(file.path, there, folder)
                target = resolve_path([folder], path)[1]
                if source and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, target)
                    count += 1
        return count

    def _folder_there(self, scope: Scope) -> ScopeFolder | None:
        return folder_in(self.export / FILES, scope.key) if self.export else None


def _path_here(path: str, there: ScopeFolder, here: ScopeFolder) -> str:
    """The path here of a file of an export."""
    return here.base + path.removeprefix(there.base)


def _file(there: ScopeFolder, path: str) -> Path | None:
    """A file of the export that this scope may have, behind the same wall as those here."""
    try:
        place = resolve_path([there], path)[1]
    except PathNotAllowed:
        return None
    return place if place.is_file() else None


NAME = "import"


@dataclass
class TransferReport:
    """What an import wrote or, tried out, would write, by kind of record."""

    created: Counter[str] = field(default_factory=Counter)
    already: Counter[str] = field(default_factory=Counter)
    left_out: AllLeftOut = field(default_factory=AllLeftOut)
    files: int = 0
    batches: list[Batch] = field(default_factory=list)


@dataclass
class SessionHere:
    """A session of the export, as it is here.

    Where one stood here already, that one, as far as the messages are the same; from the place on where the two part,
    another beside it.
    """

    session: Session
    columns: Mapping[str, Any]  # as the export tells them
    beside: Session | None = None  # None: it is of the export alone
    is_alike: bool = True  # whether what was compared until now shows that it is the same
    parts_at: tuple[int, int] | None = None  # conversation and position
    has_begun_beside: bool = False

    @property
    def session_key(self) -> tuple[str, str, str]:
        """By which its session is locked."""
        return self.session.platform, self.session.account, self.session.key

    def at(self, conversation: int, position: int) -> Session:
        """The session here that holds, or is to hold, what stands at this place there."""
        if self.beside is None or self.parts_at is None or (conversation, position) < self.parts_at:
            return self.session
        return self.beside


@dataclass
class Import:
    """One run of an import: where it goes, and what it has met so far."""

    workspace: Workspace
    into: Scope | None
    now: datetime
    actor: str
    is_dry: bool
    name: str
    ids: Ids
    folder: ImportedFiles
    remembered: set[UUID]  # the ids of memories and days there
    done: TransferReport = field(default_factory=TransferReport)
    scopes: dict[UUID, Scope] = field(default_factory=dict)  # by their ids there
    sessions: dict[UUID, SessionHere] = field(default_factory=dict)  # by their ids there
    begun: set[int] = field(default_factory=set)  # scopes this run has made
    to_freeze: list[Scope] = field(default_factory=list)
    batches: dict[int, Batch] = field(default_factory=dict)  # by scope
    run: str = field(default_factory=lambda: f"{NAME}:{uuid4()}")  # of all of them, which is undone as one

    @contextmanager
    def batch(self, scope: Scope) -> Iterator[Batch]:
        """The batch of what is brought into a scope, made when something is; what is written inside is part of it."""
        if scope.pk not in self.batches:
            batch = batches.begin_applied(
                scope, name=NAME, run=self.run, actor=self.actor, now=self.now, reason=self.name
            )
            self.batches[scope.pk] = batch
            self.done.batches.append(batch)
        batch = self.batches[scope.pk]
        with acting(self.actor, batch=batch.pk, run=batch.run):
            yield batch

    @cached_property
    def brought(self) -> set[UUID]:
        """The ids that memories and days of the export have here, or are to have."""
        return {*self.remembered, *map(self.ids.derived, self.remembered)}

    def session_of(self, place: Place) -> UUID:
        """The session here of a message there."""
        uid, conversation, position = place
        return self.sessions[uid].at(conversation, position).uid if uid in self.sessions else uid

    def leave_out(self, numbers: Sequence[int], reason: LeftOutReason) -> None:
        for number in numbers:
            self.done.left_out.add(LeftOut(self.name, reason, number))
