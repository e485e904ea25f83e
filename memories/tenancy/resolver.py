"""Platforms, keys of scopes, and the resolver: from an address to its session, its scopes and what may be recalled
there (E1, E2, A3, A5, B1).

To add a platform, add an entry to PLATFORMS. Pure: no database, no clock. Nothing else computes a scope.
"""

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote

from memories.choices import (
    DmScope,
    GroupSessions,
    GroupUserRecall,
    NeedMode,
    PathMode,
    ScopeKind,
    SecretsRule,
    SessionMode,
)
from memories.exceptions import InvalidAddress
from memories.language.text import PLAIN_HAN, is_storable

KEY_MAX = 200
_HASH_CHARS = 32
_PLACE_CHARS = 50  # of platform and account in a key that ends in a hash
DIRECT = "direct_"
_NOT_DIRECT = "%64irect_"  # how the last part of a group's key begins that would look like a direct chat's
_SAFE = re.compile(rf"[a-z0-9_@\-{PLAIN_HAN}]")
_CUT = re.compile(rf"(?:{_SAFE.pattern}|%[0-9a-f]{{2}})*")  # the beginning of what `escape` makes
_DIGEST = re.compile(rf"[0-9a-f]{{{_HASH_CHARS}}}")
_UNCOLONED = re.compile(r"(?:[^%:]|%25|%3a)+", re.DOTALL)


@dataclass(frozen=True)
class Platform:
    """A platform bots speak on, under the name that addresses and the keys of scopes have."""

    name: str
    aliases: tuple[str, ...] = ()  # other names of it; refused with a hint at the name
    is_local: bool = False  # one person sits at the keyboard: without a peer all of it is one memory


PLATFORMS = {
    platform.name: platform
    for platform in (
        Platform("cli", is_local=True),
        Platform("dingtalk", aliases=("ding",)),
        Platform("discord"),
        Platform("email"),
        Platform("lark", aliases=("feishu",)),
        Platform("line"),
        Platform("matrix"),
        Platform("mem0"),  # the ids of mem0's client
        Platform("messenger"),
        Platform("qq"),
        Platform("signal"),
        Platform("slack"),
        Platform("sms"),
        Platform("teams"),
        Platform("telegram", aliases=("tg",)),
        Platform("web", is_local=True),
        Platform("wechat", aliases=("weixin", "wx")),
        Platform("wecom"),
        Platform("whatsapp"),
    )
}
ALIASES = {alias: platform.name for platform in PLATFORMS.values() for alias in platform.aliases}
LOCAL_PLATFORMS = frozenset(platform.name for platform in PLATFORMS.values() if platform.is_local)


def key_of_person(person: str) -> str:
    """The scope key of a linked person's memory, whichever of their identities speaks (E1)."""
    return joined(DIRECT + escape(uncoloned(person)))


def key_of_peer(platform: str, peer: str) -> str:
    """The scope key of a peer who is a person of its own, where one memory a person is kept (E1)."""
    return joined(DIRECT + escape(f"{uncoloned(platform)}:{peer}"))


def key_of_speaker(platform: str, peer: str) -> str:
    """The scope key of a member's own memory, whatever the rules of direct chats are (E1)."""
    return joined(escape(platform), DIRECT + escape(peer))


def escape(part: str) -> str:
    """A part of a key without colons, capitals, dots or slashes: unique, also as a file name on any disk."""
    return "".join(
        char if _SAFE.fullmatch(char) else quote(char, safe="").lower() if not char.isascii() else f"%{ord(char):02x}"
        for char in part
    )


def uncoloned(part: str) -> str:
    """A part without colons of its own, so that the first colon after it is where it ends."""
    return part.replace("%", "%25").replace(":", "%3a")


def group_part(name: str) -> str:
    """The last part of a group's key; never that of a direct chat, whatever prefix is configured."""
    part = escape(name)
    return _NOT_DIRECT + part.removeprefix(DIRECT) if part.startswith(DIRECT) else part


def joined(*parts: str) -> str:
    """Parts joined by colons. A key that would be too long ends in its hash, and still shows its kind."""
    key = ":".join(parts)
    if len(key) <= KEY_MAX:
        return key
    *places, last = parts
    digest = hashlib.sha256(key.encode()).hexdigest()[:_HASH_CHARS]
    head = "".join(_cut(place, _PLACE_CHARS) + ":" for place in places)
    return f"{head}{_cut(last, KEY_MAX - _HASH_CHARS - 1 - len(head))}~{digest}"


def _cut(part: str, limit: int) -> str:
    return re.sub("%[0-9a-f]?$", "", part[:limit])  # no half escape before the hash


def kind_of_key(key: str) -> str | None:
    """The kind of scope of a key, of a hashed one by its form; None: the resolver could not have made it."""
    if key == "main":
        return ScopeKind.USER
    body, shortened, digest = key.partition("~")
    if len(key) > KEY_MAX or (shortened and not _DIGEST.fullmatch(digest)):
        return None
    *places, last = body.split(":")
    if last.startswith(_NOT_DIRECT):
        last = last.replace(_NOT_DIRECT, "group_" + DIRECT, 1)
    is_made: Callable[[str], object] = _CUT.fullmatch if shortened else is_escaped
    if len(places) > 2 or not all(map(is_made, [*places, last])) or "" in (*places[:1], last):
        return None
    if not last.startswith(DIRECT):
        return ScopeKind.CHAT if len(places) == 2 else None
    peer = last.removeprefix(DIRECT)
    # without a platform that of a linked person, or of an unlinked peer of a platform
    person, colon, name = unquote(peer).partition(":")
    is_person = _UNCOLONED.fullmatch(person) is not None and bool(name) == bool(colon)
    return ScopeKind.USER if peer and (places or shortened or is_person) else None


def platform_of_key(key: str) -> str:
    """The platform in a key of the resolver; empty where there is none, or only the beginning of one."""
    place = key if ":" in key else unquote(key.removeprefix(DIRECT))
    return unquote(place.partition(":")[0]) if ":" in place and "~" not in key and kind_of_key(key) else ""


def owner_of_key(key: str) -> tuple[str, str] | None:
    """Platform and peer whose own memory a key names; of a linked person no platform, and its id.

    None: it is a chat's, everybody's (`main`), or too long to be read.
    """
    if key == "main" or "~" in key or kind_of_key(key) != ScopeKind.USER:
        return None
    *places, last = key.split(":")
    name = unquote(last.removeprefix(DIRECT))
    if places:
        return unquote(places[0]), name
    place, colon, peer = name.partition(":")
    place = place.replace("%3a", ":").replace("%25", "%")
    return (place, peer) if colon else ("", place)


def group_of_key(key: str) -> tuple[str, str, str] | None:
    """Platform, account and chat of a group by its key; None: it is none, too long to be read, or named otherwise."""
    places = key.split(":")
    if kind_of_key(key) != ScopeKind.CHAT or "~" in key or len(places) != 3 or not places[2].startswith("group_"):
        return None
    platform, account, last = map(unquote, places)
    return platform, account, last.removeprefix("group_")


def starts_of_keys(platform: str) -> tuple[str, str]:
    """The prefixes of a platform's scope keys: of a place there, and of an unlinked person of it (E1)."""
    return escape(platform) + ":", DIRECT + escape(uncoloned(platform) + ":")


def is_escaped(part: str) -> bool:
    """Whether `escape` could have made a part."""
    try:
        return escape(unquote(part, errors="strict")) == part
    except UnicodeError:
        return False


LOCAL_PEER = "local"
_HASHED = re.compile("[0-9a-f]{32}")  # how a key ends that was too long


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

    @property
    def speaker(self) -> str:
        """The peer; in a direct chat without one, at a keyboard or under `main`, its one owner (A5)."""
        return self.peer if self.peer or self.is_group else LOCAL_PEER


@dataclass(frozen=True, kw_only=True)
class ChannelRules:
    """How a channel separates memories and sessions; sent with the request, stored on the session."""

    dm_scope: str = ""  # empty: the platform's default
    session_mode: str = SessionMode.STABLE
    session_prefix: str = ""
    group_sessions: str = GroupSessions.SHARED
    group_prefix: str = "group_"
    capture_group_memory: bool = True
    group_user_recall: str = GroupUserRecall.SAME_CHAT
    secrets: str = SecretsRule.KEEP
    need: str = NeedMode.AUTO
    serve: str = ""  # `likely`, `wide` or a relevance, where a call says none; empty: as the kind of call has it
    max_tokens: int | None = None  # of a history; None: the platform's default


@dataclass(frozen=True, kw_only=True)
class ScopeRef:
    """A scope by its key, with the limits of what may be served from it."""

    key: str
    kind: str
    only_chat: str | None = None  # serve only rows whose sources all came from the chat of this scope
    in_group: bool = False  # credentials and profiles are not served to groups


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The session and scopes of an address."""

    session_key: str
    session_platform: str  # empty when the session is shared between platforms, as its memory is
    session_account: str
    user_scope: str | None
    chat_scope: str | None
    recall: tuple[ScopeRef, ...]
    address: Address
    rules: ChannelRules = field(default_factory=ChannelRules)
    path_mode: str = PathMode.HOOKS_ONLY  # of the channel, for whoever looked it up
    transcripts: bool = False  # whether the channel wants them, likewise
    has_channel: bool = False  # likewise

    is_of_person: bool = False  # its memory is a person's on whatever platform: linked accounts share it

    @property
    def chat(self) -> str:
        """The chat as Entry.chats stores it: the scope of the chat, or of the direct chat's peer."""
        return self.chat_scope or self.user_scope or ""


def resolve(address: Address, rules: ChannelRules, *, default_dm_scope: str = DmScope.PER_CHANNEL_PEER) -> Resolution:
    """The session of an address, and the scopes it writes to and reads from.

    Raises InvalidAddress when the address does not determine them.
    """
    if not address.platform:
        raise InvalidAddress("An address needs a platform.")
    if not all(is_storable(part) for part in vars(address).values() if isinstance(part, str)):
        raise InvalidAddress("NUL and lone surrogates name nobody.")
    if address.is_group:
        return _resolve_group(address, rules)
    if not address.peer:
        address = replace(address, peer=_peer_by_chat(address, rules))
    is_owner = address.platform in LOCAL_PLATFORMS and not address.peer
    dm_scope = rules.dm_scope or (DmScope.MAIN if is_owner else default_dm_scope)
    user_scope = _direct_key(address, dm_scope)
    shared = dm_scope in (DmScope.MAIN, DmScope.PER_PEER)
    if shared:
        prefix, hashed = ("main" if dm_scope == DmScope.MAIN else "direct"), user_scope
    else:
        prefix, hashed = rules.session_prefix or address.platform, address.chat or user_scope
    return Resolution(
        session_key=_session_key(prefix, hashed, rules),
        session_platform="" if shared else address.platform,
        session_account="" if shared else address.account,
        user_scope=user_scope,
        chat_scope=None,
        recall=(ScopeRef(key=user_scope, kind=ScopeKind.USER),),
        address=address,
        rules=rules,
        is_of_person=dm_scope == DmScope.PER_PEER,
    )


def _peer_by_chat(address: Address, rules: ChannelRules) -> str:
    """The peer of a direct chat whose id begins with its channel (A5); empty where it names none.

    `telegram:direct_u42` and `telegram:mybot:direct_u42` name u42, and so does `telegram:u42`. `telegram-3f2a…`, the
    form of session keys, is itself the peer. At a keyboard only the first two name a peer.
    """
    chat, is_local = address.chat, address.platform in LOCAL_PLATFORMS
    sessions = tuple(f"{prefix}-" for prefix in (address.platform, rules.session_prefix) if prefix)
    if chat.startswith(sessions) and chat not in sessions and not is_local:
        return chat
    rest = _without_place(address.account, _without_place(address.platform, chat))
    if rest == chat or ":" in rest or _HASHED.fullmatch(rest.rpartition("~")[2]):
        return ""
    if rest.startswith(DIRECT):
        peer = rest.removeprefix(DIRECT)
        return unquote(peer) if is_escaped(peer) else peer
    is_group = rest.startswith(("group_", rules.group_prefix or "group_"))
    return "" if is_group or is_local else rest


def _without_place(place: str, name: str) -> str:
    """A name without the place it begins with, as platforms or as keys write it."""
    return name.removeprefix(f"{place}:") if name.startswith(f"{place}:") else name.removeprefix(f"{escape(place)}:")


def key_of_direct_chat(address: Address, rules: ChannelRules) -> str | None:
    """The session key of a direct chat, for a message without a peer (A5); None where the chat alone gives none."""
    is_named = bool(address.chat) and not address.is_group and address.platform not in LOCAL_PLATFORMS
    if not is_named or rules.session_mode == SessionMode.FRESH or not is_storable(address.chat):
        return None
    return _session_key(rules.session_prefix or address.platform, address.chat, rules)


def _direct_key(address: Address, dm_scope: str) -> str:
    if dm_scope == DmScope.MAIN:
        return "main"
    peer = address.peer or (LOCAL_PEER if address.platform in LOCAL_PLATFORMS else "")
    if not peer:
        raise InvalidAddress("A direct chat needs a peer: without one nobody can tell whose memory it is.")
    if dm_scope == DmScope.PER_PEER:
        return key_of_person(address.person) if address.person else key_of_peer(address.platform, peer)
    if dm_scope == DmScope.PER_CHANNEL_PEER:
        return joined(escape(address.platform), DIRECT + escape(peer))
    return joined(escape(address.platform), escape(address.account), DIRECT + escape(peer))


def _resolve_group(address: Address, rules: ChannelRules) -> Resolution:
    if not address.chat:
        raise InvalidAddress("A group needs a chat: without one nobody can tell which group it is.")
    chat_scope = joined(
        escape(address.platform), escape(address.account), group_part(rules.group_prefix + address.chat)
    )
    user_scope = None
    if address.peer:
        user_scope = key_of_speaker(address.platform, address.peer)
    # The speaker's own memories as far as the group may be served them, then the group's (A3)
    recall: tuple[ScopeRef, ...] = (ScopeRef(key=chat_scope, kind=ScopeKind.CHAT, in_group=True),)
    if user_scope is not None and rules.group_user_recall != GroupUserRecall.NONE:
        only_chat = None if rules.group_user_recall == GroupUserRecall.ALL else chat_scope
        recall = (ScopeRef(key=user_scope, kind=ScopeKind.USER, only_chat=only_chat, in_group=True), *recall)
    hashed = address.chat
    if rules.group_sessions == GroupSessions.PER_MEMBER and address.peer:
        hashed = f"{uncoloned(address.chat)}:{address.peer}"
    return Resolution(
        session_key=_session_key(rules.session_prefix or address.platform, hashed, rules),
        session_platform=address.platform,
        session_account=address.account,
        user_scope=user_scope,
        chat_scope=chat_scope,
        recall=recall,
        address=address,
        rules=rules,
    )


def _session_key(prefix: str, hashed: str, rules: ChannelRules) -> str:
    """`<prefix>-<first 12 bytes of sha1, hex>` (B1); the hash only shortens, its strength does not matter."""
    if rules.session_mode == SessionMode.FRESH:
        return f"{prefix}-{secrets.token_hex(12)}"
    return f"{prefix}-{hashlib.sha1(hashed.encode(), usedforsecurity=False).hexdigest()[:24]}"
