"""Counting how often entries were served, and when last: what is used stays fresh (D2, D4).

Recall traces are counted in the background, each once: the newest counted one is stored with the day's run, in the
transaction that counts. What a bot repeats without a recall is counted when its turn is written. Counting raises no
version and is not in the history.
"""

from datetime import UTC, datetime, timedelta

from django.db import OperationalError, connection, transaction

from memories.choices import JobState
from memories.models import JobRun, RecallTrace

JOB = "rehearse"
#: Age at which a trace is counted: transactions that took a lower id have committed by then.
SETTLED = timedelta(minutes=1)
#: Recall traces a transaction, and transactions a run.
CHUNK, CHUNKS = 1_000, 50
_LOCK = 7_305_118  # any number nobody else uses
#: Writers that count repeats may lock several rows: counting gives way after this time.
_WAIT = "500ms"

_COUNT = """
    INSERT INTO memories_entryaccess AS access (entry_id, workspace_id, access_count, last_accessed, repeat_count)
    SELECT e.id, e.workspace_id, count(*), max(r.created_at), 0
    FROM memories_recalltrace r
    CROSS JOIN LATERAL (SELECT DISTINCT unnest(r.served) AS entry_id) served
    JOIN memories_entry e ON e.id = served.entry_id AND e.workspace_id = r.workspace_id
    WHERE r.id > %(after)s AND r.id <= %(upto)s AND NOT r.query ? 'as_of'
    GROUP BY e.id, e.workspace_id ORDER BY e.id
    ON CONFLICT (entry_id) DO UPDATE SET access_count = access.access_count + excluded.access_count,
        last_accessed = greatest(access.last_accessed, excluded.last_accessed)
"""


def count_served(*, now: datetime) -> dict[str, int]:
    """Count what was served since the last run; the number of traces and entries."""
    counts = {"traces": 0, "entries": 0}
    for _chunk in range(CHUNKS):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = %s", [_WAIT])
                cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
                if not cursor.fetchone()[0]:
                    break
                after = _mark()
                settled = RecallTrace.objects.filter(pk__gt=after, created_at__lte=now - SETTLED).order_by("pk")
                traces = list(settled.values_list("pk", flat=True)[:CHUNK])
                if not traces:
                    break
                cursor.execute(_COUNT, {"after": after, "upto": traces[-1]})
                entries = cursor.rowcount
                _move_mark(traces[-1], len(traces), entries, now)
        except OperationalError:  # a row is locked for longer: the next minute
            break
        counts["traces"] += len(traces)
        counts["entries"] += entries
    return counts


_UNCOUNTED = """
    SELECT count(DISTINCT r.id), count(DISTINCT (r.chunk, e.id)) FILTER (WHERE e.id IS NOT NULL)
    FROM (
        SELECT id, workspace_id, CASE WHEN query ? 'as_of' THEN '{}' ELSE served END AS served,
            (row_number() OVER (ORDER BY id) - 1) / %(chunk)s AS chunk
        FROM memories_recalltrace WHERE id > %(after)s AND created_at <= %(settled)s ORDER BY id LIMIT %(most)s
    ) r
    LEFT JOIN LATERAL unnest(r.served) AS served (entry_id) ON true
    LEFT JOIN memories_entry e ON e.id = served.entry_id AND e.workspace_id = r.workspace_id
"""


def count_uncounted(*, now: datetime) -> dict[str, int]:
    """The number of traces and entries the next run would count."""
    limits: dict[str, int | datetime] = {
        "after": _mark(),
        "settled": now - SETTLED,
        "chunk": CHUNK,
        "most": CHUNK * CHUNKS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_UNCOUNTED, limits)
        traces, entries = cursor.fetchone()
    return {"traces": traces, "entries": entries}


def _mark() -> int:
    """The id of the newest counted trace."""
    newest = JobRun.objects.filter(job=JOB).order_by("-local_date").values_list("counts", flat=True)[:10]
    return max((int(counts.get("upto", 0)) for counts in newest), default=0)


def _move_mark(upto: int, traces: int, entries: int, now: datetime) -> None:
    day = now.astimezone(UTC).date()
    run, _made = JobRun.objects.get_or_create(
        job=JOB, workspace=None, local_date=day, asked="", defaults={"started_at": now, "state": JobState.DONE}
    )
    before = run.counts
    run.counts = {
        "traces": before.get("traces", 0) + traces,
        "entries": before.get("entries", 0) + entries,
        "upto": upto,
    }
    run.state, run.finished_at = JobState.DONE, now
    run.save(update_fields=["counts", "state", "finished_at"])
