"""The retrievers beside the one statement: events of the past that are no entries, registered by settings (C5, C6).

A retriever is one entry of MEMORY_RETRIEVERS: the dotted path of a callable that keeps to the protocol `Retriever`.
Packages above hand theirs down so. It answers for its own walls: it is given the places the caller may look at, and
nothing else.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Protocol

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from memories.choices import SecretsRule
from memories.conf import conf
from memories.language import text
from memories.language.confidential import SecretKind, asked_kinds, find_secrets, mask
from memories.models import Entry
from memories.models.policy import Policies
from memories.recall.question.query import Mode, ParsedQuery, Query, SearchScope
from memories.recall.question.similarity import CentredQuery
from memories.recall.question.speakers import Sender, sender_with_id
from memories.recall.question.temporal import NAMED_EXACTLY, DateRange, event_words, is_about_past
from memories.recall.ranking.scoring import Ranked
from memories.recall.retrieval.filters import credential_guard

#: Of dozens of paths, which Django takes longer to write down than PostgreSQL to compare.
_SUPPRESSED = "SELECT origins FROM memories_suppression WHERE scope_id = ANY(%s::bigint[]) AND origins && %s::varchar[]"
#: Score of what was said then, though it holds none of the words.
THEN = 0.1


@dataclass(frozen=True, kw_only=True)
class PastQuestion:
    """A question about the past, as retrievers get it."""

    workspace_id: int
    words: Sequence[str]  # by which an event can be found; none: whatever was said then
    date_ranges: Sequence[DateRange]  # when it was said, as far as the question tells
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 6
    message: str = ""
    vector: CentredQuery | None = None  # None: by words alone
    alpha: float = 0.0  # what similarity counts for beside words
    floor: float = 0.0  # least similarity of what no word speaks for
    date_boost: float = 0.0  # added to what was said on the days that are named
    policies: Policies = field(default_factory=lambda: Policies([]))  # how long what was said is told
    history_paths: frozenset[str] = frozenset()  # of messages the client has already
    asker: str | None = None  # sender id of the one who asks, where they ask about themselves

    def core_boost(self, at: datetime) -> float:
        """What is added to an event at the time that is meant most, of a longer one that is named."""
        return (NAMED_EXACTLY - 1) * self.date_boost * any(named.core_contains(at) for named in self.date_ranges)

    def score(self, covered: float, similarity: float | None = None, *, on_named_days: bool) -> float:
        """What words, similarity and days come to, as with entries; without a vector an event counts as the average."""
        boost = self.date_boost * on_named_days
        if self.vector is None:
            return covered + boost
        near = self.vector.centroid_similarity if similarity is None else similarity
        return (1 - self.alpha) * covered + self.alpha * min(max(near, 0.0), 1.0) + boost


@dataclass(frozen=True, kw_only=True)
class RecalledEvent:
    """Something that was said, with the path at which it can be read whole."""

    kind: str
    path: str
    scope: str
    role: str
    sender_id: str
    content: str
    at: datetime
    covered: float  # share of the question's words it holds, 0–1
    score: float
    called: str = ""  # what people called the sender when it was said; empty: as they call them today
    similarity: float | None = None  # to the question, 0 unrelated – 1 a clear answer; None: not compared
    memory: str | None = None  # the id of a served memory that rests on it
    is_cut: bool = False
    rests_on: tuple[str, ...] = ()  # paths of what it sums up
    version: int | None = None  # of what can be reworded
    in_history: bool = False  # the client has it already: it counts for the verdict, and is not told again
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


def past_question_of(
    query: Query,
    parsed: ParsedQuery,
    ranges: Sequence[DateRange],
    weights: Mapping[str, float],
    policies: Policies,
) -> PastQuestion:
    """A question as retrievers get it. One that names nothing («what did we say yesterday?») has no meaning to use."""
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
        date_boost=weights["date_boost"] * max((named.weight for named in ranges), default=1.0),
        policies=policies,
        history_paths=query.client_history.paths if query.client_history else frozenset(),
        asker=query.asker if parsed.about_asker else None,
    )


def retrieve_events(
    question: PastQuestion, query: Query, served: Sequence[Ranked], now: datetime
) -> list[RecalledEvent]:
    """What the retrievers find, best first, each with the served memory that rests on it; and what the history says."""
    retrievers = _registered(tuple(settings.MEMORY_RETRIEVERS))
    scopes = {scope.key: scope for scope in query.scopes}
    events = [
        replace(event, sender=sender_with_id(event.sender_id, scopes[event.scope], query.asker, called=event.called))
        for retriever in retrievers
        for event in retriever(question, query.places, now)
    ]
    guard = credential_guard(query.workspace_id, query.scopes if events else [])
    events = [event for event in events if not guard.reveals(event.content, [event.path, *event.rests_on])]
    chosen = limit_events(_best_first(_without_covered_summaries(events)), question)
    chosen = [_without_secrets(event, asked_kinds(query.message)) for event in chosen]
    return [_shortened(event) for event in _best_first(_linked_to_memories(chosen, served))]


@cache
def _registered(paths: tuple[str, ...]) -> tuple[Retriever, ...]:
    return tuple(import_string(path) for path in paths)


def limit_events(events: Sequence[RecalledEvent], question: PastQuestion) -> list[RecalledEvent]:
    """The best of the events that are told, and the best of those the client has already, which take nobody's place."""
    marked = [replace(event, in_history=_is_in_history(event, question.history_paths)) for event in events]
    new = [event for event in marked if not event.in_history][: question.limit]
    return [*new, *[event for event in marked if event.in_history][: question.limit]]


def _is_in_history(event: RecalledEvent, paths: frozenset[str]) -> bool:
    return event.path in paths or (bool(event.rests_on) and paths.issuperset(event.rests_on))


def _best_first(events: Sequence[RecalledEvent]) -> list[RecalledEvent]:
    return sorted(events, key=lambda event: (event.score, event.at, event.path), reverse=True)


def _without_covered_summaries(events: Sequence[RecalledEvent]) -> list[RecalledEvent]:
    """Without the summaries of what is there word for word."""
    paths = {event.path for event in events}
    return [event for event in events if not event.rests_on or not paths.issuperset(event.rests_on)]


def _linked_to_memories(events: list[RecalledEvent], served: Sequence[Ranked]) -> list[RecalledEvent]:
    if not (events and served):
        return events
    uids = {item.entry.pk: str(item.entry.uid) for item in served}
    resting = Entry.objects.filter(pk__in=uids, origins__overlap=[event.path for event in events])
    memory = {origin: uids[pk] for pk, origins in resting.values_list("pk", "origins") for origin in origins}
    same_words = {item.entry.content: str(item.entry.uid) for item in served}  # of the day it was said
    return [
        replace(event, memory=memory.get(event.path) or (same_words.get(event.content) if event.rests_on else None))
        for event in events
    ]


def _shortened(event: RecalledEvent) -> RecalledEvent:
    short = text.smart_truncate(event.content, conf.SESSION_EVENT_CHARS)
    return replace(event, content=short, is_cut=len(short) < len(event.content.strip()))


def _without_secrets(event: RecalledEvent, asked: Collection[SecretKind]) -> RecalledEvent:
    """A message of a time when secrets stayed in it, without those the question does not ask for."""
    secrets = {secret.kind for secret in find_secrets(event.content)} if conf.SECRETS != SecretsRule.OFF else set()
    return event if secrets.issubset(asked) else replace(event, content=mask(event.content))


def suppressed_paths(places: Sequence[SearchScope], paths: Sequence[str]) -> set[str]:
    """Messages whose memory people took out of one of these scopes: they are not told either (A15)."""
    if not paths:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_SUPPRESSED, [[place.scope.pk for place in places], list(paths)])
        return {origin for (origins,) in cursor.fetchall() for origin in origins}
