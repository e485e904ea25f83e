"""The running conversation of a chat: met under its key, appended to, one writer at a time (B1, B2, B7)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import F

from memories.models import Scope
from memories.scoping import Resolved
from memories.text import count_tokens
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent

#: Advisory locks are told apart by their highest byte.
SESSION_LOCK = 2 << 56


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message on its way into a session."""

    kind: EventKind
    content: str
    at: datetime
    sender_id: str = ""
    data: dict[str, Any] = field(default_factory=dict)


def meet(workspace_id: int, resolved: Resolved, scopes: dict[str, Scope], *, now: datetime) -> Session:
    """The session of an address, begun if this is its first message. Inside a transaction."""
    session, _made = Session.objects.get_or_create(
        workspace_id=workspace_id,
        platform=resolved.session_platform,
        account=resolved.session_account,
        key=resolved.session_key,
        defaults={
            "chat_id": resolved.address.chat,
            "is_group": resolved.address.is_group,
            "rules": asdict(resolved.rules),
            # a group's session belongs to nobody in particular: who speaks changes
            "user_scope": None if resolved.address.is_group else scopes.get(resolved.user_scope or ""),
            "chat_scope": scopes.get(resolved.chat_scope or ""),
            "started_at": now,
            "last_at": now,
        },
    )
    return session


def append(session: Session, messages: Sequence[Message], *, now: datetime) -> list[SessionEvent]:
    """Add messages in order to the open conversation, alone until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SESSION_LOCK + session.pk])
    session.refresh_from_db(fields=["conversation", "next_position", "tokens"])
    events = SessionEvent.objects.bulk_create(
        SessionEvent(
            workspace_id=session.workspace_id,
            session=session,
            conversation=session.conversation,
            position=session.next_position + n,
            kind=message.kind,
            sender_id=message.sender_id,
            content=message.content,
            data=message.data,
            tokens=count_tokens(message.content),
            at=message.at,
        )
        for n, message in enumerate(messages)
    )
    tokens = sum(event.tokens for event in events)
    Session.objects.filter(pk=session.pk).update(
        tokens=F("tokens") + tokens, next_position=F("next_position") + len(events), last_at=now
    )
    session.tokens += tokens
    session.next_position += len(events)
    return events


def origin_of(session: Session, event: SessionEvent) -> str:
    """How an entry names a message it rests on."""
    return f"session_events/{session.uid}/{event.conversation}/event-{event.pk}"
