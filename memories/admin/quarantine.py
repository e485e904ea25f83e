"""Quarantine: what rests on a source is taken out of every answer at once, looked through, let back or expired."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from memories.admin.access import actor_of, in_workspaces
from memories.admin.actions import Action, ActionCall, Outcome, Question, run
from memories.admin.auditing import note
from memories.admin.entries.page import quote_lines
from memories.admin.files import file_url
from memories.admin.forms import ReasonForm
from memories.admin.labels import actor_label
from memories.admin.pages import own_page, row_number
from memories.audit.models import AuditEvent
from memories.batches import quarantine
from memories.batches.quarantine import Suspect
from memories.exceptions import PlatformError
from memories.models import Batch, Bot, Entry, Scope, Suppression
from memories.staff.rights import needs, workspaces_of
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
    workspaces = workspaces_of(request, Right.CURATE)
    of_scopes: Any = in_workspaces(Batch.objects.filter(name=quarantine.NAME), workspaces).select_related("workspace")
    runs: dict[str, Batch] = {}
    for batch in of_scopes.order_by("-created_at", "-pk")[: LISTED * 4]:
        runs.setdefault(batch.run, batch)
    batches = list(runs.values())[:LISTED]
    counted = in_workspaces(
        Suppression.objects.filter(quarantine__in=[row.run for row in batches]), workspaces
    ).order_by()
    waiting = dict(counted.values_list("quarantine").annotate(n=Count("pk", filter=_WAITS)))
    rows = [(row, actor_label(row.actor), waiting.get(row.run, 0), _url(row.run)) for row in batches]
    return own_page(
        request,
        "admin/memories/quarantine/list.html",
        {"title": gettext("Quarantine"), "rows": rows, "new": reverse("quarantine_new")},
    )


@needs(Right.CURATE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def contents(request: HttpRequest, uid: UUID) -> HttpResponse:
    """What is in a quarantine; POST lets it back or expires it, row by row, what is ticked, or all of it."""
    batches: Any = in_workspaces(Batch.objects.filter(run=f"quarantine:{uid}"), workspaces_of(request, Right.CURATE))
    first: Batch | None = batches.select_related("workspace").order_by("pk").first()
    if first is None:
        raise Http404
    if request.method == "POST":
        try:
            _decide(request, first)
        except PlatformError as refusal:
            messages.error(request, str(refusal))
        return HttpResponseRedirect(_url(first.run))
    page = Paginator(waiting_in(first), PER_PAGE).get_page(request.GET.get("page"))
    quotes = quote_lines([entry.pk for entry in page.object_list], first.workspace_id)
    context = {
        "title": gettext("Quarantine"),
        "batch": first,
        "who": actor_label(first.actor),
        "batches": quarantine.batches_of(first.workspace_id, first.run),
        "page": page,
        "rows": [(entry, quotes.get(entry.pk, [])) for entry in page.object_list],
        "conversations": quarantine.left_in(first.workspace_id, first.run),
        "back": reverse("quarantine"),
    }
    return own_page(request, "admin/memories/quarantine/one.html", context)


def _decide(request: HttpRequest, batch: Batch) -> None:
    """Do what was asked for, and say what became of it. Raises PlatformError."""
    act, _colon, number = request.POST.get("do", "").partition(":")
    reason = request.POST.get("reason", "").strip()[:500]
    if not reason:
        messages.error(request, gettext("Say why: the reason is kept with the change."))
        return
    if act not in ("back", "expire", "all_back", "all_expire"):
        return
    is_all, waiting = act.startswith("all_"), waiting_in(batch)
    ticked = map(row_number, [number] if number else request.POST.getlist("entry"))
    numbers = [pk for pk in ticked if pk is not None]
    entries = list(waiting[:MOST] if is_all else waiting.filter(pk__in=numbers[:MOST]))
    who: dict[str, Any] = {"now": timezone.now(), "actor": actor_of(request), "reason": reason}
    if act.endswith("expire"):
        count = quarantine.expire(entries, **who)
        text = ngettext("%(n)d memory is expired.", "%(n)d memories are expired.", count)
    else:
        only = None if is_all else [entry.pk for entry in entries]
        count = quarantine.let_back(batch.workspace_id, batch.run, only=only, **who)
        text = ngettext("%(n)d memory is let back.", "%(n)d memories are let back.", count)
        details = {"entries": count}
        note(request, AuditEvent.RELEASED, about=batch.reason, workspace_id=batch.workspace_id, details=details)
    messages.success(request, text % {"n": count})


def waiting_in(batch: Batch) -> Any:
    """The entries of a batch's quarantine nobody has decided on."""
    rows = Suppression.objects.filter(_WAITS, workspace_id=batch.workspace_id, quarantine=batch.run)
    entries = Entry.objects.filter(workspace_id=batch.workspace_id, pk__in=rows.values("entry"))
    return entries.select_related("scope").defer("terms").order_by("-created_at", "-pk")


def _url(run: str) -> str:
    return reverse("quarantine_one", args=[run.partition(":")[2]])


#: Entries and days the page shows of what goes.
SAMPLES = 12
#: From this share of a workspace's memory on the page says so; people may go on.
MUCH = 0.2


@needs(Right.CURATE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """What the address names: an entry, what a batch wrote, the lines of a file, or what a bot wrote in a time.

    Of a bot first which time, then what rests on it.
    """
    parameters = request.GET
    if "entry" in parameters:
        entry = _row(request, Entry.objects.select_related("scope"), parameters["entry"])
        suspect = quarantine.suspect_entries(entry.workspace_id, [entry], gettext("A memory"))
        return ask(request, suspect, reverse("admin:memories_entry_change", args=[entry.pk]))
    if "batch" in parameters:
        batch = _row(request, Batch.objects.all(), parameters["batch"])
        about = gettext("What a batch wrote (%(name)s)") % {"name": batch}
        back = reverse("admin:memories_batch_change", args=[batch.pk])
        return ask(request, quarantine.suspect_batch(batch, about), back)
    if "scope" in parameters:
        scope, path = _row(request, Scope.objects.all(), parameters["scope"]), parameters.get("path", "")
        about = gettext("The file %(path)s") % {"path": path}
        return ask(request, quarantine.suspect_file(scope, path, about), file_url(scope.pk, path))
    workspaces = workspaces_of(request, Right.CURATE)
    bots: Any = in_workspaces(Bot.objects.select_related("workspace").order_by("workspace__name", "name"), workspaces)
    form = _BotForm(parameters if "since" in parameters else None, bots)
    if form.is_valid():
        bot, since, until = (form.cleaned_data[name] for name in ("bot", "since", "until"))
        first, last = (timezone.localtime(at).strftime("%Y-%m-%d %H:%M") for at in (since, until))
        about = gettext("The bot %(bot)s, %(since)s to %(until)s") % {"bot": bot, "since": first, "until": last}
        return ask(request, quarantine.suspect_bot(bot, since, until, about), reverse("quarantine_new"))
    if not form.is_bound and parameters.get("bot"):
        form.initial["bot"] = _row(request, bots, parameters["bot"]).pk
    context = {"title": gettext("What a bot wrote in a time"), "form": form, "back": reverse("quarantine")}
    return own_page(request, "admin/memories/quarantine/bot.html", context)


def _question(call: ActionCall) -> Question:
    call.form.fields["reason"].widget.attrs.pop("autofocus", None)
    affected = call.rows
    context = {
        "affected": affected,
        "counts": affected.by_type().most_common(),
        "samples": affected.entries[:SAMPLES],
        "more": max(len(affected.entries) - SAMPLES, 0),
        "days": affected.days[:SAMPLES],
        "percent": round(affected.share * 100),
        "is_much": affected.share >= MUCH,
    }
    return Question(template="admin/memories/quarantine/ask.html", context=context, rows=())


def _quarantine(call: ActionCall) -> Outcome:
    reason = f"{call.row.about}: {call.data['reason']}"
    result = quarantine.quarantine(call.rows, reason=reason, now=call.now, actor=call.actor)
    details = {"entries": result.entries, "run": result.run}
    workspace_id = call.row.workspace_id
    note(call.request, AuditEvent.QUARANTINED, about=reason, workspace_id=workspace_id, details=details)
    text = ngettext("%(n)d memory is in quarantine.", "%(n)d memories are in quarantine.", result.entries)
    return Outcome(
        text=text % {"n": result.entries},
        errors=[f"{scope}: {why}" for scope, why in result.refused],
        address=_url(result.run),
    )


#: Asked about a suspect, which stands where the row does; its rows are what rests on it.
QUARANTINE = Action(
    name="quarantine", label=_("Put into quarantine"), right="curate",
    rows=lambda call: quarantine.affected_by(call.row), form=lambda call: call.bound(ReasonForm, reason=""),
    question=_question, act=_quarantine, back=lambda call: call.arguments["back"],
)  # fmt: skip


def ask(request: HttpRequest, suspect: Suspect, back: str) -> HttpResponse:
    """Ask about a suspect whose messages and scopes were found; once it is confirmed, do it.

    The caller has made sure that this person may curate its workspace.
    """
    return run(ActionCall(QUARANTINE, None, request, row=suspect, arguments={"back": back}))


def _row(request: HttpRequest, rows: Any, number: str) -> Any:
    """A row of the workspaces this person curates; 404 for foreign, missing and misnamed ones alike."""
    pk = row_number(number)
    row = in_workspaces(rows, workspaces_of(request, Right.CURATE)).filter(pk=pk).first() if pk is not None else None
    if row is None:
        raise Http404
    return row


class _BotForm(forms.Form):
    """Which bot, and from when until when, by the clock of the page."""

    bot = forms.ModelChoiceField(Bot.objects.none(), label=_("Bot"), widget=UnfoldAdminSelectWidget)
    since = forms.DateTimeField(label=_("From"), widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}))
    until = forms.DateTimeField(label=_("Until"), widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}))

    def __init__(self, data: Any, bots: Any) -> None:
        super().__init__(data)
        self.fields["bot"].queryset = bots  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("since") and data.get("until") and data["since"] >= data["until"]:
            self.add_error("until", _("It ends before it begins."))
        return data
