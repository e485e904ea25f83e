"""Spend: calls and tokens of the platform's own model, by day, purpose and model (D7)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import F, Sum
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories import llm
from memories.admin.access import RestrictedAdmin, in_workspaces
from memories.admin.pages import column
from memories.conf import conf
from memories.llm import run
from memories.models import Spend, Workspace
from memories.staff.rights import VIEW, workspaces_of

#: Workspaces and purposes shown above the list.
_MOST_SHOWN = 12
_MONTH = timedelta(days=30)
_TOKENS = F("prompt_tokens") + F("completion_tokens")
#: Labels of the purposes the model is called for.
PURPOSES = {
    "extraction": _("Facts from conversations"),
    "turn_summary": _("Long turns in few words"),
    "flush": _("What must not be lost of a conversation"),
    "session_summary": _("Summaries of conversations"),
    "compress-days": _("Facts from the days"),
    "compress": _("Tidying facts and profiles"),
    "archive": _("Notes of the days"),
}


@dataclass(frozen=True)
class DailySpend:
    """The spend of a workspace on its local day, beside its budget."""

    workspace: str
    tokens: int
    budget: int
    refused: int

    @property
    def tokens_label(self) -> str:
        return f"{self.tokens:,}"

    @property
    def share(self) -> int:
        """Per cent, at most a hundred."""
        return min(round(100 * self.tokens / self.budget), 100) if self.budget else 100


@admin.register(Spend)
class SpendAdmin(RestrictedAdmin):
    """Read only."""

    members_may = VIEW
    has_history = False
    list_display = [
        "local_date", "purpose_name", "model", "workspace", "calls", "failures", "total", "reserved_tokens",
        "refused_count",
    ]  # fmt: skip
    list_display_links = ["local_date", "purpose_name"]
    list_select_related = ["workspace"]
    search_fields = ["purpose", "model"]
    ordering = ["-local_date", "-id"]
    list_before_template = "admin/memories/spend.html"
    readonly_fields = ["purpose_name"]
    fields = [
        ("local_date", "workspace"), ("purpose_name", "model"), ("calls", "failures", "refused"),
        ("prompt_tokens", "completion_tokens", "reserved_tokens"),
    ]  # fmt: skip
    purpose_name = column(_("purpose"), lambda spend: purpose_label(spend.purpose), ordering="purpose")
    total = column(_("tokens"), lambda spend: f"{spend.prompt_tokens + spend.completion_tokens:,}")
    refused_count = column(_("refused"), lambda spend: spend.refused or None, label="danger")

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """The present day of each workspace and the sums of a month, above the list."""
        now, workspaces = timezone.now(), workspaces_of(request)
        return {"days": spent_today(workspaces, now), "sums": spent_in_month(workspaces, now), "is_on": llm.is_on()}


def purpose_label(purpose: str) -> str:
    """In the reader's language; as it is stored where it is of another version."""
    return str(PURPOSES.get(purpose, purpose))


def spent_today(workspaces: frozenset[int] | None, now: datetime) -> list[DailySpend]:
    """The workspaces with spend or refusals on their local day, the dearest first."""
    near = (now.date() - timedelta(days=1), now.date() + timedelta(days=1))
    rows = (
        in_workspaces(Spend.objects.order_by(), workspaces)
        .filter(local_date__range=near)
        .values_list("workspace__name", "workspace__time_zone", "local_date")
        .annotate(tokens=Sum(_TOKENS + F("reserved_tokens")), refusals=Sum("refused"))
        .order_by("-tokens")
    )
    days = [
        DailySpend(name, tokens, conf.LLM_DAILY_TOKENS, refusals)
        for name, zone, day, tokens, refusals in rows
        if day == run.local_date(Workspace(time_zone=zone), now)
    ]
    return days[:_MOST_SHOWN]


def spent_in_month(workspaces: frozenset[int] | None, now: datetime) -> list[dict[str, Any]]:
    """Sums of the last thirty days by purpose, the dearest first."""
    rows = (
        in_workspaces(Spend.objects.order_by(), workspaces).filter(local_date__gt=now.date() - _MONTH).values("purpose")
    )
    sums = rows.annotate(
        tokens=Sum(_TOKENS), all_calls=Sum("calls"), all_failures=Sum("failures"), all_refused=Sum("refused")
    )
    return [
        {**row, "label": purpose_label(row["purpose"]), "tokens": f"{row['tokens']:,}"}
        for row in sums.order_by("-tokens")[:_MOST_SHOWN]
    ]
