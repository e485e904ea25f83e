"""Who is whom: peers of several platforms linked to one person, and separated again; the memory follows (E1)."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.db import transaction
from django.utils.translation import gettext as _

from channels_app.doors.files import cards
from channels_app.models import Channel, Consent, Identity, Person
from channels_app.people.peers import Peer, PeopleUnclear
from memories.choices import DmScope
from memories.exceptions import ScopeFrozen
from memories.models import Scope, Workspace
from memories.models.change import acting

#: Identities one person may have.
PEERS_MOST = 20


def identity_of(workspace_id: int, peer: Peer) -> Identity | None:
    """The identity of a peer, if anything was ever noted of whose it is."""
    there = Identity.objects.filter(workspace_id=workspace_id, platform=peer.platform, peer=peer.peer)
    return there.select_related("person").first()


def person_for(workspace_id: int, peer: Peer) -> Person:
    """The person of a peer; one of its own is begun where nothing was noted yet. In a transaction of the actor."""
    if found := identity_of(workspace_id, peer):
        return found.person
    person = Person.objects.create(workspace_id=workspace_id)
    Identity.objects.create(
        workspace_id=workspace_id,
        person=person,
        platform=peer.platform,
        peer=peer.peer,
    )
    return person


def link(workspace: Workspace, peers: Sequence[Peer], *, name: str = "", actor: str, now: datetime) -> Person:
    """Make these peers, and those linked to one of them, one person's; from now on a turn goes to their memory.

    What was remembered before is carried over afterwards. Raises PeopleUnclear, ScopeFrozen.
    """
    with transaction.atomic(), acting(actor):
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        check(workspace.pk, peers)
        peers = list(dict.fromkeys(peers))
        people = [person_for(workspace.pk, peer) for peer in peers]
        person = next((one for one in people if one.united_at), people[0])
        person.name = name or next((one.name for one in [person, *people] if one.name), "")
        person.united_at = person.united_at or now
        person.save(update_fields=["name", "united_at"])
        for other in {one.pk: one for one in people if one.pk != person.pk}.values():
            _absorb(person, other)
        for identity in Identity.objects.filter(workspace_id=workspace.pk, person=person):
            if identity.unused_key != identity.own_key:  # it is new here
                _turn_to(identity, identity.own_key, now)
        transaction.on_commit(partial(cards.forget_channels, workspace.pk))
    return person


def keep_one_memory_a_person(channels: Sequence[Channel], *, actor: str) -> None:
    """From the next message on these channels keep one memory a person; what was remembered stays where it is."""
    with transaction.atomic(), acting(actor):
        for channel in channels:
            channel.dm_scope = DmScope.PER_PEER
            channel.save(update_fields=["dm_scope"])
            transaction.on_commit(partial(cards.forget_channels, channel.workspace_id))


def check(workspace_id: int, peers: Sequence[Peer]) -> None:
    """Raises PeopleUnclear where these cannot be one person, and ScopeFrozen where a memory may not be changed."""
    if len(set(peers)) < 2:
        raise PeopleUnclear(_("Name two identities or more."))
    if len(set(peers)) > PEERS_MOST:
        raise PeopleUnclear(_("A person has at most %(most)d identities.") % {"most": PEERS_MOST})
    known = [found for peer in peers if (found := identity_of(workspace_id, peer))]
    united = {one.person_id for one in known if one.person.united_at}
    if len(united) > 1:
        raise PeopleUnclear(_("Some of them are linked to different people: unlink them there first."))
    keys = {peer.own_key for peer in peers} | {one.person.scope_key for one in known}
    if Scope.objects.filter(workspace_id=workspace_id, key__in=keys, frozen=True).exists():
        raise ScopeFrozen


def _absorb(person: Person, other: Person) -> None:
    """What was noted of a person who turned out to be another."""
    Identity.objects.filter(workspace_id=person.workspace_id, person=other).update(person=person)
    Consent.objects.filter(workspace_id=person.workspace_id, person=other).update(person=person)
    if other.note:
        person.note = "\n".join(filter(None, [person.note, other.note]))[:2_000]
        person.save(update_fields=["note"])
    other.delete()


def _turn_to(identity: Identity, unused_key: str, now: datetime) -> None:
    """From now on its turns go to another memory than this."""
    identity.unused_key, identity.since, identity.carried_version = unused_key, now, None
    identity.save(update_fields=["person", "unused_key", "since", "carried_version"])


def separate(identity: Identity, *, actor: str, now: datetime) -> Identity:
    """Make a peer a person of its own again; the last one left keeps its person, with a memory of its own.

    From now on its turns go to its own memory. Raises PeopleUnclear where it is not linked, ScopeFrozen.
    """
    with transaction.atomic(), acting(actor):
        Workspace.objects.select_for_update(no_key=True).get(pk=identity.workspace_id)
        identity = Identity.objects.select_related("person").get(pk=identity.pk)
        person = identity.person
        if person.united_at is None:
            raise PeopleUnclear(_("This identity is not linked."))
        shared_key = person.scope_key
        keys = {identity.own_key, shared_key}
        if Scope.objects.filter(workspace_id=identity.workspace_id, key__in=keys, frozen=True).exists():
            raise ScopeFrozen
        if Identity.objects.filter(workspace_id=identity.workspace_id, person=person).exclude(pk=identity.pk).exists():
            identity.person = Person.objects.create(workspace_id=identity.workspace_id)
        else:
            person.united_at = None
            person.save(update_fields=["united_at"])
        _turn_to(identity, shared_key, now)
        transaction.on_commit(partial(cards.forget_channels, identity.workspace_id))
    return identity
