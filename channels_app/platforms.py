"""Names of platforms: a name nobody knows is refused, so that no misspelling begins another memory."""

import unicodedata
from collections.abc import Collection
from difflib import get_close_matches

from django.utils.translation import gettext as _

from channels_app.models import Channel
from memories.exceptions import InvalidAddress
from memories.models import Scope
from memories.tenancy.resolver import platform_of_key, starts_of_keys

#: Known everywhere; a workspace knows those of its channels, too.
KNOWN = (
    "cli", "dingtalk", "discord", "email", "lark", "line", "matrix", "messenger", "qq", "signal", "slack", "sms",
    "teams", "telegram", "web", "wechat", "wecom", "whatsapp",
)  # fmt: skip
#: What else people call them.
_ALIASES = {"feishu": "lark", "ding": "dingtalk", "weixin": "wechat", "wx": "wechat", "tg": "telegram"}


def folded(name: str) -> str:
    """A name as it is compared: without regard to case and width."""
    return unicodedata.normalize("NFKC", name).casefold()


def named(name: str, allowed: Collection[str], *, field: str = "address.platform") -> str:
    """The name of a platform as it is known. Raises InvalidAddress, naming the one that was probably meant."""
    known = spelled(name, allowed, field=field)
    if known in KNOWN or known in allowed:
        return known
    said = _("The platform “%(name)s” is not known here. Known are %(known)s, and those of channels.")
    raise InvalidAddress(said % {"name": name, "known": ", ".join(KNOWN)}, field=field)


def spelled(name: str, allowed: Collection[str], *, field: str = "address.platform") -> str:
    """The name of a platform as it is known, or as a new one is written.

    Raises InvalidAddress where it is neither, but nearly one that is known.
    """
    plain = name if name in allowed else folded(name)
    if plain in KNOWN or plain in allowed:
        return plain
    meant = _ALIASES.get(plain) or next(iter(get_close_matches(plain, [*KNOWN, *allowed], n=1, cutoff=0.75)), None)
    if meant is None:
        return plain
    said = _("The platform “%(name)s” is not known here; did you mean “%(meant)s”?")
    raise InvalidAddress(said % {"name": name, "meant": meant}, field=field)


def allowed_in(workspace_id: int) -> set[str]:
    """The platforms of the channels of a workspace."""
    return set(Channel.objects.filter(workspace_id=workspace_id).values_list("platform", flat=True).distinct())


def has_memories(workspace_id: int, name: str) -> bool:
    """Whether a workspace has a scope of this platform, from a time when no name was refused."""
    scopes = Scope.objects.in_workspace(workspace_id)
    return any(scopes.filter(key__startswith=start).exists() for start in starts_of_keys(name))


def check_key(workspace_id: int, scope_key: str) -> None:
    """Raises InvalidAddress when a scope that is to be begun names a platform that is not known."""
    name = platform_of_key(scope_key)
    if not name or name in KNOWN or has_memories(workspace_id, name):
        return
    if named(name, allowed_in(workspace_id), field="scope") != name:
        raise InvalidAddress(_("Names of platforms are written in small letters."), field="scope")
