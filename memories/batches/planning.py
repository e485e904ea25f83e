"""The plan of a batch: what is to happen to which entry, row by row, before anything happens."""

import json
from collections.abc import Iterable
from datetime import datetime
from itertools import islice

from django.db import connection, transaction
from django.db.models import Count

from memories.batches import safety_limit
from memories.batches.steps import PlannedStep, PlanRow
from memories.choices import BatchState
from memories.exceptions import ScopeFrozen
from memories.models import Batch, BatchChange, Scope
from memories.models.entry import EntryQuerySet

ROWS_AT_ONCE = 2_000


def plan(
    scope: Scope,
    rows: Iterable[PlanRow],
    *,
    name: str,
    run: str,
    actor: str,
    now: datetime,
    reason: str = "",
    judged: bool = False,
    unreadable: str = "",
) -> Batch:
    """Store what a run is to do to a scope. A run that was killed finds the plan it had made.

    `judged` plans rest on the judgement of a machine and pass the safety limit; `unreadable` says what was wrong with
    the answer they rest on. Raises ScopeFrozen.
    """
    with transaction.atomic():
        batch, made = _open(scope, name=name, run=run, actor=actor, now=now, reason=reason)
        if made:
            numbered = enumerate(rows, start=1)
            while changes := [_change(batch, position, row) for position, row in islice(numbered, ROWS_AT_ONCE)]:
                BatchChange.objects.bulk_create(changes)
            _settle(batch, judged=judged, unreadable=unreadable)
    return batch


def plan_all(
    scope: Scope,
    chosen: EntryQuerySet,
    step: PlannedStep,
    *,
    name: str,
    run: str,
    actor: str,
    now: datetime,
    reason: str = "",
    judged: bool = False,
    summed: bool = True,
) -> Batch:
    """Plan one step for all entries of a query, in one statement: a job may choose a million. Raises ScopeFrozen.

    What is judged by a rule that ends by itself is not `summed` over the weeks.
    """
    with transaction.atomic():
        batch, made = _open(scope, name=name, run=run, actor=actor, now=now, reason=reason)
        if made:
            _write_all(batch, chosen.filter(scope=scope, workspace_id=scope.workspace_id), step)
            _settle(batch, judged=judged, summed=summed)
    return batch


def _open(scope: Scope, *, name: str, run: str, actor: str, now: datetime, reason: str) -> tuple[Batch, bool]:
    if Scope.objects.filter(pk=scope.pk, frozen=True).exists():
        raise ScopeFrozen
    return Batch.objects.get_or_create(
        run=run,
        scope=scope,
        defaults={
            "workspace_id": scope.workspace_id,
            "name": name,
            "actor": actor,
            "reason": reason,
            "state": BatchState.PROPOSED,
            "created_at": now,
        },
    )


def _change(batch: Batch, position: int, row: PlanRow) -> BatchChange:
    return BatchChange(
        workspace_id=batch.workspace_id,
        batch=batch,
        position=position,
        verb=row.step.verb,
        entry_id=row.entry_id,
        event_id=row.event_id,
        expected_version=row.version,
        draft=row.step.as_json(),
    )


def _write_all(batch: Batch, chosen: EntryQuerySet, step: PlannedStep) -> None:
    query, parameters = chosen.order_by().values_list("pk", "version").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_batchchange (workspace_id, batch_id, position, verb, entry_id, expected_version,"  # noqa: S608 (compiled by Django)
            " draft, state, note)"
            " SELECT %s, %s, row_number() OVER (ORDER BY entry), %s, entry, version, %s::jsonb, 'planned', ''"
            f" FROM ({query}) AS chosen (entry, version)",
            [batch.workspace_id, batch.pk, step.verb, json.dumps(step.as_json()), *parameters],
        )


def _settle(batch: Batch, *, judged: bool, summed: bool = True, unreadable: str = "") -> None:
    batch.is_summed = judged and summed
    batch.counts = counts_of(batch)
    batch.held_because = safety_limit.violations(batch, unreadable=unreadable) if judged or unreadable else []
    batch.save(update_fields=["counts", "held_because", "is_summed"])


def counts_of(batch: Batch, **only: str) -> dict[str, int]:
    """How many rows of each verb a batch holds."""
    changes = BatchChange.objects.filter(batch=batch, **only).order_by()
    return dict(changes.values_list("verb").annotate(rows=Count("*")))
