"""Whose memory a conversation becomes (A3, D5).

A direct chat: the person's. A group: of the whole the chat's, where the channel keeps a memory of groups, and of each
speaker's own words, and of nobody else's, that speaker's, to be heard in that chat.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memories.choices import ScopeKind
from memories.consolidation import buffer
from memories.consolidation.buffer import Message
from memories.entries.daily_events import ASSISTANT, SuppressedContent
from memories.models import BufferedTurn, Scope


@dataclass(frozen=True)
class ScopedMessage:
    """One message in the memory of one scope."""

    message: Message
    turn: BufferedTurn

    @property
    def is_answer(self) -> bool:
        return self.message.role != buffer.USER

    @property
    def speaker(self) -> str:
        """Who said it, as people call them."""
        return ASSISTANT if self.is_answer else self.turn.place.get("speaker") or self.message.sender


@dataclass(frozen=True)
class ScopeMessages:
    """The messages of some turns one scope may hold, in order; without what people suppressed (A15)."""

    scope: Scope
    messages: tuple[ScopedMessage, ...]

    def holds(self, ids: Collection[str]) -> bool:
        return {one.message.id for one in self.messages}.issuperset(ids)

    def chats(self, ids: Collection[str]) -> tuple[str, ...]:
        """Where these messages were said; a chat's memory was all said in that chat."""
        if self.scope.kind != ScopeKind.USER:
            return ()
        found = (one.turn.chat for one in self.messages if one.message.id in ids and one.turn.chat)
        return tuple(dict.fromkeys(found))


def split_by_scope(turns: Iterable[BufferedTurn]) -> list[ScopeMessages]:
    """The messages of these turns, for each scope that may hold any."""
    found: dict[int, tuple[Scope, list[ScopedMessage]]] = {}
    for turn in turns:
        for scope, messages in _of_turn(turn):
            found.setdefault(scope.pk, (scope, []))[1].extend(ScopedMessage(message, turn) for message in messages)
    suppressed = SuppressedContent(scope for scope, _messages in found.values())
    return [
        ScopeMessages(
            scope, tuple(one for one in messages if not suppressed.covers(scope, one.message.content, [one.message.id]))
        )
        for scope, messages in found.values()
    ]


def _of_turn(turn: BufferedTurn) -> Iterator[tuple[Scope, Iterable[Message]]]:
    messages = buffer.messages_of(turn)
    if turn.chat_scope:
        yield turn.chat_scope, messages
    if turn.user_scope:
        own = (message for message in messages if message.role == buffer.USER)
        yield turn.user_scope, own if turn.is_group else messages


def merge_messages(scopes: Iterable[ScopeMessages]) -> list[ScopedMessage]:
    """Every message some scope may hold, once, in the order it was said."""
    found = {one.message.id: one for scoped in scopes for one in scoped.messages}
    return sorted(found.values(), key=lambda one: one.message.at)


def find_owner(scopes: Sequence[ScopeMessages], ids: Collection[str]) -> ScopeMessages | None:
    """Whose memory a fact is that rests on these messages: the one person's whose words they are, else the chat's.

    What the bot answered that person is nobody else's word. None when it is nobody's: it rests on the words of several,
    and the chat keeps no memory.
    """
    answers = [one for scoped in scopes for one in scoped.messages if one.is_answer and one.message.id in ids]
    persons = [scoped for scoped in scopes if scoped.scope.kind == ScopeKind.USER and _is_own(scoped, ids, answers)]
    if len(persons) == 1:
        return persons[0]
    return next(
        (scoped for scoped in scopes if scoped.scope.kind == ScopeKind.CHAT and scoped.holds(ids)),
        None,
    )


def _is_own(scoped: ScopeMessages, ids: Collection[str], answers: Iterable[ScopedMessage]) -> bool:
    """Whether a person's memory may hold these messages, or all of them but the bot's answers to that person."""
    answered = {one.message.id for one in answers if one.turn.user_scope and one.turn.user_scope.pk == scoped.scope.pk}
    own = set(ids) - answered
    return scoped.holds(ids) or (bool(own) and scoped.holds(own))
