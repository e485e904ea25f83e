"""Taking a turn in: the session hears it, memory keeps it, in one transaction (A1, A5, A13)."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from channels_app import addressing, buffering
from memories.capture import Turn, capture_turn
from memories.models import BotKey
from memories.models.change import acting
from memories.scoping import LOCAL_PEER, LOCAL_PLATFORMS, Address
from memories.store import Remembered
from sessions_app import conversations
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent


@dataclass(frozen=True, kw_only=True)
class Said:
    """A turn as a bot reports it."""

    address: Address
    user: str
    assistant: str
    at: datetime
    slots: dict[str, str] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)  # tool calls, outcome and the recall that was used


@dataclass(frozen=True)
class Taken:
    """What became of a turn."""

    session: Session
    remembered: list[Remembered]


def take_turn(key: BotKey, said: Said, *, now: datetime, actor: str) -> Taken:
    """Append a turn to its session and remember it. Raises InvalidAddress, ScopeNotFound, InvalidDraft, ScopeFrozen."""
    resolved = addressing.resolve_address(key.workspace_id, said.address)
    sender = speaker_of(said.address)
    with acting(actor):
        scopes = addressing.scopes_to_write(key, resolved)
        addressing.begin_channel(key.workspace_id, said.address)
        session = conversations.meet(key.workspace_id, resolved, scopes, now=now)
        events = _append(session, said, sender, now)
        turn = Turn(
            user=said.user,
            assistant=said.assistant,
            at=said.at,
            slots=said.slots,
            origins=tuple(conversations.origin_of(session, event) for event in events),
        )
        remembered = capture_turn(turn, resolved, scopes, sender=sender, now=now, actor=actor)
        buffering.hold_turn(turn, session, events, resolved, scopes, sender=sender, now=now)
    return Taken(session, remembered)


def speaker_of(address: Address) -> str:
    """Who speaks: the peer; at a keyboard without one, the person sitting there (A5)."""
    if address.peer or address.is_group:
        return address.peer
    return LOCAL_PEER if address.platform in LOCAL_PLATFORMS else ""


def _append(session: Session, said: Said, sender: str, now: datetime) -> list[SessionEvent]:
    messages = [
        conversations.Message(kind=kind, content=content, at=said.at, sender_id=who, data=data)
        for kind, content, who, data in (
            (EventKind.USER, said.user, sender, {}),
            (EventKind.ASSISTANT, said.assistant, "", said.data),
        )
        if content.strip()
    ]
    return conversations.append(session, messages, now=now)
