"""The running conversation of a chat: its session, by key, and the messages appended to it in order (B1)."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from memories import prepared
from memories.choices import GroupSessions
from memories.conf import conf
from memories.exceptions import InvalidAddress
from memories.language.text import count_tokens
from memories.models import Scope
from memories.tenancy.resolver import Resolution
from sessions_app.choices import EventKind
from sessions_app.lifecycle import close
from sessions_app.models import Session, SessionEvent
from sessions_app.search import rows

_OTHER_PEER = "This is the direct chat of another peer: their histories are not mixed. A chat of several is a group."


def get_or_create(
    workspace_id: int, resolved: Resolution, scopes: dict[str, Scope], *, found: Session | None, now: datetime
) -> Session:
    """The session of an address, with a new conversation if it was idle for too long. Needs the session's lock.

    `found` is what was read under the lock. Raises InvalidAddress for another peer in a direct chat, and for a chat
    that was a group and now is not, or the other way round.
    """
    address, columns = resolved.address, _columns(resolved, scopes)
    if found is None:
        begun = {"chat_id": address.chat, "is_group": address.is_group, "started_at": now, "last_at": now}
        return Session.objects.create(
            **{
                "workspace_id": workspace_id,
                "platform": resolved.session_platform,
                "account": resolved.session_account,
                "key": resolved.session_key,
            },
            **begun,
            **columns,
        )
    if problem := _mismatch(found, resolved):
        raise InvalidAddress(problem)
    close.close_if_stale(found, now=now)
    _update(found, columns, now)
    return found


def direct_chat(workspace_id: int, platform: str, account: str, *keys: str) -> tuple[str, str]:
    """Chat and peer of the first of these keys that is the session of a direct chat; both empty when none is."""
    channel = {"workspace_id": workspace_id, "platform": platform, "account": account}
    direct = Session.objects.filter(**channel, key__in=keys, is_group=False).exclude(peer="")
    chats = {key: (chat, peer) for key, chat, peer in direct.values_list("key", "chat_id", "peer")}
    return next((chats[key] for key in keys if key in chats), ("", ""))


def _peer_of(resolved: Resolution) -> str:
    """The peer of a direct chat; empty for a session that memory shares between chats."""
    is_one_chat = bool(resolved.session_platform) and not resolved.address.is_group
    return resolved.address.peer if is_one_chat else ""


def matches(session: Session, resolved: Resolution) -> bool:
    """Whether an address may mean this session: the same kind of chat, and in a direct one the same peer."""
    return not _mismatch(session, resolved)


def _mismatch(session: Session, resolved: Resolution) -> str:
    """Why an address cannot mean this session; empty when it can."""
    if session.is_group != resolved.address.is_group:
        kind = "a group" if session.is_group else "a direct chat"
        return f"This chat is known as {kind}: what is said in private never goes into a group."
    peer = _peer_of(resolved)
    return _OTHER_PEER if session.peer and peer and session.peer != peer else ""


def check_speakers(session: Session, messages: Sequence[SessionEvent]) -> None:
    """Raises InvalidAddress for the first message in a direct chat that is not by its peer."""
    if session.is_group or not session.peer:
        return
    for n, message in enumerate(messages):
        is_spoken_by_people = message.kind in (EventKind.USER, EventKind.AMBIENT)
        if is_spoken_by_people and message.sender_id not in ("", session.peer):
            raise InvalidAddress(_OTHER_PEER, field=f"events.{n}.sender")


def _columns(resolved: Resolution, scopes: dict[str, Scope]) -> dict[str, Any]:
    """The columns of a session that follow its address and the rules: peer, rules and scopes.

    The session of a group has no user scope, unless each member has a session (B8).
    """
    is_own = not resolved.address.is_group or resolved.rules.group_sessions == GroupSessions.PER_MEMBER
    return {
        "peer": _peer_of(resolved),
        "rules": asdict(resolved.rules),
        "user_scope": scopes.get(resolved.user_scope or "") if is_own else None,
        "chat_scope": scopes.get(resolved.chat_scope or ""),
    }


def _update(session: Session, columns: dict[str, Any], now: datetime) -> None:
    """Apply the rules of today; a conversation whose messages belong to another scope is closed."""
    columns = {**columns, "peer": session.peer or columns["peer"]}
    stored = {name: getattr(session, f"{name}_id") for name in ("user_scope", "chat_scope")}
    moved = [name for name, pk in stored.items() if pk != (columns[name] and columns[name].pk)]
    if any(stored[name] and columns[name] for name in moved):
        close.close(session, close.MOVED, now=now)
    changed = [*moved, *(name for name in ("peer", "rules") if getattr(session, name) != columns[name])]
    if changed:
        for name in changed:
            setattr(session, name, columns[name])
        session.save(update_fields=changed)


def append(session: Session, messages: Sequence[SessionEvent], *, now: datetime) -> list[SessionEvent]:
    """Append unsaved messages to the open conversation, in order. Needs the session's lock."""
    if not messages:
        return []
    for position, message in enumerate(messages, start=session.next_position):
        message.workspace_id, message.session = session.workspace_id, session
        message.conversation, message.position = session.conversation, position
        message.tokens = count_tokens(message.content)
    spoken = [message for message in messages if message.kind != EventKind.AMBIENT]
    session.tokens += sum(message.tokens for message in spoken)
    session.next_position += len(messages)
    session.last_at = max(session.last_at, now) if spoken else session.last_at
    _insert(session, messages)
    if len(spoken) < len(messages):
        # Keep the last AMBIENT_KEPT of a chat
        ambient = ambient_events(session)
        oldest = ambient.order_by("-id").values_list("pk", flat=True)[conf.AMBIENT_KEPT - 1 : conf.AMBIENT_KEPT].first()
        if oldest:
            ambient.filter(pk__lt=oldest).delete()
    return list(messages)


def take_back(session: Session, messages: Sequence[SessionEvent], *, last_at: datetime) -> None:
    """Take out the messages that were appended last, as though they had not come. Needs the session's lock."""
    session.tokens -= sum(message.tokens for message in messages)
    session.next_position -= len(messages)
    session.last_at = last_at
    SessionEvent.objects.filter(pk__in=[message.pk for message in messages]).delete()
    session.save(update_fields=["tokens", "next_position", "last_at"])


#: The messages, their search rows, and the counters of their session.
_APPEND = """
    WITH new AS (
        SELECT * FROM unnest(%(position)s::int[], %(kind)s::text[], %(sender_id)s::text[], %(content)s::text[],
            %(data)s::text[], %(tokens)s::int[], %(at)s::timestamptz[], %(keywords)s::text[])
            AS row (position, kind, sender_id, content, data, tokens, at, keywords)
    ), said AS (
        INSERT INTO sessions_app_sessionevent
            (workspace_id, session_id, conversation, position, kind, sender_id, content, data, tokens, at)
        SELECT %(workspace)s, %(session)s, %(conversation)s, position, kind, sender_id, content, data::jsonb, tokens, at
        FROM new ORDER BY position RETURNING id, position
    ), indexed AS (
        INSERT INTO sessions_app_eventindex
            (event_id, workspace_id, session_id, conversation, kind, at, keywords, failures)
        SELECT id, %(workspace)s, %(session)s, %(conversation)s, kind, at, keywords::sparsevec, 0
        FROM said JOIN new USING (position) WHERE keywords IS NOT NULL ORDER BY id
    ), counted AS (
        UPDATE sessions_app_session SET tokens = %(sum)s, next_position = %(next)s, last_at = %(last_at)s
        WHERE id = %(session)s
    )
    SELECT id FROM said ORDER BY position
"""


def _insert(session: Session, messages: Sequence[SessionEvent]) -> None:
    """Store messages, found by their words at once, with the counters of their session; one statement."""
    columns: dict[str, Any] = {
        name: [getattr(message, name) for message in messages]
        for name in ("position", "kind", "sender_id", "content", "tokens", "at")
    }
    columns |= {
        "data": [json.dumps(message.data) for message in messages],
        "keywords": [rows.keywords_of(message) for message in messages],
        "workspace": session.workspace_id,
        "session": session.pk,
        "conversation": session.conversation,
        "sum": session.tokens,
        "next": session.next_position,
        "last_at": session.last_at,
    }
    with prepared.cursor() as cursor:
        cursor.execute(_APPEND, columns)
        for message, (pk,) in zip(messages, cursor.fetchall(), strict=True):
            message.pk, message._state.adding = pk, False


def ambient_events(session: Session) -> QuerySet[SessionEvent]:
    """The ambient talk of a session's chat; where each member of a group has a session, of all of them (B5)."""
    ambient = SessionEvent.objects.filter(workspace_id=session.workspace_id, kind=EventKind.AMBIENT)
    if not session.is_group:
        return ambient.filter(session=session)
    same = {name: getattr(session, name) for name in ("workspace_id", "platform", "account", "chat_id")}
    return ambient.filter(session__in=Session.objects.filter(is_group=True, **same).values("pk"))


def recent_chat(session: Session, limit: int | None = None) -> list[SessionEvent]:
    """The latest ambient talk of a group, in order; none of a direct chat (B5)."""
    if not session.is_group:
        return []
    return list(ambient_events(session).order_by("-id")[: conf.CHAT_CONTEXT if limit is None else limit])[::-1]
