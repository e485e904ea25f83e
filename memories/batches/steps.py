"""Steps of a plan, a type for each verb; nothing else writes or reads the JSON of a plan's rows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from memories import entries
from memories.choices import BatchVerb
from memories.entries.daily_events import EventDraft
from memories.entries.draft import UnscopedDraft, serialize
from memories.models import BatchChange, Entry, Scope
from memories.models.policy import Subject

Values = dict[Subject, float | None]


class _Step(BaseModel):
    """What one row of a plan does to the entry or event its columns refer to."""

    model_config = ConfigDict(frozen=True)

    def as_json(self) -> dict[str, Any]:
        """The JSON stored beside the verb: the fields that were given."""
        return self.model_dump(mode="json", exclude={"verb"}, exclude_unset=True)


class Successor(BaseModel):
    """What replaces an entry: a stored entry, or the one that another row of the plan creates."""

    model_config = ConfigDict(frozen=True)

    entry: int | None = None
    position: int | None = None

    @model_validator(mode="after")
    def _names_one(self) -> "Successor":
        if (self.entry is None) == (self.position is None):
            raise ValueError("a successor is either an entry or a row of the plan")
        return self


class CreateStep(_Step):
    """Create an entry, unless one it rests on is no longer live in the version given."""

    verb: Literal[BatchVerb.CREATE] = BatchVerb.CREATE
    draft: UnscopedDraft
    rests_on: Mapping[int, int] = {}  # entry → version
    sources: tuple[int, ...] = ()  # entries to link as its sources, which stay in use

    @model_validator(mode="before")
    @classmethod
    def _read_flat(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Stored rows hold the fields of the draft beside the others."""
        return values if "draft" in values else {**values, "draft": values}

    def as_json(self) -> dict[str, Any]:
        others = self.model_dump(mode="json", exclude={"verb", "draft"}, exclude_unset=True)
        return serialize(self.draft) | others


class EditStep(_Step):
    """Change columns, as JSON, and slots of an entry; None removes a slot."""

    verb: Literal[BatchVerb.CHANGE] = BatchVerb.CHANGE
    columns: Mapping[str, str | bool | int | float | None] = {}
    slots: Mapping[str, str | None] = {}

    @property
    def values(self) -> dict[str, Any]:
        """The columns as Python values."""
        return entries.read_columns(self.columns)


class ExpireStep(_Step):
    """Take an entry out of use; suppressed, no machine writes it again. `only_live`: unless it is already."""

    verb: Literal[BatchVerb.EXPIRE] = BatchVerb.EXPIRE
    suppress: bool = False
    only_live: bool = True


class ArchiveStep(_Step):
    """Take an entry out of use; machines may write it again."""

    verb: Literal[BatchVerb.ARCHIVE] = BatchVerb.ARCHIVE


class RestoreStep(_Step):
    """Bring an entry back into use, for so many seconds from then; None: for as long as its policy says."""

    verb: Literal[BatchVerb.RESTORE] = BatchVerb.RESTORE
    term_seconds: float | None = None

    @classmethod
    def lasting(cls, term: timedelta | None) -> "RestoreStep":
        return cls(term_seconds=None if term is None else term.total_seconds())

    @property
    def term(self) -> timedelta | None:
        return None if self.term_seconds is None else timedelta(seconds=self.term_seconds)


class ReplaceStep(_Step):
    """Replace an entry by a successor."""

    into: Successor


class MergeStep(ReplaceStep):
    """Archive an entry that became part of its successor, and link it as a source of that."""

    verb: Literal[BatchVerb.MERGE] = BatchVerb.MERGE


class SupersedeStep(ReplaceStep):
    """Mark an entry that no longer holds as superseded by its successor."""

    verb: Literal[BatchVerb.SUPERSEDE] = BatchVerb.SUPERSEDE


class EventStep(_Step):
    """Write a daily event of the scope; with an event in its row, give that one this content."""

    verb: Literal[BatchVerb.TELL] = BatchVerb.TELL
    local_date: date = Field(alias="date")
    content: str
    source: str
    chats: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @classmethod
    def of(cls, event: EventDraft) -> "EventStep":
        return cls.model_validate(vars(event) | {"date": event.local_date})

    def event(self, scope: Scope) -> EventDraft:
        return EventDraft(scope=scope, **self.model_dump(exclude={"verb"}))

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"verb"}, by_alias=True)


class UndoStep(_Step):
    """Put an entry or event back as it was before a batch; forced, also when it was changed since.

    `of` is another batch than the one that is undone: what a job made of that one's.
    """

    verb: Literal[BatchVerb.UNDO] = BatchVerb.UNDO
    force: bool = False
    of: int | None = None


class QuarantineStep(_Step):
    """Put an entry into quarantine, with the messages of it that are in question."""

    verb: Literal[BatchVerb.QUARANTINE] = BatchVerb.QUARANTINE
    origins: tuple[str, ...] = ()


class PurgeStep(_Step):
    """Remove an entry for good."""

    verb: Literal[BatchVerb.PURGE] = BatchVerb.PURGE


class PolicyStep(_Step):
    """Set a policy of the workspace, unless it was changed since; no value: as built in."""

    verb: Literal[BatchVerb.POLICY] = BatchVerb.POLICY
    about: str  # its subject, in one word
    before: tuple[float | None, ...] = ()
    after: tuple[float | None, ...] = ()

    @classmethod
    def between(cls, subject: Subject, present: Values, target: Values) -> "PolicyStep":
        values = [(some[subject],) if subject in some else () for some in (present, target)]
        return cls(about="/".join(subject), before=values[0], after=values[1])

    @property
    def subject(self) -> Subject:
        kind, entry_type, scope_kind, name = self.about.split("/")
        return kind, entry_type, scope_kind, name

    @property
    def change(self) -> tuple[Values, Values]:
        """The policy before and after, each by its subject where it is set."""
        before, after = (dict.fromkeys([self.subject] * len(values), *values) for values in (self.before, self.after))
        return before, after

    def undone(self, present: Values | None = None) -> "PolicyStep":
        """The step that puts back what was; `present` holds now, where that is put back whatever it is."""
        before, subject = self.after, self.subject
        if present is not None:
            before = (present[subject],) if subject in present else ()
        return PolicyStep(about=self.about, before=before, after=self.before)


class ErasedStep(_Step):
    """The step of a row whose entry was purged."""


PlannedStep = (
    CreateStep
    | EditStep
    | ExpireStep
    | ArchiveStep
    | RestoreStep
    | MergeStep
    | SupersedeStep
    | EventStep
    | UndoStep
    | QuarantineStep
    | PurgeStep
    | PolicyStep
)
Step = PlannedStep | ErasedStep
#: Steps that name a successor.
REPLACING = (BatchVerb.MERGE, BatchVerb.SUPERSEDE)
_STEP: TypeAdapter[PlannedStep] = TypeAdapter(Annotated[PlannedStep, Field(discriminator="verb")])


def step_of(change: BatchChange) -> Step:
    """The step of a stored row."""
    if not change.draft and change.entry_id is None and change.event_id is None:
        return ErasedStep()
    return _STEP.validate_python({**change.draft, "verb": change.verb})


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """A row of a plan to be stored: a step, and the entry with the version it was judged by, or the event."""

    step: PlannedStep
    entry_id: int | None = None
    version: int | None = None  # None: any
    event_id: int | None = None

    @classmethod
    def of(cls, entry: Entry, step: PlannedStep) -> "PlanRow":
        return cls(step=step, entry_id=entry.pk, version=entry.version)


def replaced_by_rows(changes: QuerySet[BatchChange], positions: Collection[int]) -> QuerySet[BatchChange]:
    """The rows whose successor the rows at these positions create."""
    return changes.filter(verb__in=REPLACING, draft__into__position__in=list(positions))
