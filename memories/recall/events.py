"""Events of the past that are no entries: the retrievers beside the one statement, and that of days (C5, C6, D1).

A retriever is one entry of MEMORY_RETRIEVERS: the dotted path of a callable that keeps to the protocol `Retriever`.
Packages above hand theirs down so. It answers for its own walls: it is given the places the caller may look at, and
nothing else. That of days finds them by the days a question about the past names, or by its words on any day. It
reaches further back than the messages themselves, which are kept for a month. In a group only the group's own days are
looked at: a person's are summaries of conversations elsewhere, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, tzinfo
from functools import cache
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.module_loading import import_string

from memories import llm
from memories.choices import ScopeKind, SecretsRule, Source
from memories.conf import conf
from memories.entries import daily_events as days
from memories.language import text
from memories.language.confidential import asked_kinds, find_secrets, mask
from memories.language.quoting import speaks_to_models, without_orders
from memories.models import DailyEvent, Entry
from memories.models.policy import Policies
from memories.recall.eligibility import credential_guard
from memories.recall.people import Sender, sender_with_id
from memories.recall.query import Mode, Query, Search, SearchScope, rows_of
from memories.recall.question import NAMED_EXACTLY, DateRange, event_words, is_about_past
from memories.recall.ranking import Ranked
from memories.recall.vector import CentredQuery

#: Of dozens of paths, which Django takes longer to write down than PostgreSQL to compare.
_SUPPRESSED = "SELECT origins FROM memories_suppression WHERE scope_id = ANY(%s::bigint[]) AND origins && %s::varchar[]"
#: Score of a message of then, though it holds none of the words.
THEN = 0.1


@dataclass(frozen=True, kw_only=True)
class PastQuestion:
    """A question about the past, as retrievers get it."""

    workspace_id: int
    words: Sequence[str]  # by which an event can be found; none: every message of then
    date_ranges: Sequence[DateRange]  # of its messages, as far as the question tells
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 6
    message: str = ""
    vector: CentredQuery | None = None  # None: by words alone
    alpha: float = 0.0  # what similarity counts for beside words
    floor: float = 0.0  # least similarity of what no word speaks for
    date_boost: float = 0.0  # added to the messages of the days that are named
    policies: Policies = field(default_factory=lambda: Policies([]))  # how long messages are served
    history_paths: frozenset[str] = frozenset()  # of messages the client has already
    asker: str | None = None  # sender id of the one who asks, where they ask about themselves
    zone: tzinfo = UTC  # of the one who asks

    def core_boost(self, at: datetime) -> float:
        """What is added to an event at the time that is meant most, of a longer one that is named."""
        return (NAMED_EXACTLY - 1) * self.date_boost * any(dates.core_contains(at) for dates in self.date_ranges)

    def score(self, covered: float, similarity: float | None = None, *, on_named_days: bool) -> float:
        """What words, similarity and days come to, as with entries; without a vector an event counts as the average."""
        boost = self.date_boost * on_named_days
        if self.vector is None:
            return covered + boost
        near = self.vector.centroid_similarity if similarity is None else similarity
        return (1 - self.alpha) * covered + self.alpha * min(max(near, 0.0), 1.0) + boost


@dataclass(frozen=True, kw_only=True)
class RecalledEvent:
    """A message or a summary, with the path at which it can be read whole."""

    kind: str
    path: str
    scope: str
    role: str
    sender_id: str
    content: str
    at: datetime  # of a day its noon where it is asked: it is that day there, and has no hour
    covered: float  # share of the question's words it holds, 0–1
    score: float
    called: str = ""  # what people called the sender at the time; empty: as they call them today
    similarity: float | None = None  # to the question, 0 unrelated – 1 a clear answer; None: not compared
    memory: str | None = None  # the id of a served memory that rests on it
    is_cut: bool = False
    rests_on: tuple[str, ...] = ()  # paths of what it sums up
    version: int | None = None  # of what can be reworded
    in_history: bool = False  # the client has it already: it counts for the verdict, and is not served again
    sender: Sender = Sender()


class Retriever(Protocol):
    """Finds events that bear on a question about the past, best first, through `limit_events`.

    It looks in `places` alone, tells nothing that may not be heard there, that was suppressed or is past its time, and
    sets every field of an event but `memory`, `is_cut`, `in_history` and `sender`, which are filled in for all.
    """

    def __call__(self, question: PastQuestion, places: Sequence[SearchScope], now: datetime) -> list[RecalledEvent]: ...


def apply_to(query: Query) -> bool:
    """Whether the retrievers are asked: by a question about the past that does not ask for a certain kind of memory.

    A search that wants events always asks them, as long as it holds a word.
    """
    asks_for_entries = query.types is not None or query.filters or query.project is not None or query.topic is not None
    if asks_for_entries or not query.include_session_events or not _registered(tuple(settings.MEMORY_RETRIEVERS)):
        return False
    if query.always_events:
        return bool(text.words(query.message))
    return query.mode != Mode.VECTOR and is_about_past(query.message)


def past_question_of(search: Search, ranges: Sequence[DateRange]) -> PastQuestion:
    """A question as retrievers get it. One that names nothing («what did we say yesterday?») has no meaning to use."""
    query, parsed, weights = search.query, search.parsed, search.weights
    words = event_words(query.message, ranges)
    if not words and query.always_events and not is_about_past(query.message):
        words = list(dict.fromkeys(text.words(query.message)))  # «42» is what is looked for, not a way of asking
    return PastQuestion(
        workspace_id=query.workspace_id,
        words=words,
        date_ranges=ranges,
        since=query.since,
        until=min(filter(None, [query.until, query.as_of]), default=None),
        limit=conf.SESSION_EVENTS_MAX_RESULTS,
        message=query.message,
        vector=parsed.vector if words else None,
        alpha=weights["alpha"],
        floor=weights["floor"],
        date_boost=weights["date_boost"] * max((dates.weight for dates in ranges), default=1.0),
        policies=search.policies,
        history_paths=query.client_history.paths if query.client_history else frozenset(),
        asker=query.asker if parsed.about_asker else None,
        zone=search.zone,
    )


def retrieve_events(
    question: PastQuestion, query: Query, served_items: Sequence[Ranked], now: datetime
) -> list[RecalledEvent]:
    """What the retrievers find, best first, each with the served memory that rests on it; and what the history says."""
    retrievers = _registered(tuple(settings.MEMORY_RETRIEVERS))
    scopes = {scope.key: scope for scope in query.scopes}
    events = [
        replace(event, sender=sender_with_id(event.sender_id, scopes[event.scope], query.asker, name_then=event.called))
        for retriever in retrievers
        for event in retriever(question, query.places, now)
    ]
    guard = credential_guard(query.workspace_id, query.scopes if events else [])
    events = [event for event in events if not guard.reveals(event.content, [event.path, *event.rests_on])]
    if query.in_group:  # what speaks to a model is for no group (A18)
        events = [
            replace(event, content=without_orders(event.content)) if event.rests_on else event for event in events
        ]
        events = [event for event in events if event.content and not speaks_to_models(event.content)]
    paths = {event.path for event in events}  # summaries of what is there word for word are left out
    events = [event for event in events if not event.rests_on or not paths.issuperset(event.rests_on)]
    events = limit_events(_best_first(events), question)

    # the memory that rests on an event; of a day, the one that says the same words
    uids = {item.entry.pk: str(item.entry.uid) for item in served_items}
    same_words = {item.entry.content: str(item.entry.uid) for item in served_items}
    memory: dict[str, str] = {}
    if events and served_items:
        resting = Entry.objects.filter(pk__in=uids, origins__overlap=[event.path for event in events])
        memory = {origin: uids[pk] for pk, origins in resting.values_list("pk", "origins") for origin in origins}

    # messages of a time when secrets stayed in them are served without those the question does not ask for
    kinds = asked_kinds(query.message)
    short_events = []
    for event in events:
        secrets = {secret.kind for secret in find_secrets(event.content)} if conf.SECRETS != SecretsRule.OFF else set()
        content = event.content if secrets.issubset(kinds) else mask(event.content)
        uid = memory.get(event.path) or (same_words.get(content) if event.rests_on else None)
        short = text.smart_truncate(content, conf.SESSION_EVENT_CHARS)
        short_events.append(replace(event, content=short, is_cut=len(short) < len(content.strip()), memory=uid))
    return _best_first(short_events)


@cache
def _registered(paths: tuple[str, ...]) -> tuple[Retriever, ...]:
    return tuple(import_string(path) for path in paths)


def limit_events(events: Sequence[RecalledEvent], question: PastQuestion) -> list[RecalledEvent]:
    """The best of the new events, and the best of those the client has already, which take nobody's place."""
    paths = question.history_paths
    marked = [
        replace(event, in_history=event.path in paths or (bool(event.rests_on) and paths.issuperset(event.rests_on)))
        for event in events
    ]
    new = [event for event in marked if not event.in_history][: question.limit]
    return [*new, *[event for event in marked if event.in_history][: question.limit]]


def _best_first(events: Sequence[RecalledEvent]) -> list[RecalledEvent]:
    return sorted(events, key=lambda event: (event.score, event.at, event.path), reverse=True)


def suppressed_paths(places: Sequence[SearchScope], paths: Sequence[str]) -> set[str]:
    """Messages whose memory people took out of one of these scopes: they are not served either (A15)."""
    if not paths:
        return set()
    rows = rows_of(_SUPPRESSED, [[place.scope.pk for place in places], list(paths)])
    return {origin for (origins,) in rows for origin in origins}


DAILY_EVENT = "daily_event"
#: What the platform tells of days; what a person wrote has no term.
_BY_MACHINE = (Source.EXTRACTION, Source.COMPRESSION)
CANDIDATES = 60
#: Letters of a word that many others begin with.
SHORT_WORD = 3
#: A summary says less than the message it sums up.
WEIGHT = 0.9
#: Score of a day that is found by its words' beginnings alone.
WORDLESS_SCORE = 0.1


def daily_events(question: PastQuestion, places: Sequence[SearchScope], now: datetime) -> list[RecalledEvent]:
    """The days that bear on a question about the past, best first."""
    if not (question.words or question.date_ranges):  # «last time» is a conversation, not a day
        return []
    own = _own_days(places)
    days_in_use = DailyEvent.objects.filter(
        workspace_id=question.workspace_id, scope__in=list(own), expired_at__isnull=True
    )
    if question.since:
        days_in_use = days_in_use.filter(local_date__gte=question.since.astimezone(question.zone).date())
    if question.until:
        days_in_use = days_in_use.filter(local_date__lte=question.until.astimezone(question.zone).date())

    # what may bear on it, in one statement: of the days it names what has its words and what has not, and what has
    # them on any day, the newest CANDIDATES of each; none keeps the others out
    on_days = Q()
    for dates in question.date_ranges:
        on_days |= Q(local_date__gte=dates.start.date(), local_date__lt=dates.end.date())
    with_words = Q(folded__regex=_beginnings(question.words)) if question.words else Q()
    conditions = [on_days & with_words, on_days, with_words] if on_days and with_words else [on_days | with_words]
    first, *others = (
        days_in_use.alias(folded=Lower("content")).filter(condition).order_by("-local_date", "-pk")[:CANDIDATES]
        for condition in conditions
    )
    newest = days.without_repeats(list({row.pk: row for row in first.union(*others, all=True)}.values()))

    rows = [row for row in newest if _is_in_time(row, own, question.policies, now)]
    suppressed = suppressed_paths(list(own.values()), sorted({origin for row in rows for origin in row.origins}))
    events = [_event(row, own[row.scope_id], question) for row in rows if suppressed.isdisjoint(row.origins)]
    return limit_events(sorted(events, key=lambda event: (-event.score, -event.at.timestamp())), question)


def _beginnings(words: Sequence[str]) -> str:
    """A pattern of PostgreSQL for any of these words, as they begin: «deployed» and «deploys» begin alike.

    An English one begins where no other goes on; of a short one only the ending may differ. They are one pattern: a
    condition for each word takes longer as soon as there are three.
    """
    english, short, others = [], [], []
    for word in words:
        stem = text.stem(word)
        if not word.isascii():
            others.append(re.escape(word))
        elif len(stem) <= SHORT_WORD and word.isalpha() and word.startswith(stem):
            short.append(stem)
        else:
            english.append(re.escape(word[: max(SHORT_WORD, len(stem) - 1)]))
    if short:
        english.append(f"(?:{'|'.join(short)})(?:[a-z]?(?:e?s|e?d|ing))?(?:[^a-z]|$)")
    return "|".join([*([f"(?:^|[^a-z0-9])(?:{'|'.join(english)})"] if english else []), *others])


def readable_day(uid: UUID, places: Sequence[SearchScope], policies: Policies, now: datetime) -> DailyEvent | None:
    """The event of a day with this id, if a question asked here could be answered with it."""
    own = _own_days(places)
    row = DailyEvent.objects.filter(uid=uid, scope__in=list(own), expired_at__isnull=True).first()
    if row is None or not _is_in_time(row, own, policies, now):
        return None
    row.scope = own[row.scope_id].scope
    return None if suppressed_paths(list(own.values()), row.origins) else row


def forgotten_day(uid: UUID, places: Sequence[SearchScope]) -> DailyEvent | None:
    """The event of a day with this id that is out of use, if it could be served here once it is back."""
    own = _own_days(places)
    row = DailyEvent.objects.filter(uid=uid, scope__in=list(own), expired_at__isnull=False).first()
    if row is None or suppressed_paths(list(own.values()), row.origins):
        return None
    row.scope = own[row.scope_id].scope
    return row


def _own_days(places: Sequence[SearchScope]) -> dict[int, SearchScope]:
    """The places whose days may be served, by scope."""
    return {place.scope.pk: place for place in places if not place.ref.in_group or place.scope.kind != ScopeKind.USER}


def _is_in_time(row: DailyEvent, places: dict[int, SearchScope], policies: Policies, now: datetime) -> bool:
    """Whether a day may still be served: without a model it is made of the words of turns, and has their term (A9)."""
    ttl = policies.unread_ttl(places[row.scope_id].scope.kind)
    is_quoted = bool(row.origins) and row.source in _BY_MACHINE and not llm.is_on()
    return not is_quoted or ttl is None or row.local_date > (now - ttl).date()


def _event(row: DailyEvent, place: SearchScope, question: PastQuestion) -> RecalledEvent:
    covered, score = 1.0, 1.0
    if words := question.words:
        # the share of the words that are in a text: by their stems, Chinese ones as they stand
        terms, folded = text.terms(row.content).keys(), row.content.casefold()
        covered = sum(text.terms(word).keys() <= terms if word.isascii() else word in folded for word in words) / len(
            words
        )
        on_named_days = any(day.start.date() <= row.local_date < day.end.date() for day in question.date_ranges)
        score = question.score(covered, on_named_days=on_named_days) if covered or on_named_days else WORDLESS_SCORE
    noon = datetime.combine(row.local_date, time(12), question.zone)
    return RecalledEvent(
        kind=DAILY_EVENT,
        path=f"daily_events/{row.uid}",
        scope=place.scope.key,
        role="summary",
        sender_id="",
        content=row.content,
        at=noon,
        covered=covered,
        score=WEIGHT * (score + question.core_boost(noon)),
        rests_on=tuple(row.origins),
        version=row.version,
    )
