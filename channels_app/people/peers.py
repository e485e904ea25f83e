"""Peers by name, as telegram:u42, and the scopes that are theirs alone, whatever rules their channels had (E1)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from channels_app.models import Channel, Identity
from memories.choices import DmScope
from memories.exceptions import PlatformError
from memories.tenancy.keys import key_of_peer
from memories.tenancy.resolver import Address, ChannelRules, resolve
from sessions_app.models import Session

_OWN = [rule for rule in DmScope if rule != DmScope.MAIN]


class PeopleUnclear(PlatformError):
    """These cannot be one person."""

    field = "person"


@dataclass(frozen=True, order=True)
class Peer:
    """A peer of a platform, as people name one."""

    platform: str
    peer: str

    @classmethod
    def parse(cls, name: str) -> "Peer":
        """The peer in `telegram:u42`. Raises PeopleUnclear."""
        platform, _colon, peer = name.strip().partition(":")
        if not platform or not peer.strip() or "\0" in name:
            raise PeopleUnclear(_("Name a person by platform and id, as telegram:u42."))
        return cls(platform, peer.strip())

    def __str__(self) -> str:
        return f"{self.platform}:{self.peer}"

    @property
    def own_key(self) -> str:
        """The memory of this peer alone, where one memory a person is kept."""
        return key_of_peer(self.platform, self.peer)

    def keys(self, accounts: Iterable[str]) -> set[str]:
        """The keys of all its own scopes, with these accounts of ours. Raises InvalidAddress."""
        places = [Address(platform=self.platform, account=account, peer=self.peer) for account in {"", *accounts}]
        found = {resolve(place, ChannelRules(dm_scope=rule)).user_scope for place in places for rule in _OWN}
        return {key for key in found if key}


def identities_of(workspace_id: int, peers: Collection[Peer]) -> list[Identity]:
    """The identities of these peers, each with its person, as far as anything was ever noted of whose they are."""
    names = {"platform__in": {peer.platform for peer in peers}, "peer__in": {peer.peer for peer in peers}}
    found = Identity.objects.filter(workspace_id=workspace_id, **names).select_related("person").order_by("pk")
    return [one for one in found if Peer(one.platform, one.peer) in peers]


def with_linked(workspace_id: int, peers: Collection[Peer]) -> list[Peer]:
    """These peers and all that are linked to the same people."""
    people = {one.person_id for one in identities_of(workspace_id, peers)}
    others = Identity.objects.filter(workspace_id=workspace_id, person__in=people).order_by("pk")
    return list(dict.fromkeys([*peers, *(Peer(*one) for one in others.values_list("platform", "peer"))]))


def own_keys(workspace_id: int, peers: Collection[Peer], *, of_sessions: bool = False) -> list[str]:
    """The keys of all scopes that belong to these peers alone, and to the people they are linked to.

    Our accounts on a platform are those of channels; `of_sessions`: also those only a session remembers. Raises
    InvalidAddress.
    """
    keys = {identity.person.scope_key for identity in identities_of(workspace_id, peers)}
    keys |= {identity.unused_key for identity in identities_of(workspace_id, peers) if identity.unused_key}
    for platform in {peer.platform for peer in peers}:
        accounts = accounts_on(workspace_id, platform, of_sessions=of_sessions)
        keys |= {key for peer in peers if peer.platform == platform for key in peer.keys(accounts)}
    return sorted(keys)


def accounts_on(workspace_id: int, platform: str, *, of_sessions: bool = False) -> set[str]:
    """Our accounts on a platform."""
    channels = Channel.objects.filter(workspace_id=workspace_id, platform=platform).values_list("account", flat=True)
    sessions = Session.objects.filter(workspace_id=workspace_id, platform=platform).values_list("account", flat=True)
    return {*channels, *(sessions.distinct() if of_sessions else ())}
