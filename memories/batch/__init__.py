"""Batches: changes made together by one run or one person, so that they can be looked at and undone together (F3)."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F, Max

from memories.choices import BatchState, BatchVerb, ChangeState
from memories.models import Batch, BatchChange, Scope


def begin(scope: Scope, *, name: str, run: str, actor: str, now: datetime, reason: str = "") -> Batch:
    """The batch of a run on a scope; a run that was killed goes on with the batch it had begun."""
    batch, _made = Batch.objects.get_or_create(
        run=run,
        scope=scope,
        defaults={
            "workspace_id": scope.workspace_id,
            "name": name,
            "actor": actor,
            "reason": reason,
            "state": BatchState.APPLYING,
            "created_at": now,
        },
    )
    return batch


def record(batch: Batch, verb: BatchVerb, versions: Sequence[tuple[int, int]]) -> None:
    """Write down what was just done, in its transaction: entries with the version each had before."""
    last = BatchChange.objects.filter(batch=batch).aggregate(last=Max("position"))["last"] or 0
    BatchChange.objects.bulk_create(
        BatchChange(
            workspace_id=batch.workspace_id,
            batch=batch,
            position=position,
            verb=verb,
            entry_id=entry_id,
            expected_version=version,
            state=ChangeState.APPLIED,
        )
        for position, (entry_id, version) in enumerate(versions, start=last + 1)
    )


def finish(batch: Batch, *, now: datetime) -> dict[str, int]:
    """Close a batch whose every change is made; how many changes of each verb it holds."""
    verbs = BatchChange.objects.filter(batch=batch, state=ChangeState.APPLIED).values_list(F("verb"), flat=True)
    counts: dict[str, int] = {}
    for verb in verbs:
        counts[verb] = counts.get(verb, 0) + 1
    batch.state, batch.counts, batch.applied_at = BatchState.APPLIED, counts, now
    batch.save(update_fields=["state", "counts", "applied_at"])
    return counts
