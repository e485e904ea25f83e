"""Expiring entries whose time is over (A9), in batches, never pinned ones; restoring them; proposing to purge them.

What is due is defined here and in the policies, for the nightly job, the admin and the API alike.

Capacity of scopes (D1): faded facts are archived, and above FACTS_MOST the least relevant of passing categories.

Each is a batch that passes the safety limit; archiving facts of lasting categories waits for a person.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction
from django.db.models import (
    Count,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    FloatField,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Exp, Extract, Greatest, Least

from memories import batches
from memories.batches.steps import ArchiveStep, ExpireStep, PurgeStep, RestoreStep
from memories.choices import PASSING, BatchState, BatchVerb, ChangeState, Due, EntryType, HoldReason, category_rule
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
        rows = Entry.objects.live().filter(policies.over(now, scope_kind=scope.kind), pinned=False)
        due = batches.StepForAll(ExpireStep(), rows)
        reason = policies.describe_ttls(scope.kind)
        try:
            yield batches.plan(scope, due, name=JOB, run=run, actor=actor, now=now, reason=reason)
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
    return shorter.over(now) & ~longer.over(now)


def _expirable(workspace_id: int, policies: Policies, now: datetime) -> EntryQuerySet:
    live = Entry.objects.live().filter(workspace_id=workspace_id, pinned=False, scope__frozen=False)
    return live.filter(policies.over(now))


def is_job_batch(batch: Batch) -> bool:
    return Batch.objects.filter(JOB_BATCHES, pk=batch.pk).exists()


def expiry_batches(*, since: datetime) -> QuerySet[Batch]:
    """The batches in which the job expired something from a moment on, newest first."""
    batches = Batch.objects.filter(JOB_BATCHES, state=BatchState.APPLIED, created_at__gte=since)
    return batches.order_by("-created_at", "-pk")


def is_expired_by(batches: Iterable[Batch] | QuerySet[Batch]) -> Q:
    """The condition that one of these batches expired an entry, which is still expired and not suppressed."""
    changes = BatchChange.objects.filter(batch__in=batches, verb=BatchVerb.EXPIRE, state=ChangeState.APPLIED)
    by_people = Suppression.objects.filter(entry=OuterRef("pk"), workspace_id=OuterRef("workspace_id"))
    return Q(~Exists(by_people), expired_at__isnull=False, pk__in=changes.values("entry"))


def expired_by(batches: Iterable[Batch] | QuerySet[Batch]) -> EntryQuerySet:
    """Entries these batches expired that are still expired, except suppressed ones."""
    return Entry.objects.filter(is_expired_by(batches))


def restore_all(
    expiries: Iterable[Batch],
    *,
    term: timedelta | None,
    now: datetime,
    actor: str,
    reason: str,
    among: Collection[int] | None = None,
    report: Report | None = None,
) -> dict[str, int]:
    """Restore what these batches expired, for `term` or as its policy says; called again, it goes on with the rest.

    `among` are the entries that are meant, where not all are. It is a batch for each scope, except frozen ones; these
    are of one run, and are undone together.
    """
    by_scope: defaultdict[int, list[Batch]] = defaultdict(list)
    for expiry in expiries:
        if expiry.scope_id is not None:
            by_scope[expiry.scope_id].append(expiry)
    rows_of = {
        scope: expired_by(by_scope[scope.pk]).filter(Q() if among is None else Q(pk__in=among))
        for scope in Scope.objects.filter(pk__in=by_scope, frozen=False).order_by("pk")
    }
    step, name, run = RestoreStep.lasting(term), BatchVerb.RESTORE, f"restore:{uuid4()}"
    plans = (
        batches.plan(scope, batches.StepForAll(step, rows), name=name, run=run, actor=actor, now=now, reason=reason)
        for scope, rows in rows_of.items()
        if rows.exists()
    )
    return _apply(plans, BatchVerb.RESTORE, now, report)


def _apply(plans: Iterable[Batch], verb: BatchVerb, now: datetime, report: Report | None) -> dict[str, int]:
    counts = {"scopes": 0, "entries": 0}
    for plan in plans:
        before = counts["entries"] + batches.progress(plan)

        def report_rows(rows: int, before: int = before) -> None:
            if report:
                report({**counts, "entries": before + rows})

        applied = batches.apply_batch(plan, now=now, report=report_rows)
        counts["scopes"] += 1
        counts["entries"] += applied.counts.get(verb, 0)
    return counts


def propose_purge(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Propose to purge what expired before PURGE_AFTER, a batch a scope; each replaces the open proposals before it."""
    entries, counts = purgeable(workspace_id, now=now), {"scopes": 0, "entries": 0}
    scopes = entries.filter(scope__frozen=False).order_by("scope_id").values_list("scope_id", flat=True).distinct()
    for scope in Scope.objects.filter(pk__in=list(scopes)).order_by("pk"):
        with transaction.atomic():
            step = batches.StepForAll(PurgeStep(), entries)
            plan = batches.plan(scope, step, name=PURGE, run=run, actor=PURGE_ACTOR, now=now)
            purged = plan.counts.get(BatchVerb.PURGE, 0)
            if not plan.held_because:
                batches.supersede_proposals(scope, PURGE, by=plan, actor=PURGE_ACTOR, now=now)
                batches.require_approval(plan, HoldReason.PURGE, purged=purged)
        counts["scopes"] += 1
        counts["entries"] += purged
    return counts


def purgeable(workspace_id: int, *, now: datetime) -> EntryQuerySet:
    """Entries expired before PURGE_AFTER, except pinned ones, and suppressed ones, which keep machines from writing."""
    by_people = Suppression.objects.filter(entry=OuterRef("pk"), workspace_id=workspace_id)
    expired = Entry.objects.expired().filter(workspace_id=workspace_id, pinned=False)
    return expired.filter(~Exists(by_people), expired_at__lte=now - conf.PURGE_AFTER)


CAPACITY_JOB = "capacity"
CAPACITY_ACTOR = f"job:{CAPACITY_JOB}"
FADED, CROWDED, REST = "faded", "capacity", "capacity-rest"
#: Days after which a curve is 0 as a float.
_DAYS = 5_000.0


def enforce_capacity(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Archive faded facts, then surplus ones; the number of scopes and facts, and of batches that wait."""
    counts: Counter[str] = Counter(scopes=0, faded=0, crowded_out=0, held=0, above_aim=0)
    for scope in _scopes(workspace_id):
        try:
            counts.update(_archive(scope, _faded_entries(scope, now), FADED, now=now, run=run))
            counts.update(_make_room(scope, now=now, run=run))
            counts["scopes"] += 1
        except ScopeFrozen:
            counts["frozen"] += 1
    return dict(counts)


def count_surplus(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """The number of facts a run would find faded, and surplus."""
    counts: Counter[str] = Counter(faded=0, surplus=0)
    for scope in _scopes(workspace_id):
        faded = _faded_entries(scope, now).count()
        counts["faded"] += faded
        counts["surplus"] += max(_facts(scope).count() - faded - conf.FACTS_MOST, 0)
    return dict(counts)


def _scopes(workspace_id: int) -> list[Scope]:
    """Scopes with facts that may have faded, or with more facts than FACTS_AIM."""
    facts = Entry.objects.live().filter(workspace_id=workspace_id, type=EntryType.FACT, tier=2).order_by()
    fading = facts.filter(category__in=PASSING[0], pinned=False).values("scope_id")
    most = min(conf.FACTS_AIM, conf.FACTS_MOST)
    full = facts.values("scope_id").annotate(facts=Count("pk")).filter(facts__gt=most).values("scope_id")
    return list(Scope.objects.filter(Q(pk__in=fading) | Q(pk__in=full), frozen=False).order_by("pk"))


def _facts(scope: Scope) -> EntryQuerySet:
    return Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT, tier=2)


def relevance(category: str, now: datetime) -> Combinable:
    """The relevance of facts of a category, as SQL: importance · decay (D4)."""
    curve = category_rule(category).curve
    used_at = Greatest("stated_at", "access__last_accessed")
    age = ExpressionWrapper(Value(now, DateTimeField()) - used_at, output_field=DurationField())
    days = Greatest(Least(Extract(age, "epoch") / 86_400.0, Value(_DAYS)), Value(0.0), output_field=FloatField())
    decay = Value(curve.floor) + Value(1 - curve.floor) * Exp(Value(-curve.rate) * days, output_field=FloatField())
    return ExpressionWrapper(F("importance") * decay, output_field=FloatField())


def _faded_entries(scope: Scope, now: datetime) -> EntryQuerySet:
    passing = _facts(scope).filter(category__in=PASSING[0], pinned=False)
    weighed = passing.annotate(relevance=relevance(PASSING[0][0], now))
    return weighed.filter(relevance__lt=conf.FADED)


def _archive(scope: Scope, facts: EntryQuerySet, name: str, *, now: datetime, run: str) -> dict[str, int]:
    """Archive facts in a batch that passes the safety limit; none is made while one of its name waits for a person."""
    run = batches.run_part(run, name)
    begun = Batch.objects.filter(run=run, scope=scope).exists()
    if not begun and (batches.open_proposals(scope, name) or not facts.exists()):
        return {}
    step = batches.StepForAll(ArchiveStep(), facts)  # not summed: what passes, passes every month
    plan = batches.plan(scope, step, name=name, run=run, actor=CAPACITY_ACTOR, now=now, judged=True, summed=False)
    batch = batches.apply_batch(plan, now=now)
    if batch.state == BatchState.PROPOSED:
        return {"held": 1}
    return {"faded" if name == FADED else "crowded_out": batch.counts.get(BatchVerb.ARCHIVE, 0)}


def _make_room(scope: Scope, *, now: datetime, run: str) -> dict[str, int]:
    """Archive surplus facts of passing categories, least relevant first; propose to a person what is still too much."""
    total = _facts(scope).count()
    counts: Counter[str] = Counter(above_aim=int(total > conf.FACTS_AIM))
    if total <= conf.FACTS_MOST:
        return dict(counts)
    surplus = total - conf.FACTS_MOST
    chosen_pks: list[int] = []
    for categories in PASSING:
        free = _facts(scope).filter(category__in=categories, pinned=False)
        weighed = free.annotate(relevance=relevance(categories[0], now))
        least = weighed.order_by("relevance", "pk").values_list("pk", flat=True)
        chosen_pks += list(least[: surplus - len(chosen_pks)])
    counts.update(_archive(scope, _facts(scope).filter(pk__in=chosen_pks), CROWDED, now=now, run=run))
    surplus -= len(chosen_pks)
    if surplus <= 0 or batches.open_proposals(scope, REST):
        return dict(counts)
    # what lasts: the least important and least recently used of what no person refused to archive
    refused = Batch.objects.filter(scope=scope, name=REST, state=BatchState.REFUSED, changes__entry=OuterRef("pk"))
    passing = [category for categories in PASSING for category in categories]
    lasting = _facts(scope).filter(~Exists(refused), pinned=False).exclude(category__in=passing)
    used_at = Greatest("stated_at", "access__last_accessed")
    used_least = lasting.order_by("importance", used_at, "pk").values_list("pk", flat=True)[:surplus]
    rest = _facts(scope).filter(pk__in=list(used_least))
    if rest.exists():
        with transaction.atomic():
            step, part = batches.StepForAll(ArchiveStep(), rest), batches.run_part(run, REST)
            plan = batches.plan(scope, step, name=REST, run=part, actor=CAPACITY_ACTOR, now=now, judged=True)
            batches.require_approval(plan, HoldReason.CROWDED, facts=total, most=conf.FACTS_MOST)
        counts["proposed"] += 1
    return dict(counts)
