"""Planning a batch: which step is applied to which entry, row by row, before anything is changed.

The safety limit: a machine's plan waits for a person if it retires too much, or changes what is pinned (F4).
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.db.models import Count

from memories.batches.steps import PlannedStep, PlanRow
from memories.choices import BatchState, BatchVerb, ChangeState, HoldReason
from memories.conf import conf
from memories.exceptions import ScopeFrozen
from memories.models import Batch, BatchChange, Entry, Scope
from memories.models.entry import LIVE_SQL, EntryQuerySet

#: Verbs that retire an entry; a merged one lives on in the entry that has it as a source.
RETIRING = (BatchVerb.EXPIRE, BatchVerb.ARCHIVE, BatchVerb.SUPERSEDE)
#: The number of entries of `gone` that no live entry was merged from, over any number of steps.
_UNNAMED = f"""
    , up (origin, entry_id) AS (
        SELECT entry_id, entry_id FROM gone
        UNION
        SELECT up.origin, l.from_entry_id FROM up
        JOIN memories_link l ON l.to_entry_id = up.entry_id AND l.kind = 'merged_from'
        WHERE l.workspace_id = %(workspace)s
    )
    SELECT count(*) FROM gone WHERE NOT EXISTS (
        SELECT FROM up JOIN memories_entry e ON e.id = up.entry_id
        WHERE up.origin = gone.entry_id AND {LIVE_SQL} AND e.id NOT IN (SELECT entry_id FROM going)
    )
"""  # noqa: S608 (constants)
#: What a plan retires, and what lived on in that alone; what it merges lives on.
_PLANNED = f"""
    WITH RECURSIVE going AS (
        SELECT c.entry_id FROM memories_batchchange c JOIN memories_entry e ON e.id = c.entry_id
        WHERE c.batch_id = %(batch)s AND c.verb = ANY(%(verbs)s) AND {LIVE_SQL}
          AND NOT EXISTS (SELECT FROM memories_batchchange m
                          WHERE m.batch_id = c.batch_id AND m.entry_id = c.entry_id AND m.verb = 'merge')
    ), gone (entry_id) AS (
        SELECT entry_id FROM going
        UNION
        SELECT l.to_entry_id FROM gone
        JOIN memories_link l ON l.from_entry_id = gone.entry_id AND l.kind = 'merged_from'
        JOIN memories_entry e ON e.id = l.to_entry_id AND NOT ({LIVE_SQL})
    )
"""  # noqa: S608 (constants)
#: What batches of machines retired since a moment, of some types, and nobody restored or decided on. What had taken the
#: place of another is the same fact: one that machines changed again and again counts once.
_RECENT = f"""
    WITH RECURSIVE going (entry_id) AS (SELECT 0::bigint WHERE false), gone AS (
        SELECT DISTINCT c.entry_id FROM memories_batch b
        JOIN memories_batchchange c ON c.batch_id = b.id AND c.state = 'applied' AND c.verb = ANY(%(verbs)s)
        JOIN memories_entry e ON e.id = c.entry_id AND e.type = ANY(%(types)s) AND NOT ({LIVE_SQL})
        WHERE b.scope_id = %(scope)s AND b.workspace_id = %(workspace)s AND b.is_summed AND b.decided_by = ''
          AND b.created_at > %(since)s AND b.id <> %(batch)s
          AND NOT EXISTS (
              SELECT FROM memories_entry f JOIN memories_batchchange fc ON fc.entry_id = f.id AND fc.state = 'applied'
              JOIN memories_batch fb ON fb.id = fc.batch_id AND fb.is_summed AND fb.decided_by = ''
              WHERE f.superseded_by_id = e.id AND f.scope_id = e.scope_id
                AND fc.verb = ANY(%(verbs)s) AND fb.created_at > %(since)s
          )
    )
"""  # noqa: S608 (constants)
_TYPES = """
    SELECT array_agg(DISTINCT e.type) FROM memories_batchchange c JOIN memories_entry e ON e.id = c.entry_id
    WHERE c.batch_id = %(batch)s AND c.verb = ANY(%(verbs)s)
"""


def violations(batch: Batch, *, unreadable: str = "") -> list[dict[str, Any]]:
    """Why a batch needs the approval of a person, as codes with figures; empty when it needs none."""
    reasons: list[dict[str, Any]] = []
    if unreadable:
        reasons.append({"code": HoldReason.UNREADABLE, "problem": unreadable[:500]})
    changes = BatchChange.objects.filter(batch=batch)
    if pinned := changes.filter(entry__pinned=True).count():
        reasons.append({"code": HoldReason.PINNED, "pinned": pinned})
    # Whether it retires too large a share of its types in the scope: alone, or with recent ones of machines
    types = _query(_TYPES, batch)
    retired = int(_query(_PLANNED + _UNNAMED, batch)) if types else 0
    if not retired:
        return reasons
    live = Entry.objects.live().filter(scope=batch.scope, workspace_id=batch.workspace_id, type__in=types).count()
    if _is_above(retired, live, conf.SAFETY_LIMIT_SHARE):
        percent = round(conf.SAFETY_LIMIT_SHARE * 100)
        return [*reasons, {"code": HoldReason.SHARE, "retired": retired, "live": live, "percent": percent}]
    verbs = [*RETIRING, BatchVerb.MERGE]  # what was merged is retired when what it became is
    since = batch.created_at - conf.SAFETY_LIMIT_WINDOW
    before = int(_query(_RECENT + _UNNAMED, batch, verbs=verbs, types=types, since=since)) if batch.is_summed else 0
    if before and _is_above(retired + before, live + before, conf.SAFETY_LIMIT_WINDOW_SHARE):
        percent = round(conf.SAFETY_LIMIT_WINDOW_SHARE * 100)
        figures = {"retired": retired + before, "live": live + before, "percent": percent}
        reasons.append({"code": HoldReason.DRAINED, **figures, "days": conf.SAFETY_LIMIT_WINDOW.days})
    return reasons


def approval_reasons(batch: Batch) -> list[str]:
    """The reasons in words, in the reader's language."""
    return [str(HoldReason(reason["code"]).label) % reason for reason in batch.held_because]


def _is_above(retired: int, live: int, share: float) -> bool:
    return retired > conf.SAFETY_LIMIT_ROWS and retired > share * live


def _query(query: str, batch: Batch, **more: Any) -> Any:
    values = {"batch": batch.pk, "scope": batch.scope_id, "workspace": batch.workspace_id, "verbs": list(RETIRING)}
    with connection.cursor() as cursor:
        cursor.execute(query, values | more)
        return cursor.fetchone()[0]


ROWS_AT_ONCE = 500  # each may hold a text of 8,000 characters


@dataclass(frozen=True)
class StepForAll:
    """One step for all entries of a query, written to the plan by one statement: a job may choose a million."""

    step: PlannedStep
    entries: EntryQuerySet


def plan(
    scope: Scope,
    rows: Iterable[PlanRow] | StepForAll,
    *,
    name: str,
    run: str,
    actor: str,
    now: datetime,
    reason: str = "",
    judged: bool = False,
    summed: bool = True,
    unreadable: str = "",
) -> Batch:
    """Store what a run is to do to a scope; a run that was killed finds its plan again. Raises ScopeFrozen.

    A `judged` plan rests on the judgement of a machine and passes the safety limit; unless it is `summed`, as one by a
    rule that ends by itself, it does not count towards the limit of a month. `unreadable` is what was wrong with the
    answer it rests on.
    """
    with transaction.atomic():
        if Scope.objects.filter(pk=scope.pk, frozen=True).exists():
            raise ScopeFrozen
        columns = {"workspace_id": scope.workspace_id, "name": name, "actor": actor, "reason": reason}
        batch, is_new = Batch.objects.get_or_create(
            run=run, scope=scope, defaults=columns | {"state": BatchState.PROPOSED, "created_at": now}
        )
        if is_new:
            write_rows(batch, rows)
            batch.is_summed = judged and summed
            batch.counts = counts_of(batch)
            batch.held_because = violations(batch, unreadable=unreadable) if judged or unreadable else []
            batch.save(update_fields=["counts", "held_because", "is_summed"])
    return batch


def begin_applied(scope: Scope, *, name: str, run: str, actor: str, now: datetime, reason: str) -> Batch:
    """A batch of what is written without a plan, to be undone like any other; `add_applied` tells what it wrote."""
    return Batch.objects.create(
        workspace_id=scope.workspace_id,
        scope=scope,
        name=name,
        run=run,
        actor=actor,
        reason=reason,
        state=BatchState.APPLIED,
        created_at=now,
        applied_at=now,
    )


def add_applied(batch: Batch, rows: Sequence[PlanRow]) -> None:
    """Tell what a batch has written: the entry or event of each row is there. In the transaction that wrote it."""
    before = sum(batch.counts.values())
    BatchChange.objects.bulk_create(
        _change(batch, row, position, state=ChangeState.APPLIED) for position, row in enumerate(rows, start=before + 1)
    )
    batch.counts = dict(Counter(batch.counts) + Counter(str(row.step.verb) for row in rows))
    batch.save(update_fields=["counts"])


def _change(batch: Batch, row: PlanRow, position: int, state: ChangeState = ChangeState.PLANNED) -> BatchChange:
    return BatchChange(
        workspace_id=batch.workspace_id,
        batch=batch,
        position=position,
        verb=row.step.verb,
        entry_id=row.entry_id,
        event_id=row.event_id,
        expected_version=row.version,
        draft=row.step.as_json(),
        state=state,
    )


def write_rows(batch: Batch, rows: Iterable[PlanRow] | StepForAll, *, start: int = 1) -> None:
    """The rows of a plan, from a position on."""
    if not isinstance(rows, StepForAll):
        changes = (_change(batch, row, position) for position, row in enumerate(rows, start=start))
        while some := list(islice(changes, ROWS_AT_ONCE)):
            BatchChange.objects.bulk_create(some)
        return
    step, entries = rows.step, rows.entries.filter(scope=batch.scope, workspace_id=batch.workspace_id)
    query, parameters = entries.order_by().values_list("pk", "version").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_batchchange (workspace_id, batch_id, position, verb, entry_id, expected_version,"  # noqa: S608 (compiled by Django)
            " draft, state, note)"
            " SELECT %s, %s, row_number() OVER (ORDER BY entry), %s, entry, version, %s::jsonb, 'planned', ''"
            f" FROM ({query}) AS chosen (entry, version)",
            [batch.workspace_id, batch.pk, step.verb, json.dumps(step.as_json()), *parameters],
        )


def count_planned(batch: Batch) -> None:
    """Note anew what of a plan is still to be done."""
    batch.counts = counts_of(batch, state=ChangeState.PLANNED)
    batch.save(update_fields=["counts"])


def counts_of(batch: Batch, **only: str) -> dict[str, int]:
    """The number of rows of a batch by verb."""
    changes = BatchChange.objects.filter(batch=batch, **only).order_by()
    return dict(changes.values_list("verb").annotate(rows=Count("*")))
