"""What goes into a prompt without being searched for: the profile, always (D1), and the notes of these days (C9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from memories.choices import EntryType, Verification
from memories.conf import conf
from memories.entries import daily_events
from memories.entries.evidence import evidence_of
from memories.kinds import SECRET
from memories.language import text
from memories.models import DailyEvent, Entry, Evidence, Scope
from memories.models.policy import Policies
from memories.recall.filters import credential_guard, scope_filter, servable_filter
from memories.recall.query import Query


class ProfileFact(NamedTuple):
    """What is told of a core fact."""

    pk: int
    uid: UUID
    scope_id: int
    category: str
    content: str
    sender_id: str = ""
    speaker: str = ""
    verification: str = ""
    evidence: Sequence[Evidence] = ()  # where only these words bear it out


@dataclass(frozen=True)
class Note:
    """What is noted of one local day."""

    on: date
    scope: str
    content: str
    is_cut: bool  # there is more of that day


#: Of a prompt that is built for every message a hundred rows: by the index that holds them in this order.
_PROFILE = """
SELECT e.id, e.uid, e.scope_id, e.category, e.content, e.sender_id, e.speaker, e.verification
FROM memories_entry e CROSS JOIN LATERAL (SELECT e.scope_id) i
WHERE e.workspace_id = %(workspace)s AND e.scope_id = ANY(%(scopes)s::bigint[]) AND e.tier = 1
    AND e.category <> ALL(%(secret)s::text[]) AND {servable}
ORDER BY e.importance DESC, e.stated_at DESC, e.id DESC LIMIT %(most)s
"""


def profile_of(query: Query, policies: Policies, *, now: datetime) -> list[ProfileFact]:
    """Who is spoken with: the core facts, the most important first, PROFILE_MAX at most.

    In a group a person's only where it may hear everything of them (A3). Passwords never: they are recalled when
    somebody asks for them, and not sent to a model with every message.
    """
    if not query.places:
        return []
    conditions, parameters = servable_filter(query, policies, now)
    parameters |= scope_filter(query)[1] | {"secret": [category.value for category in SECRET], "most": conf.PROFILE_MAX}
    with connection.cursor() as cursor:
        cursor.execute(_PROFILE.replace("{servable}", " AND ".join(conditions)), parameters)
        facts = [ProfileFact(*row) for row in cursor.fetchall()]
    quotes = evidence_of([fact.pk for fact in facts if fact.verification == Verification.QUOTED], query.workspace_id)
    return [fact._replace(evidence=quotes.get(fact.pk, ())) for fact in facts]


def notes_of(scope: Scope, policies: Policies, *, now: datetime, zone: tzinfo) -> list[Note]:
    """Today's and yesterday's notes of a scope, today first; NOTES_DAY_CHARS a day and NOTES_CHARS together.

    What is told of the day and what was noted on purpose. Of a day with more, the newest. A group's tell no credential.
    """
    today = now.astimezone(zone).date()
    both = [today, today - timedelta(days=1)]
    newest = sorted([*_daily_events(scope, both), *_saved_notes(scope, policies, both, now, zone)], reverse=True)
    left, notes = conf.NOTES_CHARS, []
    for day in both:
        content, is_cut = _newest_lines(
            [said for on, _at, said in newest if on == day], min(conf.NOTES_DAY_CHARS, left)
        )
        if content:
            notes.append(Note(day, scope.key, content, is_cut))
            left -= len(content)
    return notes


def _daily_events(scope: Scope, on: Sequence[date]) -> list[tuple[date, datetime, str]]:
    """What is told of these days."""
    rows = DailyEvent.objects.in_use().filter(workspace_id=scope.workspace_id, scope=scope, local_date__in=on)
    newest = daily_events.without_repeats(list(rows.order_by("-local_date", "-id")[: conf.NOTES_CHARS]))
    guard = credential_guard(scope.workspace_id, [scope])
    return [
        (event.local_date, event.created_at, event.content)
        for event in newest
        if not guard.reveals(event.content, event.origins)
    ]


def _saved_notes(
    scope: Scope, policies: Policies, on: Sequence[date], now: datetime, zone: tzinfo
) -> list[tuple[date, datetime, str]]:
    """What was saved as a note on these days; passwords are recalled when somebody asks for them."""
    since = datetime.combine(min(on), time(), zone)
    noted = Entry.objects.in_scope(scope).live().filter(type=EntryType.NOTE, created_at__gte=since, created_at__lte=now)
    rows = noted.exclude(policies.over(now, scope_kind=scope.kind)).exclude(category__in=SECRET)
    newest = rows.order_by("-created_at", "-id").values_list("created_at", "content", "origins")[: conf.NOTES_CHARS]
    guard = credential_guard(scope.workspace_id, [scope])
    return [
        (at.astimezone(zone).date(), at, content)
        for at, content, origins in newest
        if not guard.reveals(content, origins)
    ]


def _newest_lines(told: Sequence[str], limit: int) -> tuple[str, bool]:
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
