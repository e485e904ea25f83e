"""The retriever of daily events: by the days a question about the past names, or by its words on any day (C5, D1).

It reaches further back than the messages themselves, which are kept for a month. In a group only the group's own days
are looked at: a person's are summaries of what was said elsewhere, too.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Lower

from memories import llm
from memories.choices import EntryType, ScopeKind, Source
from memories.entries import daily_events as days
from memories.language import text
from memories.models import DailyEvent
from memories.models.policy import Policies
from memories.recall.question.query import SearchScope
from memories.recall.retrieval.retrievers import PastQuestion, RecalledEvent, limit_events, suppressed_paths

KIND = "daily_event"
#: What the platform tells of days; what a person wrote has no term.
_BY_MACHINE = (Source.EXTRACTION, Source.COMPRESSION)
CANDIDATES = 60
#: A summary says less than the message it sums up.
WEIGHT = 0.9
#: Score of a day that is found by its words' beginnings alone.
WORDLESS_SCORE = 0.1


def daily_events(question: PastQuestion, places: Sequence[SearchScope], now: datetime) -> list[RecalledEvent]:
    """The days that bear on a question about the past, best first."""
    if not (question.words or question.date_ranges):  # «last time» is a conversation, not a day
        return []
    own = _own_days(places)
    rows = [row for row in days.without_repeats(_rows(question, own)) if _is_in_time(row, own, question.policies, now)]
    suppressed = suppressed_paths(list(own.values()), sorted({origin for row in rows for origin in row.origins}))
    events = [_event(row, own[row.scope_id], question) for row in rows if suppressed.isdisjoint(row.origins)]
    return limit_events(sorted(events, key=lambda event: (-event.score, -event.at.timestamp())), question)


def _rows(question: PastQuestion, places: dict[int, SearchScope]) -> list[DailyEvent]:
    of_days = Q(pk__in=[])
    for named in question.date_ranges:
        of_days |= Q(local_date__gte=named.start.date(), local_date__lt=named.end.date())
    of_words = Q(pk__in=[])
    for word in question.words:
        of_words |= Q(folded__contains=_stem_prefix(word))
    rows = DailyEvent.objects.filter(
        workspace_id=question.workspace_id, scope__in=list(places), expired_at__isnull=True
    )
    rows = rows.annotate(folded=Lower("content")).filter(of_days | of_words)
    if question.since:
        rows = rows.filter(local_date__gte=question.since.date())
    if question.until:
        rows = rows.filter(local_date__lte=question.until.date())
    return list(rows.order_by("-local_date", "-pk")[:CANDIDATES])


def readable_day(uid: UUID, places: Sequence[SearchScope], policies: Policies, now: datetime) -> DailyEvent | None:
    """The event of a day with this id, if a question asked here could be told of it."""
    own = _own_days(places)
    row = DailyEvent.objects.filter(uid=uid, scope__in=list(own), expired_at__isnull=True).first()
    if row is None or not _is_in_time(row, own, policies, now):
        return None
    row.scope = own[row.scope_id].scope
    return None if suppressed_paths(list(own.values()), row.origins) else row


def forgotten_day(uid: UUID, places: Sequence[SearchScope]) -> DailyEvent | None:
    """The event of a day with this id that is out of use, if it could be told here once it is back."""
    own = _own_days(places)
    row = DailyEvent.objects.filter(uid=uid, scope__in=list(own), expired_at__isnull=False).first()
    if row is None or suppressed_paths(list(own.values()), row.origins):
        return None
    row.scope = own[row.scope_id].scope
    return row


def _own_days(places: Sequence[SearchScope]) -> dict[int, SearchScope]:
    """The places whose days may be told, by scope."""
    return {place.scope.pk: place for place in places if not place.ref.in_group or place.scope.kind != ScopeKind.USER}


def _is_in_time(row: DailyEvent, places: dict[int, SearchScope], policies: Policies, now: datetime) -> bool:
    """Whether a day may still be told: without a model it is made of the words of turns, and has their term (A9)."""
    ttl = policies.ttl(EntryType.CHAT_TURN, places[row.scope_id].scope.kind)
    is_quoted = bool(row.origins) and row.source in _BY_MACHINE and not llm.is_on()
    return not is_quoted or ttl is None or row.local_date > (now - ttl).date()


def _event(row: DailyEvent, place: SearchScope, question: PastQuestion) -> RecalledEvent:
    covered = _coverage(row.content, question.words) if question.words else 1.0
    zone = question.date_ranges[0].start.tzinfo if question.date_ranges else UTC
    noon = datetime.combine(row.local_date, time(12), zone)
    return RecalledEvent(
        kind=KIND,
        path=f"daily_events/{row.uid}",
        scope=place.scope.key,
        role="summary",
        sender_id="",
        content=row.content,
        at=datetime.combine(row.local_date, time(12), UTC),
        covered=covered,
        score=WEIGHT * (_score(row, covered, question) + question.core_boost(noon)),
        rests_on=tuple(row.origins),
        version=row.version,
    )


def _score(row: DailyEvent, covered: float, question: PastQuestion) -> float:
    if not question.words:
        return 1.0
    on_named_days = any(day.start.date() <= row.local_date < day.end.date() for day in question.date_ranges)
    return question.score(covered, on_named_days=on_named_days) if covered or on_named_days else WORDLESS_SCORE


def _stem_prefix(word: str) -> str:
    """How a word begins whatever its ending: «deployed» and «deploys» begin alike."""
    return word[: max(3, len(text.stem(word)) - 1)] if word.isascii() else word


def _coverage(content: str, words: Sequence[str]) -> float:
    """The share of the words that are in a text, 0–1: by their stems, Chinese ones as they stand."""
    terms, folded = text.terms(content).keys(), content.casefold()
    return sum(word in folded if not word.isascii() else text.terms(word).keys() <= terms for word in words) / len(
        words
    )
