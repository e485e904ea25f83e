"""Removing for good what expired long ago (A9): proposed by night, done when people agree."""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from memories import batches
from memories.batches.steps import PurgeStep
from memories.choices import BatchVerb, HoldReason
from memories.conf import conf
from memories.models import Batch, Entry, Scope, Suppression
from memories.models.entry import EntryQuerySet

JOB = "purge"
ACTOR = f"job:{JOB}"


def propose(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Plan to remove what expired before the grace began, a batch for each scope, each held until somebody approves.

    It takes the place of what was proposed before and nobody has decided on.
    """
    entries = [plan.counts.get(BatchVerb.PURGE, 0) for plan in _plans(workspace_id, now, run)]
    return {"scopes": len(entries), "entries": sum(entries)}


def purgeable(workspace_id: int, *, now: datetime) -> EntryQuerySet:
    """What expired before the grace began; neither what is pinned nor what people took out, which stays out by it."""
    by_people = Suppression.objects.filter(entry=OuterRef("pk"), workspace_id=workspace_id)
    expired = Entry.objects.expired().filter(workspace_id=workspace_id, pinned=False)
    return expired.filter(~Exists(by_people), expired_at__lte=now - conf.PURGE_AFTER)


def _plans(workspace_id: int, now: datetime, run: str) -> Iterator[Batch]:
    entries = purgeable(workspace_id, now=now)
    scopes = entries.filter(scope__frozen=False).order_by("scope_id").values_list("scope_id", flat=True).distinct()
    for scope in Scope.objects.filter(pk__in=list(scopes)).order_by("pk"):
        with transaction.atomic():
            step = batches.StepForAll(PurgeStep(), entries)
            planned = batches.plan(scope, step, name=JOB, run=run, actor=ACTOR, now=now)
            if not planned.held_because:
                batches.supersede_proposals(scope, JOB, by=planned, actor=ACTOR, now=now)
                batches.require_approval(planned, HoldReason.PURGE, purged=planned.counts.get(BatchVerb.PURGE, 0))
        yield planned
