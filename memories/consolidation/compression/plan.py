"""The plan of a run for one scope: certain steps in one batch, and doubtful ones, proposed, in another (D6)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from memories import batches
from memories.batches import PlanRow
from memories.choices import HoldReason
from memories.consolidation.compression import drafts, merge_policy
from memories.consolidation.compression.facts import proposed_in
from memories.models import Batch, Entry, Scope

ACTOR = "job:compress"


@dataclass
class ScopePlan:
    """Steps that a rule supports, and merges and drops that only the model supports."""

    steps: list[PlanRow] = field(default_factory=list)
    doubtful_merges: list[tuple[Sequence[Entry], str]] = field(default_factory=list)
    doubtful_drops: list[Entry] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def drop(self, fact: Entry, kept: Sequence[Entry], now: datetime) -> bool:
        """Archive a fact that the model drops; whether a rule supports it."""
        is_over = merge_policy.is_over(fact, kept, now)
        if is_over:
            self.steps.append(drafts.archive_step(fact))
        else:
            self.doubtful_drops.append(fact)
        return is_over

    def save(self, scope: Scope, name: str, *, run: str, cost: dict[str, Any], now: datetime) -> tuple[Batch, int]:
        """Store the plan in place of open proposals of this name; its batch, and how many merges are proposed."""
        with transaction.atomic():
            batches.supersede_proposals(scope, name, actor=ACTOR, now=now)
            batch = batches.plan(scope, self.steps, name=name, run=run, actor=ACTOR, now=now, judged=True)
            batch.cost = cost
            batch.save(update_fields=["cost"])
            return batch, self._propose(scope, f"{name}-doubts", run=batches.run_part(run, "doubts"), now=now)

    def _propose(self, scope: Scope, name: str, *, run: str, now: datetime) -> int:
        """Propose the doubtful steps that are not proposed yet; how many merges."""
        waiting = proposed_in(scope, name)
        merges = [merge for merge in self.doubtful_merges if waiting.isdisjoint(fact.pk for fact in merge[0])]
        drops = [fact for fact in self.doubtful_drops if fact.pk not in waiting]
        steps: list[PlanRow] = []
        for sources, content in merges:
            steps += drafts.merge_steps(sources, content, after=len(steps))
        steps += [drafts.archive_step(fact) for fact in drops]
        if not steps:
            return 0
        batch = batches.plan(scope, steps, name=name, run=run, actor=ACTOR, now=now, judged=True)
        if merges:
            batches.require_approval(batch, HoldReason.REWORDED, merges=len(merges))
        if drops:
            batches.require_approval(batch, HoldReason.DOUBTFUL, rows=len(drops))
        return len(merges)
