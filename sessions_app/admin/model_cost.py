"""What the model costs: before it is switched on, within which limits, and what waits because one was reached (D7)."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminDecimalFieldWidget

from memories import llm
from memories.admin.access import actor_of, workspace_choice
from memories.admin.pages import own_page
from memories.choices import BufferState
from memories.conf import conf
from memories.llm.run import last_check
from memories.models import ExtractionBatch
from memories.staff.rights import holds, needs
from memories.staff.roles import Right
from sessions_app import model_cost, unread


class PriceForm(forms.Form):
    """Prices of a million tokens, for the sums of the page."""

    price_in = forms.FloatField(
        label=_("a million tokens of questions"), required=False, min_value=0, max_value=1e6,
        widget=UnfoldAdminDecimalFieldWidget(attrs={"step": "any"}),
    )  # fmt: skip
    price_out = forms.FloatField(
        label=_("a million tokens of answers"), required=False, min_value=0, max_value=1e6,
        widget=UnfoldAdminDecimalFieldWidget(attrs={"step": "any"}),
    )  # fmt: skip


@require_http_methods(["GET", "POST"])
@never_cache
@needs(Right.READ)
def page(request: HttpRequest) -> HttpResponse:
    """A week's cost in each way, of one workspace; what was spent, and what waits. A POST has unread turns read."""
    now = timezone.now()
    workspaces, workspace = workspace_choice(request)
    may_operate = workspace is not None and holds(request, Right.OPERATE, workspace.pk)
    if request.method == "POST":
        if workspace is None or not may_operate:
            raise PermissionDenied
        turns = unread.buffer_unread(workspace, now=now, actor=actor_of(request))
        text = ngettext("%(n)d turn is read now.", "%(n)d turns are read now.", turns) % {"n": turns}
        messages.success(request, text)
        return HttpResponseRedirect(f"{reverse('model_cost')}?of={workspace.pk}")
    form_data = {"price_in": conf.LLM_PRICE_IN or None, "price_out": conf.LLM_PRICE_OUT or None} | request.GET.dict()
    form = PriceForm(form_data)
    prices = form.cleaned_data if form.is_valid() else {}
    has_prices = bool(prices.get("price_in") or prices.get("price_out"))
    context: dict[str, Any] = {
        "title": _("What the model costs"),
        "workspaces": workspaces,
        "workspace": workspace,
        "form": form,
        "has_prices": has_prices,
        "is_on": llm.is_on(),
        "model": settings.MEMORY_LLM_MODEL,
        "check": last_check(conf.VERIFY_MODEL or settings.MEMORY_LLM_MODEL) if llm.is_on() else None,
        "limits": (f"{conf.LLM_DAILY_TOKENS:,}", conf.LLM_MONTHLY_TOKENS and f"{conf.LLM_MONTHLY_TOKENS:,}"),
    }
    if workspace is not None:
        week = model_cost.forecast(workspace, now=now)
        cost = model_cost.spent_in_week(workspace, now=now)
        price = (prices.get("price_in") or 0.0, prices.get("price_out") or 0.0)
        context |= {
            "count": len(week.stretches),
            "is_measured": week.answer_tokens is not None,
            "ways": [(way, way.cost.money(*price)) for way in model_cost.ways(week)],
            "spent": cost,
            "spent_money": cost.money(*price),
            "refused": model_cost.refused_in_month(workspace, now=now),
            "waiting": ExtractionBatch.objects.filter(
                workspace=workspace, state=BufferState.WAITING, error__startswith="BudgetSpent"
            ).count(),
            "unread": unread.count(workspace, now=now),
            "unread_days": unread.DAYS,
            "may_operate": may_operate,
            "buffer_url": reverse("admin:memories_extractionbatch_changelist"),
            "spend_url": reverse("admin:memories_spend_changelist"),
        }
    return own_page(request, "admin/sessions_app/model_cost.html", context)
