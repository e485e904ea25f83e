"""The running conversation of a chat: found or begun under its key, and appended to in order (B1)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

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

_OF_ANOTHER = "This is the direct chat of another peer: their histories are not mixed. A chat of several is a group."


@dataclass(frozen=True, kw_only=True)
class NewMessage:
    """One message on its way into a session."""

    kind: EventKind
    content: str
    at: datetime
    sender_id: str = ""
    data: dict[str, Any] = field(default_factory=dict)


def get_or_create(workspace_id: int, resolved: Resolution, scopes: dict[str, Scope], *, now: datetime) -> Session:
    """The session of an address, begun if this is its first message, and a new conversation if it was idle for long.

    Needs the session's lock. Raises InvalidAddress when somebody else speaks in a direct chat, or
    when what is called a group here was called a direct chat before, or the other way round.
    """
    address = resolved.address
    session, made = Session.objects.get_or_create(
        workspace_id=workspace_id,
        platform=resolved.session_platform,
        account=resolved.session_account,
        key=resolved.session_key,
        defaults={
            "chat_id": address.chat,
            "peer": _peer_of(resolved),
            "is_group": address.is_group,
            **_columns(resolved, scopes),
            "started_at": now,
            "last_at": now,
        },
    )
    if not made:
        _check(session, resolved)
        close.close_if_stale(session, now=now)
        _update(session, resolved, scopes, now)
    return session


def direct_chat(workspace_id: int, platform: str, account: str, *keys: str) -> tuple[str, str]:
    """Chat and peer of the direct chat whose session has the first of these keys that has one; empty: nobody knows."""
    place = {"workspace_id": workspace_id, "platform": platform, "account": account, "key__in": keys}
    known = Session.objects.filter(**place, is_group=False).exclude(peer="").values_list("key", "chat_id", "peer")
    found = {key: (chat, peer) for key, chat, peer in known}
    return next((found[key] for key in keys if key in found), ("", ""))


def _peer_of(resolved: Resolution) -> str:
    """Whom a direct chat is with; a session that memory shares between chats is with nobody in particular."""
    is_one_chat = bool(resolved.session_platform) and not resolved.address.is_group
    return resolved.address.peer if is_one_chat else ""


def matches(session: Session, resolved: Resolution) -> bool:
    """Whether an address may mean this session: the same kind of chat, and in a direct one with the same peer."""
    return _is_same_kind(session, resolved) and _is_same_peer(session, resolved)


def _is_same_kind(session: Session, resolved: Resolution) -> bool:
    return session.is_group == resolved.address.is_group


def _is_same_peer(session: Session, resolved: Resolution) -> bool:
    peer = _peer_of(resolved)
    return not (session.peer and peer) or session.peer == peer


def _check(session: Session, resolved: Resolution) -> None:
    if not _is_same_kind(session, resolved):
        known = "a group" if session.is_group else "a direct chat"
        raise InvalidAddress(f"This chat is known as {known}: what is said in private never goes into a group.")
    if not _is_same_peer(session, resolved):
        raise InvalidAddress(_OF_ANOTHER)


def check_speakers(session: Session, messages: Sequence[NewMessage]) -> None:
    """Nobody but its peer speaks in a direct chat. Raises InvalidAddress, naming the first message of another."""
    if session.is_group or not session.peer:
        return
    heard = (EventKind.USER, EventKind.AMBIENT)
    for n, message in enumerate(messages):
        if message.kind in heard and message.sender_id not in ("", session.peer):
            raise InvalidAddress(_OF_ANOTHER, field=f"events.{n}.sender")


def _columns(resolved: Resolution, scopes: dict[str, Scope]) -> dict[str, Any]:
    """What a session keeps of what its address means: the rules, and whose memory it belongs to.

    A group's session belongs to nobody in particular, who speaks changes; unless each member has one (B8).
    """
    own = not resolved.address.is_group or resolved.rules.group_sessions == GroupSessions.PER_MEMBER
    return {
        "rules": asdict(resolved.rules),
        "user_scope": scopes.get(resolved.user_scope or "") if own else None,
        "chat_scope": scopes.get(resolved.chat_scope or ""),
    }


def _update(session: Session, resolved: Resolution, scopes: dict[str, Scope], now: datetime) -> None:
    """Go by the rules as they are now. What was said for another memory does not go on in this one."""
    held, peer = _columns(resolved, scopes), session.peer or _peer_of(resolved)
    before = {name: getattr(session, f"{name}_id") for name in ("user_scope", "chat_scope")}
    if any(pk and held[name] and held[name].pk != pk for name, pk in before.items()):
        close.close(session, close.MOVED, now=now)
    wanted = {**held, "peer": peer}
    changed = [name for name, value in wanted.items() if _as_stored(session, name) != _plain(value)]
    if changed:
        for name in changed:
            setattr(session, name, wanted[name])
        session.save(update_fields=changed)


def _as_stored(session: Session, name: str) -> Any:
    return getattr(session, f"{name}_id" if name.endswith("_scope") else name)


def _plain(value: Any) -> Any:
    return value.pk if isinstance(value, Scope) else value


def append(session: Session, messages: Sequence[NewMessage], *, now: datetime) -> list[SessionEvent]:
    """Add messages in order to the open conversation. Needs the session's lock."""
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
    if not events:
        return events
    rows.write(events)
    spoken = [event for event in events if event.kind != EventKind.AMBIENT]
    session.tokens += sum(event.tokens for event in spoken)
    session.next_position += len(events)
    session.last_at = max(session.last_at, now) if spoken else session.last_at
    session.save(update_fields=["tokens", "next_position", "last_at"])
    if len(spoken) < len(events):
        _forget_old_ambient(session)
    return events


def ambient_events(session: Session) -> QuerySet[SessionEvent]:
    """The ambient talk of a session's chat; where each member of a group has a session, of all of them (B5)."""
    ambient = SessionEvent.objects.filter(workspace_id=session.workspace_id, kind=EventKind.AMBIENT)
    if not session.is_group:
        return ambient.filter(session=session)
    same = {name: getattr(session, name) for name in ("workspace_id", "platform", "account", "chat_id")}
    return ambient.filter(session__in=Session.objects.filter(is_group=True, **same).values("pk"))


def _forget_old_ambient(session: Session) -> None:
    """All but the last AMBIENT_KEPT of a chat are gone."""
    kept = ambient_events(session).order_by("-id")
    oldest = list(kept.values_list("pk", flat=True)[conf.AMBIENT_KEPT - 1 : conf.AMBIENT_KEPT])
    if oldest:
        ambient_events(session).filter(pk__lt=oldest[0]).delete()


def recent_chat(session: Session, limit: int | None = None) -> list[SessionEvent]:
    """What was lately said in a group besides, in order; nothing of a direct chat, whose history says it all (B5)."""
    if not session.is_group:
        return []
    return list(ambient_events(session).order_by("-id")[: conf.CHAT_CONTEXT if limit is None else limit])[::-1]
