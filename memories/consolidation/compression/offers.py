"""What a model would do with facts, and what a second reading says of it (D6).

A merge says what its sources say, and nothing of theirs is lost. What it drops, something newer contradicts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memories.choices import Reading
from memories.consolidation import reading
from memories.consolidation.compression import merge_policy
from memories.consolidation.reading import Claim, Sources
from memories.models import Entry, Scope, Workspace


@dataclass
class Offer:
    """Something a model would do, as claims that are read."""

    verdicts: list[Reading] = field(default_factory=list, init=False)

    def claims(self) -> list[Claim]:
        raise NotImplementedError


@dataclass
class MergeOffer(Offer):
    """A text in the place of several facts."""

    sources: Sequence[Entry]
    content: str

    def claims(self) -> list[Claim]:
        """The text beside the facts, then each fact beside the text."""
        return [Claim(self.content, quoted(self.sources)), *kept(self.sources, self.content)]

    @property
    def is_verified(self) -> bool:
        return bool(self.verdicts) and all(verdict is Reading.ENTAILED for verdict in self.verdicts)


@dataclass
class DropOffer(Offer):
    """A fact a model would drop, and newer ones that may be why."""

    fact: Entry
    rivals: Sequence[Entry] = ()

    def claims(self) -> list[Claim]:
        """The fact beside each of them, where their words alone do not show it."""
        return [] if self.is_outdated else [Claim(self.fact.content, quoted([rival])) for rival in self.rivals]

    @property
    def is_outdated(self) -> bool:
        """Whether words show it: with the model these are two signals."""
        return any(merge_policy.outdates(rival, self.fact) for rival in self.rivals)

    @property
    def is_supported(self) -> bool:
        """Whether a newer fact speaks for it besides the model."""
        return self.is_outdated or Reading.CONTRADICTED in self.verdicts


def quoted(facts: Sequence[Entry]) -> list[tuple[str, str]]:
    """Facts as the words a statement rests on."""
    return [(f"f{fact.pk}", fact.content) for fact in facts]


def kept(facts: Sequence[Entry], content: str) -> list[Claim]:
    """For each fact the claim that a text still says it."""
    return [Claim(fact.content, [("new", content)]) for fact in facts]


def read(
    offers: Sequence[Offer], facts: Sequence[Entry], scope: Scope, workspace: Workspace, *, now: datetime
) -> Counter[str]:
    """Have offers read, in one question; the counts of the reading, what it spent among them."""
    asked = [(offer, claim) for offer in offers for claim in offer.claims()]
    shown: dict[str, dict[str, Any]] = {
        f"f{fact.pk}": {"on": fact.stated_at.date().isoformat(), "text": fact.content} for fact in facts
    }
    result = reading.read([claim for _offer, claim in asked], Sources(shown, scope.speakers), workspace, now=now)
    for n, (offer, _claim) in enumerate(asked):
        offer.verdicts.append(result.of(n))
    return Counter(result.counts) + Counter(reader_calls=result.calls, reader_tokens=result.tokens)
