"""The memory of an identity follows it: to the person it is linked to, and back when it is unlinked (E1).

Turns go to the new memory from the moment the link is stored. What the unused one holds then, and what is still written
to it by a turn that began before, or by an extraction of what was said there, is carried over until nothing is left: at
once, and every minute by a job. `Identity.carried_version` says up to where, so a kill at any moment loses nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import structlog
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from channels_app.models import Identity
from memories import batches
from memories.batches.carrying import Carrying, carry_over
from memories.choices import BatchState, ChangeState, ScopeKind
from memories.entries import suppression
from memories.exceptions import BatchBusy, BatchSettled, NothingToUndo, PlatformError
from memories.models import Batch, BatchChange, DailyEvent, Entry, Scope, Suppression
from memories.models.entry import EntryQuerySet
from memories.tenancy.keys import owner_of_key

log = structlog.get_logger(__name__)
#: Memories of one batch.
AT_ONCE = 500
#: Names of the batches.
LINK, UNLINK = "link", "unlink"
#: For so long after it was unlinked, what a turn that began before said in its name is looked for.
LOOKED_FOR = timedelta(days=1)
ACTOR = "job:unite-people"
_LOCK = 14 << 56  # the highest byte of an advisory lock is its kind


def waiting(*, now: datetime) -> QuerySet[Identity]:
    """The identities whose unused memory may hold something of theirs that was not carried over yet."""
    unused = Scope.objects.filter(workspace_id=OuterRef("workspace_id"), key=OuterRef("unused_key"), frozen=False)
    behind = unused.exclude(version=Coalesce(OuterRef("carried_version"), Value(-1)))
    is_due = Q(person__united_at__isnull=False) | Q(since__gt=now - LOOKED_FOR) | Q(carried_version=None)
    found = Identity.objects.exclude(unused_key="").filter(is_due, Exists(behind))
    return found.select_related("person").order_by("pk")


def unite_waiting(*, now: datetime) -> dict[str, int]:
    """Carry over what waits, of every identity; how many memories, and identities that could not be."""
    counts = {"entries": 0, "failed": 0}
    for identity in waiting(now=now):
        try:
            counts["entries"] += unite(identity, now=now)
        except PlatformError as refusal:  # a frozen memory: it is carried over once it thaws
            counts["failed"] += 1
            log.warning("person.waits", identity=identity.pk, problem=type(refusal).__name__)
    return counts


def count_waiting(*, now: datetime) -> dict[str, int]:
    """How many memories wait to be carried over."""
    return {"entries": sum(count_left(identity) for identity in waiting(now=now)), "failed": 0}


def count_left(identity: Identity) -> int:
    """How many memories of an identity are still to be carried over."""
    scope = _unused(identity)
    return 0 if scope is None else left_in(identity, scope).count()


def unite(identity: Identity, *, now: datetime, actor: str = ACTOR, reason: str = "") -> int:
    """Carry over what the unused memory of an identity holds; how many memories. Raises ScopeFrozen."""
    with _alone(identity) as is_mine:
        if not is_mine:
            return 0
        fresh = Identity.objects.select_related("person").filter(pk=identity.pk).exclude(unused_key="").first()
        return _unite(fresh, now, actor, reason) if fresh else 0


def _unite(identity: Identity, now: datetime, actor: str, reason: str) -> int:
    """Look after look until one finds nothing; what is written after its version was read is for another time."""
    scope, count = _unused(identity), 0
    if scope is None:
        return 0
    if not _holds_anything(identity, scope):  # nor is a memory begun for nothing
        Identity.objects.filter(pk=identity.pk, since=identity.since).update(carried_version=scope.version)
        return 0
    target = Scope.objects.begin(identity.workspace_id, identity.used_key, ScopeKind.USER)
    is_first = identity.carried_version is None
    if is_first and is_linked(identity):
        suppression.carry_over(scope, target, actor=actor)
    elif is_first:
        _undo_link(identity, now=now, actor=actor, reason=reason)
        suppression.take_back(target, scope, actor=actor)
    name = LINK if is_linked(identity) else UNLINK
    carrying = Carrying(name=name, actor=actor, reason=reason, now=now, since=identity.since or now)
    while True:
        scope.refresh_from_db(fields=["version", "frozen"])
        carried = _look(identity, scope, target, carrying, with_files=is_first)
        if not carried:
            Identity.objects.filter(pk=identity.pk, since=identity.since).update(carried_version=scope.version)
            return count
        count, is_first = count + carried, False


def _holds_anything(identity: Identity, scope: Scope) -> bool:
    """Whether there is something to carry over or to put back: memories, days, or what was taken out of use."""
    is_out = Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope).exists()
    left = left_in(identity, scope).exists() or bool(_days(identity, scope))
    return is_out or left or bool(linking_batches(identity))


def is_linked(identity: Identity) -> bool:
    """Whether its person's memory is the one its turns go to."""
    return identity.person.united_at is not None


def _look(identity: Identity, scope: Scope, target: Scope, carrying: Carrying, *, with_files: bool) -> int:
    """All that is there, a few hundred memories a batch; how many were carried over, with days."""
    last, count = 0, 0
    days = _days(identity, scope)
    while True:
        left = left_in(identity, scope) if with_files else left_in(identity, scope).filter(path="")
        entries = list(left.filter(pk__gt=last).select_related("scope").order_by("pk")[:AT_ONCE])
        if not (entries or days):
            return count
        carrying = replace(carrying, run=f"{run_of(identity)}{uuid4().hex[:16]}")
        count += carry_over(entries, days, target, carrying)
        last, days = (entries[-1].pk if entries else last), []
        if len(entries) < AT_ONCE:
            return count


def left_in(identity: Identity, scope: Scope) -> EntryQuerySet:
    """What is in use there and goes with the identity, but for what people put back there since."""
    undone = BatchChange.objects.filter(entry=OuterRef("pk"), state=ChangeState.UNDONE)
    put_back = undone.filter(batch__name__in=[LINK, UNLINK], batch__created_at__gte=identity.since)
    left = Entry.objects.in_scope(scope).live().exclude(Exists(put_back))
    return left.filter(said_by(identity)) if is_shared(identity) else left


def said_by(identity: Identity) -> Q:
    """What an identity said itself."""
    return Q(channel=identity.platform, sender_id=identity.peer, path="")


def is_shared(identity: Identity) -> bool:
    """Whether its unused memory is still that of others, to whom it was linked."""
    platform, key = owner_of_key(identity.unused_key) or ("?", "")
    others = Identity.objects.filter(workspace_id=identity.workspace_id, person__united_at__isnull=False)
    return not platform and others.filter(person__key=key).exclude(pk=identity.pk).exists()


def _days(identity: Identity, scope: Scope) -> list[DailyEvent]:
    """The days of a memory nobody uses any more; those of one that others use are theirs as well, and stay."""
    if is_shared(identity):
        return []
    told = DailyEvent.objects.filter(workspace_id=scope.workspace_id, scope=scope, expired_at=None)
    return list(told.order_by("local_date", "pk"))


def _undo_link(identity: Identity, *, now: datetime, actor: str, reason: str) -> None:
    """Put back what was carried over when it was linked, the last first; what was changed since stays as it is."""
    for batch in linking_batches(identity):
        try:
            with transaction.atomic():
                undo = batches.plan_undo(batch, actor=actor, now=now, reason=reason)
                batches.start(undo)
        except (NothingToUndo, BatchSettled, BatchBusy):
            continue
        batches.apply_batch(undo, now=now)


def linking_batches(identity: Identity) -> list[Batch]:
    """What was carried over for an identity and not put back, the last first."""
    own = Batch.objects.filter(workspace_id=identity.workspace_id, name=LINK, run__startswith=run_of(identity))
    keys = [identity.own_key, identity.unused_key, identity.used_key]
    found = own.filter(scope__key__in=keys, state=BatchState.APPLIED, undone_by=None)
    return list(found.select_related("scope").order_by("-pk"))


def run_of(identity: Identity) -> str:
    """How the runs of an identity's batches begin."""
    return f"person:{identity.pk}:"


def _unused(identity: Identity) -> Scope | None:
    return Scope.objects.filter(workspace_id=identity.workspace_id, key=identity.unused_key).first()


@contextmanager
def _alone(identity: Identity) -> Iterator[bool]:
    """Whether nobody else carries over for this identity; for as long as the block lasts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK | identity.pk])
        is_mine = bool(cursor.fetchone()[0])
    try:
        yield is_mine
    finally:
        if is_mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK | identity.pk])
