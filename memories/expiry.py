"""Taking out of use what has lived its time (A9): softly, in batches, and never what is pinned."""

from datetime import datetime

from django.db.models import Q

from memories import batch
from memories.choices import BatchVerb, EntryType, ScopeKind
from memories.models import Entry, Policy, Scope
from memories.models.policy import Policies

JOB = "expire"
ACTOR = f"job:{JOB}"


def expire_due(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Mark every entry of a workspace whose time is up as expired, one batch a scope; how many scopes and entries."""
    is_due = due(Policy.objects.of(workspace_id), now)
    entries = Entry.objects.live().filter(is_due, workspace_id=workspace_id, pinned=False, scope__frozen=False)
    scopes = list(Scope.objects.filter(pk__in=entries.order_by().values("scope_id")).order_by("pk"))
    expired = sum(_expire_scope(scope, is_due, now=now, run=run) for scope in scopes)
    return {"scopes": len(scopes), "entries": expired}


def due(policies: Policies, now: datetime) -> Q:
    """Past their own term, or without one past that of their kind; the same moment as recall stops to serve them."""
    is_due = Q(expires_at__lte=now)
    for entry_type in EntryType:
        for kind in ScopeKind:
            ttl = policies.ttl(entry_type, kind)
            if ttl is not None:
                past = Q(type=entry_type, scope__kind=kind, stated_at__lte=now - ttl)
                is_due |= Q(expires_at__isnull=True, pinned=False) & past
    return is_due


def _expire_scope(scope: Scope, is_due: Q, *, now: datetime, run: str) -> int:
    """Said again, it is remembered again: what only its time ended, nobody keeps out."""
    chosen = Entry.objects.live().filter(is_due, pinned=False)
    plan = batch.plan_all(scope, chosen, BatchVerb.EXPIRE, name=JOB, run=run, actor=ACTOR, now=now)
    done: int = batch.carry_out(plan, now=now).counts.get(BatchVerb.EXPIRE, 0)
    return done
