"""Purging what expired long ago (A9): proposed by night, applied when a person approves."""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from memories import batches
from memories.batches.steps import PurgeStep
from memories.choices import BatchVerb, HoldReason
from memories.conf import conf
from memories.models import Entry, Scope, Suppression
from memories.models.entry import EntryQuerySet

JOB = "purge"
ACTOR = f"job:{JOB}"


def propose(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Propose to purge what expired before PURGE_AFTER, a batch a scope; each replaces the open proposals before it."""
    entries, counts = purgeable(workspace_id, now=now), {"scopes": 0, "entries": 0}
    scopes = entries.filter(scope__frozen=False).order_by("scope_id").values_list("scope_id", flat=True).distinct()
    for scope in Scope.objects.filter(pk__in=list(scopes)).order_by("pk"):
        with transaction.atomic():
            step = batches.StepForAll(PurgeStep(), entries)
            plan = batches.plan(scope, step, name=JOB, run=run, actor=ACTOR, now=now)
            purged = plan.counts.get(BatchVerb.PURGE, 0)
            if not plan.held_because:
                batches.supersede_proposals(scope, JOB, by=plan, actor=ACTOR, now=now)
                batches.require_approval(plan, HoldReason.PURGE, purged=purged)
        counts["scopes"] += 1
        counts["entries"] += purged
    return counts


def purgeable(workspace_id: int, *, now: datetime) -> EntryQuerySet:
    """Entries expired before PURGE_AFTER, except pinned ones, and suppressed ones, which keep machines from writing."""
    by_people = Suppression.objects.filter(entry=OuterRef("pk"), workspace_id=workspace_id)
    expired = Entry.objects.expired().filter(workspace_id=workspace_id, pinned=False)
    return expired.filter(~Exists(by_people), expired_at__lte=now - conf.PURGE_AFTER)
