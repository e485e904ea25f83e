"""From the facts of a model's answer to what is stored: drafts with their words, and what they may replace (D5)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from memories.choices import EntryType, Reading, ScopeKind, Source, Verification
from memories.consolidation.extraction.candidates import Candidate
from memories.consolidation.extraction.contradictions import Contradiction, KnownFacts, may_correct
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.consolidation.reading import Claim
from memories.consolidation.refusals import Refused
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft, QuotedWords
from memories.verification.claims import Quote

TIER = 2


@dataclass(frozen=True)
class Finding:
    """A fact on its way to the door, and the known facts it may contradict."""

    draft: Draft
    contradicts: list[Contradiction] = field(default_factory=list)

    @property
    def is_verified(self) -> bool:
        return self.draft.verification == Verification.VERIFIED


@dataclass
class ExtractionResult:
    """What is made of an extraction batch: events of days, facts, refused ones, and the cost."""

    days: list[EventDraft] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    cost: dict[str, Any] = field(default_factory=dict)


@dataclass
class Offer:
    """A fact that passed the checks, and the facts it may contradict: what a second reader is asked about."""

    candidate: Candidate
    draft: Draft
    contradicts: list[Contradiction]
    corrects: list["Offer"] = field(default_factory=list)  # earlier ones of the same conversation

    def claims(self) -> list[Claim]:
        """The fact, then each fact it may contradict beside the new words."""
        beside = [*(one.fact.content for one in self.contradicts), *(one.draft.content for one in self.corrects)]
        return [self.candidate.claim(), *map(self.candidate.claim, beside)]

    def judge(self, verdicts: Sequence[Reading]) -> None:
        """Take the verdicts on its claims; it corrects only what its words make untrue."""
        self.candidate.judge(verdicts[0])
        beside = iter(verdicts[1:])
        for one in self.contradicts:
            one.reading = next(beside)
        self.corrects = [one for one in self.corrects if next(beside) is Reading.CONTRADICTED]

    @property
    def is_verified(self) -> bool:
        return self.candidate.refusal is None and self.candidate.verification == Verification.VERIFIED


def offers_of(candidates: Sequence[Candidate], question: ExtractionQuestion) -> list[Offer]:
    """The facts nothing is wrong with, with the known facts they may contradict."""
    checked = [one for one in candidates if one.refusal is None]
    drafts = [_draft(one) for one in checked]
    named = [_named(one, question) for one in checked]
    known = KnownFacts(drafts, set().union(*named))
    found = zip(checked, drafts, named, strict=True)
    offers = [Offer(one, draft, known.contradicted_by(draft, names)) for one, draft, names in found]
    for offer in offers:
        offer.corrects = [other for other in offers if may_correct(offer.draft, other.draft)]
    return offers


def findings_of(offers: Sequence[Offer]) -> tuple[list[Finding], int]:
    """The facts a reader did not refuse; and how many another fact of the same conversation corrects."""
    kept = [one for one in offers if one.candidate.refusal is None]
    corrected = {id(other) for one in kept if one.is_verified for other in one.corrects}
    findings = [Finding(_draft(one.candidate), one.contradicts) for one in kept if id(one) not in corrected]
    return findings, len(kept) - len(findings)


def refused_of(candidates: Sequence[Candidate]) -> list[Refused]:
    """The refused facts, each with the reason and the words it was said to rest on."""
    return [
        Refused(
            scope=one.owner.scope if one.owner else None,
            content=one.fact.content,
            quote=" … ".join(quoted.text for quoted in one.fact.quote),
            reason=one.refusal,
            origins=tuple(message.message.id for message in one.messages.values()),
        )
        for one in candidates
        if one.refusal is not None
    ]


def _named(one: Candidate, question: ExtractionQuestion) -> set[int]:
    """The known facts the model says it replaces, where they are of the same memory."""
    is_of_it = question.whole is not None and one.owner is not None and question.whole.scope.pk == one.owner.scope.pk
    return {question.facts[name].pk for name in one.fact.replaces} if is_of_it else set()


def _draft(one: Candidate) -> Draft:
    if one.owner is None:
        raise AssertionError("a fact without a memory is refused")
    messages = list(one.messages.values())
    ids = tuple(message.message.id for message in messages)
    fact, owner = one.fact, one.owner
    return Draft(
        scope=owner.scope,
        type=EntryType.FACT,
        tier=TIER,
        content=fact.content,
        category=fact.category,
        project=fact.project,
        topic=fact.topic,
        importance=fact.importance,
        source=Source.EXTRACTION,
        at=max(message.message.at for message in messages),
        slots=_slots(owner, messages),
        chats=owner.chats(ids),
        origins=ids,
        verification=one.verification,
        evidence=tuple(_words(quote, one.messages[quote.message.id]) for quote in one.quotes),
    )


def _words(quote: Quote, one: ScopedMessage) -> QuotedWords:
    """A quote as it is stored, with the message it stands in."""
    return QuotedWords(
        origin=one.message.id,
        start=quote.span.start,
        end=quote.span.end,
        quote=quote.text,
        at=one.message.at,
        speaker=one.speaker,
    )


def _slots(owner: ScopeMessages, messages: Sequence[ScopedMessage]) -> dict[str, str]:
    """Who said it, where others speak too; a person's own memory holds what they said anywhere, as one."""
    speakers = {(one.message.sender, one.speaker) for one in messages if not one.is_answer and one.speaker}
    if owner.scope.kind != ScopeKind.CHAT or len(speakers) != 1:
        return {}
    ((sender, speaker),) = speakers
    return {"speaker": speaker} | ({"sender_id": sender} if sender else {})
