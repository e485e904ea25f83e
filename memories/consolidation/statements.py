"""Statements of a model on their way to a memory: by which words, how far they are believed, and why not (D5).

They are checked against the conversation they are about: its messages, and who its people are. Which were not kept,
why, and on what they were to rest, is noted for a month.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from memories.choices import Reading, Refusal, Verification
from memories.consolidation import reading
from memories.consolidation.reading import Claim
from memories.language import names, persons
from memories.language.persons import People
from memories.llm.schemas import cleaned
from memories.models import RefusedFact, Scope
from memories.verification import Conversation, Message, Quote


def conversation_of(
    messages: Sequence[Message], authors: Mapping[str, str], scope: Scope | None, projects: Sequence[str] = ()
) -> Conversation:
    """These messages, read as some of their authors would: «I» is one of them.

    `authors` are ids of senders by the names people call them; the nicknames of `scope` count as learnt.
    """
    utterances = [message for message in messages if not message.is_answer]
    speakers = {message.speaker for message in utterances}
    aliases = dict(scope.nicknames) if scope else {}
    for message in utterances:
        aliases |= names.learn(message.content, message.speaker) | persons.learn_relations(message.content)
    nicknames = persons.without_relations(aliases)
    # by what names the authors go, and by which they introduce themselves
    own: set[str] = set()
    for author, sender in authors.items():
        folded = {names.fold(author), names.fold(f"{names.UNNAMED}{sender}")}
        own |= {alias for alias, name in nicknames.items() if names.fold(name) in folded} | {*names.given_names(author)}
    own |= {name for message in utterances if message.speaker in authors for name in names.introduced(message.content)}
    if scope and len(speakers) == 1:
        own |= set(scope.speakers)
    people = People.of({*authors, *own}, speakers - authors.keys(), aliases)
    return Conversation(list(messages), people, [*projects, *(scope.projects if scope else []), *aliases.values()])


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
            scope=fact.scope,
            model=model,
            purpose=purpose,
            run=run,
            content=cleaned(fact.content)[:_TEXT_CHARS],
            quote=cleaned(fact.quote)[:_TEXT_CHARS],
            reason=fact.reason,
            origins=list(fact.origins),
            created_at=now,
        )
        for fact in refused
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
        refusals = [self.refusal(statement) for statement in offered]
        faults = [f"{self.part}.{n}: {why.label}" for n, why in enumerate(refusals) if why and why in _MENDABLE]
        if not faults:
            return None
        self.is_made = True
        self.sound = [statement for statement, why in zip(offered, refusals, strict=True) if why is None]
        return "; ".join(faults)

    def statements(self, answer: Any) -> list[S]:
        """Those of the last answer, and those of the first that it left out though nothing was wrong with them."""
        offered: list[S] = getattr(answer, self.part)
        contents = {statement.content for statement in offered}
        return [*offered, *(statement for statement in self.sound if statement.content not in contents)]
