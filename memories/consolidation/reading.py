"""The second reading: a model says of each statement whether the words it rests on bear it out (D5).

One question for a batch of claims, in chance order, with decoys among them whose verdict is certain. A reader that
takes a decoy for true is not believed: what it read stays as it was. It never sees the reasons of whoever made the
claims.

Several conversations may be read in one question, each claim beside the words of its own. What one of them says to the
reader could then bear on another: where a decoy of any passes none is believed, and one of which the reader denies half
is read once more, alone.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import structlog

from memories import llm
from memories.choices import Reading
from memories.conf import conf
from memories.exceptions import AnswerInvalid, BudgetSpent, ModelFailed, ModelOff
from memories.language.text import is_question, spoken_sentences
from memories.llm import prompts, schemas
from memories.models import Workspace
from memories.verification import decoys

log = structlog.get_logger(__name__)
PURPOSE = "verification"
#: Decoys of a batch: at least so many, and one for so many claims.
_LEAST_DECOYS, _CLAIMS_A_DECOY, _MOST_DECOYS = 3, 4, 12
_DENIED = (Reading.CONTRADICTED, Reading.NOT_STATED)


@dataclass(frozen=True)
class Claim:
    """A statement, and the words it rests on: the id of a source with words of it."""

    statement: str
    quotes: Sequence[tuple[str, str]] = ()

    def shown(self, pk: str, conversation: str = "") -> dict[str, Any]:
        """As a model is shown it, under an id; of several conversations with sources by their ids in these."""
        place = f"{conversation}." if conversation else ""
        quotes = [{"source": f"{place}{source}", "text": words} for source, words in self.quotes]
        return {"id": pk, "statement": self.statement, "quotes": quotes}


@dataclass(frozen=True)
class Sources:
    """A conversation by ids, as a model is shown it, and the names of the people in it."""

    shown: Mapping[str, Mapping[str, Any]]
    people: Collection[str] = ()

    @property
    def text(self) -> str:
        return "\n".join(str(source["text"]) for source in self.shown.values())


@dataclass(frozen=True)
class ReadingResult:
    """What a reader says of each claim, by position, and whether it is believed; what it cost."""

    verdicts: Sequence[Reading]
    is_believed: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    calls: int = 0
    tokens: int = 0

    @property
    def is_fooled(self) -> bool:
        """Whether it took a decoy for true."""
        return self.counts.get("decoys_passed", 0) > 0

    @property
    def cost(self) -> dict[str, Any]:
        """What was read and spent, for the batch it was read for."""
        usage = {"reader": self.model, "reader_calls": self.calls, "reader_tokens": self.tokens} if self.calls else {}
        return {**usage, **self.counts}

    def of(self, position: int) -> Reading:
        """The verdict on a claim; unsure where there is no reader that is believed."""
        return self.verdicts[position] if self.is_believed else Reading.UNSURE


def is_on() -> bool:
    return llm.is_on() and conf.VERIFY


@dataclass(frozen=True)
class Part:
    """The claims of one conversation, and its words. A claim without quotes rests on all of them.

    `own` are the positions of what is stated of this conversation; the others compare it with what is stored.
    """

    claims: Sequence[Claim]
    sources: Sources
    own: Collection[int] = ()


@dataclass(frozen=True)
class _Asked:
    """A statement as the reader is asked about it; a decoy has no position."""

    claim: Claim
    part: int
    position: int | None = None


def read(
    claims: Sequence[Claim],
    sources: Sources,
    workspace: Workspace,
    *,
    now: datetime,
    reader: str = "",
    seconds: float | None = None,
) -> ReadingResult:
    """Have the claims of one conversation read; see `read_together`."""
    return read_together([Part(claims, sources)], workspace, now=now, reader=reader, seconds=seconds)[0]


def read_together(
    parts: Sequence[Part], workspace: Workspace, *, now: datetime, reader: str = "", seconds: float | None = None
) -> list[ReadingResult]:
    """Have the claims of conversations read in one question, outside any transaction; a result for each, in order.

    Without a reader, or where it fails, all of them stay unsure. The cost stands at the first that was read. `reader`
    is a model to read in place of the configured one.
    """
    read_parts = [n for n, part in enumerate(parts) if part.claims] if is_on() else []
    results = {n: ReadingResult([Reading.UNSURE] * len(part.claims)) for n, part in enumerate(parts)}
    if not read_parts:
        return list(results.values())
    questions = {f"c{n}": question for n, question in enumerate(_asked(parts, read_parts), start=1)}
    prompt = prompts.prompt("verification", workspace.language, _shown(parts, read_parts, questions))
    given, model = schemas.Given(frozenset(questions)), reader or conf.VERIFY_MODEL
    try:
        answer = llm.ask(
            workspace, PURPOSE, prompt, schemas.ReadingOutput, now=now, given=given, model=model, seconds=seconds
        )
    except (ModelOff, ModelFailed, BudgetSpent, AnswerInvalid) as problem:
        log.warning("verification.no_answer", workspace=workspace.pk, problem=type(problem).__name__)
        for n in read_parts:
            results[n] = replace(results[n], counts={"unread": len(parts[n].claims)})
        return list(results.values())
    verdicts = {verdict.id: Reading(verdict.verdict) for verdict in answer.value.verdicts}
    judged = [(question, verdicts.get(pk, Reading.UNSURE)) for pk, question in questions.items()]
    is_fooled = any(question.position is None and verdict is Reading.ENTAILED for question, verdict in judged)
    for n in read_parts:
        result = _result([pair for pair in judged if pair[0].part == n], len(parts[n].claims), is_fooled)
        if n == read_parts[0]:
            result = replace(result, calls=answer.calls, tokens=answer.tokens)
        results[n] = replace(result, model=answer.model)
    for n in read_parts if len(read_parts) > 1 else ():
        denied = sum(results[n].of(position) in _DENIED for position in parts[n].own)
        if denied and denied >= len(parts[n].own) / 2:
            (alone,) = read_together([parts[n]], workspace, now=now, reader=reader, seconds=seconds)
            results[n] = replace(alone, calls=results[n].calls + alone.calls, tokens=results[n].tokens + alone.tokens)
    return list(results.values())


def _result(judged: Sequence[tuple[_Asked, Reading]], count: int, is_fooled: bool) -> ReadingResult:
    """What the verdicts on the statements of one conversation come to."""
    verdicts = [Reading.UNSURE] * count
    for question, verdict in judged:
        if question.position is not None:
            verdicts[question.position] = verdict
    decoys = [verdict for question, verdict in judged if question.position is None]
    return ReadingResult(
        verdicts,
        is_believed=bool(decoys) and not is_fooled,
        counts={"read": count, "decoys": len(decoys), "decoys_passed": decoys.count(Reading.ENTAILED)},
    )


def _shown(parts: Sequence[Part], read_parts: Sequence[int], questions: Mapping[str, _Asked]) -> dict[str, Any]:
    """What the reader is shown; ids of sources are those of their conversation where there are several."""
    if len(read_parts) == 1:
        sources = [{"id": pk, **source} for pk, source in parts[read_parts[0]].sources.shown.items()]
        return {"sources": sources, "claims": [question.claim.shown(pk) for pk, question in questions.items()]}
    name = {n: f"k{number}" for number, n in enumerate(read_parts, start=1)}
    return {
        "sources": [
            {"conversation": name[n], "id": f"{name[n]}.{pk}", **source}
            for n in read_parts
            for pk, source in parts[n].sources.shown.items()
        ],
        "claims": [
            {"conversation": name[question.part], **question.claim.shown(pk, name[question.part])}
            for pk, question in questions.items()
        ],
    }


def _asked(parts: Sequence[Part], read_parts: Sequence[int]) -> list[_Asked]:
    """The claims and their decoys, false claims made of those of each conversation, in chance order."""
    chance = random.SystemRandom()
    questions: list[_Asked] = []
    least = -(-_LEAST_DECOYS // len(read_parts))
    for n in read_parts:
        claims, sources = parts[n].claims, parts[n].sources
        decoy_count = min(max(least, -(-len(claims) // _CLAIMS_A_DECOY)), _MOST_DECOYS)
        stated = {claim.statement for claim in claims}
        sentences = [sentence for sentence in spoken_sentences(sources.text) if sentence and not is_question(sentence)]
        decoy_claims: dict[str, Claim] = {}
        # the opposite of a mistaken summary, which quotes nothing, may be true
        resting = [claim for claim in claims if claim.quotes] or claims
        for claim in chance.sample(resting, len(resting)) * _LEAST_DECOYS:
            if len(decoy_claims) >= decoy_count:
                break
            quote = claim.quotes[0][1] if claim.quotes else chance.choice(sentences or [claim.statement])
            for decoy in decoys(claim.statement, quote, sources.text, list(sources.people), chance):
                if decoy not in stated and decoy not in decoy_claims:
                    decoy_claims[decoy] = Claim(decoy, claim.quotes)
                    break
        questions += [_Asked(claim, n, position) for position, claim in enumerate(claims)]
        questions += [_Asked(claim, n) for claim in decoy_claims.values()]
    chance.shuffle(questions)
    return questions
