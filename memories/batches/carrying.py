"""What one memory holds, carried over to another that takes its place: a batch there, and one where it was.

Both are found again by their run, and undone like any other. Killed at any moment, the next call carries over what is
left: what stands there already is known as a duplicate.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from memories.batches.apply import apply_batch, start
from memories.batches.moving import drafts_of
from memories.batches.planning import plan
from memories.batches.steps import ArchiveStep, CreateStep, EventStep, PlanRow
from memories.choices import ChangeState, SkipReason
from memories.entries.daily_events import EventDraft
from memories.models import Batch, BatchChange, DailyEvent, Entry, Scope

#: Of rows that were not written: taken out there by people, or of somebody erased. Then they go where they were, too.
_GONE_THERE = (SkipReason.SUPPRESSED, SkipReason.ERASED)


@dataclass(frozen=True, kw_only=True)
class Carrying:
    """As what and by whom something is carried over."""

    name: str
    actor: str
    reason: str
    now: datetime
    since: datetime  # days that people took out of use there since then are not told again
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
    new_days = _unknown(days, target, carrying.since)
    rows = [PlanRow(step=CreateStep(draft=draft)) for draft in drafts_of(entries, target)]
    rows += [PlanRow(step=EventStep.of(_draft(day, target))) for day in new_days]
    if not rows:
        return 0
    there = _settled(apply_batch(carrying.begin(target, rows), now=carrying.now))
    archived = [entry for n, entry in enumerate(entries, start=1) if n in there and not entry.path]
    if archived:
        going = [PlanRow.of(entry, ArchiveStep()) for entry in archived]
        apply_batch(carrying.begin(archived[0].scope, going), now=carrying.now)
    return len(there)


def _settled(batch: Batch) -> set[int]:
    """The positions of what was written, was known already, or may not be there."""
    changes = BatchChange.objects.filter(batch=batch).values_list("position", "state", "note")
    return {
        position
        for position, state, note in changes
        if state == ChangeState.APPLIED or note.partition(":")[0] in _GONE_THERE
    }


def _draft(day: DailyEvent, target: Scope) -> EventDraft:
    return EventDraft(
        scope=target,
        local_date=day.local_date,
        content=day.content,
        source=day.source,
        chats=tuple(day.chats),
        origins=tuple(day.origins),
    )


def _unknown(days: Sequence[DailyEvent], target: Scope, since: datetime) -> list[DailyEvent]:
    """The days of which the target does not tell the same."""
    dates = {day.local_date for day in days}
    here = DailyEvent.objects.filter(workspace_id=target.workspace_id, scope=target, local_date__in=dates)
    told = here.filter(Q(expired_at=None) | Q(expired_at__gte=since))
    known: defaultdict[object, set[str]] = defaultdict(set)
    for date, content in told.values_list("local_date", "content") if dates else ():
        known[date].add(content)
    return [day for day in days if day.content not in known[day.local_date]]
