"""From the facts of a model's answer to what is stored: checked, read a second time, with what they replace (D5).

A fact is checked for whose memory it is, and by which words. Only one whose words were read twice replaces anything: at
once where two of model, reader and words agree. Words that conflict wait for a person where nobody else sees it, and so
does what a model names, unless the reader saw that both may be true; and whatever a person wrote, pinned or checked.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from memories import llm
from memories.choices import EntryType, Reading, Refusal, ScopeKind, Source, Verification
from memories.consolidation import reading, trust
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages, find_owner
from memories.consolidation.reading import Claim, ReadingResult, Sources
from memories.consolidation.statements import Objection, Refused, Statement, conversation_of
from memories.consolidation.summaries import CheckedSummary, sources_of
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft, QuotedWords
from memories.kinds import LASTING
from memories.language.conflicts import ConflictVerdict, judge
from memories.language.text import terms
from memories.llm.schemas import ExtractionOutput, Fact
from memories.models import Entry, Scope, Workspace
from memories.verification import claims
from memories.verification.claims import Conversation, Message, Quote

#: Facts that share a word with the new ones, the latest; and those one of them is compared with, which share most.
_LOOKED_AT, _COMPARED = 1_000, 50
#: Lines of the profile a reader is asked about though neither model nor rules see a contradiction.
_LINES_READ = 3
_OF_MACHINES = (Source.EXTRACTION, Source.COMPRESSION)


@dataclass
class Contradiction:
    """A known fact, as it was when it was compared, that a new one may contradict, and what speaks for it."""

    fact: Entry
    conflict: ConflictVerdict
    is_named: bool = False  # the model says that the new one replaces it
    is_newer: bool = False  # the known one was stated later: the new one is the outdated one
    reading: Reading = Reading.UNSURE  # of the known fact, by the words of the new one

    @property
    def is_likely(self) -> bool:
        """Whether it is worth asking a person, once it was read; of a line of the profile the reading is enough.

        What the model alone names is not, where the new words leave the known fact true.
        """
        if self.conflict is not ConflictVerdict.NONE or self.outdates_line:
            return True
        return self.is_named and self.reading in (Reading.CONTRADICTED, Reading.UNSURE)

    @property
    def is_to_be_read(self) -> bool:
        """Whether model or words speak for it, so that a reader is asked whether the new words make it untrue."""
        return self.is_named or self.conflict is not ConflictVerdict.NONE

    @property
    def outdates_line(self) -> bool:
        """Whether a reader says that it makes a line of the profile untrue: that is handed out no more."""
        return self.fact.tier == 1 and not self.is_newer and self.reading is Reading.CONTRADICTED

    @property
    def is_certain(self) -> bool:
        """Whether a verified fact may replace it without a person."""
        if self.is_newer or not (
            self.fact.source in _OF_MACHINES and not self.fact.pinned and self.fact.verified_at is None
        ):
            return False
        signals = [self.is_named, self.reading is Reading.CONTRADICTED, self.conflict is not ConflictVerdict.NONE]
        return sum(signals) > 1


class KnownFacts:
    """Facts of some memories that new ones may contradict, read once for all of them."""

    def __init__(self, drafts: Sequence[Draft], named: Collection[int]) -> None:
        by_scope: defaultdict[int, set[int]] = defaultdict(set)
        for draft in drafts:
            by_scope[draft.scope.pk].update(terms(draft.content))
        scopes = {draft.scope.pk: draft.scope for draft in drafts}
        self._facts = {pk: _facts_of(scopes[pk], own, named) for pk, own in by_scope.items()}

    def contradicted_by(self, draft: Draft, named: Collection[int]) -> list[Contradiction]:
        """The known facts a new one may contradict; `named` are those the model says it replaces.

        Lines of the profile are read with it in any case: they are in every prompt.
        """
        own = set(terms(draft.content))
        shared = {fact.pk: len(own.intersection(fact.terms)) for fact in self._facts[draft.scope.pk]}
        near = [
            fact
            for fact in self._facts[draft.scope.pk]
            if shared[fact.pk] and (fact.tier == 1 or fact.project == draft.project)
        ]
        near.sort(key=lambda fact: -shared[fact.pk])
        beside = [fact for fact in self._facts[draft.scope.pk] if fact.pk in named and fact not in near[:_COMPARED]]
        found = (_compared(draft, fact, fact.pk in named) for fact in [*near[:_COMPARED], *beside])
        differing = [one for one in found if one.fact.content != draft.content]
        lines = [one for one in differing if one.fact.tier == 1 and not (one.is_to_be_read or one.is_newer)]
        return [one for one in differing if one.is_to_be_read] + lines[:_LINES_READ]


def _facts_of(scope: Scope, own: Iterable[int], named: Collection[int]) -> list[Entry]:
    facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT)
    sharing = facts.filter(category__in=LASTING, terms__overlap=sorted(own)).order_by("-stated_at", "-pk")
    found = {fact.pk: fact for fact in sharing[:_LOOKED_AT]}
    if missing := set(named) - found.keys():
        found |= facts.in_bulk(missing)
    return list(found.values())


def _compared(draft: Draft, fact: Entry, is_named: bool) -> Contradiction:
    if fact.stated_at > draft.at:
        is_over = judge(draft.content, fact.content) is ConflictVerdict.CERTAIN
        return Contradiction(fact, ConflictVerdict.CERTAIN if is_over else ConflictVerdict.NONE, is_newer=True)
    return Contradiction(fact, judge(fact.content, draft.content), is_named)


def may_correct(draft: Draft, earlier: Draft) -> bool:
    """Whether a fact seems to correct an earlier one of the same conversation, by its words."""
    is_later = (draft.scope.pk, draft.project) == (earlier.scope.pk, earlier.project) and draft.at > earlier.at
    return is_later and judge(earlier.content, draft.content) is ConflictVerdict.CERTAIN


@dataclass(kw_only=True)
class Candidate(Statement):
    """A fact a model offers, on its way to a memory or to the list of what was refused."""

    fact: Fact
    owner: ScopeMessages | None
    messages: Mapping[str, ScopedMessage]  # it rests on, by the ids the model was shown


@dataclass(frozen=True)
class Checker:
    """Checks facts against the conversation a model was shown."""

    question: ExtractionQuestion
    scopes: Sequence[ScopeMessages]
    zone: ZoneInfo
    _read: dict[Any, Conversation] = field(default_factory=dict)

    def candidate(self, fact: Fact) -> Candidate:
        """The fact with its quotes where they stand, and the first thing that is wrong with it."""
        shown = self._messages
        quotes = claims.locate([(shown[one.message], one.text) for one in fact.quote])
        messages = {one.message: self.question.messages[one.message] for one in fact.quote}
        owner = find_owner(self.scopes, {one.message.id for one in messages.values()})
        candidate = Candidate(fact.content, quotes, fact=fact, owner=owner, messages=messages)
        if owner is None:
            candidate.refusal = Refusal.NO_SCOPE
        else:
            said = self.conversation(messages.values(), owner)
            candidate.take_fault(claims.fault(fact.content, fact.subject, quotes, said))
        return candidate

    def conversation(self, messages: Collection[ScopedMessage], owner: ScopeMessages | None) -> Conversation:
        """All that was shown, read as the author of these messages would: «I» is that person."""
        authors = frozenset((one.speaker, one.message.sender) for one in messages if not one.is_answer)
        scope = owner.scope if owner else None
        key = (scope.pk if scope else None, authors)
        if key not in self._read:
            shown = list(self._messages.values())
            self._read[key] = conversation_of(shown, dict(authors), scope, self.question.projects)
        return self._read[key]

    def sources(self) -> Sources:
        """The conversation as a second reader is shown it."""
        return sources_of(list(self._messages.values()))

    @cached_property
    def _messages(self) -> Mapping[str, Message]:
        return {
            name: Message(
                name, one.message.content, one.speaker, one.message.at.astimezone(self.zone).date(), one.is_answer
            )
            for name, one in self.question.messages.items()
        }


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
