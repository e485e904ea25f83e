"""What a person decides about a plan: approve it, refuse it, change it row by row (F4)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memories.batches.planning import counts_of
from memories.choices import BatchState, BatchVerb, ChangeState, SkipReason
from memories.entries import draft
from memories.exceptions import BatchSettled, InvalidDraft, ScopeFrozen
from memories.models import Batch, BatchChange


def approve(batch: Batch, *, actor: str, now: datetime) -> Batch:
    """Let a proposed batch be applied, though the safety limit held it. Raises BatchSettled or ScopeFrozen."""
    if batch.scope is not None and batch.scope.frozen:
        raise ScopeFrozen
    _decide(batch, BatchState.APPLYING, decided_by=actor)
    return batch


def refuse(batch: Batch, *, actor: str, now: datetime) -> Batch:
    """Let a proposed batch never be applied. Raises BatchSettled."""
    _decide(batch, BatchState.REFUSED, decided_by=actor, closed_at=now)
    return batch


def _decide(batch: Batch, state: BatchState, **columns: Any) -> None:
    """Of two who decide at once, one does."""
    if not Batch.objects.filter(pk=batch.pk, state=BatchState.PROPOSED).update(state=state, **columns):
        raise BatchSettled
    batch.refresh_from_db()


def remove_steps(batch: Batch, positions: Iterable[int]) -> int:
    """Take rows out of a plan, with those that rest on them; how many. Raises BatchSettled."""
    with _open_plan(batch) as changes:
        wanted = set(positions)
        resting = changes.filter(draft__into__position__in=sorted(wanted)).values_list("position", flat=True)
        removed = changes.filter(position__in=wanted.union(resting)).update(
            state=ChangeState.LEFT, note=SkipReason.REMOVED
        )
        _count_anew(batch)
    return removed


def edit_step(batch: Batch, position: int, content: str) -> BatchChange:
    """Have a row of the plan create, or change its entry to, other words. Raises BatchSettled or InvalidDraft."""
    with _open_plan(batch) as changes:
        change = changes.filter(position=position).first()
        if change is None or change.verb not in (BatchVerb.CREATE, BatchVerb.CHANGE) or batch.scope is None:
            raise InvalidDraft(_("This row of the plan writes no words."), field="position")
        if change.verb == BatchVerb.CREATE:
            change.draft["content"] = content
            draft.check(draft.deserialize(batch.scope, change.draft))
        else:
            draft.check_content(content)
            change.draft = {**change.draft, "columns": {**change.draft.get("columns", {}), "content": content}}
        change.save(update_fields=["draft"])
    return change


@contextmanager
def _open_plan(batch: Batch) -> Iterator[QuerySet[BatchChange]]:
    """The planned rows of a batch nobody has decided on, held until the block ends."""
    with transaction.atomic():
        held = Batch.objects.select_for_update().get(pk=batch.pk)
        if held.state != BatchState.PROPOSED:
            raise BatchSettled
        yield BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED)


def _count_anew(batch: Batch) -> None:
    batch.counts = counts_of(batch, state=ChangeState.PLANNED)
    batch.save(update_fields=["counts"])
