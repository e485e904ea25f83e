"""Approval: proposals that wait for a person, approved or refused as a whole or row by row (F4)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from memories.batches.planning import counts_of
from memories.batches.steps import CreateStep, EditStep, replaced_by_rows, step_of
from memories.choices import BatchState, ChangeState, HoldReason, SkipReason
from memories.entries import draft
from memories.exceptions import BatchSettled, InvalidDraft, ScopeFrozen
from memories.models import Batch, BatchChange, Scope

_RUN_CHARS = 64


def approve(batch: Batch, *, actor: str, now: datetime, reason: str = "") -> Batch:
    """Approve a proposed batch, whatever it waits for. Raises BatchSettled or ScopeFrozen."""
    if batch.scope is not None and batch.scope.frozen:
        raise ScopeFrozen
    _decide(batch, BatchState.APPLYING, decided_by=actor, decided_because=reason)
    return batch


def refuse(batch: Batch, *, actor: str, now: datetime, reason: str = "") -> Batch:
    """Refuse a proposed batch for good. Raises BatchSettled."""
    _decide(batch, BatchState.REFUSED, decided_by=actor, decided_because=reason, closed_at=now)
    return batch


def _decide(batch: Batch, state: BatchState, **columns: Any) -> None:
    """Decide on a proposal once; the second of two at once gets BatchSettled."""
    if not Batch.objects.filter(pk=batch.pk, state=BatchState.PROPOSED).update(state=state, **columns):
        raise BatchSettled
    batch.refresh_from_db()


def require_approval(batch: Batch, code: HoldReason, **figures: Any) -> None:
    """Have a plan wait for a person whatever the safety limit finds; in the transaction that plans it."""
    batch.held_because = [*batch.held_because, {"code": code, **figures}]
    batch.save(update_fields=["held_because"])


def reopen(batch: Batch, *, actor: str) -> Batch:
    """Let a proposal wait again that this person refused. Raises BatchSettled."""
    mine = Batch.objects.filter(pk=batch.pk, state=BatchState.REFUSED, decided_by=actor)
    if not mine.update(state=BatchState.PROPOSED, decided_by="", decided_because="", closed_at=None):
        raise BatchSettled
    batch.refresh_from_db()
    return batch


def remove_steps(batch: Batch, positions: Iterable[int]) -> list[int]:
    """Remove rows from a plan, with those whose successor they create; their positions. Raises BatchSettled."""
    with _open_plan(batch) as changes:
        wanted = set(positions)
        resting = replaced_by_rows(changes, sorted(wanted)).values_list("position", flat=True)
        removed = changes.filter(position__in=wanted.union(resting))
        found = sorted(removed.values_list("position", flat=True))
        removed.update(state=ChangeState.LEFT, note=SkipReason.REMOVED)
        _count_planned(batch)
    return found


def put_back_steps(batch: Batch, positions: Iterable[int]) -> int:
    """Put rows back into a plan that people took out of it; their number. Raises BatchSettled."""
    with _open_plan(batch):
        removed = batch.changes.filter(state=ChangeState.LEFT, note=SkipReason.REMOVED, position__in=list(positions))
        count = removed.update(state=ChangeState.PLANNED, note="")
        _count_planned(batch)
    return count


def _count_planned(batch: Batch) -> None:
    batch.counts = counts_of(batch, state=ChangeState.PLANNED)
    batch.save(update_fields=["counts"])


def edit_step(batch: Batch, position: int, content: str) -> BatchChange:
    """Replace the content a row of a plan writes. Raises BatchSettled or InvalidDraft."""
    with _open_plan(batch) as changes:
        change = changes.filter(position=position).first()
        step = None if change is None else step_of(change)
        if change is None or batch.scope is None or not isinstance(step, CreateStep | EditStep):
            raise InvalidDraft(_("This row of the plan writes no words."), field="position")
        if isinstance(step, CreateStep):
            reworded = replace(step.draft, content=content)
            draft.check(reworded.in_scope(batch.scope))
            change.draft = step.model_copy(update={"draft": reworded}).as_json()
        else:
            draft.check_content(content)
            change.draft = step.model_copy(update={"columns": {**step.columns, "content": content}}).as_json()
        change.save(update_fields=["draft"])
    return change


@contextmanager
def _open_plan(batch: Batch) -> Iterator[QuerySet[BatchChange]]:
    """The planned rows of an undecided batch, locked until the block ends. Raises BatchSettled."""
    with transaction.atomic():
        locked = Batch.objects.select_for_update().get(pk=batch.pk)
        if locked.state != BatchState.PROPOSED:
            raise BatchSettled
        yield BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED)


def open_proposals(scope: Scope, name: str) -> list[Batch]:
    """The undecided proposals of a job for a scope."""
    return list(Batch.objects.filter(scope=scope, name=name, state=BatchState.PROPOSED).order_by("pk"))


def supersede_proposals(scope: Scope, name: str, *, actor: str, now: datetime, by: Batch | None = None) -> None:
    """Refuse the open proposals of a job that a newer one replaces: `by`, if it is planned already."""
    for batch in open_proposals(scope, name):
        if batch == by:
            continue
        try:
            refuse(batch, actor=actor, now=now)
        except BatchSettled:  # somebody decided meanwhile
            continue


def run_part(run: str, part: str | int) -> str:
    """The name of a part of a run, for batches of one run that are decided on separately, at most 64 characters."""
    name = f"{run}:{part}"
    return name if len(name) <= _RUN_CHARS else f"{uuid5(NAMESPACE_OID, run).hex}:{part}"[:_RUN_CHARS]


def of_run(run: str) -> Q:
    """The condition that a batch belongs to a run or to one of its parts."""
    return Q(run=run) | Q(run__startswith=f"{run}:") | Q(run__startswith=f"{uuid5(NAMESPACE_OID, run).hex}:")
