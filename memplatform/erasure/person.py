"""Who a person is: identities, each a platform and the id it knows them by, and the scopes that are theirs alone."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext as _

from channels_app.people import peers
from channels_app.people.peers import Peer, PeopleUnclear, identities_of, with_linked
from memories.choices import ScopeKind
from memories.entries import suppression
from memories.exceptions import InvalidAddress, PlatformError
from memories.models import Entry, Erasure, Scope, Workspace
from sessions_app.models import SessionEvent

FOUND_MOST = 50  # people a search lists


class PersonUnclear(PlatformError):
    """A person is named by platform and id, as telegram:u42."""

    field = "person"


@dataclass(frozen=True, order=True)
class Identity(Peer):
    """A person as one platform knows them; `shared` is the memory they have with those they are linked to."""

    shared: str = ""

    @classmethod
    def parse(cls, name: str) -> "Identity":
        """The identity in `telegram:u42`. Raises PersonUnclear."""
        try:
            peer = Peer.parse(name)
        except PeopleUnclear as problem:
            raise PersonUnclear from problem
        return cls(peer.platform, peer.peer)

    __str__ = Peer.__str__


@dataclass(frozen=True)
class Found:
    """Somebody a search found, with what shows who it is."""

    identity: Identity
    names: tuple[str, ...]
    memories: int


def linked(workspace: Workspace, identities: Iterable[Identity]) -> list[Identity]:
    """These identities, and all that are linked to the same person: who is erased is erased whole.

    Raises PersonUnclear where nobody is named.
    """
    named = [Peer(identity.platform, identity.peer) for identity in identities]
    if not named:
        raise PersonUnclear(_("Name a person by platform and id, as telegram:u42."))
    every = with_linked(workspace.pk, named)
    keys_by_peer = {
        Peer(identity.platform, identity.peer): identity.person.scope_key
        for identity in identities_of(workspace.pk, every)
    }
    return [Identity(peer.platform, peer.peer, keys_by_peer.get(peer, "")) for peer in every]


def as_json(identities: Iterable[Identity]) -> list[dict[str, str]]:
    """As an erasure keeps them while it runs."""
    return [
        {
            "platform": identity.platform,
            "peer": identity.peer,
            **({"shared": identity.shared} if identity.shared else {}),
        }
        for identity in identities
    ]


def from_json(rows: Iterable[dict[str, str]]) -> list[Identity]:
    """What `as_json` was given."""
    return [Identity(**row) for row in rows]


def hashes(workspace_id: int, identities: Iterable[Identity]) -> list[str]:
    """By which a name can be compared with a certificate."""
    return sorted(suppression.of_person(workspace_id, identity.platform, identity.peer) for identity in identities)


def own_keys(workspace: Workspace, identities: Iterable[Identity]) -> list[str]:
    """The keys of all scopes that are a person's alone, whatever rules their channels had. Raises PersonUnclear."""
    every = list(identities)
    try:
        keys = peers.own_keys(workspace.pk, [Peer(identity.platform, identity.peer) for identity in every])
    except InvalidAddress as problem:
        raise PersonUnclear(str(problem)) from problem
    return sorted({*keys, *(identity.shared for identity in every if identity.shared)})


def keys_of(erasure: Erasure) -> list[str]:
    """The same of the person an erasure is about."""
    return own_keys(erasure.workspace, from_json(erasure.identities))


def peers_of(erasure: Erasure) -> set[str]:
    """The ids platforms know that person by."""
    return {identity["peer"] for identity in erasure.identities}


def search(workspace: Workspace, words: str) -> list[Found]:
    """People of a workspace by their id, the key of their memory, or the name they are called by."""
    words = words.strip()
    if not words:
        return []
    names_by_identity: dict[Identity, set[str]] = {}
    with suppress(PersonUnclear):
        names_by_identity.setdefault(Identity.parse(words), set())
    messages = SessionEvent.objects.filter(workspace=workspace, sender_id__icontains=words).order_by()
    for platform, peer in messages.values_list("session__platform", "sender_id").distinct()[:FOUND_MOST]:
        if platform:
            names_by_identity.setdefault(Identity(platform, peer), set())
    entries = Entry.objects.filter(workspace=workspace).exclude(sender_id="").exclude(channel="").order_by()
    by_name = entries.filter(Q(speaker__icontains=words) | Q(sender_id__icontains=words))
    for platform, peer, speaker in by_name.values_list("channel", "sender_id", "speaker").distinct()[:FOUND_MOST]:
        names_by_identity.setdefault(Identity(platform, peer), set()).update([speaker] if speaker else [])
    people = []
    for identity, names in sorted(names_by_identity.items()):
        by_sender = Entry.objects.filter(workspace=workspace, channel=identity.platform, sender_id=identity.peer)
        own = Scope.objects.filter(workspace=workspace, key__in=own_keys(workspace, [identity]), kind=ScopeKind.USER)
        memories = Entry.objects.filter(Q(pk__in=by_sender) | Q(scope__in=own), workspace=workspace).count()
        own_messages = SessionEvent.objects.filter(workspace=workspace, sender_id=identity.peer)
        if memories or own or own_messages.exists():
            people.append(Found(identity, tuple(sorted(names)), memories))
    return people
