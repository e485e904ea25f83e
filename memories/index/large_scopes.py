"""Vector indexes of single scopes that have grown too large to be compared row by row: planned, built, dropped.

One index over all scopes would lose most answers of the small ones; one of its own costs a scope nothing but space. It
is IVFFlat: built with a fifth of the memory of a graph and in half its time, read page after page, and a row that is
written anew adds one line to a list. Only the owner of the table may build it (`manage.py index_large_scopes`).
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog
from django.db import connection

from memories.conf import conf
from memories.models.lease import wake_on_commit

log = structlog.get_logger(__name__)
#: The worker asks for what is to be done by this channel, the owner's process listens.
CHANNEL = "memplatform_large_scopes"
#: Held by the session that builds; advisory locks differ in their highest byte.
_LOCK = 15 << 56
_NAME = re.compile(r"memories_large_(\d+)_(\d+)_(\d+)")
ROWS_A_LIST, LISTS_LEAST, LISTS_MOST = 1_000, 10, 1_000
#: A scope that has so many times as many rows as its index was made for gets a new one.
OUTGROWN = 3
DIMENSIONS_MOST = 4_000  # of a halfvec, in an index
_KILOBYTE = 1_024

_EXISTING = """
    SELECT c.relname, x.indisvalid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE c.relname ~ '^memories_large_' ORDER BY 1
"""
#: Rows are counted only where there may be enough.
_ROWS = """
    SELECT s.id, m.id, m.dimension, (
        SELECT count(*) FROM memories_entryindex i WHERE i.scope_id = s.id AND i.model_id = m.id)
    FROM memories_scope s JOIN memories_workspace w ON w.id = s.workspace_id
    JOIN memories_embeddingmodel m ON m.id = w.index_model_id
    WHERE s.entry_count >= %s / 4 AND m.dimension <= %s ORDER BY s.id
"""
_IS_BUILDING = """
    SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = 0 AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""
_OF_SCOPES = """
    SELECT c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE x.indisvalid AND c.relname ~ %s ORDER BY 1
"""
#: The table the rows of a scope lie in: a partition, where there are any.
_PART_OF = "SELECT tableoid::regclass::text FROM memories_entryindex WHERE scope_id = %s LIMIT 1"


@dataclass(frozen=True, order=True)
class ScopeIndex:
    """The index of the vectors of one scope by one model, in so many lists."""

    scope_id: int
    model_id: int
    lists: int

    @property
    def name(self) -> str:
        return f"memories_large_{self.scope_id}_{self.model_id}_{self.lists}"

    @classmethod
    def of_name(cls, name: str) -> "ScopeIndex | None":
        match = _NAME.fullmatch(name)
        return cls(*map(int, match.groups())) if match else None


@dataclass(frozen=True)
class Plan:
    """What is to be done so that large scopes have their index, and no others."""

    build: dict[ScopeIndex, int]  # with the dimension of its vectors
    drop: list[str]  # names; those that another index takes the place of are dropped once it is there

    @property
    def counts(self) -> dict[str, int]:
        return {"indexes_to_build": len(self.build), "indexes_to_drop": len(self.drop)}


def plan() -> Plan:
    """What is to be done now; an index that was left half built is dropped, and built again if it is still wanted.

    A scope has an index from LARGE_SCOPE_ENTRIES embedded entries on, and keeps it until it has less than half of that.
    """
    with connection.cursor() as cursor:
        cursor.execute(_EXISTING)
        existing = [(index, valid) for name, valid in cursor.fetchall() if (index := ScopeIndex.of_name(name))]
        least = conf.LARGE_SCOPE_ENTRIES
        cursor.execute(_ROWS, [least, DIMENSIONS_MOST])
        rows = {(scope, model): (dimension, count) for scope, model, dimension, count in cursor.fetchall() if least}
    build: dict[ScopeIndex, int] = {}
    keep: set[ScopeIndex] = set()
    for (scope, model), (dimension, count) in rows.items():
        there = [index for index, valid in existing if valid and (index.scope_id, index.model_id) == (scope, model)]
        fitting = [index for index in there if (index.lists / OUTGROWN <= lists_for(count) <= index.lists * OUTGROWN)]
        if fitting and count >= least / 2:
            keep.add(fitting[-1])
        elif count >= (least / 2 if there else least):
            build[ScopeIndex(scope, model, lists_for(count))] = dimension
            keep.update(there)
    return Plan(build, [index.name for index, valid in existing if not (valid and index in keep)])


def lists_for(rows: int) -> int:
    return min(max(rows // ROWS_A_LIST, LISTS_LEAST), LISTS_MOST)


def is_building() -> bool:
    """Whether a session is at it now; what it has not finished looks like what a killed one left behind."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_BUILDING, [_LOCK >> 32])
        return bool(cursor.fetchone()[0])


def ask() -> dict[str, int]:
    """Have the owner's process do what is to be done, as that may not be done by the worker; what that is."""
    if is_building():
        return {"indexes_to_build": 0, "indexes_to_drop": 0}
    planned = plan()
    if planned.build or planned.drop:
        wake_on_commit(CHANNEL)
    return planned.counts


def preview() -> dict[str, int]:
    """What is to be done, counted."""
    return plan().counts


def carry_out(say: Callable[[str], None] = lambda _line: None) -> dict[str, int]:
    """Do what is to be done, one index after another, as the owner of the table; how many were built and dropped.

    Nothing is done where another session is at it. Writers and readers go on meanwhile. Killed at any moment it leaves
    at most an index nobody uses, which the next call drops.
    """
    counts = {"built": 0, "dropped": 0}
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            return counts
        try:
            planned = plan()
            counts["dropped"] += _drop(planned.drop)
            for index, dimension in planned.build.items():
                say(index.name)
                _build(index, dimension)
                counts["built"] += 1
            if planned.build:
                counts["dropped"] += _drop(plan().drop)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
    return counts


def _build(index: ScopeIndex, dimension: int) -> None:
    """On one processor, so that the others stay free; it ends when this process does."""
    # Finding the centres of the lists takes a sample of fifty rows a list, and its distances
    sample, lists = 50 * index.lists, index.lists
    memory = max(65_536, (sample * (lists * 4 + dimension * 2 + 64) + lists * lists * 4) * 5 // 4 // _KILOBYTE)
    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_maintenance_workers = 0")
        cursor.execute(f"SET maintenance_work_mem = '{memory}kB'")
        cursor.execute("SET client_connection_check_interval = '2s'")
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(_PART_OF, [index.scope_id])
        (part,) = cursor.fetchone()
        cursor.execute(
            f"CREATE INDEX CONCURRENTLY {index.name} ON {part}"
            f" USING ivfflat ((embedding::halfvec({dimension})) halfvec_ip_ops) WITH (lists = {index.lists})"
            f" WHERE scope_id = {index.scope_id} AND model_id = {index.model_id}"
        )
        cursor.execute("RESET ALL")
    log.info("index.built", index=index.name, scope=index.scope_id)


def _drop(names: Iterable[str]) -> int:
    dropped = 0
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            log.info("index.dropped", index=name)
            dropped += 1
    return dropped


def indexes_of(scopes: Iterable[int], model_id: int) -> dict[int, ScopeIndex]:
    """The indexes of these scopes that can be searched now, by scope."""
    scope_pattern = "|".join(map(str, scopes))
    with connection.cursor() as cursor:
        cursor.execute(_OF_SCOPES, [f"^memories_large_({scope_pattern})_{model_id}_"])
        indexes = [ScopeIndex.of_name(name) for (name,) in cursor.fetchall()]
    return {index.scope_id: index for index in sorted(filter(None, indexes))}
