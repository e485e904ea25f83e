"""What linking or unlinking would do, before anybody confirms it: figures, and nothing is changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from channels_app.models import Channel, Identity
from channels_app.people import linking, uniting
from channels_app.people.peers import Peer, identities_of, with_linked
from memories.batches import changed_since
from memories.choices import BatchVerb, ChangeState, DmScope, ScopeKind
from memories.conf import conf
from memories.models import BatchChange, DailyEvent, Entry, Scope, Workspace
from memories.tenancy.keys import DIRECT, escape, joined

#: What memories have in common of which the door keeps one (memories.entries.duplicates).
_ALIKE = ("type", "fingerprint", "chat_id", "sender_id", "speaker", "project", "topic")


@dataclass(frozen=True)
class SourceScope:
    """A memory that would be carried over to the person's."""

    peer: Peer
    key: str
    entries: int  # in use
    in_files: int  # of these: lines of files, which are copied
    days: int


@dataclass(frozen=True)
class RuleOffer:
    """A channel that keeps its memories apart, and what one memory a person would leave behind there."""

    channel: Channel
    people: int  # who have a memory under the rule of now
    entries: int  # what these hold: it stays there, and is not asked any more


@dataclass(frozen=True)
class LinkPreview:
    """What a link would carry over."""

    peers: list[Peer]
    sources: list[SourceScope]
    same: int  # memories that say what another of them says word for word: one of them stays
    united: list[Channel]  # where the memory becomes one
    apart: list[RuleOffer]  # where each keeps their own, by the channel's rule

    @property
    def entries(self) -> int:
        return sum(one.entries for one in self.sources)


@dataclass(frozen=True)
class UnlinkPreview:
    """What an unlinking would carry back, and what stays."""

    back: int  # memories that go back to where they were
    changed: int  # of those carried over, changed since: they stay with the person as they are, too
    along: int  # what it said since
    stays: int  # of the person: what others said, and what was drawn from all of them
    is_last: bool  # then everything goes along


def preview_link(workspace: Workspace, named: Sequence[Peer]) -> LinkPreview:
    """Raises PeopleUnclear, ScopeFrozen."""
    linking.check(workspace.pk, named)
    peers = with_linked(workspace.pk, named)
    known = {Peer(one.platform, one.peer): one for one in identities_of(workspace.pk, peers)}
    new = [peer for peer in peers if not (peer in known and known[peer].person.united_at)]
    shared = {one.person.scope_key for one in known.values() if one.person.united_at}
    scopes = {
        scope.key: scope for scope in Scope.objects.in_workspace(workspace.pk).filter(key__in=[p.own_key for p in new])
    }
    channels = _channels(workspace, peers)
    return LinkPreview(
        peers=peers,
        sources=[_source(peer, scopes[peer.own_key]) for peer in new if peer.own_key in scopes],
        same=_said_twice(workspace, [*scopes, *shared]),
        united=[channel for channel in channels if rule_of(channel) == DmScope.PER_PEER],
        apart=[_offer(channel) for channel in channels if rule_of(channel) != DmScope.PER_PEER],
    )


def rule_of(channel: Channel) -> str:
    """How far a channel keeps the memories of direct chats apart, of people who have an id there."""
    return str(channel.dm_scope or conf.DM_SCOPE)


def _channels(workspace: Workspace, peers: Sequence[Peer]) -> list[Channel]:
    platforms = {peer.platform for peer in peers}
    return list(Channel.objects.filter(workspace=workspace, platform__in=platforms).order_by("platform", "account"))


def _offer(channel: Channel) -> RuleOffer:
    """What a channel's memories of direct chats are, by the rule of now."""
    places = {
        DmScope.MAIN: "main",
        DmScope.PER_CHANNEL_PEER: joined(escape(channel.platform), DIRECT),
        DmScope.PER_ACCOUNT_CHANNEL_PEER: joined(escape(channel.platform), escape(channel.account), DIRECT),
    }
    scopes = Scope.objects.in_workspace(channel.workspace_id).filter(kind=ScopeKind.USER, entry_count__gt=0)
    found = scopes.filter(key__startswith=places[DmScope(rule_of(channel))])
    return RuleOffer(channel, **found.aggregate(people=Count("*"), entries=Coalesce(Sum("entry_count"), 0)))


def _source(peer: Peer, scope: Scope) -> SourceScope:
    live = Entry.objects.in_scope(scope).live().aggregate(n=Count("*"), files=Count("pk", filter=~Q(path="")))
    days = DailyEvent.objects.filter(workspace_id=scope.workspace_id, scope=scope, expired_at=None).count()
    return SourceScope(peer, scope.key, live["n"], live["files"], days)


def _said_twice(workspace: Workspace, keys: Sequence[str]) -> int:
    """How many memories of these scopes say what one before them says, by the same sender in the same chat."""
    live = Entry.objects.live().filter(workspace=workspace, scope__key__in=keys).order_by()
    alike = live.values(*_ALIKE).annotate(n=Count("*")).filter(n__gt=1)
    return int(alike.aggregate(more=Sum("n") - Count("*"))["more"] or 0)


def preview_unlink(identity: Identity) -> UnlinkPreview:
    """What would go back and what would stay; counted in the batches that carried it over."""
    batches = uniting.linking_batches(identity)
    there = [batch for batch in batches if batch.scope and batch.scope.key == identity.own_key]
    here = [batch for batch in batches if batch.scope and batch.scope.key == identity.used_key]
    back = BatchChange.objects.filter(batch__in=there, state=ChangeState.APPLIED).count()
    changed = sum(len(changed_since(batch)) for batch in here)
    made = BatchChange.objects.filter(
        batch__in=here, verb=BatchVerb.CREATE, state=ChangeState.APPLIED, note="", entry__isnull=False
    )
    others = Entry.objects.live().filter(workspace_id=identity.workspace_id, scope__key=identity.used_key)
    others = others.exclude(pk__in=made.values("entry"))
    is_last = not Identity.objects.filter(person=identity.person_id).exclude(pk=identity.pk).exists()
    along = others.count() if is_last else others.filter(uniting.said_by(identity)).count()
    return UnlinkPreview(back, changed, along, others.count() - along, is_last)
