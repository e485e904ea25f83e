"""Lines of the profile that hold no more stand as a proposal with their correction, until somebody decides (D1, F4)."""

from collections.abc import Iterable
from datetime import datetime

from memories import batches, entries
from memories.batches import BY_PEOPLE, PlanRow
from memories.batches.steps import ArchiveStep, Successor, SupersedeStep
from memories.choices import BatchState, ChangeState, HoldReason
from memories.models import BatchChange, Entry, Scope

NAME, ACTOR = "profile-doubts", "job:profile"
#: The batches of the weekly run: facts, profile, and the corrections of each that wait for a person.
NAMES = ("compress", "profile", "compress-doubts", NAME)
#: What is outdated, and what takes its place; None: nothing does.
Pair = tuple[Entry, Entry | None]


def propose_outdated(scope: Scope, *, run: str, model: str, now: datetime) -> int:
    """Propose what takes the place of the lines that hold no more; how many. What people decided on stays so."""
    outdated = dict(entries.outdated_lines(scope.pk, scope.workspace_id))
    settled = decided_by_people(scope)
    lines = Entry.objects.in_scope(scope).live().filter(pk__in=outdated.keys() - settled)
    return propose(scope, [(line, outdated[line.pk]) for line in lines], run=run, model=model, now=now)


def propose(scope: Scope, pairs: Iterable[Pair], *, run: str, model: str, now: datetime) -> int:
    """Propose to a person what takes the place of what, unless it is proposed already; how many memories."""
    rows = BatchChange.objects.filter(batch__scope=scope, batch__name=NAME, batch__state=BatchState.PROPOSED)
    waiting = set(rows.values_list("entry_id", flat=True))
    new = {outdated.pk: (outdated, holds) for outdated, holds in pairs if outdated.pk not in waiting}
    steps = [
        PlanRow.of(outdated, ArchiveStep() if holds is None else SupersedeStep(into=Successor(entry=holds.pk)))
        for outdated, holds in new.values()
    ]
    if steps:
        part = batches.run_part(run, f"{NAME}:{steps[0].entry_id}")  # each call of a run proposes something else
        batch = batches.plan(scope, steps, name=NAME, run=part, actor=ACTOR, now=now, judged=True)
        batch.cost = {"model": model} if model else {}
        batch.save(update_fields=["cost"])
        batches.require_approval(batch, HoldReason.CONTRADICTED, rows=len(steps))
    return len(steps)


def close_settled(scope: Scope, *, now: datetime) -> None:
    """Refuse the open proposals of which nothing is in use any more."""
    for batch in batches.open_proposals(scope, NAME):
        entry_ids = BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED).values("entry_id")
        if not Entry.objects.in_scope(scope).live().filter(pk__in=entry_ids).exists():
            batches.refuse(batch, actor=ACTOR, now=now)


def decided_by_people(scope: Scope) -> set[int]:
    """Ids of facts for which people undid, refused or removed a step: no run decides on them again."""
    rows = BatchChange.objects.filter(BY_PEOPLE, batch__scope=scope, batch__name__in=(*NAMES, "extract"))
    return {pk for pk in rows.values_list("entry_id", flat=True) if pk is not None}
