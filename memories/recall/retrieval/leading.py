"""The rows that lead a ranking before anything is read of their entries, so that not every entry has to be (A9).

What may not be served is known of the entry alone. To ask it of every entry of a scope costs as much as to compare
them with the question; to ask it of the few that lead costs nothing. Where too few of these may be served, every entry
is asked after all, and for a while the scope is asked that way at once: one of which most is out of use.
"""

import time
from collections.abc import Collection, Mapping
from threading import Lock

from cachetools import LRUCache

from memories.choices import Fusion
from memories.conf import conf
from memories.recall.question.query import BY_MATCH_ALONE, ParsedQuery, Query
from memories.recall.retrieval.filters import Condition, request_filter

#: So many times as many as are wanted.
TIMES = 4
#: Entries of a scope from which on it pays.
LEAST_ENTRIES = 5_000
SECONDS = 600.0  # a scope is asked whole after its leading rows were too few
SCOPES_CACHED = 512  # scopes a process remembers that of

_ROWS = """(
    SELECT i.entry_id, {nearness} AS fused FROM {among} i WHERE {of_rows}
    ORDER BY fused DESC, i.entry_id DESC LIMIT %(leading)s) front
    JOIN memories_entryindex i ON i.entry_id = front.entry_id"""
#: Of the conditions of a search those on rows alone; the others are asked of the entries of the leading.
_OF_ROWS = ("i.workspace_id = %(workspace)s", "i.scope_id = ANY(%(scopes)s::bigint[])")

_too_few: LRUCache[int, float] = LRUCache(SCOPES_CACHED)  # until when, by the monotonic clock
_lock = Lock()


def nearness(keyword: str, vector: str) -> str:
    """SQL of what the retrievers count for together, with weights."""
    return f"(1 - %(alpha)s) * {keyword} + %(alpha)s * coalesce({vector}, %(centroid_similarity)s)"


def rows(echoes: Condition) -> str:
    """SQL of the leading search rows, as `i`; to be completed like the statement they stand in."""
    of_rows = " AND ".join([*_OF_ROWS, *echoes[0]])
    return _ROWS.replace("{nearness}", nearness("{keyword}", "{vector}")).replace("{of_rows}", of_rows)


def may_be_enough(query: Query, parsed: ParsedQuery, weights: Mapping[str, float], limit: int) -> bool:
    """Whether the leading rows are likely to hold the best: nothing but words and meaning ranks, and nothing is asked
    of entries that few of them would meet."""
    ranks_entries = parsed.words.named or parsed.date_ranges or parsed.features or conf.FUSION != Fusion.RELATIVE
    if ranks_entries or query.mode in BY_MATCH_ALONE or weights["alpha"] <= 0:
        return False
    if query.past is not None or request_filter(query)[0]:
        return False
    entries = sum(scope.entry_count for scope in query.scopes)
    return entries >= max(LEAST_ENTRIES, TIMES * limit) and not _were_too_few(query.scope_ids)


def note_too_few(scopes: Collection[int]) -> None:
    """Ask all entries of these scopes for a while."""
    with _lock:
        for scope in scopes:
            _too_few[scope] = time.monotonic() + SECONDS


def forget() -> None:
    """Ask the leading rows of every scope again (tests)."""
    with _lock:
        _too_few.clear()


def _were_too_few(scopes: Collection[int]) -> bool:
    with _lock:
        return any(_too_few.get(scope, 0.0) > time.monotonic() for scope in scopes)
