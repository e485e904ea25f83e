"""Statements of a model on their way to a memory: by which words, how far they are believed, and why not (D5).

They are checked against the conversation they are about: its messages, and who its people are. Which were not kept,
why, and on what they were to rest, is noted for a month.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from memories.choices import Reading, Refusal, Verification
from memories.consolidation import reading
from memories.consolidation.reading import Claim
from memories.language import names, relations
from memories.llm.schemas import cleaned
from memories.models import RefusedFact, Scope
from memories.verification.claims import Conversation, Message, Quote
from memories.verification.persons import People


def conversation_of(
    messages: Sequence[Message], authors: Mapping[str, str], scope: Scope | None, projects: Sequence[str] = ()
) -> Conversation:
    """These messages, read as some of their authors would: «I» is one of them.

    `authors` are ids of senders by the names people call them; `scope` is the memory whose nicknames are known.
    """
    spoken = [one for one in messages if not one.is_answer]
    speakers = {one.speaker for one in spoken}
    learnt = dict(scope.nicknames) if scope else {}
    for one in spoken:
        learnt |= names.learn(one.content, one.speaker) | relations.learn(one.content)
    own = {alias for author, sender in authors.items() for alias in _called(author, sender, learnt)}
    # By what names authors introduce themselves
    own |= {name for one in spoken if one.speaker in authors for name in names.introduced(one.content)}
    if scope and len(speakers) == 1:
        own |= set(scope.speakers)
    people = People.of({*authors, *own}, speakers - authors.keys(), learnt)
    known = [*projects, *(scope.projects if scope else []), *learnt.values()]
    return Conversation(list(messages), people, known)


def _called(author: str, sender: str, learnt: Mapping[str, str]) -> Collection[str]:
    """By what names an author goes besides."""
    own = {names.fold(author), names.fold(f"{names.UNNAMED}{sender}")}
    also = {alias for alias, name in relations.without_relations(learnt).items() if names.fold(name) in own}
    return also | {*names.given_names(author)}


_TEXT_CHARS = 2_000


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A fact a model offered, and why it is not kept."""

    content: str
    reason: Refusal
    quote: str = ""
    scope: Scope | None = None
    origins: tuple[str, ...] = ()


def record_refused(
    refused: Iterable[Refused], *, workspace_id: int, model: str, purpose: str, run: str, now: datetime
) -> int:
    """Store refused facts; how many these are."""
    rows = [
        RefusedFact(
            workspace_id=workspace_id,
            scope=one.scope,
            model=model,
            purpose=purpose,
            run=run,
            content=cleaned(one.content)[:_TEXT_CHARS],
            quote=cleaned(one.quote)[:_TEXT_CHARS],
            reason=one.reason,
            origins=list(one.origins),
            created_at=now,
        )
        for one in refused
    ]
    return len(RefusedFact.objects.bulk_create(rows))


class Stated(Protocol):
    """A statement as an answer holds it."""

    @property
    def content(self) -> str: ...


S = TypeVar("S", bound=Stated)
#: What a model may mend: whether a memory may hold it is not its concern.
_MENDABLE = frozenset(Refusal.values) - {Refusal.NO_SCOPE}


@dataclass
class Statement:
    """What a model states, with the words it rests on."""

    content: str
    quotes: list[Quote]
    refusal: Refusal | None = None
    doubt: Refusal | None = None  # what a check found that only a reader can dispel
    verification: Verification = Verification.QUOTED

    def judge(self, verdict: Reading) -> None:
        """Take what a believed reader says of it."""
        match verdict:
            case Reading.ENTAILED:
                self.verification = Verification.VERIFIED
            case Reading.CONTRADICTED:
                self.refusal = Refusal.CONTRADICTED
            case Reading.NOT_STATED:
                self.refusal = Refusal.NOT_STATED
            case Reading.UNSURE:
                self.refusal = self.doubt

    def take_fault(self, fault: Refusal | None) -> None:
        """Take what a check found: a reason to refuse it, or a doubt."""
        if fault and fault.is_doubt:
            self.doubt = fault
        else:
            self.refusal = fault

    @property
    def objection(self) -> Refusal | None:
        """What is wrong with it; a doubt only where no reader may dispel it."""
        return self.refusal or (None if reading.is_on() else self.doubt)

    def claim(self, statement: str = "") -> Claim:
        """It, or another statement beside its words, for a second reading."""
        return Claim(statement or self.content, [(quote.message.id, quote.text) for quote in self.quotes])


@dataclass
class Objection(Generic[S]):
    """Says once what is wrong with the statements of an answer, and keeps those nothing is wrong with.

    `part` is the list of the answer they stand in, `refusal` the first thing that is wrong with one.
    """

    refusal: Callable[[S], Refusal | None]
    part: str
    sound: list[S] = field(default_factory=list)
    is_made: bool = False

    def __call__(self, answer: Any) -> str | None:
        if self.is_made:
            return None
        offered: list[S] = getattr(answer, self.part)
        refusals = [self.refusal(one) for one in offered]
        faults = [
            f"{self.part}.{n}: {one.label}" for n, one in enumerate(refusals) if one is not None and one in _MENDABLE
        ]
        if not faults:
            return None
        self.is_made = True
        self.sound = [one for one, refusal in zip(offered, refusals, strict=True) if refusal is None]
        return "; ".join(faults)

    def statements(self, answer: Any) -> list[S]:
        """Those of the last answer, and those of the first that it left out though nothing was wrong with them."""
        offered: list[S] = getattr(answer, self.part)
        there = {one.content for one in offered}
        return [*offered, *(one for one in self.sound if one.content not in there)]
