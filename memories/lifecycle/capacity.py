"""Capacity of scopes (D1): faded facts are archived, and above FACTS_MOST the least relevant of passing categories.

Each is a batch that passes the safety limit; archiving facts of lasting categories waits for a person.
"""

from collections import Counter
from datetime import datetime

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
    Value,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Exp, Extract, Greatest, Least

from memories import batches
from memories.batches.steps import ArchiveStep
from memories.choices import BatchState, BatchVerb, EntryType, HoldReason
from memories.conf import conf
from memories.exceptions import ScopeFrozen
from memories.kinds import PASSING, category_rule
from memories.models import Batch, Entry, Scope
from memories.models.entry import EntryQuerySet

JOB = "capacity"
ACTOR = f"job:{JOB}"
FADED, CROWDED, REST = "faded", "capacity", "capacity-rest"
#: Days after which a curve is 0 as a float.
_DAYS = 5_000.0


def enforce_capacity(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Archive faded facts, then surplus ones; the number of scopes and facts, and of batches that wait."""
    counts: Counter[str] = Counter(scopes=0, faded=0, crowded_out=0, held=0, above_aim=0)
    for scope in _scopes(workspace_id):
        try:
            counts.update(_archive(scope, _faded(scope, now), FADED, now=now, run=run))
            counts.update(_make_room(scope, now=now, run=run))
            counts["scopes"] += 1
        except ScopeFrozen:
            counts["frozen"] += 1
    return dict(counts)


def count_surplus(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """The number of facts a run would find faded, and surplus."""
    counts: Counter[str] = Counter(faded=0, surplus=0)
    for scope in _scopes(workspace_id):
        faded = _faded(scope, now).count()
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


def _faded(scope: Scope, now: datetime) -> EntryQuerySet:
    passing = _facts(scope).filter(category__in=PASSING[0], pinned=False)
    weighed = passing.annotate(relevance=relevance(PASSING[0][0], now))
    return weighed.filter(relevance__lt=conf.FADED)


def _archive(scope: Scope, chosen: EntryQuerySet, name: str, *, now: datetime, run: str) -> dict[str, int]:
    """Archive facts in a batch that passes the safety limit; none is made while one of its name waits for a person."""
    run = batches.run_part(run, name)
    begun = Batch.objects.filter(run=run, scope=scope).exists()
    if not begun and (batches.open_proposals(scope, name) or not chosen.exists()):
        return {}
    step = batches.StepForAll(ArchiveStep(), chosen)  # not summed: what passes, passes every month
    plan = batches.plan(scope, step, name=name, run=run, actor=ACTOR, now=now, judged=True, summed=False)
    done = batches.apply_batch(plan, now=now)
    if done.state == BatchState.PROPOSED:
        return {"held": 1}
    return {"faded" if name == FADED else "crowded_out": done.counts.get(BatchVerb.ARCHIVE, 0)}


def _make_room(scope: Scope, *, now: datetime, run: str) -> dict[str, int]:
    """Archive surplus facts of passing categories, least relevant first; propose to a person what is still too much."""
    total = _facts(scope).count()
    counts: Counter[str] = Counter(above_aim=int(total > conf.FACTS_AIM))
    if total <= conf.FACTS_MOST:
        return dict(counts)
    surplus = total - conf.FACTS_MOST
    chosen: list[int] = []
    for categories in PASSING:
        free = _facts(scope).filter(category__in=categories, pinned=False)
        weighed = free.annotate(relevance=relevance(categories[0], now))
        least = weighed.order_by("relevance", "pk").values_list("pk", flat=True)
        chosen += list(least[: surplus - len(chosen)])
    counts.update(_archive(scope, _facts(scope).filter(pk__in=chosen), CROWDED, now=now, run=run))
    surplus -= len(chosen)
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
            plan = batches.plan(scope, step, name=REST, run=part, actor=ACTOR, now=now, judged=True)
            batches.require_approval(plan, HoldReason.CROWDED, facts=total, most=conf.FACTS_MOST)
        counts["proposed"] += 1
    return dict(counts)
