"""The actions on a batch: approve, refuse, edit its plan row by row, undo (F3, F4)."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminRadioSelectWidget

from memories import batches, tasks
from memories.admin.access import actor_of
from memories.admin.auditing import note
from memories.admin.batches.detail import batch_url, counts_by_verb, is_irreversible
from memories.admin.batches.wording import summary
from memories.admin.confirmation import ReasonForm, confirm, confirmation_form, confirmation_page, is_confirmed
from memories.admin.labels import batch_name
from memories.choices import BatchState, ChangeState
from memories.exceptions import PlatformError
from memories.models import AuditEvent, Batch, DailyEvent, Entry
from memories.rights import needs
from memories.tenancy.roles import Right

#: Entries that were changed since, as the page that asks names them.
NAMED = 100
POSITION_DIGITS = 10  # what is longer is no position
LEAVE, TAKE = "leave", "take"


class UndoForm(ReasonForm):
    """The reason, and whether what was changed since is undone too."""

    changed = forms.ChoiceField(
        label=_("Those that were changed since"),
        choices=[
            (LEAVE, _("Leave them as they are now")),
            (TAKE, _("Take them back too: what the batch changed of them is put back")),
        ],
        initial=LEAVE,
        required=False,
        widget=UnfoldAdminRadioSelectWidget,
    )
    field_order = ["changed", "reason"]


class BatchDecisions:
    """The pages that approve, refuse, edit or undo a batch."""

    reach: Any

    @needs(Right.CURATE)
    def approve(self, request: HttpRequest, object_id: str) -> HttpResponse:
        batch = self.reach(request, object_id, "curate")
        if is_irreversible(batch):
            self.reach(request, object_id, "erase")
        if is_confirmed(request):
            return _attempt(request, batch, lambda: _approve(request, batch))
        last = (
            gettext("It is removed for good, with its history. There is no undo.")
            if is_irreversible(batch)
            else gettext("You can undo it afterwards, in whole or in part.")
        )
        what = gettext("It does this: %(what)s.") % {"what": f"{summary(batch)} ({counts_by_verb(batch)})"}
        return confirmation_page(
            self,
            request,
            title=f"{gettext('Apply this batch')}: {batch_name(batch)}",
            text=" ".join([*batches.approval_reasons(batch), what, last]),
            button=gettext("Approve"),
            back=batch_url(batch, request=request),
            is_grave=is_irreversible(batch),
        )

    @needs(Right.CURATE)
    def refuse(self, request: HttpRequest, object_id: str) -> HttpResponse:
        batch = self.reach(request, object_id, "curate")

        def refuse() -> str:
            batches.refuse(batch, actor=actor_of(request), now=timezone.now())
            note(request, AuditEvent.REFUSED, batch)
            return gettext("Refused: nothing was changed.")

        return confirm(
            self,
            request,
            refuse,
            back=batch_url(batch, request=request),
            title=f"{gettext('Refuse this batch')}: {batch_name(batch)}",
            text=gettext("Nothing of it is applied, now or later. The job that made it may propose the same again."),
            button=gettext("Refuse"),
            is_grave=True,
        )

    @needs(Right.CURATE)
    def plan(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take rows out of the plan, or give one other words."""
        batch = self.reach(request, object_id, "curate")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return _attempt(request, batch, lambda: _edit_plan(request, batch))

    @needs(Right.OPERATE)
    def undo(self, request: HttpRequest, object_id: str) -> HttpResponse:
        batch = self.reach(request, object_id, "operate")
        positions = _positions(request)
        form = confirmation_form(request, UndoForm)
        if is_confirmed(request) and form.is_valid():
            answer = form.cleaned_data
            return _attempt(request, batch, lambda: _undo(request, batch, positions, answer))
        is_open = batch.state == BatchState.APPLIED
        changed = changed_since(batch, positions) if is_open else []
        if not changed:
            del form.fields["changed"]
        title = gettext("Undo this batch")
        if positions:
            title = ngettext("Undo %(n)d row", "Undo %(n)d rows", len(positions)) % {"n": len(positions)}
        return confirmation_page(
            self,
            request,
            form,
            title=title,
            text=" ".join(filter(None, [undo_text(len(changed)), is_open and _blockers_text(batch)])),
            button=gettext("Undo"),
            back=batch_url(batch, request=request),
            rows=changed,
            hidden=[("position", position) for position in positions],
        )


def _attempt(request: HttpRequest, batch: Batch, act: Any) -> HttpResponse:
    """Go to the page `act` gives; a refusal becomes a message on the page of the batch."""
    try:
        address: str = act()
    except PlatformError as refusal:
        messages.error(request, str(refusal))
        address = batch_url(batch, request=request)
    return HttpResponseRedirect(address)


def _approve(request: HttpRequest, batch: Batch) -> str:
    batches.approve(batch, actor=actor_of(request), now=timezone.now())
    note(request, AuditEvent.APPROVED, batch)
    _apply(request, batch, gettext("Applied: %(what)s."))
    return batch_url(batch, request=request)


def _edit_plan(request: HttpRequest, batch: Batch) -> str:
    positions = _positions(request)
    if "content" in request.POST and len(positions) == 1:
        batches.edit_step(batch, positions[0], request.POST["content"].replace("\r\n", "\n"))
        messages.success(request, gettext("This row has other words now."))
        return f"{batch_url(batch, request=request)}#row{positions[0]}"
    removed = len(batches.remove_steps(batch, positions))
    done = ngettext("%(n)d row was taken out of the plan.", "%(n)d rows were taken out of the plan.", removed)
    messages.success(request, done % {"n": removed})
    return batch_url(batch, request=request)


def _undo(request: HttpRequest, batch: Batch, positions: Collection[int], answer: dict[str, Any]) -> str:
    undo = batches.plan_undo(
        batch,
        actor=actor_of(request),
        now=timezone.now(),
        reason=answer["reason"],
        positions=positions or None,
        force=answer["changed"] == TAKE,
    )
    note(request, AuditEvent.UNDONE, batch)  # its page has the reason, which may name people
    _apply(request, undo, gettext("Undone: %(what)s."))
    return batch_url(undo, request=request)


def _apply(request: HttpRequest, batch: Batch, done: str) -> None:
    if not tasks.apply_or_queue(batch, now=timezone.now()):
        messages.info(request, gettext("It is large: the worker carries it out. This page shows how far it is."))
        return
    batch.refresh_from_db()
    messages.success(request, done % {"what": counts_by_verb(batch) or gettext("nothing")})
    if left := batch.changes.filter(state=ChangeState.LEFT).count():
        text = ngettext("%(n)d row was left alone", "%(n)d rows were left alone", left) % {"n": left}
        link = '<a class="mp-link" href="{}?state=left">{}</a>'
        messages.warning(request, format_html(link, batch_url(batch), text))


def _positions(request: HttpRequest) -> list[int]:
    """The positions of the ticked rows."""
    numbers = (text for text in request.POST.getlist("position") if text.isascii() and text.isdecimal())
    return sorted({int(text) for text in numbers if len(text) < POSITION_DIGITS})


def changed_since(batch: Batch, positions: Collection[int] = ()) -> list[str]:
    """The contents of what was changed since: an undo leaves these alone unless it is forced."""
    contents: list[str] = []
    for changed, model, column in (
        (batches.changed_since(batch), Entry, "entry_id"),
        (batches.changed_since(batch, DailyEvent), DailyEvent, "event_id"),
    ):
        rows = set(changed)
        if positions:
            rows &= set(batch.changes.filter(position__in=positions).values_list(column, flat=True))
        found = model.objects.filter(workspace_id=batch.workspace_id, pk__in=rows).order_by("pk")
        named = list(found.values_list("content", flat=True)[:NAMED])
        contents += [content[:160] for content in named] + [""] * (len(rows) - len(named))
    return contents


def _blockers_text(batch: Batch) -> str:
    """The entries an undo leaves in any case, and the batches to undo first."""
    blockers = batches.undo_blockers(batch)
    if not blockers:
        return ""
    text = ngettext(
        "%(n)d memory stays in any case: it has taken the place of others since. First undo what had it do so: "
        "%(batches)s.",
        "%(n)d memories stay in any case: they have taken the place of others since. First undo what had them do so: "
        "%(batches)s.",
        len(blockers),
    )
    return text % {"n": len(blockers), "batches": ", ".join(sorted(set(blockers.values())))}


def undo_text(changed: int) -> str:
    text = gettext(
        "Every memory it changed gets back what it was before; what it made is archived, and what it told of a day is "
        "told no more. The undo is a batch itself, and can be undone."
    )
    if not changed:
        return f"{text} {gettext('Nothing of it was changed since.')}"
    since = ngettext(
        "%(n)d memory was changed since, and now says:", "%(n)d memories were changed since, and now say:", changed
    )
    return f"{text} {since % {'n': changed}}"
