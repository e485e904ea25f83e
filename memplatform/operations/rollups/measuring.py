"""What happened between two moments, counted from the rows themselves: for the rollups and for hours still open."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from django.db import connection

from memplatform.operations.rollups.histogram import bucket_of

#: The hour of a row, its workspace and its channel: the first part of its scope's key, as far as it names a platform.
_TRACES = """
    SELECT date_trunc('hour', created_at, 'UTC') AS hour, workspace_id,
        CASE WHEN strpos(scope_keys[1], ':') > 0 THEN split_part(scope_keys[1], ':', 1) ELSE '' END AS channel,
        coalesce(evidence ->> 'verdict', '') AS verdict, degraded, served, coalesce(used, overlap) AS used, tokens,
        timings
    FROM memories_recalltrace
    WHERE created_at >= %(since)s AND created_at < %(until)s AND NOT query ? 'as_of'
        AND (%(seen)s::bigint[] IS NULL OR workspace_id = ANY (%(seen)s::bigint[]))
    ORDER BY created_at DESC LIMIT %(most)s
"""
_RECALLS = f"""
SELECT hour, workspace_id, channel,
    count(*) FILTER (WHERE verdict = 'found'), count(*) FILTER (WHERE verdict = 'weak'),
    count(*) FILTER (WHERE verdict = 'none'), count(*) FILTER (WHERE verdict = ''),
    count(*) FILTER (WHERE degraded <> '{{}}'), coalesce(sum(cardinality(served)), 0),
    coalesce(sum(cardinality(served)) FILTER (WHERE used IS NOT NULL), 0), coalesce(sum(cardinality(used)), 0),
    coalesce(sum(tokens), 0)
FROM ({_TRACES}) trace GROUP BY 1, 2, 3
"""  # noqa: S608 (constants)
_TIMES = f"""
SELECT hour, workspace_id, channel, step.key, {bucket_of("step.value::float8")}, count(*)
FROM ({_TRACES}) trace CROSS JOIN LATERAL jsonb_each_text(timings) step
WHERE verdict <> '' GROUP BY 1, 2, 3, 4, 5
"""  # noqa: S608 (constants)
#: That an entry was stated once more: later than before, or, told late, by another message.
_AGAIN = "c.op = 'U' AND c.batch_id IS NULL AND c.old ?| ARRAY['stated_at', 'origins']"
#: What came: a new entry, or one that was stated once more. What a batch does to entries did not come.
_WRITES = f"""
SELECT date_trunc('hour', c.at, 'UTC'), w.id, coalesce(e.channel, ''),
    count(*) FILTER (WHERE c.op = 'I' AND c.batch_id IS NULL), count(*) FILTER (WHERE c.op = 'I' AND c.batch_id > 0),
    count(*) FILTER (WHERE {_AGAIN} AND c.old ? 'content'), count(*) FILTER (WHERE {_AGAIN} AND NOT c.old ? 'content'),
    count(*) FILTER (WHERE c.op = 'U' AND c.old -> 'expired_at' = 'null')
FROM memories_workspace w CROSS JOIN LATERAL (
    SELECT at, op, row_id, batch_id, old FROM memories_change
    WHERE workspace_id = w.id AND at >= %(since)s AND at < %(until)s AND table_name = 'memories_entry'
    ORDER BY at DESC LIMIT %(most)s
) c LEFT JOIN memories_entry e ON e.id = c.row_id AND e.workspace_id = w.id
WHERE (%(seen)s::bigint[] IS NULL OR w.id = ANY (%(seen)s::bigint[])) AND e.subtype IS DISTINCT FROM 'canary'
GROUP BY 1, 2, 3
"""  # noqa: S608 (constants)
OF_RECALLS = ("found", "weak", "none", "unneeded", "degraded", "served", "reported", "used", "tokens")
OF_WRITES = ("created", "derived", "merged", "repeated", "expired")


@dataclass(frozen=True)
class Place:
    """An hour of UTC on a channel of a workspace."""

    hour: datetime
    workspace_id: int
    channel: str


@dataclass
class Measured:
    """What happened by place, and how long the steps of recalls took: pairs of a bucket and its count."""

    counts: defaultdict[Place, defaultdict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )
    times: defaultdict[tuple[Place, str], list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add rows of an hour, a workspace, a channel, and a number for each of the names."""
        for hour, workspace_id, channel, *numbers in rows:
            counts = self.counts[Place(hour, workspace_id, unquote(channel))]
            for name, number in zip(names, numbers, strict=True):
                counts[name] += int(number)


def measure(
    since: datetime, until: datetime, *, seen: frozenset[int] | None = None, most: int | None = None
) -> Measured:
    """What happened from a moment on and before another: in these workspaces (None: all), of the `most` newest rows."""
    asked = {"since": since, "until": until, "seen": None if seen is None else sorted(seen), "most": most}
    measured = Measured()
    with connection.cursor() as cursor:
        cursor.execute(_RECALLS, asked)
        measured.add(OF_RECALLS, cursor.fetchall())
        cursor.execute(_WRITES, asked)
        measured.add(OF_WRITES, cursor.fetchall())
        cursor.execute(_TIMES, asked)
        for hour, workspace_id, channel, step, bucket, count in cursor.fetchall():
            measured.times[Place(hour, workspace_id, unquote(channel)), step].append((bucket, count))
    return measured
