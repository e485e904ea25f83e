"""What became of the facts of each model in the last thirty days: offered, kept, refused, taken back (D5)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet

from memories.admin.access import in_workspaces
from memories.choices import BatchState, BatchVerb, Refusal, Verification
from memories.models import Batch, BatchChange, RefusedFact, Suppression

MONTH = timedelta(days=30)
#: Models shown, those that offered most.
_MOST_SHOWN = 8
#: Batches that are looked through, the newest.
_MOST_READ = 20_000
_COUNTED = (Verification.VERIFIED, Verification.QUOTED)


@dataclass
class ModelFigures:
    """The facts of one model by what became of them."""

    model: str
    kept: Counter[str] = field(default_factory=Counter)  # by verification
    refused_for: Counter[str] = field(default_factory=Counter)  # by reason
    taken_back: int = 0
    decoys: int = 0
    decoys_passed: int = 0

    @property
    def verified(self) -> int:
        return self.kept[Verification.VERIFIED]

    @property
    def quoted(self) -> int:
        return self.kept[Verification.QUOTED]

    @property
    def refused(self) -> int:
        return sum(self.refused_for.values())

    @property
    def offered(self) -> int:
        return self.verified + self.quoted + self.refused

    @property
    def reasons(self) -> list[tuple[Any, int]]:
        """Why facts were refused, the most frequent reason first."""
        return [(Refusal(reason).label, count) for reason, count in self.refused_for.most_common()]


def figures_of_models(seen: frozenset[int] | None, now: datetime) -> list[ModelFigures]:
    """The models of the last thirty days in these workspaces (None: all), those that offered most first."""
    found: dict[str, ModelFigures] = {}

    def of(model: str) -> ModelFigures:
        return found.setdefault(model, ModelFigures(model))

    since = now - MONTH
    for model, reason, count in _refused(seen, since):
        of(model).refused_for[reason] += count
    for model, cost in _costs(seen, since):
        for verification in _COUNTED:
            of(model).kept[verification] += _number(cost.get(verification))
        of(model).decoys += _number(cost.get("decoys"))
        of(model).decoys_passed += _number(cost.get("decoys_passed"))
    for model, count in _taken_back(seen, since):
        of(model).taken_back += count
    return sorted(found.values(), key=lambda one: (-one.offered, one.model))[:_MOST_SHOWN]


def _refused(seen: frozenset[int] | None, since: datetime) -> QuerySet[Any]:
    rows = in_workspaces(RefusedFact.objects.order_by(), seen).filter(created_at__gt=since)
    return rows.values_list("model", "reason").annotate(n=Count("*"))


def _batches(seen: frozenset[int] | None, since: datetime) -> QuerySet[Batch]:
    rows: QuerySet[Batch] = in_workspaces(Batch.objects.all(), seen)
    return rows.filter(created_at__gt=since, cost__has_key="model")


def _costs(seen: frozenset[int] | None, since: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """By batch its model and what it cost."""
    for cost in _batches(seen, since).order_by("-created_at", "-id").values_list("cost", flat=True)[:_MOST_READ]:
        if model := str(cost["model"]):
            yield model, cost


def _taken_back(seen: frozenset[int] | None, since: datetime) -> QuerySet[Any]:
    """Facts of batches that were undone, and facts people took out."""
    taken_out = Exists(Suppression.objects.filter(entry=OuterRef("entry"), scope=OuterRef("entry__scope")))
    made = BatchChange.objects.filter(verb=BatchVerb.CREATE, batch__in=_batches(seen, since)).order_by()
    gone = made.filter(batch__state=BatchState.UNDONE) | made.filter(taken_out)
    return gone.values_list("batch__cost__model").annotate(n=Count("*"))


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
