"""Retrievers of recall beside the one statement: what is known of the past that is no entry (C5, C6).

Packages above hand theirs down as dotted paths in MEMORY_RETRIEVERS, each `retriever(asked, places, now) → found`. A
retriever answers for its own walls: it is given the places the caller may look at, and nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Protocol

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from memories.conf import conf
from memories.language import text
from memories.models import Entry
from memories.models.policy import Policies
from memories.recall.answerability import FOUND, NONE, WEAK, WORDS_FOUND, Answerability, worse
from memories.recall.credentials import credential_guard
from memories.recall.date_ranges import NAMED_EXACTLY, DateRange
from memories.recall.modes import Mode
from memories.recall.past_questions import is_about_past, telling_words
from memories.recall.query import Place, Query
from memories.recall.quotas import Ranked
from memories.recall.similarity import CentredQuery
from memories.recall.speakers import Sender, sender_with_id

#: Of the telling words of a question, the share an event has to hold to be enough to answer with.
ENOUGH = 0.75
#: Of dozens of paths, which Django takes longer to write down than PostgreSQL to compare.
_OUT = "SELECT origins FROM memories_suppression WHERE scope_id = ANY(%s::bigint[]) AND origins && %s::varchar[]"
#: Score of what was said then, though it holds none of the words.
THEN = 0.1


@dataclass(frozen=True, kw_only=True)
class PastQuestion:
    """A question about the past, as retrievers get it."""

    workspace_id: int
    words: Sequence[str]  # by which something can be found; none: whatever was said then
    date_ranges: Sequence[DateRange]  # when it was said, as far as the question tells
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 6
    message: str = ""
    direction: CentredQuery | None = None  # where its meaning points; None: by words alone
    alpha: float = 0.0  # what nearness counts for beside words
    floor: float = 0.0  # least similarity of what no word speaks for
    date_boost: float = 0.0  # added to what was said on the days that are named
    policies: Policies = field(default_factory=lambda: Policies([]))  # how long what was said is told
    client_history: frozenset[str] = frozenset()  # paths of messages the answer need not tell
    about: str | None = None  # whom the question is about, where that is the one who asks

    def exactly(self, at: datetime) -> float:
        """What is added when something was said at the time that is meant most, of a longer one that is named."""
        return (NAMED_EXACTLY - 1) * self.date_boost * any(moment.holds(at) for moment in self.date_ranges)

    def score(self, covered: float, near: float | None = None, *, is_then: bool) -> float:
        """What words, nearness and days come to, as with entries; what has no vector is as near as the average."""
        boost = self.date_boost * is_then
        if self.direction is None:
            return covered + boost
        nearness = self.direction.centroid_similarity if near is None else near
        return (1 - self.alpha) * covered + self.alpha * min(max(nearness, 0.0), 1.0) + boost


@dataclass(frozen=True, kw_only=True)
class RecalledEvent:
    """Something that was said, with the path at which it can be read whole."""

    kind: str
    path: str
    scope: str
    role: str
    sender: str
    content: str
    at: datetime
    covered: float  # share of the telling words it holds, 0–1
    score: float
    similarity: float | None = None  # to the question, 0 unrelated – 1 a clear answer; None: not compared
    memory: str | None = None  # the id of a served memory that rests on it
    is_cut: bool = False
    rests_on: tuple[str, ...] = ()  # paths of what it sums up
    version: int | None = None  # of what can be reworded
    in_history: bool = False  # the messages that are handed out say it: it counts as evidence, and is not told again
    said_by: Sender = Sender()


class Retriever(Protocol):
    """What stands behind a path in MEMORY_RETRIEVERS."""

    def __call__(self, asked: PastQuestion, places: Sequence[Place], now: datetime) -> list[RecalledEvent]: ...


def retrievers_apply(query: Query) -> bool:
    """Whether the retrievers are asked: by a question about the past that does not ask for a certain kind of memory."""
    asks_for_entries = query.types is not None or query.filters or query.project is not None or query.topic is not None
    if asks_for_entries or not query.include_session_events or query.mode == Mode.VECTOR:
        return False
    return bool(_retrievers(tuple(settings.MEMORY_RETRIEVERS))) and is_about_past(query.message)


def past_question_of(
    query: Query,
    moments: Sequence[DateRange],
    direction: CentredQuery | None,
    weights: Mapping[str, float],
    policies: Policies,
    about: str | None = None,
) -> PastQuestion:
    """A question as retrievers get it. One that names nothing («what did we say yesterday?») has no meaning to use."""
    words = telling_words(query.message, moments)
    return PastQuestion(
        workspace_id=query.workspace_id,
        words=words,
        date_ranges=moments,
        since=query.since,
        until=query.until,
        limit=conf.SESSION_EVENTS_MAX_RESULTS,
        message=query.message,
        direction=direction if words else None,
        alpha=weights["alpha"],
        floor=weights["floor"],
        date_boost=weights["date_boost"] * max((moment.weight for moment in moments), default=1.0),
        policies=policies,
        client_history=query.client_history.paths if query.client_history else frozenset(),
        about=about,
    )


def limit_events(found: Sequence[RecalledEvent], asked: PastQuestion) -> list[RecalledEvent]:
    """What a retriever hands on, best first: the best of what is told, and the best of what the history says already.

    What the history says takes nobody's place.
    """
    marked = [replace(item, in_history=_is_handed_out(item, asked.client_history)) for item in found]
    new = [item for item in marked if not item.in_history][: asked.limit]
    return [*new, *[item for item in marked if item.in_history][: asked.limit]]


def _is_handed_out(item: RecalledEvent, paths: frozenset[str]) -> bool:
    return item.path in paths or (bool(item.rests_on) and paths.issuperset(item.rests_on))


def retrieve_events(asked: PastQuestion, query: Query, served: Sequence[Ranked], now: datetime) -> list[RecalledEvent]:
    """What the retrievers find, best first, each with the served memory that rests on it; and what the history says."""
    retrievers = _retrievers(tuple(settings.MEMORY_RETRIEVERS))
    found = _with_senders([item for retriever in retrievers for item in retriever(asked, query.places, now)], query)
    guard = credential_guard(query.workspace_id, query.scopes if found else [])
    found = [item for item in found if not guard.holds(item.content, [item.path, *item.rests_on])]
    chosen = limit_events(_best_first(_without_covered_summaries(found)), asked)
    return [_shortened(item) for item in _best_first(_linked_to_memories(chosen, served))]


def _best_first(found: Sequence[RecalledEvent]) -> list[RecalledEvent]:
    return sorted(found, key=lambda item: (item.score, item.at, item.path), reverse=True)


def _with_senders(found: list[RecalledEvent], query: Query) -> list[RecalledEvent]:
    """Each with who said it; what is told of a group's day are the words of many, and nobody's own."""
    scopes = {scope.key: scope for scope in query.scopes}
    return [replace(item, said_by=sender_with_id(item.sender, scopes[item.scope], query.asker)) for item in found]


def _without_covered_summaries(found: list[RecalledEvent]) -> list[RecalledEvent]:
    """Without the summaries of what is there word for word."""
    paths = {item.path for item in found}
    return [item for item in found if not item.rests_on or not paths.issuperset(item.rests_on)]


@cache
def _retrievers(paths: tuple[str, ...]) -> tuple[Retriever, ...]:
    return tuple(import_string(path) for path in paths)


def _linked_to_memories(found: list[RecalledEvent], served: Sequence[Ranked]) -> list[RecalledEvent]:
    if not (found and served):
        return found
    uids = {item.entry.pk: str(item.entry.uid) for item in served}
    resting = Entry.objects.filter(pk__in=uids, origins__overlap=[item.path for item in found])
    memory = {origin: uids[pk] for pk, origins in resting.values_list("pk", "origins") for origin in origins}
    return [replace(item, memory=memory.get(item.path)) for item in found]


def _shortened(item: RecalledEvent) -> RecalledEvent:
    short = text.smart_truncate(item.content, conf.SESSION_EVENT_CHARS)
    return replace(item, content=short, is_cut=len(short) < len(item.content.strip()))


def suppressed_paths(places: Sequence[Place], paths: Sequence[str]) -> set[str]:
    """Messages whose memory people took out of one of these scopes: they are not told either (A15)."""
    if not paths:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_OUT, [[place.scope.pk for place in places], list(paths)])
        return {origin for (origins,) in cursor.fetchall() for origin in origins}


def stem_prefix(word: str) -> str:
    """How a word begins whatever its ending: «deployed» and «deploys» begin alike."""
    return word[: max(3, len(text.stem(word)) - 1)] if word.isascii() else word


def word_coverage(content: str, words: Sequence[str]) -> float:
    """The share of the words that are in a text: by their stems, Chinese ones as they stand."""
    terms, folded = text.terms(content).keys(), content.casefold()
    held = (word in folded if not word.isascii() else text.terms(word).keys() <= terms for word in words)
    return sum(held) / len(words)


def with_events(
    evidence: Answerability, found: Sequence[RecalledEvent], *, names_days: bool = False, about_asker: bool = False
) -> Answerability:
    """The verdict, when what was said then is looked at as well.

    Of one who asks about themselves their own words alone are enough (A5).

    A worse one only where the question names days on which nothing was said, and no memory has its words either.
    """
    if names_days and not found and not evidence.date and evidence.words < WORDS_FOUND:
        return replace(evidence, verdict=worse(evidence.verdict, WEAK))
    best = max((item.covered for item in found), default=0.0)
    told = FOUND if best >= ENOUGH else WEAK if best else NONE
    own = max((item.covered for item in found if item.said_by.may_be_asker), default=0.0)
    if about_asker and own < ENOUGH:
        told = worse(told, WEAK)
    better = min(evidence.verdict, told, key=[FOUND, WEAK, NONE].index)
    return replace(evidence, verdict=better)
