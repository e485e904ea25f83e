"""The vector side of a recall: the centred question, the similarity of a text to it, the centroids of scopes (A7, A12).

In the space of a sentence embedder some texts lie near to everything: greetings, general answers. They outrank the one
text that is near to this question, most of all across languages. So the question is moved away from what the scope has
in common (the negative half of Rocchio 1971), which costs nothing a row.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from operator import mul
from threading import Lock
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from memories import embeddings
from memories.conf import conf
from memories.embeddings import Provider, Unrelated, unrelated_of
from memories.index.search_rows import dense_literal, normalise
from memories.language import persons, text
from memories.language.quoting import sides_of
from memories.language.text import HAN, KANA
from memories.models import EmbeddingModel, Scope
from memories.models.entry import LIVE_SQL
from memories.recall.gate import decide
from memories.recall.query import RECENTLY, Query, Search, rows_of, searched_part
from memories.recall.question import expanded, is_remark, person_lines
from memories.recall.relevance import SCRIPTS, Shift, background_of

if TYPE_CHECKING:
    from memories.recall import Recall


#: A mean of few rows is as much chance as likeness: it counts as rows / (rows + FEW).
FEW = 20
CENTROID_ROWS = 1_000  # the newest of a scope
CENTROIDS_CACHED = 512  # scopes a process remembers
CENTROID_SECONDS = 300.0
CENTROID_SECONDS_UNTIL_COMPLETE = 5.0  # while rows wait for their vectors
CENTROID_GROWTH = 1.1
#: How far a question is moved towards its answers before it is searched by. Wholly, and lines of conversations are
#: found less (docs/decisions.md).
SHIFT_SHARE = 0.3
FEW_TO_WAIT_FOR = 45  # memories of scopes up to which a conversation waits for its own vectors
PENDING_STEP = 0.02  # seconds between two looks
PENDING_REST = 5.0  # seconds without waiting after it did not help

_CJK = re.compile(f"[{KANA}{HAN}]")
_LATIN = re.compile(r"[A-Za-z]")
_CENTROIDS = f"""
SELECT scope.id, mean.rows, mean.vector FROM unnest(%s::bigint[]) AS scope (id) CROSS JOIN LATERAL (
    SELECT count(*) AS rows, avg(embedding)::real[] AS vector FROM (
        SELECT i.embedding FROM memories_entry e JOIN memories_entryindex i USING (workspace_id)
        WHERE e.workspace_id = %s AND i.entry_id = e.id AND e.scope_id = scope.id AND {LIVE_SQL} AND i.model_id = %s
            AND NOT i.is_echo ORDER BY e.created_at DESC, e.fingerprint LIMIT %s) newest) mean
"""  # noqa: S608 (names of ours)
#: By the index of a scope's entries by their time: a handful of rows. A session that asks does not wait for its own.
_PENDING = """
SELECT EXISTS (
    SELECT 1 FROM memories_entry e JOIN memories_entryindex i ON i.entry_id = e.id
    WHERE e.workspace_id = %(workspace)s AND i.workspace_id = %(workspace)s
        AND e.scope_id = ANY(%(scopes)s::bigint[]) AND e.created_at > %(since)s AND e.created_at <= %(now)s
        AND (%(session)s = '' OR e.session_id <> %(session)s)
        AND (i.model_id IS NULL OR i.model_id <> (
            SELECT m.id FROM memories_embeddingmodel m WHERE m.name = %(name)s AND m.dimension = %(dimension)s))
)
"""


@dataclass(frozen=True)
class CentredQuery:
    """The vector of a question, less its share of the centroid of the scopes that are asked.

    Similarity on the ranking's scale is (centred · row - offset) / span: the cosine from the model's floor to its
    ceiling, less AVERAGE_SHARE of how much nearer than the centroid a row is to everything else in the scope.
    """

    model: EmbeddingModel
    unrelated: Unrelated
    vector: list[float]  # of length 1
    centred: list[float]
    offset: float
    span: float
    centroid_cosine: float  # of the question and the centroid
    rows: int
    is_cjk: bool = False

    @property
    def centroid_similarity(self) -> float:
        """What a row without a vector is taken to have."""
        return (self.centroid_cosine - self.model.floor) / self.span if self.rows else 0.0

    def sql_parameters(self) -> dict[str, Any]:
        """What statements compare rows with, by the names of these fields."""
        return {
            "model": self.model.pk,
            "dimension": self.model.dimension,
            "vector": dense_literal(self.vector),
            "centred": dense_literal(self.centred),
            "offset": self.offset,
            "span": self.span,
            "centroid_similarity": self.centroid_similarity,
        }


@dataclass(frozen=True)
class Centroid:
    """The mean of the embeddings of entries in use, not of length 1, and of how many."""

    rows: int
    vector: list[float]


def centre_query(
    vector: Sequence[float],
    centroid: Centroid,
    model: EmbeddingModel,
    unrelated: Unrelated,
    *,
    cjk: bool = False,
    shift: Shift | None = None,
) -> CentredQuery:
    """The question's vector less its share of the scopes' centroid; not brought back to length 1.

    `shift`: what is added to it first, and what any row gains by that.
    """
    unit = normalise(vector)
    shifted_vector = unit if shift is None else [q + a for q, a in zip(unit, shift.added, strict=True)]
    share = conf.AVERAGE_SHARE * centroid.rows / (centroid.rows + FEW)
    return CentredQuery(
        model=model,
        unrelated=unrelated,
        vector=unit,
        centred=[q - share * m for q, m in zip(shifted_vector, centroid.vector, strict=True)],
        offset=model.floor + (shift.gained if shift else 0.0) - share * _dot(centroid.vector, centroid.vector),
        span=model.ceiling - model.floor,
        centroid_cosine=_dot(unit, centroid.vector),
        rows=centroid.rows,
        is_cjk=cjk,
    )


def similarity(query: CentredQuery, cosine: float, question: str, content: str) -> float:
    """0: as near as anything here; 1: as near as clear answers get. It may lie outside of both.

    Right answers in another script have lower cosines than wrong ones in the same, so each pair has its own zero: the
    scope's own average, and the model's where there are few rows.
    """
    cjk, unrelated = is_cjk(question), query.unrelated
    across = cjk != is_cjk(content)
    prior = unrelated.across if across else unrelated.cjk if cjk else unrelated.latin
    base = (query.rows * query.centroid_cosine + FEW * prior) / (query.rows + FEW)
    lift = unrelated.lift if across else 0.0
    return 2 * (cosine - base) / (query.model.ceiling - base) + lift


@lru_cache(maxsize=4_096)  # the same texts are candidates question after question
def is_cjk(text: str) -> bool:
    """Whether most of a text is Chinese, Japanese or Korean; a character of theirs says as much as two letters.

    Of a turn what both sides say: its labels are English, and would outweigh a short sentence.
    """
    if text.isascii():
        return False
    words = "".join(sides_of(text) or (text,))
    return 2 * len(_CJK.findall(words)) > len(_LATIN.findall(words))


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other)))


# -- centroids: kept by each process for a few minutes. Measured: a mean of the oldest half, or of the newest 50 rows,
# serves as well, so a process that has just started answers as one that has not.


@dataclass(frozen=True)
class _CachedCentroid:
    centroid: Centroid
    entries: int
    read_at: float  # by the monotonic clock

    def is_current(self, scope: Scope) -> bool:
        """Whether it was read a moment ago, or the scope is about as large as then."""
        age = time.monotonic() - self.read_at
        if self.centroid.rows < min(self.entries, CENTROID_ROWS):
            return age < CENTROID_SECONDS_UNTIL_COMPLETE and scope.entry_count == self.entries
        return (
            age < CENTROID_SECONDS
            and self.entries / CENTROID_GROWTH <= scope.entry_count <= self.entries * CENTROID_GROWTH
        )


_centroids: LRUCache[tuple[int, int], _CachedCentroid] = LRUCache(CENTROIDS_CACHED)
_lock = Lock()


def centroid_of(scopes: Sequence[Scope], model: EmbeddingModel) -> Centroid:
    """The mean over all rows of these scopes, each counting by its rows; of no rows it is all zeros."""
    with _lock:
        cached = {scope.pk: None if scope.is_past else _centroids.get((model.pk, scope.pk)) for scope in scopes}
    by_scope = {scope.pk: item.centroid for scope in scopes if (item := cached[scope.pk]) and item.is_current(scope)}
    if unread := [scope for scope in scopes if scope.pk not in by_scope]:
        parameters = [[scope.pk for scope in unread], unread[0].workspace_id, model.pk, CENTROID_ROWS]
        by_scope |= {pk: Centroid(rows, vector or []) for pk, rows, vector in rows_of(_CENTROIDS, parameters)}
        with _lock:
            for scope in (scope for scope in unread if not scope.is_past):
                centroid = by_scope[scope.pk]
                _centroids[model.pk, scope.pk] = _CachedCentroid(centroid, scope.entry_count, time.monotonic())
    some = [centroid for centroid in by_scope.values() if centroid.rows]
    rows = sum(centroid.rows for centroid in some)
    if not rows:
        return Centroid(0, [0.0] * model.dimension)
    if len(some) == 1:
        return some[0]
    columns = zip(*(centroid.vector for centroid in some), strict=True)
    weights = [centroid.rows / rows for centroid in some]
    return Centroid(rows, [sum(w * x for w, x in zip(weights, column, strict=True)) for column in columns])


def forget_centroids() -> None:
    """Read every centroid anew (tests, search rows that were made anew)."""
    with _lock:
        _centroids.clear()


class PendingWait:
    """A moment's patience for the vectors of the latest messages (A13).

    A turn is found by its words at once and by its meaning a moment later. Who asks within seconds of telling waits
    that moment; but not for the conversation it is asked in, which whoever asks has in sight, once there is more to
    look in (`window_of`). Where waiting did not help, this process does not wait again for a while: then the embedder
    is behind, and more patience would only make every answer late.
    """

    def __init__(self) -> None:
        self._rests_until = 0.0  # by the monotonic clock

    def wait(self, query: Query, by: Provider, *, now: datetime, seconds: float) -> bool:
        """Wait until the latest messages have their vectors, but no longer; whether some are still missing."""
        if seconds <= 0 or not query.scope_ids:
            return False
        parameters: dict[str, Any] = {"scopes": query.scope_ids, "workspace": query.workspace_id}
        parameters |= {"since": now - RECENTLY, "now": now, "session": window_of(query)}
        parameters |= {"name": by.model, "dimension": by.dimension}
        deadline = time.monotonic() + seconds
        while True:
            is_pending = bool(rows_of(_PENDING, parameters)[0][0])
            at = time.monotonic()
            if not is_pending or at < self._rests_until:
                break
            if at + PENDING_STEP > deadline:
                self._rests_until = at + PENDING_REST
                break
            time.sleep(PENDING_STEP)
        return is_pending

    def forget(self) -> None:
        """Wait again (tests)."""
        self._rests_until = 0.0


pending_wait = PendingWait()


def window_of(query: Query) -> str:
    """The session whose messages whoever asks has in sight; of a young memory none: the latest message may be all."""
    is_young = query.entry_count <= FEW_TO_WAIT_FOR
    return "" if is_young else query.session_key


#: In `degraded`: messages of seconds ago have no vector yet, and are found by their words alone.
PENDING = "embedding_pending"
#: In `degraded`: the model was changed and nobody embeds by the old one; what is not embedded anew is found by words.
REEMBEDDING = "reembedding"


def begin_embedding(message: str) -> None:
    """Begin to embed a message before its scopes are looked up: most are embedded as they stand.

    What needs no memory is not embedded, and «my sister» waits for the scopes, which may know her name. Where something
    else changes the text, as what «she» means, `vector_of` embeds that.
    """
    if decide(message).retrieve and not any(persons.mentioned(message)):
        plain = text.last_tokens(person_lines(searched_part(message)), conf.EMBED_QUERY_TOKENS)
        embeddings.begin_query(plain, seconds=embeddings.query_seconds())


def vector_of(search: Search, message: str, result: "Recall", *, is_weighed: bool = False) -> CentredQuery | None:
    """The vector of a message, seen from the scopes that are asked; None when nobody embeds in time.

    `is_weighed`: lines of a conversation are looked for, by features that were fitted to the message as it stands.
    """
    query, opening = search.query, search.opening
    end = text.last_tokens(expanded(person_lines(message), query), conf.EMBED_QUERY_TOKENS)
    model = opening.model
    space = embeddings.served_space(model)
    with result.timed("embedding"):
        embedded = embeddings.embed_query(end, seconds=search.patience, space=space)
    if embedded is None:
        result.degraded.append("embedding")
        return None
    provider, patience = embedded.provider, conf.EMBED_PENDING_SECONDS
    may_be_pending = patience > 0 and query.as_of is None and (opening.may_be_pending or space is None)
    if may_be_pending:
        with result.timed("pending"):
            is_pending = pending_wait.wait(query, provider, now=search.now, seconds=patience)
        if is_pending:
            result.degraded.append(PENDING)
    if space is None:
        if model is not None:
            result.degraded.append(REEMBEDDING)
        model = embeddings.stored_model(embeddings.space_of(provider))
    if model is None:  # nothing is indexed yet
        return None
    with result.timed("average"):
        centroid = centroid_of(query.scopes, model)
    cjk, vector = is_cjk(query.message), embedded.vectors[0]
    shift = None
    if not is_weighed and "\n" not in message and (background := background_of(model.name)):
        # Towards what answers it or, if it asks nothing, what bears on it
        share = 1.0 if is_remark(query.message) else SHIFT_SHARE
        shift = background.shift(normalise(vector), SCRIPTS[cjk], share)
    return centre_query(vector, centroid, model, unrelated_of(provider), cjk=cjk, shift=shift)
