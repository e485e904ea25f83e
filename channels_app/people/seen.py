"""Everybody who was seen in a workspace, a page at a time, people found by a name or id, and what is there of one."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, F, Func, Max, Min, Q, TextField, Value

from channels_app.models import Channel, Consent, ConsentSubject, Identity, Person
from channels_app.people import linking
from channels_app.people.peers import Peer, identities_of
from memories.choices import ScopeKind
from memories.models import DailyEvent, Entry, RecallTrace, Scope
from memories.tenancy.resolver import escape, owner_of_key
from sessions_app.models import Session

PAGE = 30
#: Rows that are read for a page.
READ = 300


@dataclass(eq=False)
class Seen:
    """Somebody who was seen, with what shows who it is."""

    peers: list[Peer]
    person: Person | None = None  # where anything is noted of them
    scopes: list[Scope] = field(default_factory=list)
    last_at: datetime | None = None  # of a conversation with them alone
    memories: int = 0  # in use

    @property
    def platforms(self) -> list[str]:
        return sorted({peer.platform for peer in self.peers})

    @property
    def is_linked(self) -> bool:
        return self.person is not None and self.person.united_at is not None

    @property
    def names(self) -> list[str]:
        """What they are called where they speak alone."""
        ids = {peer.peer for peer in self.peers}
        names = (name for scope in self.scopes for peer, name in scope.sender_names.items() if peer in ids)
        return list(dict.fromkeys(names))

    @property
    def title(self) -> str:
        """The name somebody gave them, else what they are called, else their id."""
        name = self.person.name if self.person else ""
        return name or next(iter(self.names), "") or str(self.peers[0])


@dataclass(frozen=True)
class SeenPage:
    """People of a page, and where the next one begins; empty: there is none."""

    people: list[Seen]
    next: str = ""


def spoken_last(workspace_id: int, after: str = "") -> SeenPage:
    """Those the bot talked with alone, the last first; `after` is where the page before ended."""
    sessions = Session.objects.filter(workspace_id=workspace_id, is_group=False, user_scope__isnull=False)
    end, _line, last_pk = after.rpartition("_")
    with suppress(ValueError):  # the first page, or nothing of the kind
        last_at, pk = datetime.fromisoformat(end), int(last_pk)
        sessions = sessions.filter(Q(last_at__lt=last_at) | Q(last_at=last_at, pk__lt=pk))
    rows = list(sessions.order_by("-last_at", "-pk").values_list("last_at", "pk", "user_scope__key")[:READ])
    people = grouped(workspace_id, [key for _at, _pk, key in rows])
    _fill_last(people.values())
    # Each person where their last conversation stands
    page: list[Seen] = []
    place = ""
    for at, pk, key in rows:
        if len(page) == PAGE:
            return SeenPage(_with_counts(page), place)
        individual = people.get(key)
        if individual is not None and individual.last_at == at and individual not in page:
            page.append(individual)
        place = f"{at.isoformat()}_{pk}"
    return SeenPage(_with_counts(page), place if len(rows) == READ else "")


def met_last(workspace_id: int, after: str = "") -> SeenPage:
    """Everybody with a memory of their own, those who got one last first: also who spoke in groups alone."""
    scopes = Scope.objects.in_workspace(workspace_id).filter(kind=ScopeKind.USER)
    scopes = scopes.filter(pk__lt=int(after)) if after.isdecimal() and len(after) < 19 else scopes
    rows = list(scopes.order_by("-pk").values_list("pk", "key")[:READ])
    people = grouped(workspace_id, [key for _pk, key in rows])
    page: list[Seen] = []
    last = ""
    for pk, key in rows:
        if len(page) == PAGE:
            break
        person = people.get(key)
        if person is not None and pk == max(scope.pk for scope in person.scopes):
            page.append(person)
        last = str(pk)
    else:
        last = last if len(rows) == READ else ""
    _fill_last(page)
    return SeenPage(_with_counts(page), last)


def search(workspace_id: int, words: str) -> list[Seen]:
    """People by a part of their id, of what they are called, or of the name they were given."""
    scopes = (
        Scope.objects.in_workspace(workspace_id)
        .filter(kind=ScopeKind.USER)
        .annotate(called=Func(F("speakers"), Value(" "), function="array_to_string", output_field=TextField()))
    )
    name_match = Q(key__icontains=escape(words)) | Q(label__icontains=words) | Q(called__icontains=words)
    keys = list(scopes.filter(name_match).order_by("-pk").values_list("key", flat=True)[:READ])
    identities = Identity.objects.filter(workspace_id=workspace_id).select_related("person")
    identities = identities.filter(Q(peer__icontains=words) | Q(person__name__icontains=words)).order_by("pk")[:PAGE]
    people = grouped(workspace_id, keys, [Peer(identity.platform, identity.peer) for identity in identities])
    page = list(dict.fromkeys(people.values()))[:PAGE]
    _fill_last(page)
    return _with_counts(page)


def one_of(workspace_id: int, peer: Peer) -> Seen:
    """The person a peer is, with everybody linked to them."""
    individual = grouped(workspace_id, [], [peer])[str(peer)]
    _fill_last([individual])
    return _with_counts([individual])[0]


def grouped(workspace_id: int, keys: Iterable[str], peers: Iterable[Peer] = ()) -> dict[str, Seen]:
    """The people of these scopes and peers, by the key of a scope, or by the name of a peer.

    A key that is nobody's, or too long to tell whose, is left out.
    """
    owners = {key: owner for key in keys if (owner := owner_of_key(key))}
    wanted_peers = {Peer(platform, peer) for platform, peer in owners.values() if platform} | set(peers)
    people = {identity.person_id: identity.person for identity in identities_of(workspace_id, wanted_peers)}
    linked = [peer for platform, peer in owners.values() if not platform]
    people |= {
        person.pk: person
        for person in Person.objects.filter(
            workspace_id=workspace_id, key__in=[text for text in linked if len(text) == 36 and text.count("-") == 4]
        )
    }
    by_person: defaultdict[int, list[Peer]] = defaultdict(list)
    for identity in Identity.objects.filter(workspace_id=workspace_id, person__in=people).order_by("pk"):
        by_person[identity.person_id].append(Peer(identity.platform, identity.peer))
    everybody = [Seen(by_person[pk], person) for pk, person in people.items() if by_person[pk]]
    of_peer = {peer: individual for individual in everybody for peer in individual.peers}
    of_peer |= {peer: Seen([peer]) for peer in wanted_peers if peer not in of_peer}
    # Give each their scopes, and have by each key whose it is
    accounts: defaultdict[str, set[str]] = defaultdict(set)
    for platform, account in Channel.objects.filter(workspace_id=workspace_id).values_list("platform", "account"):
        accounts[platform].add(account)
    by_key: dict[str, Seen] = {}
    for individual in dict.fromkeys(of_peer.values()):
        by_key |= dict.fromkeys(
            (key for peer in individual.peers for key in peer.keys(accounts[peer.platform])), individual
        )
        by_key |= {individual.person.scope_key: individual} if individual.person else {}
    for scope in Scope.objects.in_workspace(workspace_id).filter(key__in=list(by_key)).order_by("pk"):
        by_key[scope.key].scopes.append(scope)
    return {key: by_key[key] for key in owners if key in by_key} | {str(peer): of_peer[peer] for peer in peers}


def _fill_last(people: Iterable[Seen]) -> None:
    """When the bot last talked with each of them alone."""
    mine = {scope.pk: individual for individual in people for scope in individual.scopes}
    rows = Session.objects.filter(user_scope__in=list(mine), is_group=False).order_by()
    for scope, last in rows.values_list("user_scope").annotate(last=Max("last_at")):
        mine[scope].last_at = max(filter(None, [mine[scope].last_at, last]))


def _with_counts(people: list[Seen]) -> list[Seen]:
    """With how many memories are in use."""
    mine = {scope.pk: individual for individual in people for scope in individual.scopes}
    rows = Entry.objects.live().filter(scope__in=list(mine)).order_by()
    for scope, count in rows.values_list("scope").annotate(n=Count("*")):
        mine[scope].memories += count
    return people


#: Rows of each kind.
SHOWN = 8
PROFILE_LINES = 12
#: Recalls and memories of the workspace that are looked through for a person's.
LOOKED_THROUGH = 2_000


@dataclass(frozen=True)
class OwnScope:
    """A memory that is the person's alone."""

    scope: Scope
    memories: int
    is_unused: bool  # its turns go to another now


@dataclass(frozen=True)
class ConsentState:
    """A person's latest word on one thing they may agree to."""

    subject: ConsentSubject
    last: Consent | None


@dataclass(frozen=True)
class Portrait:
    """A person, as their page shows them."""

    seen: Seen
    identities: list[Identity]
    scopes: list[OwnScope]
    first_at: datetime | None
    profile: list[Entry]
    memories: list[Entry]
    conversations: list[Session]
    conversation_count: int
    recalls: int
    last_recall: RecallTrace | None
    days: list[DailyEvent]
    groups: list[tuple[Scope, int]]
    consents: list[ConsentState]
    consent_history: list[Consent]
    waiting: int  # memories that are still to be carried over
    looked_through: int = LOOKED_THROUGH


def portrait_of(workspace_id: int, individual: Seen) -> Portrait:
    """Everything about a person, in a number of queries that does not grow."""
    person, ids = individual.person, [scope.pk for scope in individual.scopes]
    identities = list(person.identities.order_by("pk").select_related("person")) if person else []
    live = Entry.objects.live().filter(workspace_id=workspace_id, scope__in=ids)
    sessions = Session.objects.filter(workspace_id=workspace_id, user_scope__in=ids, is_group=False)
    spans = sessions.aggregate(n=Count("*"), first=Min("started_at"), last=Max("last_at"))
    memories = list(live.select_related("scope").order_by("-created_at", "-id")[:SHOWN])
    consents = list(Consent.objects.filter(person=person).order_by("-at", "-pk")) if person else []
    # The latest recalls that looked in these scopes, among the last of the workspace; the newest first
    newest = RecallTrace.objects.filter(workspace_id=workspace_id).order_by("-created_at", "-id")
    recent_traces = newest.values_list("pk", "scopes")[:LOOKED_THROUGH]
    recalls = [pk for pk, looked_in in recent_traces if not set(ids).isdisjoint(looked_in)]
    days = DailyEvent.objects.filter(workspace_id=workspace_id, scope__in=ids, expired_at=None)
    # The memories that are in use, or still hold something; the fullest first
    unused = {identity.unused_key for identity in identities} - {identity.used_key for identity in identities}
    rows = Entry.objects.live().filter(scope__in=[scope.pk for scope in individual.scopes]).order_by()
    counts = dict(rows.values_list("scope").annotate(n=Count("*")))
    scopes = [OwnScope(scope, counts.get(scope.pk, 0), scope.key in unused) for scope in individual.scopes]
    # The groups in which they wrote something that is remembered of them, with how many memories of the latest
    from_groups = Entry.objects.filter(workspace_id=workspace_id, scope__in=ids).exclude(chats=[])
    latest = from_groups.order_by("-created_at", "-id").values_list("chats", flat=True)[:LOOKED_THROUGH]
    by_chat = Counter(chat for chats in latest for chat in chats)
    groups = Scope.objects.in_workspace(workspace_id).filter(key__in=list(by_chat), kind=ScopeKind.CHAT)
    last_consents = {consent.subject: consent for consent in reversed(consents)}
    return Portrait(
        seen=individual,
        identities=identities,
        scopes=sorted(scopes, key=lambda own: (own.is_unused, -own.memories)),
        first_at=spans["first"] or min((scope.created_at for scope in individual.scopes), default=None),
        profile=list(live.filter(tier=1).order_by("-importance", "-stated_at", "-id")[:PROFILE_LINES]),
        memories=memories,
        conversations=list(sessions.order_by("-last_at", "-pk")[:SHOWN]),
        conversation_count=spans["n"],
        recalls=len(recalls),
        last_recall=RecallTrace.objects.defer("candidates").filter(pk=recalls[0]).first() if recalls else None,
        days=list(days.order_by("-local_date", "-pk")[:SHOWN]),
        groups=sorted(((group, by_chat[group.key]) for group in groups), key=lambda pair: -pair[1])[:SHOWN],
        consents=[ConsentState(subject, last_consents.get(subject)) for subject in ConsentSubject],
        consent_history=consents,
        waiting=sum(linking.count_left(identity) for identity in identities if identity.unused_key),
    )
