"""Entries written anew in another scope of their workspace, and archived where they were.

What one memory holds is carried over to another that takes its place: a batch there, and one where it was. Both are
found again by their run, and undone like any other. Killed at any moment, the next call carries over what is left: what
stands there already is recognised as a duplicate.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import uuid4

from django.db import transaction
from django.db.models import Q

from memories.batches.apply import apply_batch, start
from memories.batches.bulk_actions import ARCHIVE, BulkResult, plan_for_each_scope
from memories.batches.planning import plan
from memories.batches.steps import ArchiveStep, CreateStep, EventStep, PlanRow
from memories.choices import ChangeState, SkipReason
from memories.entries.daily_events import EventDraft
from memories.entries.draft import COLUMN_SLOTS, DRAFTED, QuotedWords, UnscopedDraft
from memories.entries.evidence import evidence_of
from memories.exceptions import PlatformError
from memories.models import Batch, BatchChange, DailyEvent, Entry, Scope, Slot

_QUOTED = tuple(field.name for field in fields(QuotedWords))


def move(entries: Sequence[Entry], target: Scope, *, now: datetime, actor: str, reason: str) -> BulkResult:
    """Move entries in use to a scope of their workspace: a batch for what is written there, then one for each source.

    Only what was written there is archived where it was; killed between the two, it is in both. Entries of the target,
    out of use, of another workspace, or of files are left alone.
    """
    movable = [
        entry
        for entry in entries
        if entry.is_live()
        and not entry.path
        and not entry.scope.frozen
        and entry.scope_id != target.pk
        and entry.workspace_id == target.workspace_id
    ]
    result = BulkResult(skipped=len(entries) - len(movable))
    if not movable:
        return result
    try:
        rows = [PlanRow(step=CreateStep(draft=draft)) for draft in drafts_of(movable, target)]
        target_batch = plan(target, rows, name="move", run=f"move:{uuid4()}", actor=actor, now=now, reason=reason)
        apply_batch(target_batch, now=now)
    except PlatformError as refusal:
        result.refused.append((target, str(refusal)))
        return result
    applied = set(target_batch.changes.filter(state=ChangeState.APPLIED).values_list("position", flat=True))
    moved_entries = [entry for n, entry in enumerate(movable, start=1) if n in applied]
    archived = plan_for_each_scope(moved_entries, ARCHIVE, now=now, actor=actor, reason=reason)
    result.batches, result.refused = [target_batch, *archived.batches], archived.refused
    result.skipped += len(movable) - len(moved_entries)
    for batch in archived.batches:
        result.changed += sum(apply_batch(batch, now=now).counts.values())
    return result


def drafts_of(entries: Sequence[Entry], target: Scope) -> list[UnscopedDraft]:
    """Entries as they are to be written anew in a scope of their workspace, with their slots and quoted words."""
    quotes = evidence_of([entry.pk for entry in entries], target.workspace_id)
    slots: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for slot in Slot.objects.filter(workspace_id=target.workspace_id, entry__in=entries):
        slots[slot.entry_id][slot.name] = slot.value
    drafts = []
    for entry in entries:
        address = {name: getattr(entry, name) for name in COLUMN_SLOTS if getattr(entry, name)}
        words = [{name: getattr(row, name) for name in _QUOTED} for row in quotes.get(entry.pk, [])]
        drafts.append(
            UnscopedDraft(
                at=entry.stated_at,
                importance=entry.importance,
                slots={**address, **slots[entry.pk]},
                chats=tuple(entry.chats),
                origins=tuple(entry.origins),
                evidence=tuple(QuotedWords(**columns) for columns in words),
                **{name: getattr(entry, name) for name in DRAFTED},
            )
        )
    return drafts


#: Of rows that were not written: taken out there by people, or of somebody erased. Then they go where they were, too.
_GONE_THERE = (SkipReason.SUPPRESSED, SkipReason.ERASED)


@dataclass(frozen=True, kw_only=True)
class Carrying:
    """As what and by whom something is carried over."""

    name: str
    actor: str
    reason: str
    now: datetime
    since: datetime  # days that people took out of use there since then are not written again
    run: str = ""

    def begin(self, scope: Scope, rows: Sequence[PlanRow]) -> Batch:
        """A batch of these rows that any process goes on with from now on. Raises ScopeFrozen."""
        with transaction.atomic():
            batch = plan(scope, rows, name=self.name, run=self.run, actor=self.actor, now=self.now, reason=self.reason)
            start(batch)
        return batch


def carry_over(entries: Sequence[Entry], days: Sequence[DailyEvent], target: Scope, carrying: Carrying) -> int:
    """Write entries in use, of one scope, and days in another; archive the entries that are there where they were.

    Lines of files are copied, and stay as their files say. How many went over. Raises ScopeFrozen.
    """
    rows = [PlanRow(step=CreateStep(draft=draft)) for draft in drafts_of(entries, target)]
    if dates := {day.local_date for day in days}:  # the days of which the target does not tell the same
        here = DailyEvent.objects.filter(workspace_id=target.workspace_id, scope=target, local_date__in=dates)
        in_use = here.filter(Q(expired_at=None) | Q(expired_at__gte=carrying.since))
        days_there = set(in_use.values_list("local_date", "content"))
        for day in (day for day in days if (day.local_date, day.content) not in days_there):
            event = EventDraft(
                scope=target,
                local_date=day.local_date,
                content=day.content,
                source=day.source,
                chats=tuple(day.chats),
                origins=tuple(day.origins),
            )
            rows.append(PlanRow(step=EventStep.of(event)))
    if not rows:
        return 0
    batch = apply_batch(carrying.begin(target, rows), now=carrying.now)
    there = {  # it was written, was there already, or may not be there
        position
        for position, state, note in BatchChange.objects.filter(batch=batch).values_list("position", "state", "note")
        if state == ChangeState.APPLIED or note.partition(":")[0] in _GONE_THERE
    }
    archived = [entry for n, entry in enumerate(entries, start=1) if n in there and not entry.path]
    if archived:
        going = [PlanRow.of(entry, ArchiveStep()) for entry in archived]
        apply_batch(carrying.begin(archived[0].scope, going), now=carrying.now)
    return len(there)
