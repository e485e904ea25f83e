"""A finished turn of a conversation becomes one memory a scope (A1, A3)."""

from dataclasses import dataclass, field
from datetime import datetime

from memories import store
from memories.choices import EntryType, ScopeKind, Source
from memories.conf import conf
from memories.drafts import Draft
from memories.models import Scope
from memories.scoping import Resolved
from memories.text import smart_truncate


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What was said and answered."""

    user: str
    assistant: str
    at: datetime
    slots: dict[str, str] = field(default_factory=dict)
    origins: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.user.strip() or self.assistant.strip())


def turn_text(user: str, assistant: str) -> str:
    """Both sides of a turn, each cut to its limit (A1)."""
    asked = smart_truncate(user, conf.TURN_USER_CHARS)
    answered = smart_truncate(assistant, conf.TURN_ASSISTANT_CHARS)
    return f"User: {asked}\nAssistant: {answered}"


def capture_turn(
    turn: Turn, resolved: Resolved, scopes: dict[str, Scope], *, sender: str, now: datetime, actor: str
) -> list[store.Remembered]:
    """Store a turn in the speaker's scope and, where the channel says so, once in the chat's.

    `scopes` holds the scopes of `resolved` by key. Nothing is stored of an empty turn, and nothing in a user's scope
    when nobody knows who spoke.
    """
    if turn.is_empty:
        return []
    drafts = []
    if resolved.user_scope and sender:
        drafts.append(_draft(turn, resolved, scopes[resolved.user_scope], sender))
    if resolved.chat_scope and resolved.rules.capture_group_memory:
        drafts.append(_draft(turn, resolved, scopes[resolved.chat_scope], sender))
    return store.remember_many(drafts, now=now, actor=actor)


def _draft(turn: Turn, resolved: Resolved, scope: Scope, sender: str) -> Draft:
    return Draft(
        scope=scope,
        type=EntryType.CHAT_TURN,
        content=turn_text(turn.user, turn.assistant),
        source=Source.CONVERSATION_CAPTURE,
        at=turn.at,
        slots={**turn.slots, **place_of(resolved, sender)},
        chats=(resolved.chat,) if scope.kind == ScopeKind.USER else (),
        origins=turn.origins,
    )


def place_of(resolved: Resolved, sender: str) -> dict[str, str]:
    """The slots that say where and by whom something was said."""
    address = resolved.address
    return {
        "channel": address.platform,
        "chat_id": address.chat,
        "session_id": resolved.session_key,
        "sender_id": sender,
        "thread_id": address.thread,
    }
