"""Answers given a moment ago, for the same question under the same walls (C15).

Nothing has to be told to it: the versions of the scopes and all numbers of the policy are in the key, so that whatever
is written, expired, restored, indexed or set anew is never answered from before. What a bot's key may see is in it as
the places it may look at. Each process keeps its own.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from cachetools import LRUCache

from memories.conf import conf
from memories.models.policy import Policies
from memories.recall.question.query import Query

if TYPE_CHECKING:
    from memories.recall import Recall


@dataclass(frozen=True)
class _Cached:
    answer: "Recall"
    begins: datetime
    ends: datetime


_lock = Lock()


@lru_cache(maxsize=1)
def _answers(size: int) -> LRUCache[Hashable, _Cached]:
    return LRUCache(size)


def key_of(query: Query, policies: Policies, zone: tzinfo) -> Hashable | None:
    """Equal for questions with the same answer; None when this one is to be answered anew."""
    is_plain = not query.explain and query.among is None and query.as_of is None and query.adjusted is None
    if not (query.cache and conf.ANSWER_CACHE and conf.ANSWER_CACHE_SIZE and is_plain):
        return None
    return (
        query.workspace_id,
        tuple((place.scope.pk, place.scope.version, place.ref) for place in query.places),
        policies.fingerprint(),
        *(query.message, query.language),
        query.asker,
        *(query.limit, query.mode, query.need, query.quotas, query.nearest, query.token_budget),
        None if query.types is None else frozenset(query.types),
        frozenset(query.filters.items()),
        *(query.project, query.topic, query.since, query.until, query.before_entry),
        query.client_history,
        query.additions,
        str(zone),
    )


def find(key: Hashable | None, now: datetime) -> "Recall | None":
    """The answer kept under a key, unless its time is up."""
    if key is None:
        return None
    with _lock:
        cached = _answers(conf.ANSWER_CACHE_SIZE).get(key)
    return cached.answer if cached is not None and cached.begins <= now < cached.ends else None


def keep(key: Hashable | None, answer: "Recall", now: datetime) -> None:
    """Keep an answer until the first of its memories ends, for half a minute at most; a degraded one not at all."""
    if key is None or answer.degraded or answer.cached_from:
        return
    until = now + conf.ANSWER_CACHE_TTL
    light = replace(answer, ranked=[], excluded=[])  # the trace's rows hold all that is told again
    with _lock:
        _answers(conf.ANSWER_CACHE_SIZE)[key] = _Cached(light, now, min(until, answer.ends or until))


def forget() -> None:
    """Answer everything anew (tests)."""
    with _lock:
        _answers.cache_clear()
