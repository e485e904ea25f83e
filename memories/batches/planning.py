"""Planning a batch: which step is applied to which entry, row by row, before anything is changed."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db import connection, transaction
from django.db.models import Count

from memories.batches import safety_limit
from memories.batches.steps import PlannedStep, PlanRow
from memories.choices import BatchState, ChangeState
from memories.exceptions import ScopeFrozen
from memories.models import Batch, BatchChange, Scope
from memories.models.entry import EntryQuerySet

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
            _write_rows(batch, scope, rows)
            batch.is_summed = judged and summed
            batch.counts = counts_of(batch)
            batch.held_because = safety_limit.violations(batch, unreadable=unreadable) if judged or unreadable else []
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


def _write_rows(batch: Batch, scope: Scope, rows: Iterable[PlanRow] | StepForAll) -> None:
    if isinstance(rows, StepForAll):
        _write_all(batch, rows.entries.filter(scope=scope, workspace_id=scope.workspace_id), rows.step)
        return
    changes = (_change(batch, row, position) for position, row in enumerate(rows, start=1))
    while some := list(islice(changes, ROWS_AT_ONCE)):
        BatchChange.objects.bulk_create(some)


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


def counts_of(batch: Batch, **only: str) -> dict[str, int]:
    """The number of rows of a batch by verb."""
    changes = BatchChange.objects.filter(batch=batch, **only).order_by()
    return dict(changes.values_list("verb").annotate(rows=Count("*")))
