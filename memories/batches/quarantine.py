"""Putting what rests on a source into quarantine: found by lineage, planned and applied as one run, a batch a scope.

People order it, so no safety limit holds it: how much of the memory it takes is shown beforehand.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from memories import entries
from memories.batches.apply import apply_batch
from memories.batches.planning import plan
from memories.batches.steps import ExpireStep, PlanRow, QuarantineStep
from memories.batches.undo import plan_undo
from memories.choices import BatchVerb, ChangeState, Operation
from memories.entries import lineage_of
from memories.exceptions import PlatformError
from memories.models import Batch, BatchChange, Bot, Change, DailyEvent, Entry, Scope, Suppression

NAME = BatchVerb.QUARANTINE.value


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """What is in question: messages, entries, and the scopes where these messages may be served."""

    workspace_id: int
    about: str  # in words, for the reason
    entries: frozenset[int] = frozenset()
    origins: frozenset[str] = frozenset()
    scopes: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Affected:
    """What rests on a suspect and is not in quarantine yet."""

    suspect: Suspect
    entries: list[Entry]
    days: list[DailyEvent]
    live: int  # of the entries, in use
    of: int  # entries in use in the workspace

    @property
    def scopes(self) -> set[int]:
        of_days = {day.scope_id for day in self.days}
        return {*self.suspect.scopes, *of_days, *(entry.scope_id for entry in self.entries)}

    @property
    def share(self) -> float:
        """The share of the workspace's memory that goes out of use, 0–1."""
        return self.live / self.of if self.of else 0.0

    def by_type(self) -> Counter[str]:
        """How many entries of each type."""
        return Counter(str(entry.get_type_display()) for entry in self.entries)


@dataclass
class Quarantined:
    """What became of an order."""

    run: str
    entries: int = 0
    conversations: int = 0  # with messages nothing was made of
    batches: list[Batch] = field(default_factory=list)
    refused: list[tuple[Scope, str]] = field(default_factory=list)  # frozen scopes, with the reason


def suspect_entries(workspace_id: int, memories: Collection[Entry], about: str) -> Suspect:
    """Some entries, with the messages they rest on."""
    origins = frozenset(origin for entry in memories for origin in entry.origins)
    scopes = frozenset(entry.scope_id for entry in memories)
    ids = frozenset(entry.pk for entry in memories)
    return Suspect(workspace_id=workspace_id, about=about, entries=ids, origins=origins, scopes=scopes)


def suspect_file(scope: Scope, path: str, about: str) -> Suspect:
    """The lines of a file."""
    return suspect_entries(scope.workspace_id, Entry.objects.in_scope(scope).filter(path=path), about)


def suspect_batch(batch: Batch, about: str) -> Suspect:
    """What a batch wrote, such as an import."""
    create_rows = BatchChange.objects.filter(batch=batch, verb=BatchVerb.CREATE, state=ChangeState.APPLIED)
    wrote = Entry.objects.filter(workspace_id=batch.workspace_id, pk__in=create_rows.values("entry"))
    return suspect_entries(batch.workspace_id, wrote, about)


def suspect_bot(bot: Bot, since: datetime, until: datetime, about: str) -> Suspect:
    """What a bot wrote or reworded in a time, and the messages it did so from."""
    changes = Change.objects.filter(
        workspace_id=bot.workspace_id,
        table_name=Entry._meta.db_table,
        actor=f"bot:{bot.name}",
        at__gte=since,
        at__lt=until,
    )
    touched = set(changes.filter(op=Operation.INSERT).values_list("row_id", flat=True))
    touched |= set(changes.filter(op=Operation.UPDATE, old__has_key="content").values_list("row_id", flat=True))
    wrote = Entry.objects.filter(workspace_id=bot.workspace_id, pk__in=touched)
    return suspect_entries(bot.workspace_id, wrote, about)


def affected_by(suspect: Suspect) -> Affected:
    """Everything that rests on a suspect, at whatever remove."""
    lineage = lineage_of(suspect.workspace_id, entries=suspect.entries, origins=suspect.origins)
    rows = Entry.objects.filter(workspace_id=suspect.workspace_id, pk__in=lineage.entries, quarantined_at__isnull=True)
    memories = list(rows.select_related("scope").defer("terms").order_by("scope_id", "pk"))
    days = entries.days_resting_on(suspect.workspace_id, lineage.days)
    live = sum(entry.is_live() for entry in memories)
    return Affected(
        suspect, memories, days, live, Entry.objects.live().filter(workspace_id=suspect.workspace_id).count()
    )


def quarantine(affected: Affected, *, reason: str, now: datetime, actor: str) -> Quarantined:
    """Put all of it into quarantine, now. A frozen scope is refused with the reason, and keeps what it has."""
    suspect, result = affected.suspect, Quarantined(run=f"quarantine:{uuid4()}")
    by_scope: defaultdict[Scope, list[Entry]] = defaultdict(list)
    for entry in affected.entries:
        by_scope[entry.scope].append(entry)
    if not by_scope:  # its reason and who ordered it stand in a batch all the same
        by_scope.update({scope: [] for scope in Scope.objects.filter(pk__in=sorted(affected.scopes)[:1])})
    for scope, group in by_scope.items():
        rows = []
        for entry in group:
            origins = tuple(path for path in entry.origins if path in suspect.origins)
            rows.append(PlanRow(step=QuarantineStep(origins=origins), entry_id=entry.pk))
        try:
            batch = plan(scope, rows, name=NAME, run=result.run, actor=actor, now=now, reason=reason)
            result.entries += sum(apply_batch(batch, now=now).counts.values())
        except PlatformError as refusal:
            result.refused.append((scope, str(refusal)))
        else:
            result.batches.append(batch)
    result.conversations = entries.cover_messages(
        suspect.workspace_id, affected.scopes, suspect.origins, run=result.run, now=now, actor=actor
    )
    return result


def let_back(
    workspace_id: int, run: str, *, now: datetime, actor: str, reason: str, only: Collection[int] | None = None
) -> int:
    """Undo a quarantine: of some entries, or of all and of the messages nothing was made of; how many are back.

    What was changed meanwhile comes back as it was changed. Raises ScopeFrozen.
    """
    back = 0
    for batch in batches_of(workspace_id, run):
        rows = BatchChange.objects.filter(batch=batch, verb=BatchVerb.QUARANTINE, state=ChangeState.APPLIED)
        changes = rows if only is None else rows.filter(entry__in=list(only))
        if positions := list(changes.values_list("position", flat=True)):
            undo = plan_undo(batch, positions=positions, actor=actor, now=now, reason=reason, force=True)
            back += sum(apply_batch(undo, now=now).counts.values())
    if only is None:
        entries.uncover_messages(workspace_id, run, actor=actor)
    return back


def expire(memories: Sequence[Entry], *, now: datetime, actor: str, reason: str) -> int:
    """Take entries that are in quarantine out of use for good, in a batch a scope; how many. Raises ScopeFrozen."""
    by_scope: defaultdict[Scope, list[PlanRow]] = defaultdict(list)
    for entry in memories:
        by_scope[entry.scope].append(PlanRow(step=ExpireStep(only_live=False), entry_id=entry.pk))
    run, count = f"operator:{uuid4()}", 0
    for scope, rows in by_scope.items():
        batch = plan(scope, rows, name=BatchVerb.EXPIRE, run=run, actor=actor, now=now, reason=reason)
        count += sum(apply_batch(batch, now=now).counts.values())
    return count


def batches_of(workspace_id: int, run: str) -> list[Batch]:
    """The batches of a quarantine, a scope each."""
    return list(Batch.objects.filter(workspace_id=workspace_id, run=run, name=NAME).select_related("scope"))


def left_in(workspace_id: int, run: str) -> int:
    """How many conversations have messages in this quarantine that no entry stands for."""
    return Suppression.objects.filter(workspace_id=workspace_id, quarantine=run, entry=None).count()
