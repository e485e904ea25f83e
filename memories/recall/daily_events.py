"""The retriever of daily events: by the days a question about the past names, or by its words on any day (C5, D1).

It reaches further back than the messages themselves, which are kept for a month. In a group only the group's own days
are looked at: a person's are summaries of what was said elsewhere, too.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time

from django.db.models import Q
from django.db.models.functions import Lower

from memories import llm
from memories.choices import EntryType, ScopeKind, Source
from memories.entries import daily_events as days
from memories.models import DailyEvent
from memories.recall.query import Place
from memories.recall.retrievers import (
    THEN,
    PastQuestion,
    RecalledEvent,
    limit_events,
    stem_prefix,
    suppressed_paths,
    word_coverage,
)

KIND = "daily_event"
#: What the platform tells of days; what a person wrote has no term.
_BY_MACHINE = (Source.EXTRACTION, Source.COMPRESSION)
CANDIDATES = 60
#: A summary says less than the message it sums up.
WEIGHT = 0.9


def daily_events(asked: PastQuestion, places: Sequence[Place], now: datetime) -> list[RecalledEvent]:
    """The days that bear on a question about the past, best first."""
    if not (asked.words or asked.date_ranges):  # «last time» is a conversation, not a day
        return []
    heard = {place.scope.pk: place for place in places if not (place.ref.in_group and _is_of_user(place))}
    rows = [event for event in days.without_repeats(_rows(asked, heard)) if _is_in_time(event, heard, asked, now)]
    out = suppressed_paths(list(heard.values()), sorted({origin for event in rows for origin in event.origins}))
    found = [_found(event, heard[event.scope_id], asked) for event in rows if out.isdisjoint(event.origins)]
    return limit_events(sorted(found, key=lambda item: (-item.score, -item.at.timestamp())), asked)


def _is_of_user(place: Place) -> bool:
    return place.scope.kind == ScopeKind.USER


def _is_in_time(event: DailyEvent, heard: dict[int, Place], asked: PastQuestion, now: datetime) -> bool:
    """Whether a day may still be told: without a model it is made of the words of turns, and has their term (A9)."""
    ttl = asked.policies.ttl(EntryType.CHAT_TURN, heard[event.scope_id].scope.kind)
    is_quoted = bool(event.origins) and event.source in _BY_MACHINE and not llm.is_on()
    return not is_quoted or ttl is None or event.local_date > (now - ttl).date()


def _rows(asked: PastQuestion, heard: dict[int, Place]) -> list[DailyEvent]:
    events = DailyEvent.objects.filter(workspace_id=asked.workspace_id, scope__in=list(heard), expired_at__isnull=True)
    then = Q(pk__in=[])
    for moment in asked.date_ranges:
        then |= Q(local_date__gte=moment.start.date(), local_date__lt=moment.end.date())
    said = Q(pk__in=[])
    for word in asked.words:
        said |= Q(folded__contains=stem_prefix(word))
    events = events.annotate(folded=Lower("content")).filter(then | said)
    if asked.since:
        events = events.filter(local_date__gte=asked.since.date())
    if asked.until:
        events = events.filter(local_date__lte=asked.until.date())
    return list(events.order_by("-local_date", "-pk")[:CANDIDATES])


def _found(event: DailyEvent, place: Place, asked: PastQuestion) -> RecalledEvent:
    covered = word_coverage(event.content, asked.words) if asked.words else 1.0
    return RecalledEvent(
        kind=KIND,
        path=f"daily_events/{event.uid}",
        scope=place.scope.key,
        role="summary",
        sender="",
        content=event.content,
        at=datetime.combine(event.local_date, time(12), UTC),
        covered=covered,
        score=WEIGHT * (_score(event, covered, asked) + asked.exactly(_noon(event, asked))),
        rests_on=tuple(event.origins),
        version=event.version,
    )


def _noon(event: DailyEvent, asked: PastQuestion) -> datetime:
    zone = asked.date_ranges[0].start.tzinfo if asked.date_ranges else UTC
    return datetime.combine(event.local_date, time(12), zone)


def _score(event: DailyEvent, covered: float, asked: PastQuestion) -> float:
    if not asked.words:
        return 1.0
    is_then = any(moment.start.date() <= event.local_date < moment.end.date() for moment in asked.date_ranges)
    return asked.score(covered, is_then=is_then) if covered or is_then else THEN
