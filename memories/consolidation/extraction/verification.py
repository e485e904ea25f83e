"""The facts and the summary of a model's answer, checked and read a second time (D5)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from memories import llm
from memories.choices import Reading, Verification
from memories.consolidation import reading, trust
from memories.consolidation.extraction.candidates import Checker
from memories.consolidation.extraction.findings import ExtractionResult, findings_of, offers_of, refused_of
from memories.consolidation.reading import ReadingResult
from memories.consolidation.statements import Objection
from memories.consolidation.summaries import CheckedSummary
from memories.llm.schemas import ExtractionOutput, Fact
from memories.models import Workspace


def objection_of(checker: Checker) -> Objection[Fact]:
    """Tells the model once what is wrong with its facts."""
    return Objection(lambda fact: checker.candidate(fact).objection, "facts")


def verify(
    answer: ExtractionOutput, facts: Sequence[Fact], checker: Checker, workspace: Workspace, *, now: datetime
) -> tuple[ExtractionResult, str, ReadingResult]:
    """What is made of an answer, what may be told of its summary, and the reading of both.

    The model that reads is asked outside any transaction.
    """
    candidates = [checker.candidate(fact) for fact in facts]
    offers = offers_of(candidates, checker.question)
    shown = checker.conversation(list(checker.question.messages.values()), checker.question.whole)
    summary = CheckedSummary.of(answer.summary, shown)
    asked = [claim for offer in offers for claim in offer.claims()]
    result = reading.read([*asked, *summary.claims()], checker.sources(), workspace, now=now)
    verdicts = iter([result.of(n) for n in range(len(asked))])
    for offer in offers:
        offer.judge(_next(verdicts, len(offer.claims())))
    is_trusted = trust.is_trusted(workspace.pk, llm.model_name(), now=now)
    for offer in offers:
        if not is_trusted:  # what is refused stays refused
            offer.candidate.verification = Verification.QUOTED
    findings, corrected = findings_of(offers)
    counts = Counter(corrected=corrected, refused=sum(one.refusal is not None for one in candidates))
    counts.update(verified=sum(one.is_verified for one in findings), **result.counts)
    told = summary.read(result, begin=len(asked)).text
    return ExtractionResult([], findings, refused_of(candidates), counts), told, result


def _next(verdicts: Iterator[Reading], count: int) -> list[Reading]:
    return [next(verdicts) for _claim in range(count)]
