"""The review: proposals that wait for a person, and memories whose date of review has come, one at a time (F4)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import StrEnum
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext_lazy, pgettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories import batches, tasks
from memories.admin.access import actor_of, in_workspaces
from memories.admin.actions import say
from memories.admin.auditing import note
from memories.admin.batches.detail import VERB_COLORS, ChangeRow, batch_url, change_row, is_irreversible
from memories.admin.entries.actions import outcome_of
from memories.admin.entries.page import QuoteLine, quote_lines
from memories.admin.events import source_lines
from memories.admin.labels import actor_label, batch_name
from memories.admin.masking import with_planned
from memories.admin.pages import own_page, row_number
from memories.audit.models import AuditEvent
from memories.batches import Description, Question, bulk_actions
from memories.batches.approval import MOST
from memories.batches.steps import CreateStep, ReplaceStep, step_of
from memories.choices import BatchState, BatchVerb, ChangeState, Verification
from memories.entries.history import word_diff
from memories.exceptions import PlatformError
from memories.models import Batch, BatchChange, Entry, EntryAccess, Policy
from memories.models.state import state_of
from memories.staff.rights import needs, workspaces_of
from memories.staff.roles import Right

_KEY = "review"


class Decided(StrEnum):
    """What the last decision was."""

    APPROVED = "approved"
    REFUSED = "refused"
    REMOVED = "removed"
    UNDONE = "undone"
    REDONE = "redone"


LABELS = {
    Decided.APPROVED: _("Approved"),
    Decided.REFUSED: _("Refused: nothing was changed"),
    Decided.REMOVED: _("Taken out of the plan: it stays as it is"),
    Decided.UNDONE: _("Taken back: everything is as it was"),
    Decided.REDONE: _("Applied again"),
}


@dataclass(frozen=True)
class LastDecision:
    """What was decided last by this person, and on which batch; of rows, where they stood in the plan."""

    batch: int
    what: Decided
    positions: tuple[int, ...] = ()

    def keep(self, request: HttpRequest) -> None:
        request.session[_KEY] = asdict(self)

    @classmethod
    def of(cls, request: HttpRequest) -> tuple["LastDecision", Batch] | None:
        """The last decision of this login with its batch, if there was one that can be seen."""
        if not (record := request.session.get(_KEY)):
            return None
        batch = visible_batch(request, record["batch"])
        return (cls(record["batch"], Decided(record["what"]), tuple(record["positions"])), batch) if batch else None


def visible_batch(request: HttpRequest, number: Any) -> Batch | None:
    """A batch of the workspaces where this person answers the review; None of foreign and missing ones alike."""
    pk = row_number(number)
    if pk is None:
        return None
    rows: Any = in_workspaces(Batch.objects.select_related("scope", "workspace"), workspaces_of(request, Right.CURATE))
    batch: Batch | None = rows.filter(pk=pk).first()
    return batch


def approve(request: HttpRequest, batch: Batch) -> None:
    """Approve a proposal and apply it. Raises BatchSettled or ScopeFrozen."""
    batches.approve(batch, actor=actor_of(request), now=timezone.now())
    note(request, AuditEvent.APPROVED, batch)
    LastDecision(batch.pk, Decided.APPROVED).keep(request)
    _apply(request, batch)


def refuse(request: HttpRequest, batch: Batch) -> None:
    """Refuse a proposal. Raises BatchSettled."""
    batches.refuse(batch, actor=actor_of(request), now=timezone.now())
    note(request, AuditEvent.REFUSED, batch)
    LastDecision(batch.pk, Decided.REFUSED).keep(request)


def remove(request: HttpRequest, batch: Batch, positions: Sequence[int]) -> None:
    """Take rows out of a plan; a proposal of which nothing is left is refused. Raises BatchSettled."""
    with transaction.atomic():
        removed_positions = batches.remove_steps(batch, positions)
        if not batch.changes.filter(state=ChangeState.PLANNED).exists():
            batches.refuse(batch, actor=actor_of(request), now=timezone.now())
    LastDecision(batch.pk, Decided.REMOVED, tuple(removed_positions)).keep(request)


def take_back(request: HttpRequest) -> Batch | None:
    """Take back the last decision; the batch it was about. Raises PlatformError where that cannot be."""
    if (decision := LastDecision.of(request)) is None:
        return None
    last, batch = decision
    if last.what in (Decided.REFUSED, Decided.REMOVED):
        with transaction.atomic():
            if batch.state == BatchState.REFUSED:
                batches.reopen(batch, actor=actor_of(request))
            batches.put_back_steps(batch, last.positions)
        del request.session[_KEY]
        return batch
    reason = gettext("Taken back in the review.")
    planned = batches.plan_undo(batch, actor=actor_of(request), now=timezone.now(), reason=reason)
    note(request, AuditEvent.UNDONE, batch)
    LastDecision(planned.pk, Decided.REDONE if last.what == Decided.UNDONE else Decided.UNDONE).keep(request)
    _apply(request, planned)
    return batch


def _apply(request: HttpRequest, batch: Batch) -> None:
    if not tasks.apply_or_queue(batch, now=timezone.now()):
        messages.info(request, gettext("It is large: the worker carries it out. Its page shows how far it is."))


#: Rows that are read of a proposal, and pairs the page shows; its batch page has the rest.
ROWS_READ, PAIRS_SHOWN = 60, 20
VERIFICATION_COLORS = {Verification.QUOTED: "warning", Verification.VERIFIED: "success"}

Words = list[tuple[str, str]]  # pieces of a text with the sign of each: kept, gone or new


@dataclass(kw_only=True)
class Statement:
    """A memory as it is, or as the proposal would write it."""

    words: Words
    entry: Entry | None = None
    verification: str = Verification.NONE
    quotes: list[QuoteLine] = field(default_factory=list)
    rests_on: list["Statement"] = field(default_factory=list)
    is_changed: bool = False  # since the proposal was made, which will leave it alone

    @property
    def text(self) -> str:
        return "".join(words for _sign, words in self.words)

    @property
    def verification_label(self) -> str:
        return str(Verification(self.verification).label) if self.verification else ""

    @property
    def verification_color(self) -> str | None:
        return VERIFICATION_COLORS.get(Verification(self.verification))


@dataclass(kw_only=True)
class Pair:
    """One thing the proposal does, for people to decide on; `position` is the row that stands for it."""

    position: int
    verb: Any
    verb_color: str | None
    before: list[Statement]
    after: Statement | None
    row: ChangeRow
    descriptions: Sequence[Description]

    @property
    def fate(self) -> str:
        """What becomes of it, where no other statement takes its place."""
        return str(_FATES.get(BatchVerb(self.row.description.change.verb), ""))


_FATES = {
    BatchVerb.PURGE: gettext_lazy("It is removed for good, with its history."),
    BatchVerb.EXPIRE: gettext_lazy("Nothing takes its place: it is not recalled any more."),
    BatchVerb.ARCHIVE: gettext_lazy("Nothing takes its place: it is not recalled any more."),
    BatchVerb.SUPERSEDE: gettext_lazy("What takes its place is not there any more."),
    BatchVerb.MERGE: gettext_lazy("What takes its place is not there any more."),
    BatchVerb.RESTORE: gettext_lazy("It can be recalled again."),
}


def pairs_of(batch: Batch) -> tuple[list[Pair], int]:
    """What a proposal does, what people cared for and what is important first; and how many rows are not shown."""
    changes = BatchChange.objects.filter(workspace_id=batch.workspace_id, batch=batch, state=ChangeState.PLANNED)
    ordered = changes.select_related("entry", "event").order_by(
        F("entry__pinned").desc(nulls_last=True), F("entry__importance").desc(nulls_last=True), "position"
    )
    read = list(ordered[: ROWS_READ + 1])
    rows = read[:ROWS_READ]

    # with the rows that write what these are replaced by
    steps = map(step_of, rows)
    makers = {step.into.position for step in steps if isinstance(step, ReplaceStep) and step.into.position}
    missing = makers - {row.position for row in rows}
    rows += list(ordered.filter(position__in=missing)) if missing else []

    # rows that share a successor are one pair
    groups: dict[int, list[Description]] = {}
    for description in batches.describe(batch, rows):
        key = description.into_position or description.change.position
        groups.setdefault(key, []).append(description)
    shown_groups = dict(list(groups.items())[:PAIRS_SHOWN])
    evidence = _Evidence(batch, chain.from_iterable(shown_groups.values()))
    pairs = [_pair(batch, position, group, evidence) for position, group in shown_groups.items()]
    covered = sum(len(group) for group in shown_groups.values())
    return pairs, max((changes.count() if len(read) > ROWS_READ else len(rows)) - covered, 0)


class _Evidence:
    """The quotes of everything a proposal's shown rows name, and the entries new statements rest on."""

    def __init__(self, batch: Batch, rows: Iterable[Description]) -> None:
        rows = list(rows)
        makes = [row.step for row in rows if isinstance(row.step, CreateStep)]
        resting = {pk for step in makes for pk in (*step.sources, *step.rests_on)}
        self.entries = Entry.objects.filter(workspace_id=batch.workspace_id).in_bulk(resting) if resting else {}
        named_pks = [row.change.entry_id for row in rows] + [row.into.pk for row in rows if row.into]
        named_pks += [source.pk for row in rows for source in row.sources]
        self._quotes = quote_lines({pk for pk in (*named_pks, *resting) if pk}, batch.workspace_id)

    def statement(self, entry: Entry | None, words: str, *, is_changed: bool = False) -> Statement:
        """What an entry says, with its quotes."""
        return Statement(
            words=[("=", words)],
            entry=entry,
            verification=entry.verification if entry else Verification.NONE,
            quotes=self._quotes.get(entry.pk, []) if entry else [],
            is_changed=is_changed,
        )

    def successor(self, row: Description, shown_pks: Collection[int]) -> Statement | None:
        """What takes the place of the old: an entry that is there, one the row writes, or other words."""
        if row.into is not None:
            return self.statement(row.into, row.into.content)
        if isinstance(row.step, CreateStep):
            # the entries that it rests on and that stay in use
            resting = [pk for pk in dict.fromkeys((*row.step.sources, *row.step.rests_on)) if pk not in shown_pks]
            entries = [self.entries[pk] for pk in resting if pk in self.entries]
            return Statement(
                words=[("=", row.step.draft.content)],
                verification=row.step.draft.verification,
                rests_on=[self.statement(entry, entry.content) for entry in entries],
            )
        content = row.into_content or row.after
        return Statement(words=[("=", content)]) if content else None


def _pair(batch: Batch, position: int, group: Sequence[Description], evidence: _Evidence) -> Pair:
    """The rows that share a successor as one pair; any other row as its own."""
    maker = next((row for row in group if isinstance(row.step, CreateStep)), None)
    replaced = [row for row in group if row is not maker]
    lead = replaced[0] if replaced else group[0]
    old = []
    for row in replaced or group:
        if row.before is not None:
            entry, expected = row.change.entry, row.change.expected_version
            is_changed = bool(entry and expected and entry.version != expected)
            old.append(evidence.statement(entry, row.before, is_changed=is_changed))
    new = evidence.successor(maker or lead, {statement.entry.pk for statement in old if statement.entry})
    if new is not None and len(old) == 1:
        pieces = word_diff(old[0].text, new.text)
        old[0].words = [piece for piece in pieces if piece[0] != "+"]
        new.words = [piece for piece in pieces if piece[0] != "-"]
    verb = BatchVerb(lead.change.verb)
    return Pair(
        position=position,
        verb=verb.label,
        verb_color=VERB_COLORS.get(verb),
        before=old,
        after=new,
        row=change_row(batch, lead),
        descriptions=group,
    )


#: What approving does, of the counts of a batch, in words; and whether that is grave.
_STAKES: tuple[tuple[str, Any, bool], ...] = (
    (
        BatchVerb.PURGE,
        ngettext_lazy("%(n)d memory is removed for good.", "%(n)d memories are removed for good.", "n"),
        True,
    ),
    (
        "protected",
        ngettext_lazy(
            "%(n)d memory that a person pinned, checked, wrote or had saved is taken out of use or changed.",
            "%(n)d memories that a person pinned, checked, wrote or had saved are taken out of use or changed.",
            "n",
        ),
        True,
    ),
    ("retired", ngettext_lazy("%(n)d memory goes out of use.", "%(n)d memories go out of use.", "n"), False),
    (
        BatchVerb.MERGE,
        ngettext_lazy("%(n)d memory becomes part of another.", "%(n)d memories become part of others.", "n"),
        False,
    ),
    (BatchVerb.CHANGE, ngettext_lazy("%(n)d memory is changed.", "%(n)d memories are changed.", "n"), False),
    (BatchVerb.CREATE, ngettext_lazy("%(n)d memory is written.", "%(n)d memories are written.", "n"), False),
)
_DECISIONS = {"approve": approve, "refuse": refuse}
#: Due memories that are counted; more stand as «1,000+».
DUE_MOST = 1_000
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
    number = row_number(request.POST.get("entry") if request.method == "POST" else request.GET.get("at"))
    named_entry = rows.filter(pk=number).first() if number is not None else None
    if request.method == "POST":
        return HttpResponseRedirect(_decide_due(request, rows, named_entry))
    entry = named_entry or rows.first()
    context = {
        "title": gettext("Memories due for review"),
        "count": rows[:DUE_MOST].count(),
        "is_more": rows[DUE_MOST : DUE_MOST + 1].exists(),
        "entry": entry,
    }
    if entry:
        ends_at = Policy.objects.of(entry.workspace_id).end_of(entry)
        edit = reverse("admin:memories_entry_change", args=[entry.pk])
        context |= {
            "state": state_of(entry, ends_at, timezone.now()),
            "ends_at": ends_at,
            "access": EntryAccess.objects.filter(pk=entry.pk).first(),
            "quotes": quote_lines([entry.pk], entry.workspace_id).get(entry.pk, []),
            "sources": source_lines(entry.workspace_id, entry.origins),
            "next": _beside(rows, entry),
            "previous": _beside(rows.reverse(), entry, "lt"),
            "edit": f"{edit}?{urlencode({'_back': _url('review_due', entry.pk)})}",
            "terms": [(key, label) for key, (label, _days) in TERMS.items()],
        }
    return own_page(request, "admin/memories/review_due.html", context)


def due_rows(request: HttpRequest) -> Any:
    """What is due in the workspaces this person curates, the longest first."""
    rows = Entry.objects.live().filter(review_at__lte=timezone.now()).select_related("scope", "workspace")
    return in_workspaces(rows, workspaces_of(request, Right.CURATE)).order_by("review_at", "pk")


def _beside(rows: Any, entry: Entry, beyond: str = "gt") -> str:
    """The page of the next due memory in the order of these rows; empty behind the last."""
    same_moment = Q(review_at=entry.review_at, **{f"pk__{beyond}": entry.pk})
    other = rows.filter(Q(**{f"review_at__{beyond}": entry.review_at}) | same_moment).first()
    return _url("review_due", other.pk) if other else ""


def _decide_due(request: HttpRequest, rows: Any, entry: Entry | None) -> str:
    """Do what was asked for; the address to go on at: of the next, behind the last the first."""
    if entry is None:
        messages.info(request, gettext("It is no longer due: somebody else looked at it, or it is out of use."))
        return _url("review_due")
    if str(entry.version) != request.POST.get("version"):
        messages.error(request, gettext("It was changed meanwhile: look at it again."))
        return _url("review_due", entry.pk)
    answer, now, actor = request.POST.get("do", ""), timezone.now(), actor_of(request)
    following = _beside(rows, entry)
    if answer == "expire":
        action, reason, success = bulk_actions.EXPIRE, gettext("Out of date, seen in the review"), _EXPIRED
    elif answer in TERMS:
        days = TERMS[answer][1]
        again = None if days is None else now + timedelta(days=days)
        action = bulk_actions.edit({"review_at": again, "verified_at": now, "verified_by": actor})
        reason, success = gettext("Still true, seen in the review"), _KEPT
    else:
        return _url("review_due", entry.pk)
    result = bulk_actions.apply_action([entry], action, now=now, actor=actor, reason=reason)
    say(request, outcome_of(result, success))
    return following or _url("review_due")


@needs(Right.CURATE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """GET shows the question named by `at`, or the first; only POST decides, and leads on to the next."""
    questions = batches.open_questions(workspaces_of(request, Right.CURATE))
    if request.method == "POST":
        return HttpResponseRedirect(_answer(request, questions))
    order = [question.batch for question in questions]
    index = next((n for n, batch in enumerate(order) if str(batch) == request.GET.get("at")), 0)
    batch = visible_batch(request, order[index]) if questions else None
    context: dict[str, Any] = {
        "title": gettext("Review"),
        "count": len(questions),
        "is_more": len(questions) == MOST,
        "batch": batch,
        "last": None,
        "due_count": due_rows(request)[:MOST].count(),
    }
    if batch:
        pairs, more = pairs_of(batch)
        context |= {
            "name": batch_name(batch),
            "who": actor_label(batch.actor),
            "number": index + 1,
            "previous": _url("review", order[index - 1]) if index else "",
            "next": _url("review", order[index + 1]) if index + 1 < len(order) else "",
            "open": batch_url(batch),
            "reasons": batches.approval_reasons(batch),
            "stakes": _stakes(batch, questions[index]),
            "model": batch.cost.get("model", ""),
            "is_irreversible": is_irreversible(batch),
            "pairs": pairs,
            "more": more,
            "may_remove": len(pairs) + more > 1,
        }
    if decision := LastDecision.of(request):
        last, decided = decision
        button = pgettext("review", "Apply again") if last.what == Decided.UNDONE else gettext("Undo")
        url = batch_url(decided)
        context["last"] = {"label": LABELS[last.what], "name": batch_name(decided), "url": url, "button": button}
    response = own_page(request, "admin/memories/review.html", context)
    return with_planned(response, [row for pair in context.get("pairs", ()) for row in pair.descriptions])


def _stakes(batch: Batch, question: Question) -> list[tuple[str, bool]]:
    """What approving it would do, in words; and whether that is grave."""
    numbers: dict[str, int] = {str(verb): batch.counts.get(verb, 0) for verb in BatchVerb}
    numbers["protected"] = question.protected
    numbers["retired"] = sum(numbers[verb] for verb in (BatchVerb.EXPIRE, BatchVerb.ARCHIVE, BatchVerb.SUPERSEDE))
    stakes = [(text % {"n": numbers[what]}, is_grave) for what, text, is_grave in _STAKES if numbers[what]]
    if numbers[BatchVerb.PURGE]:
        stakes[0] = (f"{stakes[0][0]} {gettext('There is no undo.')}", True)
    return stakes


def _answer(request: HttpRequest, questions: Sequence[Question]) -> str:
    """Do what was asked for; the address to go on at."""
    act = request.POST.get("do")
    try:
        if act == "undo":
            batch = take_back(request)
            return _url("review", batch.pk if batch else None)
        batch = visible_batch(request, request.POST.get("batch", ""))
        if batch is None:
            return _url("review")
        # the question behind this one; behind the last, the first
        order = [question.batch for question in questions]
        place = order.index(batch.pk) + 1 if batch.pk in order else 0
        following = _url("review", order[place] if place < len(order) else None)
        if "remove" in request.POST:
            positions = [int(text) for text in request.POST.getlist("remove") if text.isdecimal() and len(text) < 10]
            remove(request, batch, positions)
            return _url("review", batch.pk) if batch.state == BatchState.PROPOSED else following
        if act == "approve" and is_irreversible(batch):  # one key is too few for what cannot be taken back
            return batch_url(batch, "approve")
        if act in _DECISIONS:
            _DECISIONS[act](request, batch)
            return following
        return _url("review", batch.pk)
    except PlatformError as refusal:
        messages.error(request, str(refusal))
        return _url("review", request.POST.get("batch"))


def _url(name: str, at: int | str | None = None) -> str:
    address = reverse(name)
    return f"{address}?{urlencode({'at': at})}" if at else address
