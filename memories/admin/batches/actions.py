"""What a person decides about batches: approve, refuse, edit, undo; one, those ticked, or all of a run (F3, F4)."""

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation import gettext_lazy as _
from django_q.tasks import async_task
from unfold.widgets import UnfoldAdminRadioSelectWidget

from memories import batches, tasks
from memories.admin.actions import CHOSEN_MOST, ROWS_SHOWN, Action, ActionCall, Outcome, Place, Question, to_row
from memories.admin.auditing import note
from memories.admin.batches.detail import (
    batch_url,
    counts_by_verb,
    is_expiry,
    is_irreversible,
    right_to_approve,
    summary,
    summary_of,
    undo_link,
)
from memories.admin.forms import ReasonForm, TermForm
from memories.admin.labels import batch_name
from memories.admin.lists import expired_last_night
from memories.admin.pages import FILTERS_PARAMETER, RETURN_PARAMETER, row_number, with_return_url
from memories.audit.models import AuditEvent
from memories.batches import branch as branches
from memories.choices import BatchState, BatchVerb, ChangeState
from memories.exceptions import PlatformError
from memories.lifecycle import expiry
from memories.models import Batch, DailyEvent, Entry
from memories.staff.roles import Right
from memories.tasks import INLINE_ROWS

#: Entries that were changed since, as the page that asks names them; and batches that were not decided on.
ENTRIES_NAMED, BATCHES_NAMED = 100, 10
POSITION_DIGITS = 9  # what is longer is no position
LEAVE, TAKE = "leave", "take"
APPROVE_WORD, REFUSE_WORD = "approve", "refuse"


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


# one batch


def _may_approve(call: ActionCall) -> str:
    """What has no undo, or sets policies, takes a further right; an empty branch waits. Raises PermissionDenied."""
    call.admin.reach(call.request, str(call.row.pk), right_to_approve(call.row))
    return "" if call.row.counts else gettext("There is nothing on it yet.")


def _approve_question(call: ActionCall) -> Question:
    batch = call.row
    what = gettext("It does this: %(what)s.") % {"what": f"{summary(batch)} ({counts_by_verb(batch)})"}
    last = (
        gettext("It is removed for good, with its history. There is no undo.")
        if is_irreversible(batch)
        else gettext("You can undo it afterwards, in whole or in part.")
    )
    verb = pgettext("branch", "Merge") if batch.name == branches.NAME else gettext("Apply this batch")
    policies = [gettext("Policies hold in all memories of the workspace.")] if BatchVerb.POLICY in batch.counts else []
    return Question(
        title=f"{verb}: {batch_name(batch)}",
        text=" ".join([*batches.approval_reasons(batch), what, *policies, last]),
        rows=(),
        is_grave=is_irreversible(batch),
    )


def _approve(call: ActionCall) -> Outcome:
    batches.approve(call.row, actor=call.actor, now=call.now)
    return Outcome(later=partial(_carry_out, call.row, call.back, gettext("Applied: %(what)s.")))


def _carry_out(batch: Batch, address: str, success: str) -> Outcome:
    """Apply a batch that is decided, or leave it to the worker."""
    if not tasks.apply_or_queue(batch, now=timezone.now()):
        text = gettext("It is large: the worker carries it out. This page shows how far it is.")
        return Outcome(info=text, address=address)
    batch.refresh_from_db()
    warning = ""
    if left_count := batch.changes.filter(state=ChangeState.LEFT).count():
        text = ngettext("%(n)d row was left alone", "%(n)d rows were left alone", left_count) % {"n": left_count}
        warning = format_html('<a class="mp-link" href="{}?state=left">{}</a>', batch_url(batch), text)
    text = success % {"what": counts_by_verb(batch) or gettext("nothing")}
    return Outcome(text=text, warning=warning, address=address)


def _refuse(call: ActionCall) -> Outcome:
    batches.refuse(call.row, actor=call.actor, now=call.now)
    return Outcome(text=gettext("Refused: nothing was changed."))


def _positions(request: HttpRequest) -> list[int]:
    """The positions of the ticked rows."""
    numbers = (row_number(text, POSITION_DIGITS) for text in request.POST.getlist("position"))
    return sorted({number for number in numbers if number is not None})


def only_post(call: ActionCall) -> HttpResponse | str:
    """Refuses a call that no form sent."""
    return HttpResponseNotAllowed(["POST"]) if call.request.method != "POST" else ""


def _edit_plan(call: ActionCall) -> Outcome:
    """Take rows out of the plan, or give one other words."""
    batch, words, positions = call.row, call.request.POST.get("content"), _positions(call.request)
    if words is not None and len(positions) == 1:
        batches.edit_step(batch, positions[0], words.replace("\r\n", "\n"))
        return Outcome(text=gettext("This row has other words now."), address=f"{call.back}#row{positions[0]}")
    removed_count = len(batches.remove_steps(batch, positions))
    text = ngettext("%(n)d row was taken out of the plan.", "%(n)d rows were taken out of the plan.", removed_count)
    return Outcome(text=text % {"n": removed_count})


def _changed_since(batch: Batch, positions: Collection[int] = ()) -> list[str]:
    """The contents of what was changed since: an undo leaves these alone unless it is forced."""
    contents: list[str] = []
    for changed_pks, model, column in (
        (batches.changed_since(batch), Entry, "entry_id"),
        (batches.changed_since(batch, DailyEvent), DailyEvent, "event_id"),
    ):
        rows = set(changed_pks)
        if positions:
            rows &= set(batch.changes.filter(position__in=positions).values_list(column, flat=True))
        stored_rows = model.objects.filter(workspace_id=batch.workspace_id, pk__in=rows).order_by("pk")
        first_contents = list(stored_rows.values_list("content", flat=True)[:ENTRIES_NAMED])
        contents += [content[:160] for content in first_contents] + [""] * (len(rows) - len(first_contents))
    return contents


def _undo_text(call: ActionCall, count: int) -> str:
    """What an undo does, and of how many memories it has to be asked; nothing was changed: the form does not ask."""
    text = gettext(
        "Every memory it changed gets back what it was before; what it made is archived, and what it told of a day is "
        "told no more. The undo is a batch itself, and can be undone."
    )
    if not count:
        del call.form.fields["changed"]
        return f"{text} {gettext('Nothing of it was changed since.')}"
    since = ngettext(
        "%(n)d memory was changed since, and now says:", "%(n)d memories were changed since, and now say:", count
    )
    return f"{text} {since % {'n': count}}"


def _undo_question(call: ActionCall) -> Question:
    batch, positions = call.row, _positions(call.request)
    is_open = batch.state == BatchState.APPLIED
    contents = _changed_since(batch, positions) if is_open else []
    title = gettext("Undo this batch")
    if positions:
        title = ngettext("Undo %(n)d row", "Undo %(n)d rows", len(positions)) % {"n": len(positions)}
    texts = [_undo_text(call, len(contents))]
    # The entries an undo leaves in any case, and the batches to undo first
    if is_open and (blockers := batches.undo_blockers(batch)):
        text = ngettext(
            "%(n)d memory stays in any case: it has taken the place of others since. First undo what had it do so: "
            "%(batches)s.",
            "%(n)d memories stay in any case: they have taken the place of others since. First undo what had them do "
            "so: %(batches)s.",
            len(blockers),
        )
        texts.append(text % {"n": len(blockers), "batches": ", ".join(sorted(set(blockers.values())))})
    return Question(
        title=title,
        text=" ".join(texts),
        rows=contents,
        hidden=[("position", position) for position in positions],
    )


def _undo(call: ActionCall) -> Outcome:
    undo = batches.plan_undo(
        call.row,
        actor=call.actor,
        now=call.now,
        reason=call.data["reason"],
        positions=_positions(call.request) or None,
        force=call.data["changed"] == TAKE,
    )
    address = batch_url(undo, request=call.request)
    return Outcome(later=partial(_carry_out, undo, address, gettext("Undone: %(what)s.")))


#: The page of a batch leads to these.
_OF_ONE: dict[str, Any] = {"place": Place.ADDRESS, "back": to_row}
APPROVE = Action(
    name="approve", label=_("Approve"), right="curate", refuses=_may_approve, question=_approve_question, act=_approve,
    audit=AuditEvent.APPROVED, **_OF_ONE,
)  # fmt: skip
REFUSE = Action(
    name="refuse", label=_("Refuse"), right="curate",
    question=lambda call: Question(
        title=f"{gettext('Refuse this batch')}: {batch_name(call.row)}",
        text=gettext("Nothing of it is applied, now or later. The job that made it may propose the same again."),
        rows=(),
        is_grave=True,
    ),
    act=_refuse, audit=AuditEvent.REFUSED, **_OF_ONE,
)  # fmt: skip
PLAN = Action(name="plan", label="", right="curate", refuses=only_post, act=_edit_plan, **_OF_ONE)
UNDO = Action(  # its page has the reason, which may name people: the note has none
    name="undo", label=_("Undo"), right="operate", form=lambda call: call.bound(UndoForm), question=_undo_question,
    act=_undo, audit=AuditEvent.UNDONE, **_OF_ONE,
)  # fmt: skip


# several batches


@dataclass
class Decided:
    """What became of several batches."""

    entries: int = 0  # as they were before
    applied: int = 0
    queued: int = 0  # the worker carries them out
    refused: int = 0
    undos: list[Batch] = field(default_factory=list)
    left: list[tuple[Batch, str]] = field(default_factory=list)  # not decided on, with the reason

    def outcome(self) -> Outcome:
        """How many were applied, left to the worker, refused, and which were not decided on and why."""
        undone = ngettext(
            "%(n)d memory is as it was before.", "%(n)d memories are as they were before.", self.entries
        ) % {"n": self.entries}
        applied = ngettext("%(n)d batch was applied.", "%(n)d batches were applied.", self.applied)
        queued = ngettext(
            "%(n)d batch is carried out by the worker.", "%(n)d batches are carried out by the worker.", self.queued
        )
        refused = ngettext(
            "%(n)d batch was refused: nothing of it was changed.",
            "%(n)d batches were refused: nothing of them was changed.",
            self.refused,
        )
        warning = ""
        if self.left:
            text = ngettext("%(n)d batch was left as it is:", "%(n)d batches were left as they are:", len(self.left))
            link = '<br><a class="mp-link" href="{}">{}</a>: {}'
            batch_links = [
                (batch_url(batch), f"{batch_name(batch)} · {batch.scope or '—'}", why)
                for batch, why in self.left[:BATCHES_NAMED]
            ]
            warning = format_html("{}{}", text % {"n": len(self.left)}, format_html_join("", link, batch_links))
        counted = ((self.applied, applied), (self.queued, queued), (self.refused, refused))
        return Outcome(
            text=format_html("{} {}", undone, undo_link(self.undos)) if self.entries else "",
            more=[text % {"n": number} for number, text in counted if number],
            warning=warning,
        )


def _each(rows: Sequence[Batch], decide: Callable[[Batch, Decided, int], int]) -> Outcome:
    """Decide on each batch by itself: what cannot be decided is left with the reason, and keeps no other back.

    `decide` gets how many rows may still be carried out while the page is waited for, and says how many it did.
    """
    decided, room = Decided(), tasks.INLINE_ROWS
    for batch in rows:
        try:
            room -= decide(batch, decided, room)
        except (PlatformError, PermissionDenied) as refusal:
            decided.left.append((batch, str(refusal)))
    return decided.outcome()


def batches_of_run(batch: Batch) -> QuerySet[Batch]:
    """What the run of a batch planned: a batch a scope."""
    rows = Batch.objects.filter(workspace_id=batch.workspace_id, run=batch.run)
    return rows.select_related("scope", "workspace").order_by("pk")


def _chosen_of_run(call: ActionCall) -> list[str]:
    return [pk for pk in call.request.POST.getlist("batch") if pk.isascii() and pk.isdecimal()]


def _waiting(call: ActionCall) -> list[Batch]:
    """Of those that were ticked in the list, or of the run of this batch, those that wait for a decision."""
    rows: Any = call.ticked
    if rows is None:
        rows, ticked = batches_of_run(call.row), _chosen_of_run(call)
        rows = rows.filter(pk__in=ticked) if ticked else rows
    waiting = rows.filter(state=BatchState.PROPOSED).select_related("scope", "workspace").order_by("pk")
    return list(waiting[:CHOSEN_MOST])


def _is_refusal(call: ActionCall) -> bool:
    return call.action is REFUSE_ALL or (call.action is DECIDE and call.request.POST.get("what") == REFUSE_WORD)


def _nothing_waits(call: ActionCall) -> Outcome | str:
    return "" if call.rows else Outcome(info=gettext("None of them waits for a decision."))


def _summaries(rows: Sequence[Batch]) -> list[str]:
    return [f"{batch.scope or '—'}: {summary(batch)}" for batch in rows]


def _decision_question(call: ActionCall) -> Question:
    """What all of them would do, how many are held, and what the decision means."""
    refuses, number = _is_refusal(call), len(call.rows)
    title = (
        ngettext("Refuse %(n)d batch", "Refuse %(n)d batches", number)
        if refuses
        else ngettext("Approve %(n)d batch", "Approve %(n)d batches", number)
    )
    texts = [gettext("Together: %(what)s.") % {"what": summary_of(call.rows)}]
    if on_hold := sum(1 for batch in call.rows if batch.held_because):
        text = ngettext("The safety limit holds %(n)d of them.", "The safety limit holds %(n)d of them.", on_hold)
        texts.append(text % {"n": on_hold})
    if refuses:
        texts.append(gettext("Nothing of them is applied. The job that made them may propose the same again."))
    else:
        texts.append(gettext("Each is a batch of its own that can be undone."))
    ticked = _chosen_of_run(call) if call.ticked is None else []
    return Question(
        title=title % {"n": number},
        text=" ".join(texts),
        button=gettext("Refuse all") if refuses else gettext("Approve all"),
        rows=_summaries(call.rows),
        is_grave=refuses,
        hidden=[("what", REFUSE_WORD if refuses else APPROVE_WORD), *(("batch", pk) for pk in ticked)],
    )


def _decide(call: ActionCall) -> Outcome:
    who = {"actor": call.actor, "reason": call.data["reason"]}

    def refuse(batch: Batch, decided: Decided, room: int) -> int:
        batches.refuse(batch, now=timezone.now(), **who)
        note(call.request, AuditEvent.REFUSED, batch)
        decided.refused += 1
        return 0

    def approve(batch: Batch, decided: Decided, room: int) -> int:
        if is_irreversible(batch):
            raise PermissionDenied(gettext("It removes for good: approve it by itself."))
        if BatchVerb.POLICY in batch.counts:
            raise PermissionDenied(gettext("It sets policies: approve it by itself."))
        batches.approve(batch, now=timezone.now(), **who)
        note(call.request, AuditEvent.APPROVED, batch)
        if not tasks.apply_or_queue(batch, now=timezone.now(), most=room):
            decided.queued += 1
            return 0
        decided.applied += 1
        return sum(batch.counts.values())

    return _each(call.rows, refuse if _is_refusal(call) else approve)


def _to_run(call: ActionCall) -> str:
    return with_return_url(call.request, batch_url(call.row, "run"))


_OF_SEVERAL: dict[str, Any] = {
    "right": "curate", "rows": _waiting, "refuses": _nothing_waits, "form": lambda call: call.bound(ReasonForm),
    "question": _decision_question, "act": _decide,
}  # fmt: skip
APPROVE_ALL = Action(
    name="approve_all", label=_("Approve all"), place=Place.NOWHERE, listed=_("Approve the chosen batches …"),
    listed_name="approve_chosen", **_OF_SEVERAL,
)  # fmt: skip
REFUSE_ALL = Action(
    name="refuse_all", label=_("Refuse all"), place=Place.NOWHERE, listed=_("Refuse the chosen batches …"),
    listed_name="refuse_chosen", **_OF_SEVERAL,
)  # fmt: skip
DECIDE = Action(
    name="decide", label="", place=Place.ADDRESS, back=_to_run,
    **_OF_SEVERAL | {"refuses": lambda call: only_post(call) or _nothing_waits(call)},
)  # fmt: skip


def _undo_run_question(call: ActionCall) -> Question:
    contents = [words for batch in call.rows for words in _changed_since(batch)]
    title = gettext("Undo this run: %(what)s") % {"what": summary_of(call.rows)}
    return Question(title=title, text=_undo_text(call, len(contents)), rows=contents or _summaries(call.rows))


def _undo_run(call: ActionCall) -> Outcome:
    """Undo each batch of a run, in a run of undos, so that the undo can be undone at once as well."""
    run = f"undo:{uuid4()}"

    def undo(batch: Batch, decided: Decided, room: int) -> int:
        reason, force = call.data["reason"], call.data["changed"] == TAKE
        planned = batches.plan_undo(batch, actor=call.actor, now=timezone.now(), reason=reason, force=force, run=run)
        note(call.request, AuditEvent.UNDONE, batch)
        decided.undos.append(planned)
        if not tasks.apply_or_queue(planned, now=timezone.now(), most=room):
            decided.queued += 1
            return 0
        planned.refresh_from_db()
        rows = sum(planned.counts.values())
        decided.entries += rows
        return rows

    return _each(call.rows, undo)


UNDO_RUN = Action(
    name="undo_run", label=_("Undo"), right="operate", place=Place.ADDRESS, back=_to_run,
    # what its run did, the last first
    rows=lambda call: list(batches.with_effect(batches_of_run(call.row)).order_by("-pk")[:CHOSEN_MOST]),
    refuses=lambda call: (
        "" if call.rows else Outcome(info=gettext("Nothing of it is in effect: there is nothing to undo."))
    ),
    form=lambda call: call.bound(UndoForm), question=_undo_run_question, act=_undo_run,
)  # fmt: skip


# what the nightly job expired


@dataclass(frozen=True)
class Expired:
    """What batches of the expiry job took out of use and nobody brought back or took out since."""

    batches: list[Batch]
    among: list[int] | None  # of these memories alone
    entries: QuerySet[Entry]
    count: int

    @classmethod
    def by(cls, batches: list[Batch], among: list[int] | None = None) -> "Expired":
        entries = expiry.expired_by(batches)
        if among is not None:
            entries = entries.filter(pk__in=among)
        return cls(batches, among, entries, entries.count())


def _of_batch(call: ActionCall) -> Expired:
    if not is_expiry(call.row):
        raise Http404
    return Expired.by([call.row])


def _of_last_night(call: ActionCall) -> Expired:
    """What the last night expired; of it what the list of memories shows, narrowed as the address says."""
    narrowed, among = call.request.GET.copy(), None
    for name in (RETURN_PARAMETER, FILTERS_PARAMETER, PAGE_VAR):
        narrowed.pop(name, None)
    if narrowed:
        listing: Any = copy(call.request)
        listing.GET = narrowed
        changelist = call.admin.admin_site.get_model_admin(Entry).get_changelist_instance(listing)
        among = list(changelist.queryset.order_by().values_list("pk", flat=True))
    return Expired.by(list(expired_last_night(call.request, call.now, Right.CURATE)), among)


def _nothing_expired(call: ActionCall) -> HttpResponse | Outcome | str:
    try:
        count = call.rows.count
    except IncorrectLookupParameters:
        return HttpResponseRedirect(call.back)
    text = gettext("Everything the job took out is in use again, or people took it out since.")
    return "" if count else Outcome(info=text)


def _restoration_question(call: ActionCall) -> Question:
    count, entries = call.rows.count, call.rows.entries
    return Question(
        title=ngettext("Restore %(n)s memory", "Restore %(n)s memories", count) % {"n": f"{count:,}"},
        text=gettext("They can be recalled again at once, and their time begins anew. Nothing else is changed."),
        rows=entries.order_by("-created_at", "-pk")[:ROWS_SHOWN],
        count=count,
    )


def _restore(call: ActionCall) -> Outcome:
    expired: Expired = call.rows
    how = {"term": call.form.chosen_term(), "actor": call.actor, "reason": call.data["reason"]}
    if expired.count > INLINE_ROWS:
        ids = [batch.pk for batch in expired.batches]
        async_task("memories.tasks.restore_expired", ids, among=expired.among, group="mem:batches", **how)
        text = gettext("These are many: the worker brings them back. The list of batches shows how far it is.")
        return Outcome(info=text)
    now = timezone.now()
    restored = expiry.restore_all(expired.batches, now=now, among=expired.among, **how)["entries"]
    text = ngettext("%(n)d memory is in use again.", "%(n)d memories are in use again.", restored) % {"n": restored}
    restore_batches = Batch.objects.filter(actor=call.actor, name=BatchVerb.RESTORE, created_at=now).order_by("pk")
    left_text = gettext("Those in frozen scopes, and those changed meanwhile, stayed as they are.")
    warning = left_text if restored < expired.count else ""
    return Outcome(text=format_html("{} {}", text, undo_link(restore_batches)), warning=warning)


_OF_EXPIRED: dict[str, Any] = {
    "label": _("Restore"), "right": "curate", "place": Place.ADDRESS, "refuses": _nothing_expired,
    "form": lambda call: call.bound(TermForm), "question": _restoration_question, "act": _restore,
}  # fmt: skip
RESTORE = Action(name="restore", rows=_of_batch, back=to_row, **_OF_EXPIRED)
LAST_NIGHT = Action(name="last_night", path="/last-night/restore/", rows=_of_last_night, **_OF_EXPIRED)
OF_BATCHES = (LAST_NIGHT, APPROVE, REFUSE, UNDO, PLAN, RESTORE, DECIDE, UNDO_RUN, APPROVE_ALL, REFUSE_ALL)
