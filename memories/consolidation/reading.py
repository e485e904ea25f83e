"""The second reading: a model says of each statement whether the words it rests on bear it out (D5).

One question for a batch of claims, in chance order, with decoys among them whose verdict is certain. A reader that
takes a decoy for true is not believed: what it read stays as it was. It never sees the reasons of whoever made the
claims.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog

from memories import llm
from memories.choices import Reading
from memories.conf import conf
from memories.exceptions import AnswerInvalid, BudgetSpent, ModelFailed, ModelOff
from memories.language.asking import is_question
from memories.language.sentences import spoken_sentences
from memories.llm import prompts, schemas
from memories.models import Workspace
from memories.verification import decoys

log = structlog.get_logger(__name__)
PURPOSE = "verification"
#: Decoys of a batch: at least so many, and one for so many claims.
_LEAST_DECOYS, _CLAIMS_A_DECOY, _MOST_DECOYS = 3, 4, 12


@dataclass(frozen=True)
class Claim:
    """A statement, and the words it rests on: the id of a source with words of it."""

    statement: str
    quotes: Sequence[tuple[str, str]] = ()

    def shown(self, pk: str) -> dict[str, Any]:
        """As a model is shown it, under an id."""
        quotes = [{"source": source, "text": words} for source, words in self.quotes]
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
        spent = {"reader": self.model, "reader_calls": self.calls, "reader_tokens": self.tokens} if self.calls else {}
        return {**spent, **self.counts}

    def of(self, position: int) -> Reading:
        """The verdict on a claim; unsure where there is no reader that is believed."""
        return self.verdicts[position] if self.is_believed else Reading.UNSURE


def is_on() -> bool:
    return llm.is_on() and conf.VERIFY


def read(
    claims: Sequence[Claim],
    sources: Sources,
    workspace: Workspace,
    *,
    now: datetime,
    reader: str = "",
    seconds: float | None = None,
) -> ReadingResult:
    """Have claims read, outside any transaction; without a reader, or where it fails, all of them stay unsure.

    A claim without quotes rests on the whole conversation. `reader` is a model to read in place of the configured one.
    """
    if not claims or not is_on():
        return ReadingResult([Reading.UNSURE] * len(claims))
    pairs = _with_decoys(claims, sources)
    named = {f"c{n}": pair for n, pair in enumerate(pairs, start=1)}
    data = {
        "sources": [{"id": pk, **shown} for pk, shown in sources.shown.items()],
        "claims": [claim.shown(pk) for pk, (claim, _position) in named.items()],
    }
    prompt = prompts.prompt("verification", workspace.language, data)
    given, model = schemas.Given(frozenset(named)), reader or conf.VERIFY_MODEL
    try:
        answer = llm.ask(
            workspace, PURPOSE, prompt, schemas.ReadingOutput, now=now, given=given, model=model, seconds=seconds
        )
    except (ModelOff, ModelFailed, BudgetSpent, AnswerInvalid) as problem:
        log.warning("verification.no_answer", workspace=workspace.pk, problem=type(problem).__name__)
        return ReadingResult([Reading.UNSURE] * len(claims), counts={"unread": len(claims)})
    verdicts = {verdict.id: Reading(verdict.verdict) for verdict in answer.value.verdicts}
    read_as = [Reading.UNSURE] * len(claims)
    fooled = 0
    for pk, (_claim, position) in named.items():
        verdict = verdicts.get(pk, Reading.UNSURE)
        if position is None:
            fooled += verdict is Reading.ENTAILED
        else:
            read_as[position] = verdict
    count = len(claims)
    return ReadingResult(
        read_as,
        is_believed=not fooled and len(named) > count,
        counts={"read": count, "decoys": len(named) - count, "decoys_passed": fooled},
        model=answer.model,
        calls=answer.calls,
        tokens=answer.tokens,
    )


def _with_decoys(claims: Sequence[Claim], sources: Sources) -> list[tuple[Claim, int | None]]:
    """The claims with their positions and the decoys without one, in chance order."""
    chance = random.SystemRandom()
    wanted = min(max(_LEAST_DECOYS, -(-len(claims) // _CLAIMS_A_DECOY)), _MOST_DECOYS)
    stated = {claim.statement for claim in claims}
    spoken = [sentence for sentence in spoken_sentences(sources.text) if sentence and not is_question(sentence)]
    made: dict[str, Claim] = {}
    resting = [claim for claim in claims if claim.quotes] or claims  # the opposite of a mistaken summary may be true
    for claim in chance.sample(resting, len(resting)) * _LEAST_DECOYS:
        if len(made) >= wanted:
            break
        quote = claim.quotes[0][1] if claim.quotes else chance.choice(spoken or [claim.statement])
        for decoy in decoys(claim.statement, quote, sources.text, list(sources.people), chance):
            if decoy not in stated and decoy not in made:
                made[decoy] = Claim(decoy, claim.quotes)
                break
    asked: list[tuple[Claim, int | None]] = [(claim, n) for n, claim in enumerate(claims)]
    asked += [(claim, None) for claim in made.values()]
    chance.shuffle(asked)
    return asked
