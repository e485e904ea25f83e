"""Peers by name, as telegram:u42, the scopes that are theirs alone (E1), and which person a peer is."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from channels_app.models import Channel, Identity
from memories import postgresql
from memories.choices import DmScope
from memories.exceptions import PlatformError
from memories.tenancy.resolver import Address, ChannelRules, key_of_peer, resolve
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
        keys = {resolve(place, ChannelRules(dm_scope=rule)).user_scope for place in places for rule in _OWN}
        return {key for key in keys if key}


def identities_of(workspace_id: int, peers: Collection[Peer]) -> list[Identity]:
    """The identities of these peers, each with its person, as far as anything was ever noted of whose they are."""
    names = {"platform__in": {peer.platform for peer in peers}, "peer__in": {peer.peer for peer in peers}}
    identities = Identity.objects.filter(workspace_id=workspace_id, **names).select_related("person").order_by("pk")
    return [identity for identity in identities if Peer(identity.platform, identity.peer) in peers]


def with_linked(workspace_id: int, peers: Collection[Peer]) -> list[Peer]:
    """These peers and all that are linked to the same people."""
    people = {identity.person_id for identity in identities_of(workspace_id, peers)}
    others = Identity.objects.filter(workspace_id=workspace_id, person__in=people).order_by("pk")
    return list(dict.fromkeys([*peers, *(Peer(*names) for names in others.values_list("platform", "peer"))]))


def own_keys(workspace_id: int, peers: Collection[Peer]) -> list[str]:
    """The keys of all scopes that belong to these peers alone, and to the people they are linked to.

    Our accounts on a platform are those of channels, and those only a session remembers. Raises InvalidAddress.
    """
    identities = identities_of(workspace_id, peers)
    keys = {identity.person.scope_key for identity in identities}
    keys |= {identity.unused_key for identity in identities if identity.unused_key}
    for platform in {peer.platform for peer in peers}:
        place: dict[str, Any] = {"workspace_id": workspace_id, "platform": platform}
        accounts = set(Channel.objects.filter(**place).values_list("account", flat=True))
        accounts |= set(Session.objects.filter(**place).values_list("account", flat=True).distinct())
        keys |= {key for peer in peers if peer.platform == platform for key in peer.keys(accounts)}
    return sorted(keys)


#: Peers that a search by a name takes.
_NAMED_MOST = 500
#: Written out: to have it made from a query set takes longer than to ask it.
_CHANNEL = f"""
SELECT (
    SELECT p.key::text FROM channels_app_identity i JOIN channels_app_person p ON p.id = i.person_id
    WHERE i.workspace_id = c.workspace_id AND i.platform = c.platform AND i.peer = %(peer)s::text
        AND p.united_at IS NOT NULL LIMIT 1), {postgresql.columns(Channel, "c")}
FROM channels_app_channel c
WHERE c.workspace_id = %(workspace)s::bigint AND c.platform = %(platform)s::text AND c.account = %(account)s::text
"""  # noqa: S608 (names of ours)


def linked(workspace_id: Any, platform: Any, peer: str) -> QuerySet[Identity]:
    """The identity of a peer that is linked, if there is one."""
    identities = Identity.objects.filter(workspace_id=workspace_id, platform=platform, peer=peer)
    return identities.filter(person__united_at__isnull=False)


def channel_with_person(workspace_id: int, platform: str, account: str, peer: str) -> Channel | None:
    """The channel of this platform and account, if there is one, with the linked person that a peer is there.

    That is its `person`: None where the peer is one of its own. Without a peer it says nothing of it.
    """
    parameters: dict[str, Any] = {"workspace": workspace_id, "platform": platform, "account": account, "peer": peer}
    rows = postgresql.rows(_CHANNEL, parameters)
    if not rows:
        return None
    person, *columns = rows[0]
    channel = postgresql.instance(Channel, columns)
    if peer:
        channel.person = person  # type: ignore[attr-defined]
    return channel


def person_of(workspace_id: int, address: Address) -> str:
    """The linked person who speaks in a direct chat; empty: a peer who is a person of its own."""
    keys = linked(workspace_id, address.platform, address.peer).values_list("person__key", flat=True)
    return str(keys.first() or "")


def peers_called(words: str, workspaces: frozenset[int] | None) -> list[tuple[int, str, str]]:
    """The peers of people whom operators call by a part of a name; None: in all workspaces. A name finder."""
    identities = Identity.objects.filter(person__name__icontains=words)
    if workspaces is not None:
        identities = identities.filter(workspace_id__in=workspaces)
    return list(identities.order_by("-pk").values_list("workspace_id", "platform", "peer")[:_NAMED_MOST])
