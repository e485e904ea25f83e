"""The history of an entry as a page: what changed word by word, who did it, and a way back to any version."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from memories import entries
from memories.admin.access import actor_of
from memories.admin.confirmation import confirmation_page, is_confirmed
from memories.admin.history import FieldChange, HistoryStep, RevertForm, display_value, field_change, history_page
from memories.choices import Operation
from memories.entries import versions
from memories.entries.fields import SLOT_FIELD
from memories.entries.history import Revision, history_of
from memories.exceptions import PlatformError
from memories.models import Batch, Entry


def page(model_admin: Any, request: HttpRequest, entry: Entry) -> HttpResponse:
    may_change = model_admin.has_change_permission(request, entry)
    steps = history_of(entry)
    wanted = {step.batch_id for step in steps if step.batch_id}
    batches = Batch.objects.filter(workspace_id=entry.workspace_id).in_bulk(wanted)
    told = [_history_step(step, entry, batches, may_change) for step in reversed(steps)]
    return history_page(model_admin, request, entry, told)


def bring_back(model_admin: Any, request: HttpRequest, entry: Entry, version: int) -> HttpResponse:
    """Ask, then give the entry the words, attributes and slots of that version; liveness has its own verbs."""
    back = reverse("admin:memories_entry_history", args=[entry.pk])
    step = next((step for step in history_of(entry) if step.version == version), None)
    if step is None:
        raise Http404
    differing = entries.differences(entry, version)
    if not differing:
        messages.info(request, gettext("Nothing differs from that version."))
        return HttpResponseRedirect(back)
    lines = {name: _line(name, was, present) for name, (was, present) in differing.items()}
    form = RevertForm(request.POST if is_confirmed(request) else None, lines=lines)
    if is_confirmed(request) and form.is_valid():
        chosen = form.cleaned_data["fields_back"]
        try:
            entries.revert(entry, version, only=chosen, now=timezone.now(), actor=actor_of(request))
        except PlatformError as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, gettext("Version %(version)d is back.") % {"version": version})
        return HttpResponseRedirect(back)
    return confirmation_page(
        model_admin,
        request,
        form,
        title=gettext("Bring version %(version)d back") % {"version": version},
        text=gettext(
            "The entry gets back what is ticked. What it says now stays in the history. "
            "Whether it is in use does not change."
        ),
        button=gettext("Bring it back"),
        back=back,
        rows=[wording_in(entry, version)],
    )


def _line(name: str, was: Any, present: Any) -> FieldChange:
    """A field as it is now, and as it would be."""
    if name.startswith(SLOT_FIELD):
        return FieldChange(
            f"{_('slot')} {name.removeprefix(SLOT_FIELD)}", display_value(None, present), display_value(None, was)
        )
    return field_change(Entry, name, present, was)


def wording_in(entry: Entry, version: int) -> str:
    """What the entry said in that version."""
    was = versions.as_of_version(entry, version)
    return str(was.get("content", entry.content))


def _history_step(step: Revision, entry: Entry, batches: dict[int, Batch], may_change: bool) -> HistoryStep:
    lines = [
        field_change(Entry, name, *values)
        for name, values in step.columns.items()
        if name != "content" or not step.wording
    ]
    lines += [
        FieldChange(f"{_('slot')} {name}", display_value(None, old), display_value(None, new))
        for name, (old, new) in step.slots.items()
    ]
    is_present = step.version == entry.version
    back = reverse("admin:memories_entry_version", args=[entry.pk, step.version])
    return HistoryStep(
        version=step.version,
        at=step.at,
        actor=step.actor,
        headline=_headline(step),
        lines=lines,
        wording=step.wording,
        batch=batches.get(step.batch_id) if step.batch_id else None,
        is_present=is_present,
        bring_back=back if may_change and not is_present else "",
    )


def _headline(step: Revision) -> str:
    if step.operation == Operation.INSERT:
        return gettext("Remembered")
    if "expired_at" in step.columns:
        return gettext("Taken out of use") if step.columns["expired_at"][1] else gettext("Brought back into use")
    if "archived_at" in step.columns and step.columns["archived_at"][1]:
        return gettext("Archived")
    if step.wording:
        return gettext("Reworded")
    return pgettext("history", "Changed")
