"""The facts of a model's answer as they are checked: for whose memory, by which words, and why not (D5)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from memories.choices import Reading, Refusal, Verification
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages, find_owner
from memories.consolidation.reading import Claim, Sources
from memories.language import names, relations
from memories.llm.schemas import Fact
from memories.verification import claims
from memories.verification.claims import Conversation, Message, Quote
from memories.verification.persons import People


@dataclass
class Candidate:
    """A fact a model offers, on its way to a memory or to the list of what was refused."""

    fact: Fact
    owner: ScopeMessages | None
    messages: Mapping[str, ScopedMessage]  # it rests on, by the ids the model was shown
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

    def claim(self, statement: str = "") -> Claim:
        """The fact, or another statement beside its words, for a second reading."""
        return Claim(statement or self.fact.content, [(quote.message.id, quote.text) for quote in self.quotes])


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
        candidate = Candidate(fact, owner, messages, quotes)
        if owner is None:
            candidate.refusal = Refusal.NO_SCOPE
        else:
            fault = claims.fault(fact.content, fact.subject, quotes, self.conversation(messages.values(), owner))
            candidate.doubt = fault if fault and fault.is_doubt else None
            candidate.refusal = fault if fault and not fault.is_doubt else None
        return candidate

    def conversation(self, messages: Collection[ScopedMessage], owner: ScopeMessages | None) -> Conversation:
        """All that was shown, read as the author of these messages would: «I» is that person."""
        authors = frozenset((one.speaker, one.message.sender) for one in messages if not one.is_answer)
        key = (owner.scope.pk if owner else None, authors)
        if key not in self._read:
            self._read[key] = self._conversation(dict(authors), owner)
        return self._read[key]

    def _conversation(self, authors: Mapping[str, str], owner: ScopeMessages | None) -> Conversation:
        others = {one.speaker for one in self.question.messages.values() if not one.is_answer} - authors.keys()
        learnt = self._learnt(owner)
        speaker = {alias for author, sender in authors.items() for alias in self._called(author, sender, learnt, owner)}
        people = People.of({*authors, *speaker}, others, learnt)
        known = [*self.question.projects, *(owner.scope.projects if owner else []), *learnt.values()]
        return Conversation(list(self._messages.values()), people, known)

    def sources(self) -> Sources:
        """The conversation as a second reader is shown it."""
        shown = {
            one.id: {"speaker": one.speaker, "on": one.on.isoformat(), "text": one.content}
            for one in self._messages.values()
        }
        return Sources(shown, {one.speaker for one in self._messages.values() if not one.is_answer})

    @cached_property
    def _messages(self) -> Mapping[str, Message]:
        return {
            name: Message(
                name, one.message.content, one.speaker, one.message.at.astimezone(self.zone).date(), one.is_answer
            )
            for name, one in self.question.messages.items()
        }

    def _learnt(self, owner: ScopeMessages | None) -> dict[str, str]:
        """The nicknames and relations a memory knows, and those the conversation teaches."""
        learnt = dict(owner.scope.nicknames) if owner else {}
        for one in self.question.messages.values():
            if not one.is_answer:
                learnt |= names.learn(one.message.content, one.speaker) | relations.learn(one.message.content)
        return learnt

    def _called(
        self, author: str, sender: str, learnt: Mapping[str, str], owner: ScopeMessages | None
    ) -> Collection[str]:
        """By what names an author goes besides."""
        own = {names.fold(author), names.fold(f"{names.UNNAMED}{sender}")}
        also = {alias for alias, name in relations.without_relations(learnt).items() if names.fold(name) in own}
        is_alone = (
            sum(not one.is_answer for one in self.question.messages.values())
            and len({one.speaker for one in self.question.messages.values() if not one.is_answer}) == 1
        )
        return also | {*names.given_names(author)} | (set(owner.scope.speakers) if owner and is_alone else set())
