"""The plan of a batch: what is to happen to which entry, row by row, before anything happens."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.db.models import Count

from memories.batches import safety_limit
from memories.choices import BatchState, BatchVerb
from memories.exceptions import ScopeFrozen
from memories.models import Batch, BatchChange, Scope
from memories.models.entry import EntryQuerySet

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, kw_only=True)
class Step:
    """One row of a plan: a verb, the entry with the version it was judged by, and what the verb needs to know.

    CREATE: the draft, written down; `rests_on` {entry: version}, without which it is not created; `sources`, entries
    it names as its sources and that stay. CHANGE: `columns` and `slots`. EXPIRE: `suppress`. RESTORE: `term_seconds`.
    MERGE and SUPERSEDE: `into`, either {"entry": its id} or {"position": the row of this plan that creates it}.
    TELL: the day, written down. UNDO: an entry or the event of a day.
    """

    verb: BatchVerb
    entry_id: int | None = None
    version: int | None = None
    event_id: int | None = None
    draft: Mapping[str, Any] = field(default_factory=dict)


def plan(
    scope: Scope,
    steps: Iterable[Step],
    *,
    name: str,
    run: str,
    actor: str,
    now: datetime,
    reason: str = "",
    judged: bool = False,
    unreadable: str = "",
) -> Batch:
    """Write down what a run is to do to a scope. A run that was killed finds the plan it had made.

    `judged` plans rest on the judgement of a machine and pass the safety limit; `unreadable` says what was wrong with
    the answer they rest on. Raises ScopeFrozen.
    """
    with transaction.atomic():
        batch, made = _open(scope, name=name, run=run, actor=actor, now=now, reason=reason)
        if made:
            numbered = enumerate(steps, start=1)
            while rows := [_row(batch, position, step) for position, step in islice(numbered, ROWS_AT_ONCE)]:
                BatchChange.objects.bulk_create(rows)
            _settle(batch, judged=judged, unreadable=unreadable)
    return batch


def plan_all(
    scope: Scope,
    chosen: EntryQuerySet,
    verb: BatchVerb,
    *,
    name: str,
    run: str,
    actor: str,
    now: datetime,
    draft: Mapping[str, Any] | None = None,
    reason: str = "",
    judged: bool = False,
    summed: bool = True,
) -> Batch:
    """Plan one verb for all entries of a query, in one statement: a job may choose a million. Raises ScopeFrozen.

    What is judged by a rule that ends by itself is not `summed` over the weeks.
    """
    with transaction.atomic():
        batch, made = _open(scope, name=name, run=run, actor=actor, now=now, reason=reason)
        if made:
            _write_all(batch, chosen.filter(scope=scope, workspace_id=scope.workspace_id), verb, draft or {})
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


def _row(batch: Batch, position: int, step: Step) -> BatchChange:
    return BatchChange(
        workspace_id=batch.workspace_id,
        batch=batch,
        position=position,
        verb=step.verb,
        entry_id=step.entry_id,
        event_id=step.event_id,
        expected_version=step.version,
        draft=dict(step.draft),
    )


def _write_all(batch: Batch, chosen: EntryQuerySet, verb: BatchVerb, draft: Mapping[str, Any]) -> None:
    query, parameters = chosen.order_by().values_list("pk", "version").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_batchchange (workspace_id, batch_id, position, verb, entry_id, expected_version,"  # noqa: S608 (compiled by Django)
            " draft, state, note)"
            " SELECT %s, %s, row_number() OVER (ORDER BY entry), %s, entry, version, %s::jsonb, 'planned', ''"
            f" FROM ({query}) AS chosen (entry, version)",
            [batch.workspace_id, batch.pk, verb, json.dumps(dict(draft)), *parameters],
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
