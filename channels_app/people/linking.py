"""Linking a person's accounts, and taking one apart again: who belongs to whom; the memory follows (uniting) (E1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.db import transaction
from django.utils.translation import gettext as _

from channels_app.file_mode import cards
from channels_app.models import Consent, Identity, Person
from memories.exceptions import PlatformError, ScopeFrozen
from memories.models import Scope, Workspace
from memories.models.change import acting
from memories.tenancy.keys import key_of_peer

#: Accounts one person may have.
ACCOUNTS_MOST = 20


class PeopleUnclear(PlatformError):
    """These accounts cannot be linked."""

    field = "accounts"


@dataclass(frozen=True, order=True)
class Account:
    """A peer of a platform, as people name it: telegram:u42."""

    platform: str
    peer: str

    @classmethod
    def parse(cls, name: str) -> "Account":
        """The account in `telegram:u42`. Raises PeopleUnclear."""
        platform, _colon, peer = name.strip().partition(":")
        if not platform or not peer.strip() or "\0" in name:
            raise PeopleUnclear(_("Name an account by platform and id, as telegram:u42."))
        return cls(platform, peer.strip())

    def __str__(self) -> str:
        return f"{self.platform}:{self.peer}"

    @property
    def scope_key(self) -> str:
        """The memory of this peer alone, where one memory a person is kept."""
        return key_of_peer(self.platform, self.peer)


def identity_of(workspace_id: int, account: Account) -> Identity | None:
    """The row of an account, if anything was ever noted of whose it is."""
    there = Identity.objects.filter(workspace_id=workspace_id, platform=account.platform, peer=account.peer)
    return there.select_related("person").first()


def person_for(workspace_id: int, account: Account) -> Person:
    """The person of an account; one of its own is begun where nothing was noted yet. In a transaction of the actor."""
    if found := identity_of(workspace_id, account):
        return found.person
    person = Person.objects.create(workspace_id=workspace_id)
    Identity.objects.create(
        workspace_id=workspace_id,
        person=person,
        platform=account.platform,
        peer=account.peer,
    )
    return person


def link(workspace: Workspace, accounts: Sequence[Account], *, name: str = "", actor: str, now: datetime) -> Person:
    """Make these accounts, and those linked to one of them, one person's; from now on a turn goes to their memory.

    What was remembered before is carried over afterwards. Raises PeopleUnclear, ScopeFrozen.
    """
    with transaction.atomic(), acting(actor):
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        check(workspace.pk, accounts)
        accounts = list(dict.fromkeys(accounts))
        people = [person_for(workspace.pk, account) for account in accounts]
        person = next((one for one in people if one.united_at), people[0])
        person.name = name or next((one.name for one in [person, *people] if one.name), "")
        person.united_at = person.united_at or now
        person.save(update_fields=["name", "united_at"])
        for other in {one.pk: one for one in people if one.pk != person.pk}.values():
            _absorb(person, other)
        for identity in Identity.objects.filter(workspace_id=workspace.pk, person=person):
            if identity.unused_key != identity.own_key:  # it is new here
                _turn_to(identity, identity.own_key, now)
        Scope.objects.begin(workspace.pk, person.scope_key, "user")
        transaction.on_commit(partial(cards.forget_channels, workspace.pk))
    return person


def check(workspace_id: int, accounts: Sequence[Account]) -> None:
    """Raises PeopleUnclear where these cannot be one person, and ScopeFrozen where a memory may not be changed."""
    if len(set(accounts)) < 2:
        raise PeopleUnclear(_("Name two accounts or more."))
    if len(set(accounts)) > ACCOUNTS_MOST:
        raise PeopleUnclear(_("A person has at most %(most)d accounts.") % {"most": ACCOUNTS_MOST})
    known = [found for account in accounts if (found := identity_of(workspace_id, account))]
    united = {one.person_id for one in known if one.person.united_at}
    if len(united) > 1:
        raise PeopleUnclear(_("Some of them are linked to different people: unlink them there first."))
    keys = {account.scope_key for account in accounts} | {one.person.scope_key for one in known}
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
    """Make an account a person of its own again; the last one left keeps its person, with a memory of its own.

    From now on its turns go to its own memory. Raises PeopleUnclear where it is not linked, ScopeFrozen.
    """
    with transaction.atomic(), acting(actor):
        Workspace.objects.select_for_update(no_key=True).get(pk=identity.workspace_id)
        identity = Identity.objects.select_related("person").get(pk=identity.pk)
        person = identity.person
        if person.united_at is None:
            raise PeopleUnclear(_("This account is not linked."))
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
