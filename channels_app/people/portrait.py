"""What a page of a person shows: a few rows of everything, each by an index, and never all of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min

from channels_app.models import Consent, ConsentSubject, Identity
from channels_app.people import uniting
from channels_app.people.seen import Seen
from memories.choices import ScopeKind
from memories.models import DailyEvent, Entry, RecallTrace, Scope
from sessions_app.models import Session

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
    """What a person last said of one thing they may agree to."""

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


def portrait_of(workspace_id: int, seen: Seen) -> Portrait:
    """Everything about a person, in a number of queries that does not grow."""
    person, ids = seen.person, [scope.pk for scope in seen.scopes]
    identities = list(person.identities.order_by("pk").select_related("person")) if person else []
    live = Entry.objects.live().filter(workspace_id=workspace_id, scope__in=ids)
    sessions = Session.objects.filter(workspace_id=workspace_id, user_scope__in=ids, is_group=False)
    spans = sessions.aggregate(n=Count("*"), first=Min("started_at"), last=Max("last_at"))
    memories = list(live.select_related("scope").order_by("-created_at", "-id")[:SHOWN])
    consents = list(Consent.objects.filter(person=person).order_by("-at", "-pk")) if person else []
    recalls = _recalls(workspace_id, ids)
    days = DailyEvent.objects.filter(workspace_id=workspace_id, scope__in=ids, expired_at=None)
    return Portrait(
        seen=seen,
        identities=identities,
        scopes=_scopes(seen, identities),
        first_at=spans["first"] or min((scope.created_at for scope in seen.scopes), default=None),
        profile=list(live.filter(tier=1).order_by("-importance", "-stated_at", "-id")[:PROFILE_LINES]),
        memories=memories,
        conversations=list(sessions.order_by("-last_at", "-pk")[:SHOWN]),
        conversation_count=spans["n"],
        recalls=len(recalls),
        last_recall=RecallTrace.objects.defer("candidates").filter(pk=recalls[0]).first() if recalls else None,
        days=list(days.order_by("-local_date", "-pk")[:SHOWN]),
        groups=_groups(workspace_id, ids),
        consents=_states(consents),
        consent_history=consents,
        waiting=sum(uniting.count_left(one) for one in identities if one.unused_key),
    )


def _scopes(seen: Seen, identities: Sequence[Identity]) -> list[OwnScope]:
    """The memories that are in use, or still hold something; the fullest first."""
    used, unused = {one.used_key for one in identities}, {one.unused_key for one in identities}
    rows = Entry.objects.live().filter(scope__in=[scope.pk for scope in seen.scopes]).order_by()
    counts = dict(rows.values_list("scope").annotate(n=Count("*")))
    found = [OwnScope(one, counts.get(one.pk, 0), one.key in unused - used) for one in seen.scopes]
    return sorted(found, key=lambda one: (one.is_unused, -one.memories))


def _recalls(workspace_id: int, scopes: Sequence[int]) -> list[int]:
    """The latest recalls that looked in these scopes, among the last of the workspace; the newest first."""
    newest = RecallTrace.objects.filter(workspace_id=workspace_id).order_by("-created_at", "-id")
    asked = newest.values_list("pk", "scopes")[:LOOKED_THROUGH]
    return [pk for pk, looked_in in asked if not set(scopes).isdisjoint(looked_in)]


def _groups(workspace_id: int, scopes: Sequence[int]) -> list[tuple[Scope, int]]:
    """The groups in which a person said something that is remembered of them, with how many memories of the latest."""
    said = Entry.objects.filter(workspace_id=workspace_id, scope__in=scopes).exclude(chats=[])
    latest = said.order_by("-created_at", "-id").values_list("chats", flat=True)[:LOOKED_THROUGH]
    counts = Counter(chat for chats in latest for chat in chats)
    groups = Scope.objects.in_workspace(workspace_id).filter(key__in=list(counts), kind=ScopeKind.CHAT)
    return sorted(((scope, counts[scope.key]) for scope in groups), key=lambda one: -one[1])[:SHOWN]


def _states(consents: Sequence[Consent]) -> list[ConsentState]:
    last: dict[str, Consent] = {}
    for one in consents:
        last.setdefault(one.subject, one)
    return [ConsentState(subject, last.get(subject)) for subject in ConsentSubject]
