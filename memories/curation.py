"""What a person does to chosen entries: take them out, bring them back; together, in a batch for each scope (F3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import uuid4

from memories import batch
from memories.batch import Step
from memories.choices import BatchVerb
from memories.exceptions import PlatformError
from memories.models import Batch, Entry, Scope

#: Entries at once: a request that changes more takes longer than people wait.
MOST = 500


@dataclass
class Curated:
    """What became of the chosen entries."""

    done: int = 0
    left: int = 0  # were already as wanted
    refused: list[tuple[Scope, str]] = field(default_factory=list)  # scopes in which nothing was changed, and why
    batches: list[Batch] = field(default_factory=list)


def expire_chosen(entries: Sequence[Entry], *, now: datetime, actor: str, reason: str) -> Curated:
    """Take entries out of use, softly; those that are out already are left alone."""
    return _curate(entries, BatchVerb.EXPIRE, {"suppress": True}, now=now, actor=actor, reason=reason)


def restore_chosen(
    entries: Sequence[Entry], *, term: timedelta | None, now: datetime, actor: str, reason: str
) -> Curated:
    """Bring entries back into use, for `term` from now or as long as their policy says from now on."""
    draft = {"term_seconds": None if term is None else term.total_seconds()}
    return _curate(entries, BatchVerb.RESTORE, draft, now=now, actor=actor, reason=reason)


def _curate(
    entries: Sequence[Entry], verb: BatchVerb, draft: dict[str, Any], *, now: datetime, actor: str, reason: str
) -> Curated:
    """A batch for each scope; a scope that is frozen stays as it is."""
    curated, run = Curated(), f"operator:{uuid4()}"
    for scope, group in groupby(sorted(entries, key=lambda entry: entry.scope_id), key=lambda entry: entry.scope):
        steps = [Step(verb=verb, entry_id=entry.pk, version=entry.version, draft=draft) for entry in group]
        try:
            plan = batch.plan(scope, steps, name=verb, run=run, actor=actor, now=now, reason=reason)
            done = batch.carry_out(plan, now=now).counts.get(verb, 0)
        except PlatformError as refusal:
            curated.refused.append((scope, str(refusal)))
        else:
            curated.batches.append(plan)
            curated.done += done
            curated.left += len(steps) - done
    return curated
