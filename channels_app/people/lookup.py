"""Which person speaks: asked with the channel of a message, in the same statement, so that no call takes one more."""

from typing import Any

from django.db.models import QuerySet

from channels_app.models import Channel, Identity
from memories import prepared
from memories.tenancy.resolver import Address

#: Peers that a search by a name takes.
_NAMED_MOST = 500
#: Written out: to have it made from a query set takes longer than to ask it.
_CHANNEL = f"""
SELECT (
    SELECT p.key::text FROM channels_app_identity i JOIN channels_app_person p ON p.id = i.person_id
    WHERE i.workspace_id = c.workspace_id AND i.platform = c.platform AND i.peer = %(peer)s::text
        AND p.united_at IS NOT NULL LIMIT 1), {prepared.columns(Channel, "c")}
FROM channels_app_channel c
WHERE c.workspace_id = %(workspace)s::bigint AND c.platform = %(platform)s::text AND c.account = %(account)s::text
"""  # noqa: S608 (names of ours)


def linked(workspace_id: Any, platform: Any, peer: str) -> QuerySet[Identity]:
    """The identity of a peer that is linked, if there is one."""
    found = Identity.objects.filter(workspace_id=workspace_id, platform=platform, peer=peer)
    return found.filter(person__united_at__isnull=False)


def channel_with_person(workspace_id: int, platform: str, account: str, peer: str) -> Channel | None:
    """The channel of this platform and account, if there is one, with the linked person that a peer is there.

    That is its `person`: None where the peer is one of its own. Without a peer it says nothing of it.
    """
    asked: dict[str, Any] = {"workspace": workspace_id, "platform": platform, "account": account, "peer": peer}
    rows = prepared.rows(_CHANNEL, asked)
    if not rows:
        return None
    person, *columns = rows[0]
    channel = prepared.instance(Channel, columns)
    if peer:
        channel.person = person  # type: ignore[attr-defined]
    return channel


def person_of(workspace_id: int, address: Address) -> str:
    """The linked person who speaks in a direct chat; empty: a peer who is a person of its own."""
    keys = linked(workspace_id, address.platform, address.peer).values_list("person__key", flat=True)
    return str(keys.first() or "")


def peers_called(words: str, workspaces: frozenset[int] | None) -> list[tuple[int, str, str]]:
    """The peers of people whom operators call by a part of a name; None: in all workspaces. A name finder."""
    named = Identity.objects.filter(person__name__icontains=words)
    if workspaces is not None:
        named = named.filter(workspace_id__in=workspaces)
    return list(named.order_by("-pk").values_list("workspace_id", "platform", "peer")[:_NAMED_MOST])


def linked_people(workspace_id: int) -> dict[str, str]:
    """All linked peers of a workspace, each with its person."""
    rows = Identity.objects.filter(workspace_id=workspace_id, person__united_at__isnull=False)
    found = rows.values_list("platform", "peer", "person__key")
    return {f"{platform}:{peer}": str(key) for platform, peer, key in found}
