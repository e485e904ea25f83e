"""Who is whom: peers linked to a person and unlinked again, what that would do, and their memory that follows (E1)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

import structlog
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django_q.tasks import async_task

from channels_app import cards
from channels_app.models import Channel, Consent, Identity, Person
from channels_app.people.peers import Peer, PeopleUnclear, identities_of, with_linked
from channels_app.people.taken_out import TakenOut
from memories import batches, postgresql
from memories.batches import changed_since
from memories.batches.moving import Carrying, carry_over
from memories.choices import BatchState, BatchVerb, ChangeState, DmScope, ScopeKind
from memories.conf import conf
from memories.entries import suppression
from memories.exceptions import BatchBusy, BatchSettled, NothingToUndo, PlatformError, ScopeFrozen
from memories.models import Batch, BatchChange, DailyEvent, Entry, Scope, Suppression, Workspace
from memories.models.change import acting
from memories.models.entry import EntryQuerySet
from memories.offline import replicas
from memories.tenancy.resolver import DIRECT, LOCAL_PLATFORMS, escape, joined, owner_of_key

#: Identities one person may have.
PEERS_MOST = 20


def identity_of(workspace_id: int, peer: Peer) -> Identity | None:
    """The identity of a peer, if anything was ever noted of whose it is."""
    there = Identity.objects.filter(workspace_id=workspace_id, platform=peer.platform, peer=peer.peer)
    return there.select_related("person").first()


def person_for(workspace_id: int, peer: Peer) -> Person:
    """The person of a peer; one of its own is begun where nothing was noted yet. In a transaction of the actor."""
    if identity := identity_of(workspace_id, peer):
        return identity.person
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

    What was remembered before is carried over afterwards. Raises PeopleUnclear, also while one of them was unlinked and
    its memories are on their way back, and ScopeFrozen.
    """
    with transaction.atomic(), acting(actor):
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        check(workspace.pk, peers, now=now)
        peers = list(dict.fromkeys(peers))
        people = [person_for(workspace.pk, peer) for peer in peers]
        person = next((candidate for candidate in people if candidate.united_at), people[0])
        person.name = name or next((candidate.name for candidate in [person, *people] if candidate.name), "")
        person.united_at = person.united_at or now
        person.save(update_fields=["name", "united_at"])
        for other in {candidate.pk: candidate for candidate in people if candidate.pk != person.pk}.values():
            # What was noted of a person who turned out to be another
            Identity.objects.filter(workspace_id=person.workspace_id, person=other).update(person=person)
            Consent.objects.filter(workspace_id=person.workspace_id, person=other).update(person=person)
            if other.note:
                person.note = "\n".join(filter(None, [person.note, other.note]))[:2_000]
                person.save(update_fields=["note"])
            other.delete()
        for identity in Identity.objects.filter(workspace_id=workspace.pk, person=person).order_by("pk"):
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


def check(workspace_id: int, peers: Sequence[Peer], *, now: datetime) -> None:
    """Raises PeopleUnclear where these cannot be one person yet, and ScopeFrozen where a memory may not be changed."""
    if len(set(peers)) < 2:
        raise PeopleUnclear(_("Name two identities or more."))
    if len(set(peers)) > PEERS_MOST:
        raise PeopleUnclear(_("A person has at most %(most)d identities.") % {"most": PEERS_MOST})
    identities = [identity for peer in peers if (identity := identity_of(workspace_id, peer))]
    united = {identity.person_id for identity in identities if identity.person.united_at}
    if len(united) > 1:
        raise PeopleUnclear(_("Some of them are linked to different people: unlink them there first."))
    keys = {peer.own_key for peer in peers} | {identity.person.scope_key for identity in identities}
    # An identity has one unused memory: that of the person it was unlinked from is emptied before it has another
    people = {identity.person_id for identity in identities}
    theirs = Identity.objects.filter(workspace_id=workspace_id, person__in=people).exclude(unused_key="")
    unlinked = [identity for identity in theirs if identity.unused_key != identity.own_key]
    keys |= {identity.unused_key for identity in unlinked if identity.carried_version is None}
    if Scope.objects.filter(workspace_id=workspace_id, key__in=keys, frozen=True).exists():
        raise ScopeFrozen
    for identity in waiting(now=now).filter(pk__in=[identity.pk for identity in unlinked]):
        if identity.carried_version is None or count_left(identity):
            raise PeopleUnclear(
                _("An account was unlinked just now; its memories are on their way. Try again in a minute.")
            )


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


log = structlog.get_logger(__name__)
#: Memories of one batch.
AT_ONCE = 500
#: Names of the batches.
LINK, UNLINK = "link", "unlink"
#: For so long after it was unlinked, what a turn that began before wrote in its name is looked for.
LOOKED_FOR = timedelta(days=1)
ACTOR = "job:unite-people"
_LOCK = 14 << 56  # the highest byte of an advisory lock is its kind


def waiting(*, now: datetime) -> QuerySet[Identity]:
    """The identities whose unused memory may hold something of theirs that was not carried over yet."""
    unused = Scope.objects.filter(workspace_id=OuterRef("workspace_id"), key=OuterRef("unused_key"), frozen=False)
    behind = unused.exclude(version=Coalesce(OuterRef("carried_version"), Value(-1)))
    is_due = Q(person__united_at__isnull=False) | Q(since__gt=now - LOOKED_FOR) | Q(carried_version=None)
    due = Identity.objects.exclude(unused_key="").filter(is_due, Exists(behind))
    return due.select_related("person").order_by("pk")


def unite_soon() -> None:
    """Have the worker carry over what waits, once this transaction is over; else it does within a minute."""
    task = "channels_app.tasks.unite_people"
    transaction.on_commit(partial(async_task, task, group="mem:asked", ack_failure=True))


def is_waiting(workspace_id: int, peer: Peer, *, now: datetime) -> bool:
    """Whether memories of a peer, or of those it is linked to, are still on their way to where they are used."""
    people = Identity.objects.filter(workspace_id=workspace_id, platform=peer.platform, peer=peer.peer)
    return waiting(now=now).filter(workspace_id=workspace_id, person__in=people.values("person")).exists()


def was_carried(workspace_id: int, entries: Iterable[Entry]) -> set[int]:
    """Which of these entries, by their keys, came from another memory when accounts were linked or unlinked."""
    batches = {"batch__workspace_id": workspace_id, "batch__name__in": [LINK, UNLINK]}
    creations = BatchChange.objects.filter(verb=BatchVerb.CREATE, **batches)
    return set(creations.filter(entry__in=[entry.pk for entry in entries]).values_list("entry", flat=True))


def unite_waiting(*, now: datetime) -> dict[str, int]:
    """Carry over what waits, of every identity; how many memories, and identities that could not be."""
    counts = {"entries": 0, "failed": 0}
    for identity in waiting(now=now):
        try:
            counts["entries"] += unite(identity, now=now)
        except PlatformError as refusal:  # a frozen memory: it is carried over once it thaws
            counts["failed"] += 1
            log.warning("person.waits", identity=identity.pk, problem=type(refusal).__name__)
    return counts


def count_waiting(*, now: datetime) -> dict[str, int]:
    """How many memories wait to be carried over."""
    return {"entries": sum(count_left(identity) for identity in waiting(now=now)), "failed": 0}


def count_left(identity: Identity) -> int:
    """How many memories of an identity are still to be carried over."""
    scope = _unused_scope(identity)
    return 0 if scope is None else left_in(identity, scope).count()


def unite(identity: Identity, *, now: datetime, actor: str = ACTOR, reason: str = "") -> int:
    """Carry over what the unused memory of an identity holds; how many memories. Raises ScopeFrozen."""
    with postgresql.lock_of_session(_LOCK | identity.pk) as is_mine:
        if not is_mine:
            return 0
        fresh = Identity.objects.select_related("person").filter(pk=identity.pk).exclude(unused_key="").first()
        count = _unite(fresh, now, actor, reason) if fresh else 0
    if fresh:
        replicas.note_write_after_commit(identity.workspace_id)
    return count


def _unite(identity: Identity, now: datetime, actor: str, reason: str) -> int:
    """Look after look until one finds nothing; what is written after its version was read is for another time."""
    scope, count = _unused_scope(identity), 0
    if scope is None:
        return 0
    # Whether there is something to carry over or to put back: memories, days, or what was taken out of use
    is_out = Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope).exists()
    has_rest = left_in(identity, scope).exists() or bool(_days(identity, scope))
    if not (is_out or has_rest or bool(linking_batches(identity))):  # nor is a memory begun for nothing
        Identity.objects.filter(pk=identity.pk, since=identity.since).update(carried_version=scope.version)
        return 0
    target = Scope.objects.begin(identity.workspace_id, identity.used_key, ScopeKind.USER)
    is_first = identity.carried_version is None
    if is_first and is_linked(identity):
        suppression.carry_over(scope, target, actor=actor)
    elif is_first:
        taken_out, others = TakenOut.of(scope, _carried_rows(identity)), others_of(identity)
        keep_out = partial(
            taken_out.keep_out, target, name=UNLINK, run=f"{run_of(identity)}{uuid4().hex[:16]}", actor=actor, now=now
        )
        for batch in linking_batches(identity):
            # In one transaction: what people took out meanwhile is in use at no moment
            with suppress(NothingToUndo, BatchSettled, BatchBusy), transaction.atomic():
                alone = _carried_alone(batch, others)
                undo = batches.plan_undo(batch, actor=actor, now=now, reason=reason, positions=alone)
                batches.apply_batch(undo, now=now)
                keep_out()
        with transaction.atomic():  # lines of files, which stayed, and what somebody had put back
            keep_out()
            suppression.take_back(target, scope, actor=actor)
    name = LINK if is_linked(identity) else UNLINK
    carrying = Carrying(name=name, actor=actor, reason=reason, now=now, since=identity.since or now)
    while True:
        scope.refresh_from_db(fields=["version", "frozen"])
        carried = _look(identity, scope, target, carrying, with_files=is_first)
        if not carried:
            Identity.objects.filter(pk=identity.pk, since=identity.since).update(carried_version=scope.version)
            return count
        count, is_first = count + carried, False


def is_linked(identity: Identity) -> bool:
    """Whether its person's memory is the one its turns go to."""
    return identity.person.united_at is not None


def _look(identity: Identity, scope: Scope, target: Scope, carrying: Carrying, *, with_files: bool) -> int:
    """All that is there, a few hundred memories a batch; how many were carried over, with days."""
    last, count = 0, 0
    days = _days(identity, scope)
    while True:
        rest = left_in(identity, scope) if with_files else left_in(identity, scope).filter(path="")
        entries = list(rest.filter(pk__gt=last).select_related("scope").order_by("pk")[:AT_ONCE])
        if not (entries or days):
            return count
        carrying = replace(carrying, run=f"{run_of(identity)}{uuid4().hex[:16]}")
        count += carry_over(entries, days, target, carrying)
        last, days = (entries[-1].pk if entries else last), []
        if len(entries) < AT_ONCE:
            return count


def left_in(identity: Identity, scope: Scope) -> EntryQuerySet:
    """What is in use there and goes with the identity, but for what people put back there since."""
    undone = BatchChange.objects.filter(entry=OuterRef("pk"), state=ChangeState.UNDONE)
    put_back = undone.filter(batch__name__in=[LINK, UNLINK], batch__created_at__gte=identity.since)
    rest = Entry.objects.in_scope(scope).live().exclude(Exists(put_back))
    is_shared = others_of(identity).exists()  # still the memory of those to whom it was linked
    return rest.filter(own_words(identity)) if is_shared else rest


def own_words(identity: Identity) -> Q:
    """What an identity wrote itself."""
    return Q(channel=identity.platform, sender_id=identity.peer, path="")


def others_of(identity: Identity) -> QuerySet[Identity]:
    """The identities that share the memory it uses no more."""
    platform, key = owner_of_key(identity.unused_key) or ("?", "")
    if platform:
        return Identity.objects.none()
    others = Identity.objects.filter(workspace_id=identity.workspace_id, person__united_at__isnull=False)
    return others.filter(person__key=key).exclude(pk=identity.pk)


def _carried_alone(batch: Batch, others: Iterable[Identity]) -> list[int] | None:
    """The positions of a linking batch without what is also the memory of others; None: all of them.

    Where two accounts brought the same words, they share the entry of the one that came first: it stays with the
    other when that one leaves.
    """
    rows = BatchChange.objects.filter(batch=batch)
    shared = rows.filter(entry__in=also_carried(batch.workspace_id, others).values("entry"))
    if batch.scope is None or not shared.exists():
        return None
    return list(rows.exclude(pk__in=shared.values("pk")).values_list("position", flat=True))


def also_carried(workspace_id: int, others: Iterable[Identity]) -> QuerySet[BatchChange]:
    """The rows that wrote, or found there already, what linked identities brought to their person's memory."""
    is_theirs = Q(pk__in=[])
    for identity in others:
        is_theirs |= Q(batch__run__startswith=run_of(identity))
    changes = BatchChange.objects.filter(is_theirs, workspace_id=workspace_id, batch__name=LINK)
    return changes.filter(verb=BatchVerb.CREATE, state=ChangeState.APPLIED, entry__isnull=False)


def _days(identity: Identity, scope: Scope) -> list[DailyEvent]:
    """The days of a memory nobody uses any more; those of one that others use are theirs as well, and stay."""
    if others_of(identity).exists():
        return []
    days = DailyEvent.objects.filter(workspace_id=scope.workspace_id, scope=scope, expired_at=None)
    return list(days.order_by("local_date", "pk"))


def linking_batches(identity: Identity) -> list[Batch]:
    """What was carried over for an identity and not put back, the last first."""
    own = Batch.objects.filter(workspace_id=identity.workspace_id, name=LINK, run__startswith=run_of(identity))
    keys = [identity.own_key, identity.unused_key, identity.used_key]
    applied = own.filter(scope__key__in=keys, state=BatchState.APPLIED, undone_by=None)
    return list(applied.select_related("scope").order_by("-pk"))


def _carried_rows(identity: Identity) -> QuerySet[BatchChange]:
    """The rows by which its memories were carried to its person's, whether that was put back or not."""
    rows = BatchChange.objects.filter(workspace_id=identity.workspace_id, batch__name=LINK)
    return rows.filter(batch__run__startswith=run_of(identity))


def run_of(identity: Identity) -> str:
    """How the runs of an identity's batches begin."""
    return f"person:{identity.pk}:"


def _unused_scope(identity: Identity) -> Scope | None:
    return Scope.objects.filter(workspace_id=identity.workspace_id, key=identity.unused_key).first()


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
        return sum(source.entries for source in self.sources)


@dataclass(frozen=True)
class UnlinkPreview:
    """What an unlinking would carry back, and what stays."""

    back: int  # memories that go back to where they were
    changed: int  # of those carried over, changed since: they stay with the person as they are, too
    along: int  # what it wrote since
    stays: int  # of the person: what others wrote, and what was drawn from all of them
    is_last: bool  # then everything goes along


def preview_link(workspace: Workspace, chosen_peers: Sequence[Peer], *, now: datetime) -> LinkPreview:
    """Raises PeopleUnclear, ScopeFrozen."""
    check(workspace.pk, chosen_peers, now=now)
    peers = with_linked(workspace.pk, chosen_peers)
    by_peer = {Peer(identity.platform, identity.peer): identity for identity in identities_of(workspace.pk, peers)}
    new = [peer for peer in peers if not (peer in by_peer and by_peer[peer].person.united_at)]
    shared = {identity.person.scope_key for identity in by_peer.values() if identity.person.united_at}
    scopes = {
        scope.key: scope for scope in Scope.objects.in_workspace(workspace.pk).filter(key__in=[p.own_key for p in new])
    }
    platforms = {peer.platform for peer in peers}
    channels = list(Channel.objects.filter(workspace=workspace, platform__in=platforms).order_by("platform", "account"))
    # How many memories of these scopes say what one before them says, by the same sender in the same chat
    keys = [*scopes, *shared]
    live = Entry.objects.live().filter(workspace=workspace, scope__key__in=keys).order_by()
    alike = live.values(*_ALIKE).annotate(n=Count("*")).filter(n__gt=1)
    sources = []
    for peer in new:
        if scope := scopes.get(peer.own_key):
            counts = Entry.objects.in_scope(scope).live().aggregate(n=Count("*"), files=Count("pk", filter=~Q(path="")))
            days = DailyEvent.objects.filter(workspace_id=workspace.pk, scope=scope, expired_at=None).count()
            sources.append(SourceScope(peer, scope.key, counts["n"], counts["files"], days))
    return LinkPreview(
        peers=peers,
        sources=sources,
        same=int(alike.aggregate(more=Sum("n") - Count("*"))["more"] or 0),
        united=[channel for channel in channels if rule_of(channel) == DmScope.PER_PEER],
        apart=[_offer(channel) for channel in channels if rule_of(channel) != DmScope.PER_PEER],
    )


def rule_of(channel: Channel) -> str:
    """How far a channel keeps the memories of direct chats apart, of people who have an id there."""
    return str(channel.dm_scope or conf.DM_SCOPE)


def _offer(channel: Channel) -> RuleOffer:
    """What a channel's memories of direct chats are, by the rule of now."""
    places = {
        DmScope.MAIN: "main",
        DmScope.PER_CHANNEL_PEER: joined(escape(channel.platform), DIRECT),
        DmScope.PER_ACCOUNT_CHANNEL_PEER: joined(escape(channel.platform), escape(channel.account), DIRECT),
    }
    scopes = Scope.objects.in_workspace(channel.workspace_id).filter(kind=ScopeKind.USER, entry_count__gt=0)
    rule_scopes = scopes.filter(key__startswith=places[DmScope(rule_of(channel))])
    return RuleOffer(channel, **rule_scopes.aggregate(people=Count("*"), entries=Coalesce(Sum("entry_count"), 0)))


def preview_unlink(identity: Identity) -> UnlinkPreview:
    """What would go back and what would stay; counted in the batches that carried it over."""
    batches = linking_batches(identity)
    there = [batch for batch in batches if batch.scope and batch.scope.key == identity.own_key]
    here = [batch for batch in batches if batch.scope and batch.scope.key == identity.used_key]
    going = BatchChange.objects.filter(batch__in=there, state=ChangeState.APPLIED)
    back = going.count()
    changed = {entry for batch in here for entry in changed_since(batch)}
    shared_scope = Scope.objects.filter(workspace_id=identity.workspace_id, key=identity.used_key).first()
    if shared_scope and changed:  # what people took out of it is not in use anywhere
        taken_out = TakenOut.of(shared_scope, _carried_rows(identity))
        own = Entry.objects.filter(workspace_id=identity.workspace_id, pk__in=going.values("entry"))
        back -= len(taken_out.among(own))
        changed -= taken_out.causes.keys()
    creations = BatchChange.objects.filter(
        batch__in=here, verb=BatchVerb.CREATE, state=ChangeState.APPLIED, note="", entry__isnull=False
    )
    others = Entry.objects.live().filter(workspace_id=identity.workspace_id, scope__key=identity.used_key)
    other_identities = Identity.objects.filter(person=identity.person_id).exclude(pk=identity.pk)
    is_last = not other_identities.exists()
    shared = also_carried(identity.workspace_id, other_identities)
    others = others.exclude(pk__in=creations.exclude(entry__in=shared.values("entry")).values("entry"))
    along = others.count() if is_last else others.filter(own_words(identity)).count()
    return UnlinkPreview(back, len(changed), along, others.count() - along, is_last)


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
    statements = Entry.objects.filter(scope__key="main", created_at__gt=now - LOOKED_AT).exclude(sender_id="")
    peers: defaultdict[int, set[Peer]] = defaultdict(set)
    for workspace, platform in places:
        here = statements.filter(workspace_id=workspace, channel=platform).order_by()
        peers[workspace].update(Peer(platform, peer) for peer in here.values_list("sender_id", flat=True).distinct())
    counts: defaultdict[tuple[int, str], int] = defaultdict(int)
    for workspace, speaking in peers.items():
        identities = identities_of(workspace, speaking)
        person_of = {Peer(identity.platform, identity.peer): identity.person_id for identity in identities}
        for platform, _person in {(peer.platform, person_of.get(peer, str(peer))) for peer in speaking}:
            counts[workspace, platform] += 1
    return dict(counts)
