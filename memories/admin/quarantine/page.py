"""The pages of quarantines: which there are, and what is in one, to be let back or expired."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories.admin.access import actor_of, in_workspaces, workspaces_of
from memories.admin.auditing import note
from memories.admin.entries.page import quote_lines
from memories.admin.labels import actor_label
from memories.admin.own_pages import own_page
from memories.audit.models import AuditEvent
from memories.batches import quarantine
from memories.exceptions import PlatformError
from memories.models import Batch, Entry, Suppression
from memories.staff.rights import needs
from memories.staff.roles import Right

PER_PAGE = 30
#: Quarantines the list shows, newest first; more are found among the batches.
LISTED = 50
#: Entries one click decides on.
MOST = 500
_WAITS = Q(entry__quarantined_at__isnull=False, entry__expired_at__isnull=True)


@needs(Right.CURATE)
@never_cache
@require_http_methods(["GET", "HEAD"])
def listing(request: HttpRequest) -> HttpResponse:
    """Every quarantine of this person's workspaces, with what still waits in it."""
    seen = workspaces_of(request, Right.CURATE)
    of_scopes: Any = in_workspaces(Batch.objects.filter(name=quarantine.NAME), seen).select_related("workspace")
    runs: dict[str, Batch] = {}
    for batch in of_scopes.order_by("-created_at", "-pk")[: LISTED * 4]:
        runs.setdefault(batch.run, batch)
    shown = list(runs.values())[:LISTED]
    counted = in_workspaces(Suppression.objects.filter(quarantine__in=[one.run for one in shown]), seen).order_by()
    waiting = dict(counted.values_list("quarantine").annotate(n=Count("pk", filter=_WAITS)))
    rows = [(one, actor_label(one.actor), waiting.get(one.run, 0), _url(one.run)) for one in shown]
    return own_page(
        request,
        "admin/memories/quarantine/list.html",
        {"title": gettext("Quarantine"), "rows": rows, "new": reverse("quarantine_new")},
    )


@needs(Right.CURATE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def one(request: HttpRequest, uid: UUID) -> HttpResponse:
    """What is in a quarantine; POST lets it back or expires it, row by row, what is ticked, or all of it."""
    run = f"quarantine:{uid}"
    batches: Any = in_workspaces(Batch.objects.filter(run=run), workspaces_of(request, Right.CURATE))
    first: Batch | None = batches.select_related("workspace").order_by("pk").first()
    if first is None:
        raise Http404
    if request.method == "POST":
        _decide(request, first)
        return HttpResponseRedirect(_url(run))
    waiting = waiting_in(first.workspace_id, run)
    page = Paginator(waiting, PER_PAGE).get_page(request.GET.get("page"))
    quotes = quote_lines([entry.pk for entry in page.object_list], first.workspace_id)
    context = {
        "title": gettext("Quarantine"),
        "batch": first,
        "who": actor_label(first.actor),
        "batches": quarantine.batches_of(first.workspace_id, run),
        "page": page,
        "rows": [(entry, quotes.get(entry.pk, [])) for entry in page.object_list],
        "conversations": quarantine.left_in(first.workspace_id, run),
        "back": reverse("quarantine"),
    }
    return own_page(request, "admin/memories/quarantine/one.html", context)


def waiting_in(workspace_id: int, run: str) -> Any:
    """The entries of a quarantine nobody has decided on."""
    rows = Suppression.objects.filter(_WAITS, workspace_id=workspace_id, quarantine=run)
    entries = Entry.objects.filter(workspace_id=workspace_id, pk__in=rows.values("entry"))
    return entries.select_related("scope").defer("terms").order_by("-created_at", "-pk")


def _decide(request: HttpRequest, batch: Batch) -> None:
    """Do what was asked for, and say what became of it."""
    act, _colon, number = request.POST.get("do", "").partition(":")
    ticked = [number] if number else request.POST.getlist("entry")
    reason = request.POST.get("reason", "").strip()[:500]
    if not reason:
        messages.error(request, gettext("Say why: the reason is kept with the change."))
        return
    waiting = waiting_in(batch.workspace_id, batch.run)
    if act not in ("back", "expire", "all_back", "all_expire"):
        return
    is_all = act.startswith("all_")
    chosen = list(waiting[:MOST] if is_all else waiting.filter(pk__in=_numbers(ticked)))
    try:
        _carry_out(request, batch, act, chosen, reason, is_all=is_all)
    except PlatformError as refusal:
        messages.error(request, str(refusal))


def _carry_out(
    request: HttpRequest, batch: Batch, act: str, chosen: Sequence[Entry], reason: str, *, is_all: bool
) -> None:
    who: dict[str, Any] = {"now": timezone.now(), "actor": actor_of(request), "reason": reason}
    if act.endswith("expire"):
        done = quarantine.expire(chosen, **who)
        text = ngettext("%(n)d memory is expired.", "%(n)d memories are expired.", done)
    else:
        only = None if is_all else [entry.pk for entry in chosen]
        done = quarantine.let_back(batch.workspace_id, batch.run, only=only, **who)
        text = ngettext("%(n)d memory is let back.", "%(n)d memories are let back.", done)
        told = {"entries": done}
        note(request, AuditEvent.RELEASED, about=batch.reason, workspace_id=batch.workspace_id, details=told)
    messages.success(request, text % {"n": done})


def _numbers(texts: Sequence[str]) -> list[int]:
    return [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 19][:MOST]


def _url(run: str) -> str:
    return reverse("quarantine_one", args=[run.partition(":")[2]])
