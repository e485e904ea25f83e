"""From the facts of a model's answer, or a person's own words, to what is stored, with what they replace (D5).

A fact is checked for whose memory it is, and by which words. Only one whose words were read twice replaces anything: at
once where two of model, reader and words agree. Words that conflict wait for a person where nobody else sees it, and so
does what a model names, unless the reader saw that both may be true; and whatever a person wrote, pinned or checked.

Without a model, what somebody says about themselves would end with its turn. A sentence of which the rules are sure
becomes a fact as it stands, with its message as evidence, and without an end. It replaces an earlier fact where the
words of the two leave no doubt, or where both tell what there is one of at a time («I live in Berlin», «I moved to
Munich»); it is listed, judged and taken back like a model's.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from memories import verification
from memories.choices import LASTING, Category, EntryType, Reading, Refusal, ScopeKind, Source, Verification
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages, find_owner
from memories.consolidation.reading import Claim, Part, ReadingResult, Sources
from memories.consolidation.statements import Objection, Refused, Statement, conversation_of
from memories.consolidation.summaries import CheckedSummary, sources_of
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft, QuotedWords
from memories.entries.evidence import Provenance, words_of
from memories.language import attributes
from memories.language.attributes import lasting_sentences
from memories.language.compare import ConflictVerdict, corrects, judge
from memories.language.quoting import telling_sentences
from memories.language.secret_forms import MASKED
from memories.language.text import asks_to_keep, terms
from memories.llm.schemas import ExtractionOutput, Fact
from memories.models import Entry
from memories.verification import Conversation, Message

#: Facts that share a word with the new ones, the latest; and those one of them is compared with, which share most.
_LOOKED_AT, _COMPARED = 1_000, 50
#: Lines of the profile a reader is asked about though neither model nor rules see a contradiction.
_LINES_READ = 3
_OF_MACHINES = (Source.EXTRACTION, Source.COMPRESSION)


@dataclass
class Contradiction:
    """A stored fact, as it was when it was compared, that a new one may contradict, and what speaks for it."""

    fact: Entry
    conflict: ConflictVerdict
    is_named: bool = False  # the model says that the new one replaces it
    is_newer: bool = False  # the stored one was stated later: the new one is the outdated one
    reading: Reading = Reading.UNSURE  # of the stored fact, by the words of the new one

    @property
    def is_likely(self) -> bool:
        """Whether it is worth asking a person, once it was read; of a line of the profile the reading is enough.

        What the model alone names is not, where the new words leave the stored fact true.
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


class FactsAround:
    """Facts of the memories of some drafts that these may contradict, read once for all of them."""

    def __init__(self, drafts: Sequence[Draft], replaced_pks: Collection[int]) -> None:
        by_scope: defaultdict[int, set[int]] = defaultdict(set)
        for draft in drafts:
            by_scope[draft.scope.pk].update(terms(draft.content))
        scopes = {draft.scope.pk: draft.scope for draft in drafts}
        self._facts: dict[int, list[Entry]] = {}
        for pk, own in by_scope.items():
            live = Entry.objects.in_scope(scopes[pk]).live().filter(type=EntryType.FACT)
            sharing = live.filter(category__in=LASTING, terms__overlap=sorted(own)).order_by("-stated_at", "-pk")
            facts = {fact.pk: fact for fact in sharing[:_LOOKED_AT]}
            if missing := set(replaced_pks) - facts.keys():
                facts |= live.in_bulk(missing)
            self._facts[pk] = list(facts.values())

    def contradicted_by(self, draft: Draft, replaced_pks: Collection[int]) -> list[Contradiction]:
        """The stored facts a new one may contradict; `replaced_pks` are those the model says it replaces.

        Lines of the profile are read with it in any case: they are in every prompt.
        """
        own, facts = set(terms(draft.content)), self._facts[draft.scope.pk]
        shared = {fact.pk: len(own.intersection(fact.terms)) for fact in facts}
        near = [fact for fact in facts if shared[fact.pk] and (fact.tier == 1 or fact.project == draft.project)]
        near = sorted(near, key=lambda fact: -shared[fact.pk])[:_COMPARED]
        pairs = []
        for fact in [*near, *(fact for fact in facts if fact.pk in replaced_pks and fact not in near)]:
            if fact.content == draft.content:
                continue
            if fact.stated_at > draft.at:
                is_over = judge(draft.content, fact.content) is ConflictVerdict.CERTAIN
                conflict = ConflictVerdict.CERTAIN if is_over else ConflictVerdict.NONE
                pairs.append(Contradiction(fact, conflict, is_newer=True))
            else:
                pairs.append(Contradiction(fact, judge(fact.content, draft.content), fact.pk in replaced_pks))
        lines = [pair for pair in pairs if pair.fact.tier == 1 and not (pair.is_to_be_read or pair.is_newer)]
        return [pair for pair in pairs if pair.is_to_be_read] + lines[:_LINES_READ]


def may_correct(draft: Draft, earlier: Draft) -> bool:
    """Whether a fact seems to correct an earlier one of the same conversation, by its words."""
    is_later = (draft.scope.pk, draft.project) == (earlier.scope.pk, earlier.project) and draft.at > earlier.at
    return is_later and judge(earlier.content, draft.content) is ConflictVerdict.CERTAIN


@dataclass(kw_only=True)
class Candidate(Statement):
    """A fact a model offers, on its way to a memory or to the list of what was refused."""

    fact: Fact
    owner: ScopeMessages | None
    subject: str = ""  # whom or what it is about, where that is not the one who said it
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
        shown_messages = self._messages
        quotes = verification.locate([(shown_messages[quoted.message], quoted.text) for quoted in fact.quote])
        messages = {quoted.message: self.question.messages[quoted.message] for quoted in fact.quote}
        owner = find_owner(self.scopes, {scoped.message.id for scoped in messages.values()})
        candidate = Candidate(fact.content, quotes, fact=fact, owner=owner, messages=messages)
        if owner is None:
            candidate.refusal = Refusal.NO_SCOPE
        else:
            conversation = self.conversation(messages.values(), owner)
            candidate.subject = conversation.people.other_than_speaker(fact.subject)
            candidate.take_fault(verification.fault(fact.content, fact.subject, quotes, conversation))
        return candidate

    def conversation(self, messages: Collection[ScopedMessage], owner: ScopeMessages | None) -> Conversation:
        """All that was shown, read as the author of these messages would: «I» is that person."""
        authors = frozenset((scoped.speaker, scoped.message.sender) for scoped in messages if not scoped.is_answer)
        scope = owner.scope if owner else None
        key = (scope.pk if scope else None, authors)
        if key not in self._read:
            shown_messages = list(self._messages.values())
            self._read[key] = conversation_of(shown_messages, dict(authors), scope, self.question.projects)
        return self._read[key]

    def sources(self) -> Sources:
        """The conversation as a second reader is shown it."""
        return sources_of(list(self._messages.values()))

    @cached_property
    def _messages(self) -> Mapping[str, Message]:
        return {
            name: Message(
                name,
                scoped.message.content,
                scoped.speaker,
                scoped.message.at.astimezone(self.zone).date(),
                scoped.is_answer,
            )
            for name, scoped in self.question.messages.items()
        }


TIER = 2


@dataclass(frozen=True)
class Finding:
    """A fact on its way to the door, and the stored facts it may contradict."""

    draft: Draft
    contradicts: list[Contradiction] = field(default_factory=list)

    @property
    def is_verified(self) -> bool:
        """Whether nobody has to look at its words again: a reader bore it out, or it is the person's own words."""
        return self.draft.verification in (Verification.VERIFIED, Verification.NONE)


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
        beside = [pair.fact.content for pair in self.contradicts] + [other.draft.content for other in self.corrects]
        return [self.candidate.claim(), *map(self.candidate.claim, beside)]

    def judge(self, verdicts: Sequence[Reading]) -> None:
        """Take the verdicts on its claims; it corrects only what its words make untrue."""
        self.candidate.judge(verdicts[0])
        beside = iter(verdicts[1:])
        for pair in self.contradicts:
            pair.reading = next(beside)
        self.corrects = [other for other in self.corrects if next(beside) is Reading.CONTRADICTED]

    @property
    def is_verified(self) -> bool:
        return self.candidate.refusal is None and self.candidate.verification == Verification.VERIFIED


def offers_of(candidates: Sequence[Candidate], question: ExtractionQuestion) -> list[Offer]:
    """The facts nothing is wrong with, with the stored facts they may contradict."""
    checked = [candidate for candidate in candidates if candidate.refusal is None]
    drafts = [_draft(candidate) for candidate in checked]
    # what the model says a fact replaces, where it is of the same memory
    replaced_pks: list[set[int]] = []
    for candidate in checked:
        whole, owner = question.whole, candidate.owner
        is_of_it = whole is not None and owner is not None and whole.scope.pk == owner.scope.pk
        replaced_pks.append({question.facts[name].pk for name in candidate.fact.replaces} if is_of_it else set())
    around = FactsAround(drafts, set().union(*replaced_pks))
    offers = [
        Offer(candidate, draft, around.contradicted_by(draft, replaced))
        for candidate, draft, replaced in zip(checked, drafts, replaced_pks, strict=True)
    ]
    for offer in offers:
        offer.corrects = [other for other in offers if may_correct(offer.draft, other.draft)]
    return offers


def _draft(candidate: Candidate) -> Draft:
    """What is stored of it, with its quotes.

    It names its author where others speak too; a person's own memory holds their words of anywhere, as one.
    """
    if candidate.owner is None:
        raise AssertionError("a fact without a memory is refused")
    fact, owner = candidate.fact, candidate.owner
    messages = list(candidate.messages.values())
    ids = tuple(scoped.message.id for scoped in messages)
    speakers = {(scoped.message.sender, scoped.speaker) for scoped in messages if not scoped.is_answer}
    speakers = {(sender, speaker) for sender, speaker in speakers if speaker}
    slots: dict[str, str] = {}
    if owner.scope.kind == ScopeKind.CHAT and len(speakers) == 1:
        ((sender, speaker),) = speakers
        slots = {"speaker": speaker} | ({"sender_id": sender} if sender else {})
    quotes = [(quote, candidate.messages[quote.message.id]) for quote in candidate.quotes]
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
        at=max(scoped.message.at for scoped in messages),
        slots=slots,
        chats=owner.chats(ids),
        origins=ids,
        subject=candidate.subject,
        verification=candidate.verification,
        **_whose(candidate, owner.scope.kind),
        evidence=tuple(
            QuotedWords(
                origin=scoped.message.id,
                start=quote.span.start,
                end=quote.span.end,
                quote=quote.text,
                at=scoped.message.at,
                speaker=scoped.speaker,
            )
            for quote, scoped in quotes
        ),
    )


def _whose(candidate: Candidate, scope_kind: str) -> Provenance:
    """Whose words a fact rests on: it is of oneself where one person says it, and it is about nobody else."""
    messages = candidate.messages.values()
    authors = {scoped.message.sender or scoped.speaker for scoped in messages if not scoped.is_answer}
    return words_of(
        scope_kind,
        spoken=bool(authors),
        answered=any(scoped.is_answer for scoped in messages),
        used_tools=any(scoped.message.used_tools for scoped in messages),
        is_about_self=not candidate.subject and len(authors) == 1,
    )


def objection_of(checker: Checker) -> Objection[Fact]:
    """Tells the model once what is wrong with its facts."""
    return Objection(lambda fact: checker.candidate(fact).objection, "facts")


class UnreadAnswer:
    """What a model answered of one conversation, checked, and not yet read a second time."""

    def __init__(self, answer: ExtractionOutput, facts: Sequence[Fact], checker: Checker) -> None:
        self._candidates = [checker.candidate(fact) for fact in facts]
        self._offers = offers_of(self._candidates, checker.question)
        conversation = checker.conversation(list(checker.question.messages.values()), checker.question.whole)
        self._summary = CheckedSummary.of(answer.summary, conversation)
        self._claims: list[Claim] = []
        own = []
        for offer in self._offers:
            own.append(len(self._claims))
            self._claims += offer.claims()
        claims = [*self._claims, *self._summary.claims()]
        self.part = Part(claims, checker.sources(), [*own, *range(len(self._claims), len(claims))])

    def judge(self, reading: ReadingResult, *, is_trusted: bool) -> tuple[ExtractionResult, str]:
        """What is made of it by a second reading, and what is left of its summary.

        Of a model that is not trusted all facts stay quoted; what is refused stays refused.
        """
        verdicts = (reading.of(n) for n in range(len(self._claims)))
        for offer in self._offers:
            offer.judge(list(islice(verdicts, len(offer.claims()))))
            if not is_trusted:
                offer.candidate.verification = Verification.QUOTED

        # the facts a reader did not refuse, and no other fact of the same conversation corrects
        sound = [offer for offer in self._offers if offer.candidate.refusal is None]
        corrected = {id(other) for offer in sound if offer.is_verified for other in offer.corrects}
        findings = [
            Finding(_draft(offer.candidate), offer.contradicts) for offer in sound if id(offer) not in corrected
        ]

        # the refused ones, each with the reason and the words it was to rest on
        refused = [
            Refused(
                scope=candidate.owner.scope if candidate.owner else None,
                content=candidate.fact.content,
                quote=" … ".join(quoted.text for quoted in candidate.fact.quote),
                reason=candidate.refusal,
                origins=tuple(scoped.message.id for scoped in candidate.messages.values()),
            )
            for candidate in self._candidates
            if candidate.refusal is not None
        ]
        counts = Counter(corrected=len(sound) - len(findings), refused=len(refused))
        counts.update(verified=sum(finding.is_verified for finding in findings), **reading.counts)
        summary = self._summary.read(reading, begin=len(self._claims)).text
        return ExtractionResult([], findings, refused, counts), summary


#: Less than what a person asks to have kept, and than what a model thinks most important.
IMPORTANCE = 0.7
#: Facts in somebody's own words that a new one is compared with, the latest.
OWN_FACTS = 500


def find_in_own_words(scopes: Sequence[ScopeMessages]) -> list[Finding]:
    """What people say about themselves in these messages, for the memory of each; a chat's memory gets none.

    A message that asks to be kept is kept whole already. What its author takes back later becomes no fact, though what
    takes it back may be none either.
    """
    drafts = [draft for scoped in scopes if scoped.scope.kind == ScopeKind.USER for draft in _drafts(scoped)]
    drafts.sort(key=lambda draft: draft.at)
    if not drafts:
        return []
    around = FactsAround(drafts, replaced_pks=())

    # facts in use that are somebody's own words, which may share no word with what takes their place
    own_facts: dict[int, list[Entry]] = {}
    for draft in drafts:
        if draft.scope.pk not in own_facts and attributes.read(draft.content).values:
            facts = Entry.objects.in_scope(draft.scope).live().filter(type=EntryType.FACT, source=Source.EXTRACTION)
            own = facts.filter(category=Category.IDENTITY, verification=Verification.NONE)
            own_facts[draft.scope.pk] = list(own.order_by("-stated_at", "-pk")[:OWN_FACTS])
    findings = []
    for n, draft in enumerate(drafts):
        later = (other for other in drafts[n + 1 :] if other.scope.pk == draft.scope.pk)
        if any(attributes.replaces(other.content, draft.content) or may_correct(other, draft) for other in later):
            continue
        certain = [
            pair
            for pair in around.contradicted_by(draft, replaced_pks=())
            if pair.conflict is ConflictVerdict.CERTAIN
            # of what there is one of at a time, that alone decides about the two
            and not any(attributes.read(sentence).values for sentence in (draft.content, pair.fact.content))
        ]
        for fact in own_facts.get(draft.scope.pk, ()):
            is_newer = fact.stated_at > draft.at
            order = (fact.content, draft.content) if is_newer else (draft.content, fact.content)
            if attributes.replaces(*order):
                certain.append(Contradiction(fact, ConflictVerdict.CERTAIN, is_newer=is_newer))
        for pair in certain:
            pair.reading = Reading.CONTRADICTED
        findings.append(Finding(draft, certain))
    return findings


def _drafts(scoped: ScopeMessages) -> Iterator[Draft]:
    for item in scoped.messages:
        content = item.message.content
        if item.is_answer or asks_to_keep(content):
            continue
        later = [
            other.message.content
            for other in scoped.messages
            if not other.is_answer and other.speaker == item.speaker and other.message.at > item.message.at
        ]
        for sentence in lasting_sentences(content):
            if any(corrects("\n".join(telling_sentences(words)), sentence) for words in later):
                continue
            if MASKED not in sentence and (spans := verification.find_quote(sentence, content)):
                span = spans[0]
                message = item.message
                words = QuotedWords(
                    origin=message.id,
                    start=span.start,
                    end=span.end,
                    quote=span.text(message.content),
                    at=message.at,
                    speaker=item.speaker,
                )
                yield Draft(
                    scope=scoped.scope,
                    type=EntryType.FACT,
                    tier=TIER,
                    category=Category.IDENTITY,
                    importance=IMPORTANCE,
                    content=sentence,
                    source=Source.EXTRACTION,
                    at=message.at,
                    chats=scoped.chats([message.id]),
                    origins=(message.id,),
                    evidence=(words,),
                )
