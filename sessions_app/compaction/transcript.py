"""The messages of a session as a model is shown them, and as what is stated of them is checked (C7, D5, E4)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from memories.choices import EntryType, Refusal
from memories.conf import conf
from memories.consolidation.statements import Statement, conversation_of
from memories.language import text
from memories.models import Entry, Scope
from memories.verification import claims
from memories.verification.claims import Conversation, Message, Quote
from memories.verification.quotes import Span
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent

#: Characters shown of a tool's message: results fill pages, and what matters of them is in the answers.
_TOOL_CHARS = 2_000
#: The id of what a conversation goes on from, beside the positions of its messages.
_BEFORE = "before"


@dataclass(frozen=True, kw_only=True)
class FlushCandidate:
    """A proposed memory, the positions of the messages it rests on, and their words; without any, all of them."""

    content: str
    type: str = EntryType.FACT
    category: str = ""
    importance: float | None = None
    project: str = ""
    topic: str = ""
    rests_on: tuple[int, ...] = ()
    quote: tuple[str, ...] = ()
    subject: str = "speaker"
    slots: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class CheckedCandidate(Statement):
    """A candidate on its way to a memory or to the list of what was refused."""

    candidate: FlushCandidate


@dataclass(frozen=True)
class Transcript:
    """Messages of a session; `before` is what the conversation goes on from."""

    session: Session
    events: Sequence[SessionEvent]
    before: str = ""

    @cached_property
    def messages(self) -> dict[int, Message]:
        """The messages by position."""
        zone = self.session.workspace.zone()
        return {
            event.position: Message(
                str(event.position),
                event.content,
                self.speaker(event),
                event.at.astimezone(zone).date(),
                event.kind != EventKind.USER,
            )
            for event in self.events
        }

    def speaker(self, event: SessionEvent) -> str:
        return event.sender_name or self._names.get(event.sender_id, event.sender_id) or str(event.kind)

    def all(self) -> list[Message]:
        """The messages, and before them what they go on from."""
        spoken = list(self.messages.values())
        if not (self.before and spoken):
            return spoken
        return [Message(_BEFORE, self.before, str(EventKind.SUMMARY), spoken[0].on, is_answer=True), *spoken]

    def as_data(self) -> list[dict[str, Any]]:
        """The messages as a model is shown them."""
        zone = self.session.workspace.zone()
        return [
            {
                "position": event.position,
                "role": event.kind,
                "speaker": self.speaker(event),
                "content": text.smart_truncate(
                    event.content, _TOOL_CHARS if event.kind == EventKind.TOOL else conf.SESSION_SHOWN_TOKENS
                ),
                "at": event.at.astimezone(zone).isoformat(timespec="minutes"),
            }
            for event in self.events
        ]

    def conversation(self, positions: Collection[int] = ()) -> Conversation:
        """All of it, read as the authors of the messages at these positions would."""
        authors = {
            self.speaker(event): event.sender_id
            for event in self.events
            if event.kind == EventKind.USER and event.position in positions
        }
        return conversation_of(self.all(), authors, self._scope)

    def check(self, candidate: FlushCandidate, *, must_quote: bool) -> CheckedCandidate:
        """A candidate with its words where they stand, and the first thing that is wrong with it.

        One without words rests on all of its messages, unless it `must_quote`; without any, on the whole conversation.
        """
        resting = [self.messages[position] for position in candidate.rests_on if position in self.messages]
        conversation = self.conversation(candidate.rests_on)
        if candidate.quote or must_quote:
            quotes = _located(candidate.quote, resting)
        else:
            quotes = [Quote(one, Span(0, len(one.content))) for one in resting if one.content.strip()]
        checked = CheckedCandidate(candidate.content, quotes, candidate=candidate)
        checked.take_fault(self._fault(checked, conversation, must_quote=must_quote))
        return checked

    def _fault(self, checked: CheckedCandidate, conversation: Conversation, *, must_quote: bool) -> Refusal | None:
        candidate = checked.candidate
        if candidate.type != EntryType.FACT or not (checked.quotes or candidate.quote or must_quote):
            return claims.invention(candidate.content, conversation)
        return claims.fault(candidate.content, candidate.subject, checked.quotes, conversation)

    @cached_property
    def _scope(self) -> Scope | None:
        return self.session.chat_scope if self.session.is_group else self.session.user_scope

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the speakers by id, as the newest memory of this session has them: for messages without one."""
        senders = {event.sender_id for event in self.events if event.sender_id}
        if self._scope is None or not senders:
            return {}
        named = Entry.objects.in_scope(self._scope).live()
        found = named.filter(session_id=self.session.key, sender_id__in=senders).exclude(speaker="")
        return dict(found.order_by("pk").values_list("sender_id", "speaker"))


def _located(quotes: Sequence[str], messages: Sequence[Message]) -> list[Quote]:
    """The words where they stand, each in the first of these messages that holds them; none where one is in none."""
    found: list[Quote] = []
    for quote in quotes:
        here = next((spans for one in messages if (spans := claims.locate([(one, quote)]))), [])
        if not here:
            return []
        found += here
    return found
