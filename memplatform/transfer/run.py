"""One run of an import: where an export is brought, and what has been met of it so far."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from memories import batches
from memories.imports.left_out import LeftOut, LeftOutReason
from memories.models import Batch, Scope, Workspace
from memplatform.transfer.files import ImportedFiles
from memplatform.transfer.ids import Ids

NAME = "import"


@dataclass
class TransferReport:
    """What an import wrote or, tried out, would write, by kind of record."""

    created: Counter[str] = field(default_factory=Counter)
    already: Counter[str] = field(default_factory=Counter)
    left_out: list[LeftOut] = field(default_factory=list)
    files: int = 0
    batches: list[Batch] = field(default_factory=list)


class SessionHere(NamedTuple):
    """A session of the export, as it is here."""

    uid: UUID
    pk: int


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

    def leave_out(self, numbers: Sequence[int], reason: LeftOutReason) -> None:
        self.done.left_out += [LeftOut(self.name, reason, number) for number in numbers]
