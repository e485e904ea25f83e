"""The average direction of what a scope holds: what everything there has in common says nothing about one question.

A mean of the newest rows, kept by each process for a few minutes. Measured: a mean of the oldest half, or of the
newest 50 rows, serves as well, so a process that has just started answers as one that has not.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection

from memories.models import EmbeddingModel, Scope

ROWS = 1_000  # the newest of a scope
KEPT = 512  # scopes a process remembers
SECONDS = 300.0
SECONDS_UNTIL_COMPLETE = 5.0  # while rows wait for their vectors
GROWTH = 1.1


@dataclass(frozen=True)
class Centroid:
    """The mean of the search rows' embeddings, not of length 1, and of how many rows it is."""

    rows: int
    vector: list[float]


@dataclass(frozen=True)
class _Kept:
    average: Centroid
    entries: int
    read_at: float

    def holds(self, scope: Scope) -> bool:
        """Whether it was read a moment ago, or the scope has hardly grown since."""
        age = time.monotonic() - self.read_at
        if self.average.rows < min(self.entries, ROWS):
            return age < SECONDS_UNTIL_COMPLETE and scope.entry_count == self.entries
        return age < SECONDS and scope.entry_count <= self.entries * GROWTH


_kept: OrderedDict[tuple[int, int], _Kept] = OrderedDict()
_lock = threading.Lock()


def centroid_of(scopes: Sequence[Scope], model: EmbeddingModel) -> Centroid:
    """The mean over all rows of these scopes; no rows, no direction."""
    known = _known(scopes, model)
    unread = [scope for scope in scopes if scope.pk not in known]
    if unread:
        read = _read(unread, model)
        _keep(unread, model, read)
        known |= read
    return _weighted_mean(known.values(), model.dimension)


def forget() -> None:
    """Read everything anew (tests, re-blended rows)."""
    with _lock:
        _kept.clear()


def _known(scopes: Iterable[Scope], model: EmbeddingModel) -> dict[int, Centroid]:
    with _lock:
        found = {scope.pk: _kept.get((model.pk, scope.pk)) for scope in scopes}
    return {scope.pk: kept.average for scope in scopes if (kept := found[scope.pk]) and kept.holds(scope)}


def _keep(scopes: Iterable[Scope], model: EmbeddingModel, read: dict[int, Centroid]) -> None:
    with _lock:
        for scope in scopes:
            _kept[model.pk, scope.pk] = _Kept(read[scope.pk], scope.entry_count, time.monotonic())
            _kept.move_to_end((model.pk, scope.pk))
        while len(_kept) > KEPT:
            _kept.popitem(last=False)


def _read(scopes: Sequence[Scope], model: EmbeddingModel) -> dict[int, Centroid]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT scope.id, mean.rows, mean.vector FROM unnest(%s::bigint[]) AS scope (id) CROSS JOIN LATERAL ("
            " SELECT count(*) AS rows, avg(embedding)::real[] AS vector FROM ("
            "  SELECT embedding FROM memories_entryindex WHERE scope_id = scope.id AND model_id = %s"
            "  ORDER BY entry_id DESC LIMIT %s) newest) mean",
            [[scope.pk for scope in scopes], model.pk, ROWS],
        )
        return {scope: Centroid(rows, vector or []) for scope, rows, vector in cursor.fetchall()}


def _weighted_mean(averages: Iterable[Centroid], dimension: int) -> Centroid:
    """One mean of several, each counting by its rows."""
    some = [average for average in averages if average.rows]
    rows = sum(average.rows for average in some)
    if not rows:
        return Centroid(0, [0.0] * dimension)
    columns = zip(*(average.vector for average in some), strict=True)
    weights = [average.rows / rows for average in some]
    return Centroid(rows, [sum(w * x for w, x in zip(weights, column, strict=True)) for column in columns])
