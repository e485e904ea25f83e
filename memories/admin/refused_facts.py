"""Refused facts: what models offered that was not kept, why, and what became of the facts of each model (D5)."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from memories.admin.access import RestrictedAdmin, in_workspaces
from memories.admin.labels import MODEL_JOBS, job_label
from memories.admin.lists import DaysFilter, condition_filter, text_filter
from memories.admin.pages import column
from memories.choices import BatchState, BatchVerb, Refusal, Verification
from memories.models import Batch, BatchChange, RefusedFact, Suppression
from memories.staff.rights import VIEW, workspaces_of

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


def figures_of_models(workspaces: frozenset[int] | None, now: datetime) -> list[ModelFigures]:
    """The models of the last thirty days in these workspaces (None: all), those that offered most first."""
    by_model: dict[str, ModelFigures] = {}

    def of(model: str) -> ModelFigures:
        return by_model.setdefault(model, ModelFigures(model))

    since = now - MONTH
    refused = in_workspaces(RefusedFact.objects.order_by(), workspaces).filter(created_at__gt=since)
    for model, reason, count in refused.values_list("model", "reason").annotate(n=Count("*")):
        of(model).refused_for[reason] += count
    # what the batches cost, and by which model
    costs = _batches(workspaces, since).order_by("-created_at", "-id").values_list("cost", flat=True)[:_MOST_READ]
    for cost in costs:
        if not (model := str(cost["model"])):
            continue
        for verification in _COUNTED:
            of(model).kept[verification] += _number(cost.get(verification))
        of(model).decoys += _number(cost.get("decoys"))
        of(model).decoys_passed += _number(cost.get("decoys_passed"))
    # facts of batches that were undone, and facts people took out
    taken_out = Exists(Suppression.objects.filter(entry=OuterRef("entry"), scope=OuterRef("entry__scope")))
    created_rows = BatchChange.objects.filter(verb=BatchVerb.CREATE, batch__in=_batches(workspaces, since)).order_by()
    removed_rows = created_rows.filter(batch__state=BatchState.UNDONE) | created_rows.filter(taken_out)
    for model, count in removed_rows.values_list("batch__cost__model").annotate(n=Count("*")):
        of(model).taken_back += count
    return sorted(by_model.values(), key=lambda figures: (-figures.offered, figures.model))[:_MOST_SHOWN]


def _batches(workspaces: frozenset[int] | None, since: datetime) -> QuerySet[Batch]:
    rows: QuerySet[Batch] = in_workspaces(Batch.objects.all(), workspaces)
    return rows.filter(created_at__gt=since, cost__has_key="model")


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


SHOWN_CHARS = 240
JobFilter = condition_filter(_("job"), "job", {name: (label, Q(purpose=name)) for name, label in MODEL_JOBS.items()})


@admin.register(RefusedFact)
class RefusedFactAdmin(RestrictedAdmin):
    """Read only."""

    members_may = VIEW
    has_history = False
    list_display = ["created_at", "text", "why", "model", "job", "whose"]
    list_display_links = ["created_at", "text"]
    list_filter = [
        ("reason", ChoicesDropdownFilter),
        JobFilter,
        text_filter(_("model"), "model"),
        ("created_at", DaysFilter),
    ]
    list_select_related = ["scope"]
    ordering = ["-created_at", "-id"]
    sortable_by = ["created_at"]
    search_fields = ["content", "quote", "run"]
    search_help_text = _("Words of the fact or of its quote, or a run")
    list_before_template = "admin/memories/model_figures.html"
    fields = ["content", "quote", "why", ("model", "job", "run"), ("scope", "created_at"), "origins"]
    readonly_fields = ["why", "job"]
    why = column(_("reason"), lambda fact: str(Refusal(fact.reason).label), ordering="reason")
    job = column(_("job"), lambda fact: job_label(fact.purpose))
    whose = column(_("scope"), lambda fact: str(fact.scope) if fact.scope else "—")

    @display(description=_("content"))
    def text(self, fact: RefusedFact) -> str:
        """What was stated, and below it the words it claims to rest on."""
        quote = format_html('<q class="mp-quoted">{}</q>', _excerpt(fact.quote)) if fact.quote else ""
        return format_html('<span class="mp-clamp">{}</span>{}', _excerpt(fact.content), quote)

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """The figures of a month by model, above the list."""
        return {"models": figures_of_models(workspaces_of(request), timezone.now())}


def _excerpt(words: str) -> str:
    return words if len(words) <= SHOWN_CHARS else f"{words[: SHOWN_CHARS - 1]}…"
