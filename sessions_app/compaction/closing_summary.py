"""Closing summaries: part of a conversation as memory, where neither bot nor model said what to keep (B4, C7).

In a direct chat it becomes memory of the peer. In a group the turns of each speaker become memory of that speaker, and
all of them memory of the chat where its channel captures group memory.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import transaction

from memories import entries
from memories.choices import SUMMARY_SUBTYPES, EntryType, ScopeKind, Source
from memories.conf import conf
from memories.entries.draft import Draft
from memories.language.text import smart_truncate
from memories.models import Scope
from memories.tenancy.resolver import Resolution, resolve
from sessions_app.compaction import summary
from sessions_app.compaction.summary import TurnEvents, turns_of, without_echoes
from sessions_app.history import retention
from sessions_app.models import Session, SessionEvent

#: Of a closed conversation its last TURNS are kept, of one that goes on a summary.
EXPIRED, FLUSHED = SUMMARY_SUBTYPES
TURNS = 5


def store_summary(
    session: Session, events: Sequence[SessionEvent], subtype: str, *, now: datetime, actor: str
) -> list[entries.WriteResult]:
    """Store part of one conversation by the rule above, without its redacted messages (A15).

    These are looked up with the scopes locked, so that nobody redacts meanwhile. Raises ScopeFrozen or InvalidDraft.
    """
    if not events:
        return []
    with transaction.atomic():
        locked = entries.lock_scopes(scope for scope, _turns, _sender in _shares(session, turns_of(events)))
        left = retention.redact(events, retention.redacted_events(session, events[0].conversation))
        shares = _shares(session, turns_of(left))
        drafts = [_draft(session, scope, turns, subtype, sender) for scope, turns, sender in shares]
        return entries.remember_many(drafts, now=now, actor=actor, locked=locked)


def _shares(session: Session, turns: list[TurnEvents]) -> Iterator[tuple[Scope, list[TurnEvents], str]]:
    """Each scope these turns become memory of, its share of them, and the sender where there is only one."""
    if not turns:
        return
    if not session.is_group:
        if session.user_scope:
            yield session.user_scope, turns, session.peer
        return
    for sender in dict.fromkeys(turn.sender for turn in turns if turn.sender):
        if scope := scope_of_speaker(session, sender):
            yield scope, [turn for turn in turns if turn.sender == sender], sender
    if session.chat_scope and session.channel_rules().capture_group_memory:
        yield session.chat_scope, turns, ""


def _draft(session: Session, scope: Scope, turns: list[TurnEvents], subtype: str, sender: str) -> Draft:
    is_chat = scope.kind == ScopeKind.CHAT
    turns = without_echoes(turns)
    if subtype == EXPIRED:
        text = "\n".join(turn.text(turn.sender if is_chat else "") for turn in turns)
    else:
        text = summary.summarise(turns, conf.HISTORY_SUMMARY_MAX_TOKENS, names=is_chat)
    return Draft(
        scope=scope,
        type=EntryType.AUTO_CAPTURE,
        subtype=subtype,
        content=smart_truncate(text, conf.CONTENT_MAX_CHARS),
        source=Source.MEMORY_CAPTURE,
        at=max(event.at for turn in turns for event in turn.events),
        slots=slots_of(session, sender),
        chats=chats_of(session, scope),
        origins=tuple(session.origin_of(event) for turn in turns for event in turn.events),
    )


def slots_of(session: Session, sender: str) -> dict[str, str]:
    """The slots of a memory of this session (E3)."""
    return {
        "channel": session.platform,
        "chat_id": session.chat_id,
        "session_id": session.key,
        "sender_id": sender,
        "source_session_id": str(session.uid),
    }


def chats_of(session: Session, scope: Scope) -> tuple[str, ...]:
    """The chat a memory of a person comes from (A3)."""
    if scope.kind == ScopeKind.CHAT:
        return ()
    chat = session.chat_scope if session.is_group else session.user_scope
    return (chat.key,) if chat else ()


def speaker_in(session: Session, sender: str) -> Resolution:
    """The resolved address of somebody who speaks in this session."""
    return resolve(session.address_of(sender), session.channel_rules(), default_dm_scope=conf.DM_SCOPE)


def scope_of_speaker(session: Session, sender: str) -> Scope | None:
    """The scope of somebody who speaks in a group, begun where needed."""
    key = speaker_in(session, sender).user_scope
    return Scope.objects.begin(session.workspace_id, key, ScopeKind.USER) if key else None
