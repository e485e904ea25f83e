"""The facts of a model's answer as they are checked: for whose memory, by which words, and why not (D5)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from memories.choices import Refusal
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages, find_owner
from memories.consolidation.people import conversation_of
from memories.consolidation.reading import Sources
from memories.consolidation.statements import Statement
from memories.consolidation.summaries import sources_of
from memories.llm.schemas import Fact
from memories.verification import claims
from memories.verification.claims import Conversation, Message


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
