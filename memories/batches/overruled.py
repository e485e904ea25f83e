"""What people have decided against: the same is not proposed to them again (F4)."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Q

from memories.batches.steps import CreateStep, ReplaceStep, step_of
from memories.choices import BatchState, ChangeState, SkipReason
from memories.conf import conf
from memories.language.similarity import Likeness, compare
from memories.models import BatchChange, Entry, Scope

#: Rows that were undone, taken out of a plan, or refused with it; a job that takes back its own proposal is nobody.
BY_PEOPLE = (
    Q(state=ChangeState.UNDONE)
    | Q(state=ChangeState.LEFT, note=SkipReason.REMOVED)
    | (Q(batch__state=BatchState.REFUSED) & ~Q(batch__decided_by__startswith="job:"))
)


class OverruledReplacements:
    """What people would not have take the place of some entries, read once for all of them."""

    def __init__(self, scope: Scope, entries: Collection[int]) -> None:
        self._words = _overruled_successors(scope, entries) if entries else {}

    def forbid(self, entry: int, content: str) -> bool:
        """Whether people decided against these words in place of an entry, or against words that say the same."""
        return any(
            compare(refused, content, threshold=conf.DEDUPE_THRESHOLD)[0] in (Likeness.SAME, Likeness.ALIKE)
            for refused in self._words.get(entry, ())
        )


def _overruled_successors(scope: Scope, entries: Collection[int]) -> dict[int, list[str]]:
    """By entry, the words of what people would not have take its place."""
    rows = BatchChange.objects.filter(BY_PEOPLE, workspace_id=scope.workspace_id, entry__in=list(entries))
    steps = [
        (change, step)
        for change in rows.filter(batch__scope=scope)
        if isinstance(step := step_of(change), ReplaceStep) and change.entry_id
    ]
    stored = Entry.objects.in_scope(scope).in_bulk({step.into.entry for _row, step in steps if step.into.entry})
    created = _created({(change.batch_id, step.into.position) for change, step in steps if step.into.position})
    found: defaultdict[int, list[str]] = defaultdict(list)
    for change, step in steps:
        if entry := stored.get(step.into.entry or 0):
            found[change.entry_id or 0].append(entry.content)
        elif content := created.get((change.batch_id, step.into.position or 0)):
            found[change.entry_id or 0].append(content)
    return found


def _created(rows: Collection[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """By batch and position, the words a row of a plan creates."""
    if not rows:
        return {}
    batches, positions = {batch for batch, _position in rows}, {position for _batch, position in rows}
    makers = BatchChange.objects.filter(batch__in=batches, position__in=positions)
    return {
        (maker.batch_id, maker.position): step.draft.content
        for maker in makers
        if isinstance(step := step_of(maker), CreateStep)
    }
