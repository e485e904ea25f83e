"""What goes into a prompt without being searched for: the profile, always (D1), and the notes of these days (C9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q

from memories import text
from memories.choices import Category, ScopeKind
from memories.conf import conf
from memories.models import DailyEvent, Entry, Scope
from memories.models.policy import Policies
from memories.retrieval.query import Place

CORE = 1  # the tier of the profile


class CoreFact(NamedTuple):
    """What is told of a core fact, and what its term depends on; a hundred rows are read for every prompt."""

    pk: int
    uid: UUID
    scope_id: int
    category: str
    content: str
    type: str
    pinned: bool
    expires_at: datetime | None
    stated_at: datetime


@dataclass(frozen=True)
class Note:
    """What is noted of one local day."""

    on: date
    scope: str
    content: str
    is_cut: bool  # there is more of that day


def profile_of(places: Sequence[Place], policies: Policies, *, now: datetime) -> list[CoreFact]:
    """Who is spoken with: the core facts, the most important first, PROFILE_MAX at most.

    In a group a person's only where it may hear everything of them (A3). Passwords never: they are recalled when
    somebody asks for them, and not sent to a model with every message.
    """
    told = {place.scope.pk: place.scope for place in places if not _is_kept_from_here(place)}
    if not told:
        return []
    core = Entry.objects.live().filter(scope__in=list(told), tier=CORE).exclude(category=Category.CREDENTIAL)
    core = core.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now)).order_by("-importance", "-stated_at", "-id")
    found = [CoreFact(*row) for row in core.values_list(*CoreFact._fields)[: conf.PROFILE_MAX]]
    return [fact for fact in found if _is_in_time(fact, policies, told[fact.scope_id].kind, now)]


def _is_in_time(fact: CoreFact, policies: Policies, kind: str, now: datetime) -> bool:
    if fact.expires_at or fact.pinned:
        return fact.expires_at is None or fact.expires_at > now
    end = policies.ends_at(fact.stated_at, fact.type, kind)
    return end is None or end > now


def _is_kept_from_here(place: Place) -> bool:
    is_person_in_group = place.ref.in_group and place.scope.kind == ScopeKind.USER
    return is_person_in_group and place.ref.only_chat is not None


def notes_of(scope: Scope, *, now: datetime, zone: tzinfo) -> list[Note]:
    """Today's and yesterday's notes of a scope, today first; NOTES_DAY_CHARS a day and NOTES_CHARS together.

    Of a day with more, the newest.
    """
    today = now.astimezone(zone).date()
    days = [today, today - timedelta(days=1)]
    rows = DailyEvent.objects.in_use().filter(workspace_id=scope.workspace_id, scope=scope, local_date__in=days)
    told = list(rows.order_by("-local_date", "-id").values_list("local_date", "content")[: conf.NOTES_CHARS])
    left, notes = conf.NOTES_CHARS, []
    for day in days:
        content, is_cut = _newest([said for on, said in told if on == day], min(conf.NOTES_DAY_CHARS, left))
        if content:
            notes.append(Note(day, scope.key, content, is_cut))
            left -= len(content)
    return notes


def _newest(told: Sequence[str], limit: int) -> tuple[str, bool]:
    """The lines of a day in their order, as many of the newest as fit; a single one that does not is shortened."""
    chosen: list[str] = []
    used = -1
    for said in (content.strip() for content in told):
        if used + 1 + len(said) > limit:
            break
        chosen.append(said)
        used += 1 + len(said)
    if told and not chosen:
        return text.smart_truncate(told[0], limit), True
    return "\n".join(reversed(chosen)), len(chosen) < len(told)
