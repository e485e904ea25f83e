"""What a person may do to entries: to one on its page, or to those that were ticked, as a batch a scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.enums import ActionVariant

from memories import entries as store
from memories.admin.actions import Action, ActionCall, Answer, Outcome, Place, Question, to_row
from memories.admin.auditing import note
from memories.admin.batches.detail import batch_url, undo_link
from memories.admin.entries.forms import (
    BulkActionForm,
    CheckedForm,
    MergeForm,
    MoveForm,
    SetAttributesForm,
    SetTermForm,
    SetTypeForm,
    WhyForm,
    scope_field,
)
from memories.admin.forms import CopiesForm, CopiesTermForm, ReasonForm, TermForm
from memories.admin.masking import is_secret
from memories.admin.pages import own_page, quarantine_url
from memories.audit.models import AuditEvent
from memories.batches import bulk_actions
from memories.batches.bulk_actions import BulkAction, BulkResult
from memories.batches.moving import move
from memories.models import Entry, Policy
from memories.models.entry import SECRET_SUBTYPE
from memories.models.state import State, state_of

#: Entries merged at a time: more than people can read.
MERGED_MOST = 50
#: Values named of one kind on a page that asks about several; scopes may be many.
NAMED = 6
_CHANGED = ngettext_lazy("%(n)d entry was changed.", "%(n)d entries were changed.", "n")


def outcome_of(result: BulkResult, success: Any, *, nothing: str = "") -> Outcome:
    """What a bulk action did, with a link to its batches: undo is two clicks away. `nothing` is for no entries."""
    skipped = ngettext(
        "%(n)d was so already, or was changed meanwhile.",
        "%(n)d were so already, or were changed meanwhile.",
        result.skipped,
    )
    return Outcome(
        text=format_html("{} {}", success % {"n": result.changed}, undo_link(result.batches)) if result.changed else "",
        info=skipped % {"n": result.skipped} if result.skipped else nothing,
        errors=_refusals(result),
    )


def _refusals(result: BulkResult) -> list[str]:
    """The scopes where nothing was done, each with the reason."""
    return [f"{scope}: {why}" for scope, why in result.refused]


def counts_of(entries: Sequence[Entry]) -> list[tuple[Any, list[tuple[str, int]], int]]:
    """Of several entries their states, scopes and types, each with its number, and how many values are not named."""
    if len(entries) < 2:
        return []
    now, policies = timezone.now(), Policy.objects.of_each({entry.workspace_id for entry in entries})

    def counted(label: Any, values: Iterable[Any]) -> tuple[Any, list[tuple[str, int]], int]:
        counts = Counter(map(str, values))
        return label, counts.most_common(NAMED), max(len(counts) - NAMED, 0)

    return [
        counted(
            _("state"), (state_of(entry, policies[entry.workspace_id].end_of(entry), now).label for entry in entries)
        ),
        counted(_("scope"), (entry.scope for entry in entries)),
        counted(_("type"), (entry.get_type_display() for entry in entries)),
    ]


# the rows

_ALL = Q()


def _entries(call: ActionCall, among: Q = _ALL) -> list[Entry]:
    """The entry of the page, or those that were ticked: one more than may be, so that too many are noticed."""
    if call.ticked is None:
        return [call.row]
    return list(call.ticked.filter(among).select_related("scope")[: bulk_actions.MOST + 1])


def _too_many(call: ActionCall) -> str:
    most = bulk_actions.MOST
    return (
        gettext("More than %(most)d entries: narrow the list first.") % {"most": most} if len(call.rows) > most else ""
    )


def _count_text(call: ActionCall) -> str:
    return ngettext("%(n)d entry", "%(n)d entries", len(call.rows)) % {"n": len(call.rows)}


def _state(entry: Any) -> State:
    """Its state now, read once a page."""
    if not hasattr(entry, "state"):
        entry.state = state_of(entry, Policy.objects.of(entry.workspace_id).end_of(entry), timezone.now())
    state: State = entry.state
    return state


# changes that are batches


def _carry_out(call: ActionCall) -> Outcome:
    action: Any = call.action
    entries, verb = call.rows, action.verb(call)
    if copies := call.data.get("copies") and call.form.copies:
        entries = [*entries, *copies]
    who = {"now": call.now, "actor": call.actor, "reason": call.data["reason"]}
    if not call.data.get("plan_only"):
        return outcome_of(bulk_actions.apply_action(entries, verb, **who), action.done)
    planned = bulk_actions.plan_for_each_scope(entries, verb, **who)
    page = "change" if len(planned.batches) == 1 else "run"
    address = batch_url(planned.batches[0], page) if planned.batches else ""
    return Outcome(errors=_refusals(planned), address=address)


def _change_question(call: ActionCall) -> Question:
    action: Any = call.action
    return Question(title=f"{action.label}: {_count_text(call)}", text=action.text, counts=counts_of(call.rows))


@dataclass(frozen=True, kw_only=True)
class BatchAction(Action):
    """What is done to entries as a batch a scope, applied at once, or only planned where the form says so."""

    verb: Callable[[ActionCall], BulkAction]
    done: Any = _CHANGED
    text: Any = ""
    right: str = "change"
    act: Callable[[ActionCall], Answer] = _carry_out
    question: Question | Callable[[ActionCall], Question] | None = _change_question
    rows: Callable[[ActionCall], Any] = _entries
    refuses: Callable[[ActionCall], Answer] | None = _too_many
    back: Callable[[ActionCall], str] = to_row


def _use_question(title: Any, text: Any, *, is_grave: bool = False) -> Callable[[ActionCall], Question]:
    """The question whether entries are used; it names the memories that hold copies of them."""

    def asks(call: ActionCall) -> Question:
        entries, copies = call.rows, call.form.copies
        texts = [str(text)]
        if copies:
            scopes = ", ".join(sorted({str(copy.scope) for copy in copies}))
            holders = ngettext("%(n)d copy is in %(scopes)s.", "%(n)d copies are in %(scopes)s.", len(copies))
            texts.append(holders % {"n": len(copies), "scopes": scopes})
        counted = title % {"n": len(entries)}
        return Question(title=counted, text=" ".join(texts), counts=counts_of(entries), is_grave=is_grave)

    return asks


def _expiry_form(call: ActionCall) -> Any:
    copies = store.copies_to_expire(call.rows)
    is_own = all(map(store.is_own_statement, call.rows))
    form = call.bound(CopiesForm if copies else ReasonForm, copies=is_own)
    form.copies = copies
    return form


def _restoration_form(call: ActionCall) -> Any:
    copies = store.copies_to_restore(call.rows)
    form = call.bound(CopiesTermForm if copies else TermForm, copies=True)
    form.copies = copies
    return form


EXPIRE = BatchAction(
    name="expire", label=_("Expire"), icon="timer_off", variant=ActionVariant.DANGER,
    listed=_("Expire the chosen entries …"),
    fits=lambda entry: not entry.quarantined_at and _state(entry) in (State.LIVE, State.DUE),
    form=_expiry_form,
    question=_use_question(
        ngettext_lazy("Expire %(n)d entry", "Expire %(n)d entries", "n"),
        _(
            "It will not be recalled any more, and no machine will write it again. Nothing is deleted: you can restore "
            "it at any time."
        ),
        is_grave=True,
    ),
    verb=lambda call: bulk_actions.EXPIRE,
    done=ngettext_lazy("%(n)d entry is out of use.", "%(n)d entries are out of use.", "n"),
)  # fmt: skip
RESTORE = BatchAction(
    name="restore", label=_("Restore"), icon="restore", variant=ActionVariant.SUCCESS,
    listed=_("Restore the chosen entries …"),
    fits=lambda entry: not entry.quarantined_at and _state(entry) != State.LIVE,
    form=_restoration_form,
    question=_use_question(
        ngettext_lazy("Restore %(n)d entry", "Restore %(n)d entries", "n"),
        _("It can be recalled again at once, and its time begins anew."),
    ),
    verb=lambda call: bulk_actions.restore(call.form.chosen_term()),
    done=ngettext_lazy("%(n)d entry is in use again.", "%(n)d entries are in use again.", "n"),
)  # fmt: skip


def _unmergeable(call: ActionCall) -> str:
    entries = call.rows
    if problem := _too_many(call):
        return problem
    if len(entries) < 2:
        return gettext("Choose at least two entries to merge.")
    if len(entries) > MERGED_MOST:
        return gettext("More than %(most)d entries: narrow the list first.") % {"most": MERGED_MOST}
    if len({entry.scope_id for entry in entries}) > 1:
        return gettext("These entries belong to several scopes, and memories never cross from one to another.")
    if not all(entry.is_live() for entry in entries):
        return gettext("Only entries that are in use can be merged.")
    return ""


def _merge(call: ActionCall) -> BulkAction:
    into = next(entry for entry in call.rows if str(entry.pk) == call.data["stays"])
    return bulk_actions.merge(into, call.data["content"].replace("\r\n", "\n").strip() or None)


MERGE = BatchAction(
    name="merge", label=_("Merge"), place=Place.NOWHERE, listed=_("Merge the chosen entries into one …"),
    refuses=_unmergeable,
    form=lambda call: MergeForm(call.reply, entries=call.rows),
    question=lambda call: Question(
        title=f"{gettext('Merge')}: {_count_text(call)}",
        text=gettext("The others are archived, and the one that stays names them as its sources."),
        counts=counts_of(call.rows),
        rows=[],  # they are the choices of the form
    ),
    verb=_merge,
)  # fmt: skip


# changes of attributes


def _of_ticked(
    name: str,
    label: Any,
    listed: Any,
    text: Any,
    *,
    form: type[BulkActionForm] = BulkActionForm,
    verb: BulkAction | None = None,
    among: Q = _ALL,
) -> BatchAction:
    """What is done to those of the ticked entries that are `among`; without a verb, what its form says is set."""
    return BatchAction(
        name=name, label=label, listed=listed, text=text, place=Place.NOWHERE,
        rows=lambda call: _entries(call, among),
        form=lambda call: call.bound(form),
        verb=lambda call: verb or bulk_actions.edit(call.form.columns(now=call.now, actor=call.actor)),
    )  # fmt: skip


TERM = _of_ticked(
    "term", _("Set the term"), _("Set the term of the chosen entries …"),
    _("A term of its own wins over the policy; what is pinned ends by its own term alone."),
    form=SetTermForm,
)  # fmt: skip
CHECKED = _of_ticked(
    "checked", _("Mark as checked"), _("Mark the chosen entries as checked …"),
    _("You stand as the one who checked them, and they are due for review again when you say."),
    form=CheckedForm,
)  # fmt: skip
RETYPE = _of_ticked(
    "retype", _("Set the type"), _("Set the type of the chosen entries …"),
    _("The type says how long a memory lives and how many of its kind a recall serves. Lines of files keep it."),
    form=SetTypeForm, among=Q(path=""),
)  # fmt: skip
FILE = _of_ticked(
    "file", _("Set"), _("Set category or project of the chosen entries …"),
    _("The category says how fast a memory fades, the project when it is preferred."),
    form=SetAttributesForm,
)  # fmt: skip
PIN = _of_ticked(
    "pin", _("Pin"), _("Pin the chosen entries …"),
    _("No machine expires, merges, rewrites or archives what is pinned, and it does not run out."),
    verb=bulk_actions.edit({"pinned": True}),
)  # fmt: skip
UNPIN = _of_ticked(
    "unpin", _("Unpin"), _("Unpin the chosen entries …"),
    _("From now on they run out as their policy says, and machines may tidy them up."),
    verb=bulk_actions.edit({"pinned": False}),
)  # fmt: skip
MASK = _of_ticked(
    "mask", _("Mask"), _("Mask the secrets of the chosen entries …"),
    _("What is recognised as a secret is taken out; the rest stays a credential. It can be undone."),
    verb=bulk_actions.MASK_SECRETS,
)  # fmt: skip
NO_SECRET = _of_ticked(
    "no_secret", _("No secret"), _("Keep the chosen entries as no secret …"),
    _("They are shown, searched and recalled like any other memory from then on."),
    verb=bulk_actions.KEEP_AS_NO_SECRET, among=Q(subtype__startswith=SECRET_SUBTYPE),
)  # fmt: skip
HARMLESS = _of_ticked(
    "harmless", _("Harmless"), _("Keep the chosen entries as harmless …"),
    _("They speak of the world: groups are told them, and they may enter a profile, from then on."),
    verb=bulk_actions.KEEP_AS_HARMLESS, among=~Q(suspect=""),
)  # fmt: skip


# other doings


def _move_form(call: ActionCall) -> MoveForm:
    field: Any = scope_field(call.admin, call.request)
    field.queryset = field.queryset.filter(workspace_id=call.rows[0].workspace_id)
    return MoveForm(call.reply, scope=field)


def _unmovable(call: ActionCall) -> str:
    several = len({entry.workspace_id for entry in call.rows}) > 1
    return _too_many(call) or (gettext("These entries belong to several workspaces.") if several else "")


def _move(call: ActionCall) -> Outcome:
    scope, reason = call.data["scope"], call.data["reason"]
    result = move(call.rows, scope, now=call.now, actor=call.actor, reason=reason)
    return outcome_of(result, ngettext_lazy("%(n)d entry was moved.", "%(n)d entries were moved.", "n"))


MOVE = Action(
    name="move", label=_("Move"), right="change", place=Place.NOWHERE,
    listed=_("Move the chosen entries to another scope …"),
    rows=_entries, refuses=_unmovable, form=_move_form,
    question=lambda call: Question(
        title=f"{gettext('Move')}: {_count_text(call)}",
        text=gettext(
            "They are remembered in the other scope, with their words, slots and sources, and archived where they are. "
            "Whoever is served that scope is served them from then on. Lines of files, and what is out of use, stay."
        ),
        counts=counts_of(call.rows),
    ),
    act=_move,
)  # fmt: skip


def _still_true_question(call: ActionCall) -> Question:
    if call.row.tier == 1:
        return Question(text=gettext("It is handed out again, and you stand as the one who checked it."))
    return Question(text=gettext("It is disputed no more, and you stand as the one who checked it."))


def _still_true(call: ActionCall) -> str:
    """The line is handed out again beside what contradicts it, until something newer does."""
    verified = {"verified_at": call.now, "verified_by": call.actor}
    edit = store.Edit(columns=verified, slots={store.CONTRADICTED_BY: None})
    store.update(call.row, edit, now=call.now, actor=call.actor)
    return gettext("It is handed out again.") if call.row.tier == 1 else gettext("It is disputed no more.")


STILL_TRUE = Action(
    name="still_true", path="still-true", label=_("Still true"), icon="verified", variant=ActionVariant.PRIMARY,
    right="change",
    fits=lambda entry: not entry.quarantined_at and bool(store.contradiction_of(entry)),
    rows=_entries, question=_still_true_question, act=_still_true, back=to_row,
)  # fmt: skip


def _reveal(call: ActionCall) -> HttpResponse:
    """The text is in the answer to the POST and nowhere else."""
    entry, form, why = call.row, call.form, call.data["why"]
    details = {"text": str(dict(form.fields["why"].choices)[why])} if why else None
    note(call.request, AuditEvent.REVEALED, entry, about=str(entry.pk), details=details)
    context = {"title": gettext("What it says"), "content": entry.content, "back": call.back}
    headers = {"Cache-Control": "no-store"}
    page = own_page(call.request, "admin/memories/revealed.html", context, call.admin, headers=headers)
    page.is_revealing = True  # type: ignore[attr-defined]
    return page


REVEAL = Action(
    name="reveal", label=_("Reveal"), icon="visibility", right="reveal", fits=is_secret,
    form=lambda call: call.bound(WhyForm),
    question=Question(
        title=_("Reveal this credential"),
        text=_("You see what it says, once. That you looked is written into the audit log."),
        rows=(),
    ),
    act=_reveal,
    back=to_row,
)  # fmt: skip
QUARANTINE = Action(  # this entry, the messages it rests on, and what was made of both; the next page asks
    name="quarantine", label=_("Put into quarantine …"), icon="coronavirus", right="change",
    fits=lambda entry: not entry.quarantined_at,  # which is decided on the page of its quarantine
    act=lambda call: HttpResponseRedirect(quarantine_url(entry=call.row.pk)),
)  # fmt: skip
#: The buttons of a page and the menu of the list, in their order.
OF_ENTRIES = (
    REVEAL, STILL_TRUE, EXPIRE, RESTORE, QUARANTINE, TERM, CHECKED, MERGE, RETYPE, FILE, MOVE, PIN, UNPIN, MASK,
    NO_SECRET, HARMLESS,
)  # fmt: skip
