"""A captured turn on its way into the extraction buffer: in full, for the scopes it was captured for (D5)."""

from collections.abc import Sequence
from datetime import datetime

from memories.consolidation import buffer
from memories.consolidation.capture import Turn, source_slots
from memories.models import Scope
from memories.tenancy.resolver import Resolved
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent

_ROLES = {EventKind.USER: buffer.USER, EventKind.ASSISTANT: buffer.ASSISTANT}


def hold_turn(
    turn: Turn,
    session: Session,
    events: Sequence[SessionEvent],
    resolved: Resolved,
    scopes: dict[str, Scope],
    *,
    sender: str,
    now: datetime,
) -> None:
    """Hold a turn that is being captured, inside the same transaction; `events` are what its origins name, in order."""
    messages = tuple(
        buffer.Message(
            id=origin, role=_ROLES[EventKind(event.kind)], sender=event.sender_id, content=event.content, at=event.at
        )
        for origin, event in zip(turn.origins, events, strict=True)
    )
    held = buffer.Turn(
        session_uid=session.uid,
        conversation=session.conversation,
        messages=messages,
        user_scope=scopes.get(resolved.user_scope or "") if sender else None,
        chat_scope=scopes.get(resolved.chat_scope or "") if resolved.rules.capture_group_memory else None,
        chat=resolved.chat,
        is_group=resolved.address.is_group,
        place={**turn.slots, **source_slots(resolved, sender)},
    )
    buffer.hold(held, now=now)
