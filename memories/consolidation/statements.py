"""Statements of a model on their way to a memory: by which words, how far they are believed, and why not (D5)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from memories.choices import Reading, Refusal, Verification
from memories.consolidation import reading
from memories.consolidation.reading import Claim
from memories.verification.claims import Quote


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
