"""The page that says what rests on a source, by type and with samples, and puts it into quarantine."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from memories.admin.access import actor_of, in_workspaces, workspaces_of
from memories.admin.auditing import note
from memories.admin.confirmation import ReasonForm, confirmation_form, is_confirmed
from memories.admin.own_pages import own_page
from memories.audit.models import AuditEvent
from memories.batches import quarantine
from memories.batches.quarantine import Affected, Suspect
from memories.models import Batch, Bot, Entry, Scope
from memories.staff.rights import needs
from memories.staff.roles import Right

#: Entries and days the page shows of what goes.
SAMPLES = 12
#: From this share of a workspace's memory on the page says so; people may go on.
MUCH = 0.2


@needs(Right.CURATE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """What the address names: an entry, what a batch wrote, the lines of a file, or what a bot wrote in a time."""
    for name, read in _SEEDS.items():
        if name in request.GET:
            return read(request, request.GET[name])
    return _of_bot(request, "")


def ask(request: HttpRequest, suspect: Suspect, back: str) -> HttpResponse:
    """Ask about a suspect whose messages and scopes are known; once it is confirmed, do it.

    The caller has made sure that this person may curate its workspace.
    """
    affected = quarantine.affected_by(suspect)
    form = confirmation_form(request, ReasonForm, reason="")
    if is_confirmed(request) and form.is_valid():
        reason = f"{suspect.about}: {form.cleaned_data['reason']}"
        done = quarantine.quarantine(affected, reason=reason, now=timezone.now(), actor=actor_of(request))
        details = {"entries": done.entries, "run": done.run}
        note(request, AuditEvent.QUARANTINED, about=reason, workspace_id=suspect.workspace_id, details=details)
        text = ngettext("%(n)d memory is in quarantine.", "%(n)d memories are in quarantine.", done.entries)
        messages.success(request, text % {"n": done.entries})
        for scope, why in done.refused:
            messages.error(request, f"{scope}: {why}")
        return HttpResponseRedirect(reverse("quarantine_one", args=[done.run.partition(":")[2]]))
    return _page(request, affected, form, back)


def _page(request: HttpRequest, affected: Affected, form: forms.Form, back: str) -> TemplateResponse:
    form.fields["reason"].widget.attrs.pop("autofocus", None)
    context = {
        "title": gettext("Put into quarantine"),
        "affected": affected,
        "counts": affected.by_type().most_common(),
        "samples": affected.entries[:SAMPLES],
        "more": max(len(affected.entries) - SAMPLES, 0),
        "days": affected.days[:SAMPLES],
        "percent": round(affected.share * 100),
        "is_much": affected.share >= MUCH,
        "form": form,
        "back": back,
    }
    return own_page(request, "admin/memories/quarantine/ask.html", context)


def _row(request: HttpRequest, rows: Any, number: str) -> Any:
    """A row of the workspaces this person curates; 404 for foreign, missing and misnamed ones alike."""
    if not (number.isascii() and number.isdecimal() and len(number) < 19):
        raise Http404
    found = in_workspaces(rows, workspaces_of(request, Right.CURATE)).filter(pk=int(number)).first()
    if found is None:
        raise Http404
    return found


def _of_entry(request: HttpRequest, number: str) -> HttpResponse:
    entry = _row(request, Entry.objects.select_related("scope"), number)
    suspect = quarantine.suspect_entries(entry.workspace_id, [entry], gettext("A memory"))
    return ask(request, suspect, reverse("admin:memories_entry_change", args=[entry.pk]))


def _of_batch(request: HttpRequest, number: str) -> HttpResponse:
    batch = _row(request, Batch.objects.all(), number)
    about = gettext("What a batch wrote (%(name)s)") % {"name": batch}
    back = reverse("admin:memories_batch_change", args=[batch.pk])
    return ask(request, quarantine.suspect_batch(batch, about), back)


def _of_file(request: HttpRequest, number: str) -> HttpResponse:
    scope, path = _row(request, Scope.objects.all(), number), request.GET.get("path", "")
    about = gettext("The file %(path)s") % {"path": path}
    back = f"{reverse('admin:memories_filestate_file', args=[scope.pk])}?{urlencode({'path': path})}"
    return ask(request, quarantine.suspect_file(scope, path, about), back)


class _BotForm(forms.Form):
    """Which bot, and from when until when, by the clock of the page."""

    bot = forms.ModelChoiceField(Bot.objects.none(), label=_("Bot"), widget=UnfoldAdminSelectWidget)
    since = forms.DateTimeField(label=_("From"), widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}))
    until = forms.DateTimeField(label=_("Until"), widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}))

    def __init__(self, data: Any, bots: Any) -> None:
        super().__init__(data)
        self.fields["bot"].queryset = bots  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        told = super().clean() or {}
        if told.get("since") and told.get("until") and told["since"] >= told["until"]:
            self.add_error("until", _("It ends before it begins."))
        return told


def _of_bot(request: HttpRequest, number: str) -> HttpResponse:
    """First which time, then what rests on it."""
    seen = workspaces_of(request, Right.CURATE)
    bots: Any = in_workspaces(Bot.objects.select_related("workspace").order_by("workspace__name", "name"), seen)
    form = _BotForm(request.GET if "since" in request.GET else None, bots)
    if form.is_valid():
        bot, since, until = (form.cleaned_data[name] for name in ("bot", "since", "until"))
        about = gettext("The bot %(bot)s, %(since)s to %(until)s") % {
            "bot": bot,
            "since": _minute(since),
            "until": _minute(until),
        }
        return ask(request, quarantine.suspect_bot(bot, since, until, about), reverse("quarantine_new"))
    if not form.is_bound and number:
        form.initial["bot"] = _row(request, bots, number).pk
    context = {"title": gettext("What a bot wrote in a time"), "form": form, "back": reverse("quarantine")}
    return own_page(request, "admin/memories/quarantine/bot.html", context)


def _minute(at: datetime) -> str:
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M")


_SEEDS: dict[str, Callable[[HttpRequest, str], HttpResponse]] = {
    "entry": _of_entry,
    "batch": _of_batch,
    "scope": _of_file,
    "bot": _of_bot,
}
