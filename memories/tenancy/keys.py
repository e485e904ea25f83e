"""The platforms, and keys of scopes: how they are written, and what can be read from one (E1). Pure.

To add a platform, add an entry to PLATFORMS.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from memories.choices import ScopeKind
from memories.language.text import PLAIN_HAN

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
    return ScopeKind.USER if peer and (places or shortened or _is_person(unquote(peer))) else None


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


def _is_person(name: str) -> bool:
    """Whether a name is that of a linked person, or of an unlinked peer of a platform."""
    person, colon, peer = name.partition(":")
    return _UNCOLONED.fullmatch(person) is not None and bool(peer) == bool(colon)
