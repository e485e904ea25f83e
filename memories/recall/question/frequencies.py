"""In how many entries of a scope a term occurs: what this process has read, kept until the scope changes."""

from collections.abc import Mapping, Sequence
from threading import Lock

from cachetools import LRUCache

from memories.index import scope_statistics
from memories.models import Scope

SCOPES_CACHED = 512

_scopes: LRUCache[int, tuple[int, dict[int, int]]] = LRUCache(SCOPES_CACHED)
_lock = Lock()


def read(scopes: Sequence[Scope], terms: Sequence[int]) -> dict[tuple[int, int], int]:
    """How many entries hold each of these terms, by scope and term."""
    with _lock:
        known = {scope.pk: _known(scope) for scope in scopes}
    unknown = {term for term in terms for counts in known.values() if term not in counts}
    if unknown:
        found = scope_statistics.frequencies(known, unknown)
        for scope_id, counts in known.items():
            counts.update({term: found.get((scope_id, term), 0) for term in unknown})
    return {(scope_id, term): counts.get(term, 0) for scope_id, counts in known.items() for term in terms}


def learn(scope: Scope, terms: Sequence[int], found: Mapping[int, int]) -> None:
    """Keep what was read of these terms beside something else; those that are not found do not occur."""
    with _lock:
        counts = _known(scope)
    counts.update({term: found.get(term, 0) for term in terms})


def _known(scope: Scope) -> dict[int, int]:
    version, counts = _scopes.get(scope.pk, (-1, {}))
    if version != scope.version:
        counts = {}
    _scopes[scope.pk] = (scope.version, counts)
    return counts
