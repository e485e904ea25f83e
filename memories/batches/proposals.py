"""Proposals of a job: held for a person with a reason, and replaced by those of its next run."""

from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from django.db.models import Q

from memories.batches.approval import refuse
from memories.choices import BatchState, Held
from memories.exceptions import BatchSettled
from memories.models import Batch, Scope

_RUN_CHARS = 64


def require_approval(batch: Batch, code: Held, **figures: Any) -> None:
    """Have a plan wait for a person, whatever the safety limit says; in the transaction that plans it."""
    batch.held_because = [*batch.held_because, {"code": code, **figures}]
    batch.save(update_fields=["held_because"])


def run_part(run: str, part: str | int) -> str:
    """The name of a part of a run, for batches of one run that are decided on apart; it fits its column."""
    name = f"{run}:{part}"
    return name if len(name) <= _RUN_CHARS else f"{uuid5(NAMESPACE_OID, run).hex}:{part}"[:_RUN_CHARS]


def of_run_and_parts(run: str) -> Q:
    """The batches of a run, and of all of its parts."""
    return Q(run=run) | Q(run__startswith=f"{run}:") | Q(run__startswith=f"{uuid5(NAMESPACE_OID, run).hex}:")


def open_proposals(scope: Scope, name: str) -> list[Batch]:
    """What a job has proposed for a scope and nobody has decided on."""
    return list(Batch.objects.filter(scope=scope, name=name, state=BatchState.PROPOSED).order_by("pk"))


def supersede_proposals(scope: Scope, name: str, *, actor: str, now: datetime) -> int:
    """Close older proposals of a job that a newer one takes the place of; how many."""
    closed = 0
    for batch in open_proposals(scope, name):
        try:
            refuse(batch, actor=actor, now=now)
            closed += 1
        except BatchSettled:  # somebody decided meanwhile
            continue
    return closed
