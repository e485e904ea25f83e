"""The queue of memories whose date of review has come: one after another, each answered with a key or a button."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories.admin.access import actor_of, in_workspaces, workspaces_of
from memories.admin.actions import say
from memories.admin.entries.actions import outcome_of
from memories.admin.entries.page import quote_lines
from memories.admin.own_pages import own_page
from memories.admin.sources import source_lines
from memories.batches import bulk_actions
from memories.batches.bulk_actions import BulkAction
from memories.models import Entry, EntryAccess, Policy
from memories.models.state import state_of
from memories.staff.rights import needs
from memories.staff.roles import Right

#: Due memories that are counted; more stand as «1,000+».
MOST = 1_000
#: By key: what is kept, and for how many days until it is asked about again; None: never.
TERMS: Mapping[str, tuple[Any, int | None]] = {
    "1": (_("Keep, ask again in a month"), 30),
    "2": (_("Keep, in three months"), 90),
    "3": (_("Keep, in a year"), 365),
    "4": (_("Keep, never again"), None),
}
_KEPT = ngettext_lazy("%(n)d memory stays as it is.", "%(n)d memories stay as they are.", "n")
_EXPIRED = ngettext_lazy("%(n)d entry is out of use.", "%(n)d entries are out of use.", "n")


@needs(Right.CURATE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def due(request: HttpRequest) -> HttpResponse:
    """GET shows the memory named by `at`, or the one that is due for longest; only POST decides, and leads on."""
    rows = due_rows(request)
    number = request.POST.get("entry") if request.method == "POST" else request.GET.get("at", "")
    named = rows.filter(pk=int(number)).first() if number and _is_id(number) else None
    if request.method == "POST":
        return HttpResponseRedirect(_decide(request, rows, named))
    entry = named or rows.first()
    context = {
        "title": gettext("Memories due for review"),
        "count": rows[:MOST].count(),
        "is_more": rows[MOST : MOST + 1].exists(),
        **(_context(rows, entry) if entry else {"entry": None}),
    }
    return own_page(request, "admin/memories/review_due.html", context)


def due_rows(request: HttpRequest) -> Any:
    """What is due in the workspaces this person curates, the longest first."""
    rows = Entry.objects.live().filter(review_at__lte=timezone.now()).select_related("scope", "workspace")
    return in_workspaces(rows, workspaces_of(request, Right.CURATE)).order_by("review_at", "pk")


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


def _context(rows: Any, entry: Entry) -> dict[str, Any]:
    following, before = _after(rows, entry), _before(rows, entry)
    ends_at = Policy.objects.of(entry.workspace_id).end_of(entry)
    return {
        "entry": entry,
        "state": state_of(entry, ends_at, timezone.now()),
        "ends_at": ends_at,
        "access": EntryAccess.objects.filter(pk=entry.pk).first(),
        "quotes": quote_lines([entry.pk], entry.workspace_id).get(entry.pk, []),
        "sources": source_lines(entry.workspace_id, entry.origins),
        "next": _url(following.pk) if following else "",
        "previous": _url(before.pk) if before else "",
        "edit": f"{reverse('admin:memories_entry_change', args=[entry.pk])}?{urlencode({'_back': _url(entry.pk)})}",
        "terms": [(key, label) for key, (label, _days) in TERMS.items()],
    }


def _after(rows: Any, entry: Entry) -> Entry | None:
    later = Q(review_at__gt=entry.review_at) | Q(review_at=entry.review_at, pk__gt=entry.pk)
    found: Entry | None = rows.filter(later).first()
    return found


def _before(rows: Any, entry: Entry) -> Entry | None:
    earlier = Q(review_at__lt=entry.review_at) | Q(review_at=entry.review_at, pk__lt=entry.pk)
    found: Entry | None = rows.filter(earlier).order_by("-review_at", "-pk").first()
    return found


def _decide(request: HttpRequest, rows: Any, entry: Entry | None) -> str:
    """Do what was asked for; the address to go on at: of the next, behind the last the first."""
    if entry is None:
        messages.info(request, gettext("It is no longer due: somebody else looked at it, or it is out of use."))
        return _url()
    if str(entry.version) != request.POST.get("version"):
        messages.error(request, gettext("It was changed meanwhile: look at it again."))
        return _url(entry.pk)
    act, following = request.POST.get("do", ""), _after(rows, entry)
    action, reason, done = _action(act, actor_of(request))
    if action is None:
        return _url(entry.pk)
    who: dict[str, Any] = {"now": timezone.now(), "actor": actor_of(request), "reason": str(reason)}
    say(request, outcome_of(bulk_actions.apply_action([entry], action(), **who), done))
    return _url(following.pk if following else None)


def _action(act: str, actor: str) -> tuple[Callable[[], BulkAction] | None, Any, Any]:
    """What an answer does, the reason the batch keeps, and what is said of it; None: it is no answer."""
    if act == "expire":
        return bulk_actions.expire, _("Out of date, seen in the review"), _EXPIRED
    if act not in TERMS:
        return None, "", ""
    days, now = TERMS[act][1], timezone.now()
    columns = {
        "review_at": None if days is None else now + timedelta(days=days),
        "verified_at": now,
        "verified_by": actor,
    }
    return lambda: bulk_actions.edit(columns), _("Still true, seen in the review"), _KEPT


def _url(at: int | None = None) -> str:
    address = reverse("review_due")
    return f"{address}?{urlencode({'at': at})}" if at else address
