"""The plan of a run for one scope: what is done in one batch, and what a person decides, proposed, in another (D6)."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from memories import batches
from memories.batches import PlanRow
from memories.consolidation import corrections
from memories.consolidation.compression import drafts, merge_policy
from memories.consolidation.compression.offers import DropOffer
from memories.models import Batch, Scope

ACTOR = "job:compress"


@dataclass
class ScopePlan:
    """Steps to be applied, and corrections of what people wrote."""

    steps: list[PlanRow] = field(default_factory=list)
    doubts: list[corrections.Pair] = field(default_factory=list)  # what is outdated, and what holds
    counts: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)  # of the second reading

    def drop(self, offer: DropOffer, now: datetime) -> bool:
        """Archive a fact that the model drops, where time or a newer fact speaks for it as well; whether it is."""
        is_over = merge_policy.has_faded(offer.fact, now) or offer.is_supported
        if is_over:
            self.steps.append(drafts.archive_step(offer.fact))
        else:
            self.counts["not_dropped"] += 1
        return is_over

    def save(self, scope: Scope, name: str, *, run: str, cost: dict[str, Any], now: datetime) -> Batch:
        """Store the plan in place of open proposals of this name; its batch."""
        with transaction.atomic():
            batches.supersede_proposals(scope, name, actor=ACTOR, now=now)
            batch = batches.plan(scope, self.steps, name=name, run=run, actor=ACTOR, now=now, judged=True)
            batch.cost = cost | dict(self.read)
            batch.save(update_fields=["cost"])
            corrections.propose(scope, self.doubts, run=run, model=cost.get("model", ""), now=now)
        return batch
