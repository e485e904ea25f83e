"""The facts and the summary of a model's answer, checked and read a second time (D5)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memories.choices import Reading, Refusal
from memories.consolidation import reading
from memories.consolidation.extraction.candidates import Candidate, Checker
from memories.consolidation.extraction.findings import ExtractionResult, Offer, findings_of, offers_of, refused_of
from memories.consolidation.reading import Claim, ReadingResult
from memories.language.sentences import spoken_sentences
from memories.llm.schemas import ExtractionOutput, Fact
from memories.models import Workspace
from memories.verification import claims

#: What a model may mend: whether a memory may hold it is not its concern.
_MENDABLE = frozenset(Refusal.values) - {Refusal.NO_SCOPE}


@dataclass
class Objection:
    """Says once what is wrong with the facts of an answer, and keeps those nothing is wrong with."""

    checker: Checker
    sound: list[Fact] = field(default_factory=list)
    is_made: bool = False

    def __call__(self, answer: ExtractionOutput) -> str | None:
        if self.is_made:
            return None
        refusals = [self._fault(fact) for fact in answer.facts]
        faults = [f"facts.{n}: {one.label}" for n, one in enumerate(refusals) if one in _MENDABLE and one is not None]
        if not faults:
            return None
        self.is_made = True
        self.sound = [fact for fact, refusal in zip(answer.facts, refusals, strict=True) if refusal is None]
        return "; ".join(faults)

    def _fault(self, fact: Fact) -> Refusal | None:
        """What is wrong with a fact; a doubt only where no reader may dispel it."""
        candidate = self.checker.candidate(fact)
        return candidate.refusal or (None if reading.is_on() else candidate.doubt)

    def facts(self, answer: ExtractionOutput) -> list[Fact]:
        """The facts of the last answer, and those of the first that it left out though nothing was wrong with them."""
        there = {fact.content for fact in answer.facts}
        return [*answer.facts, *(fact for fact in self.sound if fact.content not in there)]


def verify(
    answer: ExtractionOutput, facts: Sequence[Fact], checker: Checker, workspace: Workspace, *, now: datetime
) -> tuple[ExtractionResult, list[str], ReadingResult]:
    """What is made of an answer, the sentences of its summary that may be told, and the reading of both.

    The model that reads is asked outside any transaction.
    """
    candidates = [checker.candidate(fact) for fact in facts]
    offers = offers_of(candidates, checker.question)
    sentences = _sound_sentences(answer.summary, checker)
    asked = [claim for offer in offers for claim in offer.claims()]
    result = reading.read([*asked, *(Claim(one, ()) for one in sentences)], checker.sources(), workspace, now=now)
    verdicts = iter([result.of(n) for n in range(len(asked) + len(sentences))])
    for offer in offers:
        offer.judge(_next(verdicts, len(offer.claims())))
    told = [one for one in sentences if next(verdicts) in (Reading.ENTAILED, Reading.UNSURE)]
    findings, corrected = findings_of(offers)
    counts = Counter(corrected=corrected, refused=sum(one.refusal is not None for one in candidates))
    counts.update(verified=sum(one.is_verified for one in findings), **result.counts)
    is_fooled = result.counts.get("decoys_passed", 0) > 0
    return ExtractionResult([], findings, refused_of(candidates), counts), [] if is_fooled else told, result


def _next(verdicts: Iterator[Reading], count: int) -> list[Reading]:
    return [next(verdicts) for _claim in range(count)]


def _sound_sentences(summary: str, checker: Checker) -> list[str]:
    """The sentences of a summary that name nothing nobody said."""
    shown = checker.conversation(list(checker.question.messages.values()), checker.question.whole)
    return [one for one in spoken_sentences(summary) if one and claims.invention(one, shown) is None]


__all__ = ["Candidate", "Objection", "Offer", "verify"]
