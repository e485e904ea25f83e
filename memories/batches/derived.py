"""What jobs made of the changes of a batch since: it goes along when the batch is undone (F3).

Compression makes facts of days, one fact of several and lines of a profile, in batches of its own; and a note of each
day. All of it says what the batch said, in other words.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from django.db.models import Q

from memories import entries
from memories.batches.steps import REPLACING, PlanRow, UndoStep, replaced_by_rows
from memories.choices import BatchVerb, ChangeState, LinkKind, Outcome, Source
from memories.entries import daily_events
from memories.entries.evidence import days_quoted_by, quoting_days
from memories.models import Batch, BatchChange, DailyEvent, Entry, Link, Scope

_Row = tuple[int, int]  # batch and position


@dataclass
class Part:
    """What one batch of a job made of it: to be put back as it was before that batch."""

    batch: int
    entries: set[int] = field(default_factory=set)
    days: set[int] = field(default_factory=set)  # to be made into facts anew

    def undo_rows(self, *, force: bool) -> Iterator[PlanRow]:
        step = UndoStep(force=force, of=self.batch)
        yield from (PlanRow(step=step, entry_id=entry) for entry in sorted(self.entries))
        yield from (PlanRow(step=step, event_id=day) for day in sorted(self.days))


@dataclass(frozen=True)
class MadeOfIt:
    """The parts to put back, the newest first; and the notes of days, which stand in no batch."""

    parts: list[Part]
    notes: list[int]


def made_of(batch: Batch, touched: Collection[int], events: Collection[int]) -> MadeOfIt:
    """What jobs made, at whatever remove, of the entries a batch wrote or reworded, and of the days it told of."""
    if batch.scope is None or batch.undoes_id:  # the undo of an undo puts back what went along
        return MadeOfIt([], [])
    scope, parts = batch.scope, dict[int, Part]()
    prior = entries.rows_before(batch.pk, Entry._meta.db_table, touched)
    new = {pk for pk, row in prior.items() if row.is_new or "content" in row.columns}
    seen, quoting = set(new), quoting_days(scope.workspace_id, events)
    made = {pk for pk, row in entries.rows_before(batch.pk, DailyEvent._meta.db_table, events).items() if row.is_new}
    while new or quoting:
        found, new = _made_of(batch, scope, new, quoting), set[int]()
        quoting = set()
        for row, change in found.items():
            part = parts.setdefault(row[0], Part(row[0]))
            replaced = replaced_by_rows(BatchChange.objects.filter(batch=row[0], state=ChangeState.APPLIED), [row[1]])
            part.entries |= {change.entry_id or 0, *(other.entry_id or 0 for other in replaced)} - {0}
            if change.note in ("", Outcome.MERGED) and change.entry_id not in seen:
                new.add(change.entry_id or 0)
        seen |= new
    for part in parts.values():
        part.days = days_quoted_by(scope.workspace_id, part.entries) - made
    return MadeOfIt(
        sorted(parts.values(), key=lambda part: -part.batch), daily_events.notes_of_days(scope, sorted(events))
    )


def _made_of(batch: Batch, scope: Scope, sources: Collection[int], quoting: Collection[int]) -> dict[_Row, BatchChange]:
    """The rows by which compression made something of these entries or, since a batch, made these that quote days."""
    rows = BatchChange.objects.filter(workspace_id=scope.workspace_id, batch__scope=scope, state=ChangeState.APPLIED)
    replaced = rows.filter(verb__in=REPLACING, entry__in=sources, draft__into__position__isnull=False)
    positions: defaultdict[int, set[int]] = defaultdict(set)
    for replacing, position in replaced.values_list("batch_id", "draft__into__position"):
        positions[replacing].add(position)
    lines = Link.objects.filter(workspace_id=scope.workspace_id, kind=LinkKind.SOURCE_OF, from_entry__in=sources)
    named = Q(entry__in=set(lines.values_list("to_entry_id", flat=True)))
    named |= Q(entry__in=quoting, batch_id__gt=batch.pk)  # of a day that has grown, what was made before stays
    for replacing, places in positions.items():
        named |= Q(batch=replacing, position__in=places)
    made = rows.filter(named, verb=BatchVerb.CREATE, draft__source=Source.COMPRESSION)
    return {(change.batch_id, change.position): change for change in made}
