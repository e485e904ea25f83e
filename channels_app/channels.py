"""Channels under their names: looked up, created, and their rules set (E1).

A platform nobody knows and an account in another spelling are refused, so that no misspelling begins another memory.
"""

import unicodedata
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from channels_app import cards
from channels_app.models import Channel
from channels_app.people.peers import channel_with_person
from memories.conf import conf
from memories.exceptions import InvalidAddress, VersionConflict
from memories.models import Scope
from memories.models.change import acting
from memories.tenancy.keys import ALIASES, PLATFORMS, platform_of_key, starts_of_keys
from memories.tenancy.resolver import Address, ChannelRules


def find_channel(
    workspace_id: int,
    platform: str,
    account: str,
    *,
    peer: str = "",
    may_be_new: bool = False,
    inside: str = "address.",
) -> tuple[str, Channel | None]:
    """The name of a platform, and the channel of this account there, if there is one: with the linked person of a peer.

    Raises InvalidAddress where the platform is unknown, unless it may be new, or where the account differs from one
    that exists by its case alone; its fields have the prefix `inside`.
    """
    if channel := channel_with_person(workspace_id, platform, account, peer):
        return platform, channel
    places = set(Channel.objects.filter(workspace_id=workspace_id).values_list("platform", "account"))
    allowed = {platform} if platform not in PLATFORMS and _has_scopes(workspace_id, platform) else set()
    name = platform_among(places, platform, account, allowed=allowed, may_be_new=may_be_new, inside=inside)
    return name, channel_with_person(workspace_id, name, account, peer) if (name, account) in places else None


def platform_among(
    places: Collection[tuple[str, str]],
    platform: str,
    account: str,
    *,
    allowed: Collection[str] = (),
    may_be_new: bool = False,
    inside: str = "address.",
) -> str:
    """The name of a platform, beside channels with these platforms and accounts. Raises InvalidAddress."""
    names = {name for name, _account in places} | set(allowed)
    name = _platform_name(platform, names, field=f"{inside}platform", may_be_new=may_be_new)
    for place, other in places if (name, account) not in places else ():
        if place == name and normalized(other) == normalized(account):
            text = _("This account is known as “%(account)s”: another spelling would begin another memory.")
            raise InvalidAddress(text % {"account": other}, field=f"{inside}account")
    return name


def default_rules() -> ChannelRules:
    """The rules of a channel that nobody has configured."""
    return ChannelRules(
        capture_group_memory=conf.CAPTURE_GROUP_MEMORY,
        group_user_recall=conf.GROUP_USER_RECALL,
        secrets=conf.SECRETS,
    )


def ensure_channel(workspace_id: int, address: Address) -> None:
    """Let the channel appear in the admin the first time a bot speaks from there."""
    channel = Channel(workspace_id=workspace_id, platform=address.platform, account=address.account)
    Channel.objects.bulk_create([channel], ignore_conflicts=True)


def set_rules(
    workspace_id: int,
    place: tuple[str, str],
    rules: Mapping[str, Any],
    *,
    actor: str,
    expected_version: int | None = None,
) -> tuple[Channel, bool]:
    """Set rules of the channel of a platform and account: the channel, and whether it was created.

    Rules that are not named stay. Raises InvalidAddress or VersionConflict.
    """
    with transaction.atomic(), acting(actor):
        platform, existing = find_channel(workspace_id, *place, may_be_new=True, inside="")
        where = {"workspace_id": workspace_id, "platform": platform, "account": place[1]}
        if existing is None and expected_version is None:
            channel, is_new = Channel.objects.get_or_create(**where, defaults=dict(rules))
            if is_new:
                return channel, True
        locked = Channel.objects.select_for_update().filter(**where).first()
        if locked is None or expected_version not in (None, locked.version):
            raise VersionConflict(_("The channel was changed since you read it."))
        for name, value in rules.items():
            setattr(locked, name, value)
        if rules:
            locked.save(update_fields=list(rules))
            locked.refresh_from_db(fields=["version"])
            transaction.on_commit(partial(cards.forget_channels, workspace_id))
    return locked, False


def check_scope_key(workspace_id: int, scope_key: str) -> None:
    """Raises InvalidAddress when the key of a new scope names a platform that is unknown."""
    name = platform_of_key(scope_key)
    if not name or name in PLATFORMS or _has_scopes(workspace_id, name):
        return
    allowed = set(Channel.objects.filter(workspace_id=workspace_id).values_list("platform", flat=True).distinct())
    if _platform_name(name, allowed, field="scope") != name:
        raise InvalidAddress(_("Names of platforms are written in small letters."), field="scope")


def normalized(name: str) -> str:
    """A name without case and width, for comparing."""
    return unicodedata.normalize("NFKC", name).casefold()


def _platform_name(name: str, allowed: Collection[str], *, field: str, may_be_new: bool = False) -> str:
    """The name of a platform that exists, or of a new one as it is written.

    Raises InvalidAddress where it is neither, with the name that was probably meant.
    """
    plain = name if name in allowed else normalized(name)
    if plain in PLATFORMS or plain in allowed:
        return plain
    closest = ALIASES.get(plain) or next(iter(get_close_matches(plain, [*PLATFORMS, *allowed], n=1, cutoff=0.75)), None)
    if closest is not None:
        text = _("The platform “%(name)s” is not known here; did you mean “%(meant)s”?")
        raise InvalidAddress(text % {"name": name, "meant": closest}, field=field)
    if may_be_new:
        return plain
    text = _("The platform “%(name)s” is not known here. Known are %(platforms)s, and those of channels.")
    raise InvalidAddress(text % {"name": name, "platforms": ", ".join(PLATFORMS)}, field=field)


def _has_scopes(workspace_id: int, platform: str) -> bool:
    """Whether a workspace has a scope of this platform, from before names were checked."""
    scopes = Scope.objects.in_workspace(workspace_id)
    return any(scopes.filter(key__startswith=start).exists() for start in starts_of_keys(platform))
