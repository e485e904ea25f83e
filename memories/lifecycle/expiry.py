"""Expiring entries whose time is over (A9), in batches, never pinned ones; restoring them; proposing to purge them.

What is due is defined here and in the policies, for the nightly job, the admin and the API alike.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from memories import batches as batch
from memories.batches.steps import ExpireStep, PurgeStep, RestoreStep
from memories.choices import BatchState, BatchVerb, ChangeState, Due, EntryType, HoldReason, ScopeKind
from memories.conf import conf
from memories.exceptions import ScopeFrozen
from memories.models import Batch, BatchChange, Entry, Policy, Scope, Suppression
from memories.models.entry import EntryQuerySet
from memories.models.policy import Policies
from memories.models.state import LIVE

JOB = "expire"
ACTOR = f"job:{JOB}"
PURGE = "purge"
PURGE_ACTOR = f"job:{PURGE}"
#: The job's batches, whoever started it; bulk actions of people have runs of another name.
JOB_BATCHES = Q(name=JOB, run__startswith=f"{JOB}:", undoes=None)
#: What ends within this time is due soon.
SOON = timedelta(days=7)
#: The last night, in any time zone.
NIGHT = timedelta(days=1)
#: Gets the counts of a run so far.
Report = Callable[[dict[str, int]], None]


def due(why: str, now: datetime, over: Callable[[datetime], Q]) -> Q:
    """The condition that an entry is due; `over` gives the one that its time is over at a moment."""
    if why == Due.REVIEW:
        return LIVE & Q(review_at__isnull=False, review_at__lte=now)
    if why == Due.SOON:
        return LIVE & over(now + SOON) & ~over(now)
    return LIVE & over(now)


def expire_due(
    workspace_id: int, *, now: datetime, run: str, report: Report | None = None, actor: str = ACTOR
) -> dict[str, int]:
    """Expire the entries of a workspace whose time is over, a batch a scope; the number of scopes and entries.

    A run that was killed continues its batches when it is called again.
    """
    plans = plan_due(workspace_id, now=now, run=run, actor=actor)
    return _apply(plans, BatchVerb.EXPIRE, now, report)


def plan_due(workspace_id: int, *, now: datetime, run: str, actor: str = ACTOR) -> Iterator[Batch]:
    """The plan for each scope in which something is due, made lazily, so that one is open at a time."""
    policies = Policy.objects.of(workspace_id)
    entries = _expirable(workspace_id, policies, now)
    begun = Batch.objects.filter(workspace_id=workspace_id, run=run, scope__frozen=False)
    scopes = set(entries.order_by().values_list("scope_id", flat=True).distinct())
    for pk in sorted(scopes.union(begun.values_list("scope_id", flat=True))):
        scope = Scope.objects.get(pk=pk)
        chosen = Entry.objects.live().filter(policies.over(now, scope_kind=scope.kind), pinned=False)
        due = batch.StepForAll(ExpireStep(), chosen)
        reason = policies.describe_ttls(scope.kind)
        try:
            yield batch.plan(scope, due, name=JOB, run=run, actor=actor, now=now, reason=reason)
        except ScopeFrozen:  # since it was chosen
            continue


def count_due(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """The number of scopes and entries a run would expire now."""
    entries = _expirable(workspace_id, Policy.objects.of(workspace_id), now)
    return {"scopes": entries.values("scope_id").distinct().count(), "entries": entries.count()}


@dataclass(frozen=True)
class ServingChange:
    """How many memories of a workspace may be served, and how many would end or come back under other policies."""

    served: int
    ended: int
    returned: int  # past their time today, and not yet expired


def change_of_serving(workspace_id: int, before: Policies, after: Policies, *, now: datetime) -> ServingChange:
    """What other policies would change of what may be served; one statement over the live entries of a workspace."""
    live = Entry.objects.live().filter(workspace_id=workspace_id)
    counts = live.aggregate(
        served=Count("pk", filter=~before.over(now)),
        ended=Count("pk", filter=_over_earlier(before, after, now)),
        returned=Count("pk", filter=_over_earlier(after, before, now)),
    )
    return ServingChange(**counts)


def newly_over(workspace_id: int, before: Policies, after: Policies, *, now: datetime) -> EntryQuerySet:
    """The entries that other policies would end at once, the newest statements first."""
    live = Entry.objects.live().filter(_over_earlier(before, after, now), workspace_id=workspace_id)
    return live.order_by("-stated_at")


def _over_earlier(longer: Policies, shorter: Policies, now: datetime) -> Q:
    """The condition that an entry's time is over by one set of policies and not by the other."""
    over = Q(type="")  # of no entry
    for scope_kind in ScopeKind:
        for entry_type in EntryType:
            was, ttl = longer.ttl(entry_type, scope_kind), shorter.ttl(entry_type, scope_kind)
            if ttl is None or (was is not None and was <= ttl):
                continue
            past = Q(type=entry_type, scope__kind=scope_kind, stated_at__lte=now - ttl)
            since = Q() if was is None else Q(stated_at__gt=now - was)
            over |= past & since & Q(expires_at__isnull=True, pinned=False)
    return over


def _expirable(workspace_id: int, policies: Policies, now: datetime) -> EntryQuerySet:
    live = Entry.objects.live().filter(workspace_id=workspace_id, pinned=False, scope__frozen=False)
    return live.filter(policies.over(now))


def is_job_batch(done: Batch) -> bool:
    return Batch.objects.filter(JOB_BATCHES, pk=done.pk).exists()


def expiry_batches(*, since: datetime, until: datetime | None = None) -> QuerySet[Batch]:
    """The batches in which the job expired something between two moments, newest first."""
    batches = Batch.objects.filter(JOB_BATCHES, state=BatchState.APPLIED, created_at__gte=since)
    return (batches if until is None else batches.filter(created_at__lt=until)).order_by("-created_at", "-pk")


def is_expired_by(batches: Iterable[Batch] | QuerySet[Batch]) -> Q:
    """The condition that one of these batches expired an entry, which is still expired and not suppressed."""
    changes = BatchChange.objects.filter(batch__in=batches, verb=BatchVerb.EXPIRE, state=ChangeState.APPLIED)
    by_people = Suppression.objects.filter(entry=OuterRef("pk"), workspace_id=OuterRef("workspace_id"))
    return Q(~Exists(by_people), expired_at__isnull=False, pk__in=changes.values("entry"))


def expired_by(batches: Iterable[Batch] | QuerySet[Batch]) -> EntryQuerySet:
    """Entries these batches expired that are still expired, except suppressed ones."""
    return Entry.objects.filter(is_expired_by(batches))


def plan_restore(
    batches: Iterable[Batch],
    *,
    term: timedelta | None,
    now: datetime,
    actor: str,
    reason: str,
    among: Collection[int] | None = None,
) -> Iterator[Batch]:
    """Plan for each scope, except frozen ones, to restore what batches expired, for `term` or as its policy says.

    `among` are the entries that are meant, where not all are. The batches are of one run, and are undone together.
    """
    by_scope: defaultdict[int, list[Batch]] = defaultdict(list)
    for done in batches:
        if done.scope_id is not None:
            by_scope[done.scope_id].append(done)
    run = f"restore:{uuid4()}"
    for scope in Scope.objects.filter(pk__in=by_scope, frozen=False).order_by("pk"):
        chosen = expired_by(by_scope[scope.pk])
        if among is not None:
            chosen = chosen.filter(pk__in=among)
        if chosen.exists():
            step = batch.StepForAll(RestoreStep.lasting(term), chosen)
            yield batch.plan(scope, step, name=BatchVerb.RESTORE, run=run, actor=actor, now=now, reason=reason)


def restore_all(
    batches: Iterable[Batch],
    *,
    term: timedelta | None,
    now: datetime,
    actor: str,
    reason: str,
    among: Collection[int] | None = None,
    report: Report | None = None,
) -> dict[str, int]:
    """Restore what batches expired (of it the entries `among`); called again, it continues with what still is."""
    plans = plan_restore(batches, term=term, now=now, actor=actor, reason=reason, among=among)
    return _apply(plans, BatchVerb.RESTORE, now, report)


def _apply(plans: Iterable[Batch], verb: BatchVerb, now: datetime, report: Report | None) -> dict[str, int]:
    counts = {"scopes": 0, "entries": 0}
    for plan in plans:
        before = counts["entries"] + batch.progress(plan)

        def report_rows(rows: int, before: int = before) -> None:
            if report:
                report({**counts, "entries": before + rows})

        applied = batch.apply_batch(plan, now=now, report=report_rows)
        counts["scopes"] += 1
        counts["entries"] += applied.counts.get(verb, 0)
    return counts


def propose_purge(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Propose to purge what expired before PURGE_AFTER, a batch a scope; each replaces the open proposals before it."""
    entries, counts = purgeable(workspace_id, now=now), {"scopes": 0, "entries": 0}
    scopes = entries.filter(scope__frozen=False).order_by("scope_id").values_list("scope_id", flat=True).distinct()
    for scope in Scope.objects.filter(pk__in=list(scopes)).order_by("pk"):
        with transaction.atomic():
            step = batch.StepForAll(PurgeStep(), entries)
            plan = batch.plan(scope, step, name=PURGE, run=run, actor=PURGE_ACTOR, now=now)
            purged = plan.counts.get(BatchVerb.PURGE, 0)
            if not plan.held_because:
                batch.supersede_proposals(scope, PURGE, by=plan, actor=PURGE_ACTOR, now=now)
                batch.require_approval(plan, HoldReason.PURGE, purged=purged)
        counts["scopes"] += 1
        counts["entries"] += purged
    return counts


def purgeable(workspace_id: int, *, now: datetime) -> EntryQuerySet:
    """Entries expired before PURGE_AFTER, except pinned ones, and suppressed ones, which keep machines from writing."""
    by_people = Suppression.objects.filter(entry=OuterRef("pk"), workspace_id=workspace_id)
    expired = Entry.objects.expired().filter(workspace_id=workspace_id, pinned=False)
    return expired.filter(~Exists(by_people), expired_at__lte=now - conf.PURGE_AFTER)
