"""The one resolver: from an address to its session, its scopes and what may be recalled there (E1, E2, A3, A5, B1).

Pure: no database, no clock. Nothing else in the product computes a scope.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import quote

from memories.choices import DmScope, GroupSessions, GroupUserRecall, NeedMode, ScopeKind, SessionMode
from memories.exceptions import InvalidAddress

#: Platforms where one person sits at the keyboard: without a peer all of it is one memory.
LOCAL_PLATFORMS = frozenset({"cli", "web"})
LOCAL_PEER = "local"
KEY_MAX = 200
_HASH_CHARS = 32
_SAFE = re.compile(r"[a-z0-9_@\-\u4e00-\u9fff]")
_ESCAPED = r"(?:[a-z0-9_@\-\u4e00-\u9fff]|%[0-9a-f]{2})"
_KEY = re.compile(
    rf"main|direct_{_ESCAPED}+|{_ESCAPED}+:direct_{_ESCAPED}+|{_ESCAPED}+:{_ESCAPED}*:(?P<last>{_ESCAPED}+)(?:~[0-9a-f]{{32}})?"
)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a message comes from, as the bot's platform names it."""

    platform: str
    account: str = ""
    peer: str = ""
    chat: str = ""
    is_group: bool = False
    thread: str = ""
    person: str = ""  # the linked person's id; empty: the peer is a person of its own


@dataclass(frozen=True, kw_only=True)
class ChannelRules:
    """How a channel keeps memories and sessions apart; travels with the request, kept on the session."""

    dm_scope: str = ""  # empty: the platform's default
    session_mode: str = SessionMode.STABLE
    session_prefix: str = ""
    group_sessions: str = GroupSessions.SHARED
    group_prefix: str = "group_"
    capture_group_memory: bool = True
    group_user_recall: str = GroupUserRecall.SAME_CHAT
    need: str = NeedMode.AUTO


@dataclass(frozen=True, kw_only=True)
class ScopeRef:
    """A scope by its key, and what of it may be heard where it is asked for."""

    key: str
    kind: str
    only_chat: str | None = None  # serve only rows all of whose sources came from the chat of this scope
    in_group: bool = False  # credentials and profiles are not read out before others


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """What an address means."""

    session_key: str
    session_platform: str  # empty when the session is shared between platforms, as its memory is
    session_account: str
    user_scope: str | None
    chat_scope: str | None
    recall: tuple[ScopeRef, ...]
    address: Address
    rules: ChannelRules = field(default_factory=ChannelRules)

    @property
    def chat(self) -> str:
        """Where it is said, as Entry.chats keeps it: the chat's scope, or that of the direct chat's peer."""
        return self.chat_scope or self.user_scope or ""


def resolve(address: Address, rules: ChannelRules, *, default_dm_scope: str = DmScope.PER_CHANNEL_PEER) -> Resolved:
    """Whose memory an address writes to and reads from, and which session it belongs to.

    Raises InvalidAddress when the address cannot say whose memory it is.
    """
    if not address.platform:
        raise InvalidAddress("An address needs a platform.")
    if address.is_group:
        return _resolve_group(address, rules)
    return _resolve_direct(address, rules, _dm_scope(address, rules, default_dm_scope))


def _dm_scope(address: Address, rules: ChannelRules, default: str) -> str:
    if address.platform in LOCAL_PLATFORMS and not address.peer:
        return rules.dm_scope or DmScope.MAIN
    return rules.dm_scope or default


def _resolve_direct(address: Address, rules: ChannelRules, dm_scope: str) -> Resolved:
    user_scope = _direct_key(address, dm_scope)
    shared = dm_scope in (DmScope.MAIN, DmScope.PER_PEER)
    if shared:
        prefix, hashed = ("main" if dm_scope == DmScope.MAIN else "direct"), user_scope
    else:
        prefix, hashed = rules.session_prefix or address.platform, address.chat or user_scope
    return Resolved(
        session_key=_session_key(prefix, hashed, rules),
        session_platform="" if shared else address.platform,
        session_account="" if shared else address.account,
        user_scope=user_scope,
        chat_scope=None,
        recall=(ScopeRef(key=user_scope, kind=ScopeKind.USER),),
        address=address,
        rules=rules,
    )


def _direct_key(address: Address, dm_scope: str) -> str:
    if dm_scope == DmScope.MAIN:
        return "main"
    peer = address.peer or (LOCAL_PEER if address.platform in LOCAL_PLATFORMS else "")
    if not peer:
        raise InvalidAddress("A direct chat needs a peer: without one nobody can tell whose memory it is.")
    if dm_scope == DmScope.PER_PEER:
        return _key("direct_" + escape(address.person or f"{address.platform}:{peer}"))
    if dm_scope == DmScope.PER_CHANNEL_PEER:
        return _key(escape(address.platform), "direct_" + escape(peer))
    return _key(escape(address.platform), escape(address.account), "direct_" + escape(peer))


def _resolve_group(address: Address, rules: ChannelRules) -> Resolved:
    if not address.chat:
        raise InvalidAddress("A group needs a chat: without one nobody can tell which group it is.")
    group = escape(rules.group_prefix) + escape(address.chat)
    chat_scope = _key(escape(address.platform), escape(address.account), group)
    user_scope = None
    if address.peer:
        user_scope = _key(escape(address.platform), "direct_" + escape(address.peer))
    hashed = address.chat
    if rules.group_sessions == GroupSessions.PER_MEMBER and address.peer:
        hashed = f"{address.chat}:{address.peer}"
    return Resolved(
        session_key=_session_key(rules.session_prefix or address.platform, hashed, rules),
        session_platform=address.platform,
        session_account=address.account,
        user_scope=user_scope,
        chat_scope=chat_scope,
        recall=_heard_in_group(user_scope, chat_scope, address, rules),
        address=address,
        rules=rules,
    )


def _heard_in_group(
    user_scope: str | None, chat_scope: str, address: Address, rules: ChannelRules
) -> tuple[ScopeRef, ...]:
    """The speaker's own memories as far as the group may hear them, then the group's (A3)."""
    chat = ScopeRef(key=chat_scope, kind=ScopeKind.CHAT, in_group=True)
    if user_scope is None or rules.group_user_recall == GroupUserRecall.NONE:
        return (chat,)
    only_chat = chat_scope if rules.group_user_recall == GroupUserRecall.SAME_CHAT else None
    return (ScopeRef(key=user_scope, kind=ScopeKind.USER, only_chat=only_chat, in_group=True), chat)


def _session_key(prefix: str, hashed: str, rules: ChannelRules) -> str:
    """`<prefix>-<first 12 bytes of sha1, hex>` (B1); the hash only shortens, nothing rests on its strength."""
    if rules.session_mode == SessionMode.FRESH:
        return f"{prefix}-{secrets.token_hex(12)}"
    return f"{prefix}-{hashlib.sha1(hashed.encode(), usedforsecurity=False).hexdigest()[:24]}"


def escape(part: str) -> str:
    """A part of a key without colons, capitals, dots or slashes: no two parts become one, on any disk."""
    return "".join(
        char if _SAFE.fullmatch(char) else quote(char, safe="").lower() if not char.isascii() else f"%{ord(char):02x}"
        for char in part
    )


def _key(*parts: str) -> str:
    key = ":".join(parts)
    if len(key) <= KEY_MAX:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:_HASH_CHARS]
    head = re.sub("%[0-9a-f]?$", "", key[: KEY_MAX - _HASH_CHARS - 1])  # no half escape before the hash
    return f"{head}~{digest}"


def kind_of_key(key: str) -> str | None:
    """The kind of scope a key stands for; None when the resolver could not have made it."""
    match = _KEY.fullmatch(key)
    if match is None or len(key) > KEY_MAX:
        return None
    last = match.group("last")
    return ScopeKind.USER if last is None or last.startswith("direct_") else ScopeKind.CHAT
