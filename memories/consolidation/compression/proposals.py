"""What a run would do and nothing but the model speaks for: it waits for a person, in a batch of its own (D6)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memories import batches
from memories.choices import HoldReason
from memories.consolidation.compression import drafts
from memories.consolidation.compression.facts import proposed_in
from memories.models import Entry, Scope


@dataclass
class Proposals:
    """Merges in words of the model's own, and facts it would drop."""

    merges: list[tuple[Sequence[Entry], str]] = field(default_factory=list)
    drops: list[Entry] = field(default_factory=list)


def propose(scope: Scope, doubts: Proposals, *, name: str, run: str, actor: str, now: datetime) -> int:
    """Put them before a person, unless they wait there already; how many merges. In the caller's transaction."""
    waiting = proposed_in(scope, name)
    merges = [(sources, said) for sources, said in doubts.merges if waiting.isdisjoint(one.pk for one in sources)]
    drops = [fact for fact in doubts.drops if fact.pk not in waiting]
    steps: list[batches.PlanRow] = []
    for sources, said in merges:
        steps += drafts.merge_steps(sources, said, after=len(steps))
    steps += [drafts.archive_step(fact) for fact in drops]
    if not steps:
        return 0
    plan = batches.plan(scope, steps, name=name, run=batches.run_part(run, "doubts"), actor=actor, now=now, judged=True)
    if merges:
        batches.require_approval(plan, HoldReason.REWORDED, merges=len(merges))
    if drops:
        batches.require_approval(plan, HoldReason.DOUBTFUL, rows=len(drops))
    return len(merges)
