"""One run of an import: where an export is brought, and what has been met of it so far."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID, uuid4

from memories import batches
from memories.imports.batch import AllLeftOut, LeftOut, LeftOutReason
from memories.models import Batch, Scope, Workspace
from memplatform.transfer.files import ImportedFiles
from memplatform.transfer.ids import Ids
from memplatform.transfer.messages import Place
from sessions_app.models import Session

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

    def batch(self, scope: Scope) -> Batch:
        """The batch of what is brought into a scope; made when something is."""
        if scope.pk not in self.batches:
            made = batches.begin_applied(
                scope, name=NAME, run=self.run, actor=self.actor, now=self.now, reason=self.name
            )
            self.batches[scope.pk] = made
            self.done.batches.append(made)
        return self.batches[scope.pk]

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
