"""Which person speaks: asked with the channel of a message, in the same statement, so that no call takes one more."""

from typing import Any

from django.db.models import CharField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast

from channels_app.models import Channel, Identity
from memories.tenancy.resolver import Address


def linked(workspace_id: Any, platform: Any, peer: str) -> QuerySet[Identity]:
    """The identity of a peer that is linked, if there is one."""
    found = Identity.objects.filter(workspace_id=workspace_id, platform=platform, peer=peer)
    return found.filter(person__united_at__isnull=False)


def with_person(channels: QuerySet[Channel], peer: str) -> QuerySet[Channel]:
    """Channels with the linked person that a peer is there: `person`, None where the peer is one of its own.

    Without a peer they say nothing of it.
    """
    if not peer:
        return channels
    there = linked(OuterRef("workspace_id"), OuterRef("platform"), peer)
    return channels.annotate(person=Subquery(there.annotate(who=Cast("person__key", CharField())).values("who")[:1]))


def person_of(workspace_id: int, address: Address) -> str:
    """The linked person who speaks in a direct chat; empty: a peer who is a person of its own."""
    keys = linked(workspace_id, address.platform, address.peer).values_list("person__key", flat=True)
    return str(keys.first() or "")


def linked_people(workspace_id: int) -> dict[str, str]:
    """All linked peers of a workspace, each with its person."""
    rows = Identity.objects.filter(workspace_id=workspace_id, person__united_at__isnull=False)
    found = rows.values_list("platform", "peer", "person__key")
    return {f"{platform}:{peer}": str(key) for platform, peer, key in found}
