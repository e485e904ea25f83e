"""Whose memory a conversation becomes (A3, D5).

A direct chat: the person's. A group: of the whole the chat's, where the channel keeps a memory of groups, and of each
speaker's own words, and of nobody else's, that speaker's, to be heard in that chat.
"""

from collections.abc import Collection, Iterable, Sequence
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
        """Its author, as people call them."""
        return ASSISTANT if self.is_answer else self.turn.place.get("speaker") or self.message.sender


@dataclass(frozen=True)
class ScopeMessages:
    """The messages of some turns one scope may hold, in order; without what people suppressed (A15)."""

    scope: Scope
    messages: tuple[ScopedMessage, ...]

    def holds(self, ids: Collection[str]) -> bool:
        return {scoped.message.id for scoped in self.messages}.issuperset(ids)

    def chats(self, ids: Collection[str]) -> tuple[str, ...]:
        """The chats these messages are of; all of a chat's memory is of that chat."""
        if self.scope.kind != ScopeKind.USER:
            return ()
        chats = (scoped.turn.chat for scoped in self.messages if scoped.message.id in ids and scoped.turn.chat)
        return tuple(dict.fromkeys(chats))


def split_by_scope(turns: Iterable[BufferedTurn]) -> list[ScopeMessages]:
    """The messages of these turns, for each scope that may hold any."""
    by_scope: dict[int, tuple[Scope, list[ScopedMessage]]] = {}
    for turn in turns:
        messages = [ScopedMessage(message, turn) for message in buffer.messages_of(turn)]
        if turn.chat_scope:
            by_scope.setdefault(turn.chat_scope.pk, (turn.chat_scope, []))[1].extend(messages)
        if turn.user_scope:
            own = [scoped for scoped in messages if not (turn.is_group and scoped.is_answer)]
            by_scope.setdefault(turn.user_scope.pk, (turn.user_scope, []))[1].extend(own)
    suppressed = SuppressedContent(scope for scope, _messages in by_scope.values())
    return [
        ScopeMessages(
            scope,
            tuple(
                scoped
                for scoped in messages
                if not suppressed.covers(scope, scoped.message.content, [scoped.message.id])
            ),
        )
        for scope, messages in by_scope.values()
    ]


def merge_messages(scopes: Iterable[ScopeMessages]) -> list[ScopedMessage]:
    """Every message some scope may hold, once, in the order of the conversation."""
    by_id = {scoped.message.id: scoped for scope in scopes for scoped in scope.messages}
    return sorted(by_id.values(), key=lambda scoped: scoped.message.at)


def find_owner(scopes: Sequence[ScopeMessages], ids: Collection[str]) -> ScopeMessages | None:
    """Whose memory a fact is that rests on these messages: the one person's whose words they are, else the chat's.

    What the bot answered that person is nobody else's word: a person's memory may hold these messages, or all of them
    but the bot's answers to that person. None when it is nobody's: it rests on the words of several, and the chat keeps
    no memory.
    """
    answers = [scoped for scope in scopes for scoped in scope.messages if scoped.is_answer and scoped.message.id in ids]
    persons = []
    for scope in scopes:
        if scope.scope.kind == ScopeKind.USER:
            to_them = (answer for answer in answers if answer.turn.user_scope == scope.scope)
            own = set(ids) - {answer.message.id for answer in to_them}
            if scope.holds(ids) or (own and scope.holds(own)):
                persons.append(scope)
    if len(persons) == 1:
        return persons[0]
    return next((scope for scope in scopes if scope.scope.kind == ScopeKind.CHAT and scope.holds(ids)), None)
