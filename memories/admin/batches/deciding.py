"""Several batches decided at once: those that were ticked, or all that one run proposed, scope by scope (F4)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memories import batches, tasks
from memories.admin.access import actor_of
from memories.admin.actions import CHOSEN_MOST
from memories.admin.auditing import note
from memories.admin.batches.actions import TAKE, UndoForm, changed_since, undo_text
from memories.admin.batches.detail import STATE_COLORS, batch_url, is_irreversible, undo_link
from memories.admin.batches.wording import is_plan, summary, summary_of
from memories.admin.confirmation import ReasonForm, confirmation_form, confirmation_page, is_confirmed
from memories.admin.labels import actor_label, batch_name
from memories.admin.own_pages import own_page
from memories.admin.return_link import return_url, with_return_url
from memories.choices import BatchState
from memories.exceptions import PlatformError
from memories.models import AuditEvent, Batch
from memories.rights import held_in, needs
from memories.tenancy.roles import Right

APPROVE, REFUSE = "approve", "refuse"
PER_PAGE = 100
NAMED = 10  # batches that were not decided on, each with its reason


@dataclass
class Decided:
    """What became of several batches."""

    applied: int = 0
    queued: int = 0  # the worker carries them out
    refused: int = 0
    left: list[tuple[Batch, str]] = field(default_factory=list)  # not decided on, with the reason


@dataclass(frozen=True)
class _Row:
    """A batch of a run, as its page lists it."""

    batch: Batch

    @property
    def what(self) -> str:
        return summary(self.batch)

    @property
    def state(self) -> Any:
        return BatchState(self.batch.state).label

    @property
    def color(self) -> str | None:
        return STATE_COLORS[BatchState(self.batch.state)]

    @property
    def is_open(self) -> bool:
        return self.batch.state == BatchState.PROPOSED

    @property
    def reasons(self) -> list[str]:
        """Why it is held."""
        return batches.approval_reasons(self.batch) if self.is_open else []


class DecidingTogether:
    """The actions on ticked batches, and the page of what one run planned for all its scopes."""

    admin_site: Any
    opts: Any
    reach: Any

    @admin.action(description=_("Approve the chosen batches …"), permissions=["curate"])
    def approve_chosen(self, request: HttpRequest, queryset: QuerySet[Batch]) -> HttpResponse:
        return self._decide(request, APPROVE, queryset, _list_url(request))

    @admin.action(description=_("Refuse the chosen batches …"), permissions=["curate"])
    def refuse_chosen(self, request: HttpRequest, queryset: QuerySet[Batch]) -> HttpResponse:
        return self._decide(request, REFUSE, queryset, _list_url(request))

    @needs(Right.READ)
    def run(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """All that a run planned, as one plan: a line for each scope."""
        batch = self.reach(request, object_id, "view")
        planned = list(batches_of_run(batch))
        waiting = [one for one in planned if one.state == BatchState.PROPOSED]
        page = Paginator(planned, PER_PAGE).get_page(request.GET.get("page"))
        context = {
            "title": batch_name(batch),
            "batch": batch,
            "who": actor_label(batch.actor),
            "back": return_url(request, reverse("admin:memories_batch_changelist")),
            "may": held_in(request, batch.workspace_id),
            "waiting": waiting,
            "applied": sum(not is_irreversible(one) for one in batches.with_effect(batches_of_run(batch))),
            "was_applied": any(one.state == BatchState.APPLIED for one in planned),
            "summary": summary_of(waiting or [one for one in planned if not is_plan(one.state)] or planned),
            "states": [(BatchState(state).label, n) for state, n in Counter(one.state for one in planned).items()],
            "rows": [_Row(one) for one in page],
            "page": page,
        }
        return own_page(request, "admin/memories/batch_run.html", context, self)

    @needs(Right.CURATE)
    def decide(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Approve or refuse what waits of a run: the ticked ones, or all."""
        batch = self.reach(request, object_id, "curate")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        back = with_return_url(request, batch_url(batch, "run"))
        what = REFUSE if request.POST.get("what") == REFUSE else APPROVE
        chosen = [pk for pk in request.POST.getlist("batch") if pk.isascii() and pk.isdecimal()]
        rows = batches_of_run(batch)
        return self._decide(request, what, rows.filter(pk__in=chosen) if chosen else rows, back, chosen=chosen)

    @needs(Right.OPERATE)
    def undo_run(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Undo all that one click or one night did, with one reason."""
        batch = self.reach(request, object_id, "operate")
        back = with_return_url(request, batch_url(batch, "run"))
        applied = list(batches.with_effect(batches_of_run(batch)).order_by("-pk")[:CHOSEN_MOST])
        if not applied:
            messages.info(request, gettext("Nothing of it is in effect: there is nothing to undo."))
            return HttpResponseRedirect(back)
        form = confirmation_form(request, UndoForm)
        if is_confirmed(request) and form.is_valid():
            answer = form.cleaned_data
            done = undo_all(request, applied, reason=answer["reason"], force=answer["changed"] == TAKE)
            report_undone(request, done)
            return HttpResponseRedirect(back)
        changed = [words for one in applied for words in changed_since(one)]
        if not changed:
            del form.fields["changed"]
        return confirmation_page(
            self,
            request,
            form,
            title=gettext("Undo this run: %(what)s") % {"what": summary_of(applied)},
            text=undo_text(len(changed)),
            button=gettext("Undo"),
            back=back,
            rows=changed or [f"{one.scope or '—'}: {summary(one)}" for one in applied],
        )

    def _decide(
        self, request: HttpRequest, what: str, rows: QuerySet[Batch], back: str, *, chosen: Sequence[str] = ()
    ) -> HttpResponse:
        """Ask once for all of them, with the counts; then decide on each, and say what became of it."""
        waiting = rows.filter(state=BatchState.PROPOSED).select_related("scope", "workspace").order_by("pk")
        found = list(waiting[:CHOSEN_MOST])
        if not found:
            messages.info(request, gettext("None of them waits for a decision."))
            return HttpResponseRedirect(back)
        form = confirmation_form(request, ReasonForm)
        if is_confirmed(request) and form.is_valid():
            report(request, decide_all(request, what, found, form.cleaned_data["reason"]))
            return HttpResponseRedirect(back)
        return confirmation_page(
            self,
            request,
            form,
            title=_title(what, len(found)),
            text=_text(what, found),
            button=gettext("Approve all") if what == APPROVE else gettext("Refuse all"),
            back=back,
            rows=[f"{one.scope or '—'}: {summary(one)}" for one in found],
            is_grave=what == REFUSE,
            hidden=[("what", what), *(("batch", pk) for pk in chosen)],
        )


@dataclass
class Undone:
    """What became of the undo of a run."""

    entries: int = 0
    queued: int = 0  # the worker carries these batches out
    undos: list[Batch] = field(default_factory=list)
    left: list[tuple[Batch, str]] = field(default_factory=list)  # not undone, with the reason


def undo_all(request: HttpRequest, rows: Sequence[Batch], *, reason: str, force: bool) -> Undone:
    """Undo each batch of a run, in a run of undos, so that the undo can be undone at once as well."""
    result, room, run = Undone(), tasks.INLINE_ROWS, f"undo:{uuid4()}"
    for batch in rows:
        try:
            undo = batches.plan_undo(
                batch, actor=actor_of(request), now=timezone.now(), reason=reason, force=force, run=run
            )
            note(request, AuditEvent.UNDONE, batch)
            result.undos.append(undo)
            is_applied = tasks.apply_or_queue(undo, now=timezone.now(), most=room)
        except PlatformError as refusal:
            result.left.append((batch, str(refusal)))
            continue
        if is_applied:
            undo.refresh_from_db()
            done = sum(undo.counts.values())
            result.entries, room = result.entries + done, room - done
        else:
            result.queued += 1
    return result


def report_undone(request: HttpRequest, done: Undone) -> None:
    """Say how many memories are as they were before, with the link that undoes the undo, and what was left."""
    if done.entries:
        text = ngettext("%(n)d memory is as it was before.", "%(n)d memories are as they were before.", done.entries)
        messages.success(request, format_html("{} {}", text % {"n": done.entries}, undo_link(done.undos)))
    report(request, Decided(queued=done.queued, left=done.left))


def batches_of_run(batch: Batch) -> QuerySet[Batch]:
    """What the run of a batch planned: a batch a scope."""
    rows = Batch.objects.filter(workspace_id=batch.workspace_id, run=batch.run)
    return rows.select_related("scope", "workspace").order_by("pk")


def decide_all(request: HttpRequest, what: str, rows: Sequence[Batch], reason: str) -> Decided:
    """Decide on each batch by itself: what cannot be decided is left with the reason, and keeps no other back."""
    result, room = Decided(), tasks.INLINE_ROWS
    for batch in rows:
        try:
            if what == REFUSE:
                batches.refuse(batch, actor=actor_of(request), now=timezone.now(), reason=reason)
                note(request, AuditEvent.REFUSED, batch)
                result.refused += 1
                continue
            if is_irreversible(batch):
                raise PermissionDenied(gettext("It removes for good: approve it by itself."))
            batches.approve(batch, actor=actor_of(request), now=timezone.now(), reason=reason)
            note(request, AuditEvent.APPROVED, batch)
            is_applied = tasks.apply_or_queue(batch, now=timezone.now(), most=room)
        except (PlatformError, PermissionDenied) as refusal:
            result.left.append((batch, str(refusal)))
            continue
        room -= sum(batch.counts.values()) if is_applied else 0
        result.applied, result.queued = result.applied + is_applied, result.queued + (not is_applied)
    return result


def report(request: HttpRequest, done: Decided) -> None:
    """Say how many were applied, left to the worker, refused, and which were not decided on and why."""
    for number, text in (
        (done.applied, ngettext("%(n)d batch was applied.", "%(n)d batches were applied.", done.applied)),
        (
            done.queued,
            ngettext(
                "%(n)d batch is carried out by the worker.", "%(n)d batches are carried out by the worker.", done.queued
            ),
        ),
        (
            done.refused,
            ngettext(
                "%(n)d batch was refused: nothing of it was changed.",
                "%(n)d batches were refused: nothing of them was changed.",
                done.refused,
            ),
        ),
    ):
        if number:
            messages.success(request, text % {"n": number})
    if done.left:
        _report_left(request, done.left)


def _report_left(request: HttpRequest, left: Sequence[tuple[Batch, str]]) -> None:
    text = ngettext("%(n)d batch was left as it is:", "%(n)d batches were left as they are:", len(left))
    link = '<br><a class="mp-link" href="{}">{}</a>: {}'
    named = [(batch_url(batch), f"{batch_name(batch)} · {batch.scope or '—'}", why) for batch, why in left[:NAMED]]
    messages.warning(request, format_html("{}{}", text % {"n": len(left)}, format_html_join("", link, named)))


def _list_url(request: HttpRequest) -> str:
    return return_url(request, reverse("admin:memories_batch_changelist"))


def _title(what: str, number: int) -> str:
    text = (
        ngettext("Approve %(n)d batch", "Approve %(n)d batches", number)
        if what == APPROVE
        else ngettext("Refuse %(n)d batch", "Refuse %(n)d batches", number)
    )
    return text % {"n": number}


def _text(what: str, found: Sequence[Batch]) -> str:
    """What all of them would do, how many are held, and what the decision means."""
    held = sum(1 for batch in found if batch.held_because)
    texts = [gettext("Together: %(what)s.") % {"what": summary_of(found)}]
    if held:
        text = ngettext("The safety limit holds %(n)d of them.", "The safety limit holds %(n)d of them.", held)
        texts.append(text % {"n": held})
    if what == APPROVE:
        texts.append(gettext("Each is a batch of its own that can be undone."))
    else:
        texts.append(gettext("Nothing of them is applied. The job that made them may propose the same again."))
    return " ".join(texts)
