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
class Said:
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
class Share:
    """What one scope may hold of some turns, in the order it was said; less what people took out (A15)."""

    scope: Scope
    said: tuple[Said, ...]

    def holds(self, ids: Collection[str]) -> bool:
        return {one.message.id for one in self.said}.issuperset(ids)

    def chats(self, ids: Collection[str]) -> tuple[str, ...]:
        """Where these messages were said; a chat's memory was all said in that chat."""
        if self.scope.kind != ScopeKind.USER:
            return ()
        found = (one.turn.chat for one in self.said if one.message.id in ids and one.turn.chat)
        return tuple(dict.fromkeys(found))


def shares_of(turns: Iterable[BufferedTurn]) -> list[Share]:
    """What each scope may hold of these turns."""
    found: dict[int, tuple[Scope, list[Said]]] = {}
    for turn in turns:
        for scope, messages in _of_turn(turn):
            found.setdefault(scope.pk, (scope, []))[1].extend(Said(message, turn) for message in messages)
    taken_out = SuppressedContent(scope for scope, _said in found.values())
    return [
        Share(scope, tuple(one for one in said if not taken_out.holds(scope, one.message.content, [one.message.id])))
        for scope, said in found.values()
    ]


def _of_turn(turn: BufferedTurn) -> Iterator[tuple[Scope, Iterable[Message]]]:
    messages = buffer.messages_of(turn)
    if turn.chat_scope:
        yield turn.chat_scope, messages
    if turn.user_scope:
        own = (message for message in messages if message.role == buffer.USER)
        yield turn.user_scope, own if turn.is_group else messages


def all_said(shares: Iterable[Share]) -> list[Said]:
    """Every message some scope may hold, once, in the order it was said."""
    found = {one.message.id: one for share in shares for one in share.said}
    return sorted(found.values(), key=lambda one: one.message.at)


def home_of(shares: Sequence[Share], ids: Collection[str]) -> Share | None:
    """Whose memory a fact is that rests on these messages: the one person's whose words they are, else the chat's.

    What the bot answered that person is nobody else's word. None when it is nobody's: it rests on the words of several,
    and the chat keeps no memory.
    """
    answers = [one for share in shares for one in share.said if one.is_answer and one.message.id in ids]
    persons = [share for share in shares if share.scope.kind == ScopeKind.USER and _is_own(share, ids, answers)]
    if len(persons) == 1:
        return persons[0]
    return next((share for share in shares if share.scope.kind == ScopeKind.CHAT and share.holds(ids)), None)


def _is_own(share: Share, ids: Collection[str], answers: Iterable[Said]) -> bool:
    """Whether a person's memory may hold these messages, or all of them but the bot's answers to that person."""
    answered = {one.message.id for one in answers if one.turn.user_scope and one.turn.user_scope.pk == share.scope.pk}
    own = set(ids) - answered
    return share.holds(ids) or (bool(own) and share.holds(own))
