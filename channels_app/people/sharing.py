"""One memory for all direct chats is for a bot with a single owner; several people who share it is a leak (E1)."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from channels_app.models import Channel
from channels_app.people.peers import Peer, identities_of
from channels_app.people.previews import rule_of
from memories.choices import DmScope
from memories.models import Entry
from memories.tenancy.platforms import LOCAL_PLATFORMS

#: What is older says nothing about who writes now.
LOOKED_AT = timedelta(days=30)


def shares_one_memory(channel: Channel) -> bool:
    """Whether all direct chats of a channel that others can write to share one memory."""
    return rule_of(channel) == DmScope.MAIN and channel.platform not in LOCAL_PLATFORMS


def people_sharing(channels: Iterable[Channel], *, now: datetime) -> dict[tuple[int, str], int]:
    """By workspace and platform, how many people wrote to the one memory lately; those who are linked count once.

    A memory names only its platform: channels of one platform are counted together.
    """
    places = {(channel.workspace_id, channel.platform) for channel in channels if shares_one_memory(channel)}
    said = Entry.objects.filter(scope__key="main", created_at__gt=now - LOOKED_AT).exclude(sender_id="")
    peers: defaultdict[int, set[Peer]] = defaultdict(set)
    for workspace, platform in places:
        here = said.filter(workspace_id=workspace, channel=platform).order_by()
        peers[workspace].update(Peer(platform, peer) for peer in here.values_list("sender_id", flat=True).distinct())
    counts: defaultdict[tuple[int, str], int] = defaultdict(int)
    for workspace, found in peers.items():
        known = {Peer(one.platform, one.peer): one.person_id for one in identities_of(workspace, found)}
        for platform, _person in {(peer.platform, known.get(peer, str(peer))) for peer in found}:
            counts[workspace, platform] += 1
    return dict(counts)
