"""The review: proposals that wait for a person, and memories whose date of review has come, one at a time (F4)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from django.utils.translation import gettext, gettext_lazy, ngettext, ngettext_lazy, pgettext
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
from memories.admin.pages import own_page, row_number
from memories.audit.models import AuditEvent
from memories.batches import Description, Question, bulk_actions
from memories.batches.approval import MOST
from memories.batches.bulk_actions import BulkAction
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


def last_decision(request: HttpRequest) -> LastDecision | None:
    """The last decision of this login, if there was one."""
    stored = request.session.get(_KEY)
    if not stored:
        return None
    return LastDecision(stored["batch"], Decided(stored["what"]), tuple(stored["positions"]))


def visible_batch(request: HttpRequest, number: Any) -> Batch | None:
    """A batch of the workspaces where this person answers the review; None of foreign and missing ones alike."""
    pk = row_number(number)
    if pk is None:
        return None
    rows: Any = in_workspaces(Batch.objects.select_related("scope", "workspace"), workspaces_of(request, Right.CURATE))
    found: Batch | None = rows.filter(pk=pk).first()
    return found


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
        removed = batches.remove_steps(batch, positions)
        if not batch.changes.filter(state=ChangeState.PLANNED).exists():
            batches.refuse(batch, actor=actor_of(request), now=timezone.now())
    LastDecision(batch.pk, Decided.REMOVED, tuple(removed)).keep(request)


def take_back(request: HttpRequest) -> Batch | None:
    """Take back the last decision; the batch it was about. Raises PlatformError where that cannot be."""
    last = last_decision(request)
    batch = visible_batch(request, last.batch) if last else None
    if last is None or batch is None:
        return None
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
    found = changes.select_related("entry", "event").order_by(
        F("entry__pinned").desc(nulls_last=True), F("entry__importance").desc(nulls_last=True), "position"
    )
    read = list(found[: ROWS_READ + 1])
    rows = read[:ROWS_READ]
    known = {row.position for row in rows}
    missing = {into for row in rows if (into := _into_position(row)) and into not in known}
    rows += list(found.filter(position__in=missing)) if missing else []
    groups: dict[int, list[Description]] = {}
    for description in batches.describe(batch, rows):
        key = description.into_position or description.change.position
        groups.setdefault(key, []).append(description)
    shown = dict(list(groups.items())[:PAIRS_SHOWN])
    evidence = _Evidence(batch, chain.from_iterable(shown.values()))
    pairs = [_pair(batch, position, group, evidence) for position, group in shown.items()]
    covered = sum(len(group) for group in shown.values())
    return pairs, max((changes.count() if len(read) > ROWS_READ else len(rows)) - covered, 0)


def _into_position(change: BatchChange) -> int | None:
    step = step_of(change)
    return step.into.position if isinstance(step, ReplaceStep) else None


class _Evidence:
    """The quotes of everything a proposal's shown rows name, and the entries new statements rest on."""

    def __init__(self, batch: Batch, rows: Iterable[Description]) -> None:
        rows = list(rows)
        wanted = {
            pk for row in rows if isinstance(row.step, CreateStep) for pk in (*row.step.sources, *row.step.rests_on)
        }
        stored = Entry.objects.filter(workspace_id=batch.workspace_id)
        self.entries = stored.in_bulk(wanted) if wanted else {}
        named = [row.change.entry_id for row in rows] + [row.into.pk for row in rows if row.into]
        named += [source.pk for row in rows for source in row.sources]
        self._quotes = quote_lines({pk for pk in (*named, *wanted) if pk}, batch.workspace_id)

    def of(self, entry: Entry | None) -> list[QuoteLine]:
        return self._quotes.get(entry.pk, []) if entry else []


def _pair(batch: Batch, position: int, group: Sequence[Description], evidence: _Evidence) -> Pair:
    """The rows that share a successor as one pair; any other row as its own."""
    maker = next((row for row in group if isinstance(row.step, CreateStep)), None)
    replaced = [row for row in group if row is not maker]
    lead = replaced[0] if replaced else group[0]
    old = [_old(row, evidence) for row in replaced or group if row.before is not None]
    new = _new(maker or lead, {one.entry.pk for one in old if one.entry}, evidence)
    if new is not None and len(old) == 1:
        pieces = word_diff(_text(old[0]), _text(new))
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
    )


def _old(row: Description, evidence: _Evidence) -> Statement:
    entry = row.change.entry
    return Statement(
        words=_plain(row.before or ""),
        entry=entry,
        verification=entry.verification if entry else Verification.NONE,
        quotes=evidence.of(entry),
        is_changed=bool(entry and row.change.expected_version and entry.version != row.change.expected_version),
    )


def _new(row: Description, shown: Collection[int], evidence: _Evidence) -> Statement | None:
    """What takes the place of the old: an entry that is there, one the row writes, or other words."""
    if row.into is not None:
        return _stored(row.into, evidence)
    if isinstance(row.step, CreateStep):
        # the entries that it rests on and that stay in use
        resting = [pk for pk in dict.fromkeys((*row.step.sources, *row.step.rests_on)) if pk not in shown]
        found = [evidence.entries[pk] for pk in resting if pk in evidence.entries]
        return Statement(
            words=_plain(row.step.draft.content),
            verification=row.step.draft.verification,
            rests_on=[_stored(entry, evidence) for entry in found],
        )
    content = row.into_content or row.after
    return Statement(words=_plain(content)) if content else None


def _stored(entry: Entry, evidence: _Evidence) -> Statement:
    return Statement(
        words=_plain(entry.content), entry=entry, verification=entry.verification, quotes=evidence.of(entry)
    )


def _plain(content: str) -> Words:
    return [("=", content)]


def _text(one: Statement) -> str:
    return "".join(words for _sign, words in one.words)


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
    named = rows.filter(pk=number).first() if number is not None else None
    if request.method == "POST":
        return HttpResponseRedirect(_decide_due(request, rows, named))
    entry = named or rows.first()
    context = {
        "title": gettext("Memories due for review"),
        "count": rows[:DUE_MOST].count(),
        "is_more": rows[DUE_MOST : DUE_MOST + 1].exists(),
        **(_due_context(rows, entry) if entry else {"entry": None}),
    }
    return own_page(request, "admin/memories/review_due.html", context)


def due_rows(request: HttpRequest) -> Any:
    """What is due in the workspaces this person curates, the longest first."""
    rows = Entry.objects.live().filter(review_at__lte=timezone.now()).select_related("scope", "workspace")
    return in_workspaces(rows, workspaces_of(request, Right.CURATE)).order_by("review_at", "pk")


def _due_context(rows: Any, entry: Entry) -> dict[str, Any]:
    following, before = _after(rows, entry), _before(rows, entry)
    ends_at = Policy.objects.of(entry.workspace_id).end_of(entry)
    return {
        "entry": entry,
        "state": state_of(entry, ends_at, timezone.now()),
        "ends_at": ends_at,
        "access": EntryAccess.objects.filter(pk=entry.pk).first(),
        "quotes": quote_lines([entry.pk], entry.workspace_id).get(entry.pk, []),
        "sources": source_lines(entry.workspace_id, entry.origins),
        "next": _due_url(following.pk) if following else "",
        "previous": _due_url(before.pk) if before else "",
        "edit": f"{reverse('admin:memories_entry_change', args=[entry.pk])}?{urlencode({'_back': _due_url(entry.pk)})}",
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


def _decide_due(request: HttpRequest, rows: Any, entry: Entry | None) -> str:
    """Do what was asked for; the address to go on at: of the next, behind the last the first."""
    if entry is None:
        messages.info(request, gettext("It is no longer due: somebody else looked at it, or it is out of use."))
        return _due_url()
    if str(entry.version) != request.POST.get("version"):
        messages.error(request, gettext("It was changed meanwhile: look at it again."))
        return _due_url(entry.pk)
    act, following = request.POST.get("do", ""), _after(rows, entry)
    action, reason, done = _action(act, actor_of(request))
    if action is None:
        return _due_url(entry.pk)
    who: dict[str, Any] = {"now": timezone.now(), "actor": actor_of(request), "reason": str(reason)}
    say(request, outcome_of(bulk_actions.apply_action([entry], action(), **who), done))
    return _due_url(following.pk if following else None)


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


def _due_url(at: int | None = None) -> str:
    address = reverse("review_due")
    return f"{address}?{urlencode({'at': at})}" if at else address


__all__ = ["page"]


@needs(Right.CURATE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """GET shows the question named by `at`, or the first; only POST decides, and leads on to the next."""
    questions = batches.open_questions(workspaces_of(request, Right.CURATE))
    if request.method == "POST":
        return HttpResponseRedirect(_answer(request, questions))
    index = next((n for n, one in enumerate(questions) if str(one.batch) == request.GET.get("at")), 0)
    context = {
        "title": gettext("Review"),
        "count": len(questions),
        "is_more": len(questions) == MOST,
        **_question_context(request, questions, index),
        "last": _last(request),
        "due_count": due_rows(request)[:MOST].count(),
    }
    return own_page(request, "admin/memories/review.html", context)


def _question_context(request: HttpRequest, questions: Sequence[Question], index: int) -> dict[str, Any]:
    batch = visible_batch(request, questions[index].batch) if questions else None
    if batch is None:
        return {"batch": None}
    pairs, more = pairs_of(batch)
    return {
        "batch": batch,
        "name": batch_name(batch),
        "who": actor_label(batch.actor),
        "number": index + 1,
        "previous": _url(questions[index - 1].batch) if index else "",
        "next": _url(questions[index + 1].batch) if index + 1 < len(questions) else "",
        "open": batch_url(batch),
        "reasons": batches.approval_reasons(batch),
        "stakes": list(_stakes(batch, questions[index])),
        "model": batch.cost.get("model", ""),
        "is_irreversible": is_irreversible(batch),
        "pairs": pairs,
        "more": more,
        "may_remove": len(pairs) + more > 1,
    }


def _stakes(batch: Batch, question: Question) -> Iterator[tuple[str, bool]]:
    """What approving it would do, in words; and whether that is grave."""
    counts = batch.counts
    if n := counts.get(BatchVerb.PURGE, 0):
        text = ngettext("%(n)d memory is removed for good.", "%(n)d memories are removed for good.", n)
        yield f"{text % {'n': n}} {gettext('There is no undo.')}", True
    if n := question.protected:
        text = ngettext(
            "%(n)d memory that a person pinned, checked, wrote or had saved is taken out of use or changed.",
            "%(n)d memories that a person pinned, checked, wrote or had saved are taken out of use or changed.",
            n,
        )
        yield text % {"n": n}, True
    if n := sum(counts.get(verb, 0) for verb in (BatchVerb.EXPIRE, BatchVerb.ARCHIVE, BatchVerb.SUPERSEDE)):
        text = ngettext("%(n)d memory goes out of use.", "%(n)d memories go out of use.", n)
        yield text % {"n": n}, False
    if n := counts.get(BatchVerb.MERGE, 0):
        text = ngettext("%(n)d memory becomes part of another.", "%(n)d memories become part of others.", n)
        yield text % {"n": n}, False
    if n := counts.get(BatchVerb.CHANGE, 0):
        text = ngettext("%(n)d memory is changed.", "%(n)d memories are changed.", n)
        yield text % {"n": n}, False
    if n := counts.get(BatchVerb.CREATE, 0):
        text = ngettext("%(n)d memory is written.", "%(n)d memories are written.", n)
        yield text % {"n": n}, False


def _answer(request: HttpRequest, questions: Sequence[Question]) -> str:
    """Do what was asked for; the address to go on at."""
    act = request.POST.get("do")
    try:
        if act == "undo":
            batch = take_back(request)
            return _url(batch.pk) if batch else _url()
        batch = visible_batch(request, request.POST.get("batch", ""))
        if batch is None:
            return _url()
        # the question behind this one; behind the last, the first
        order = [question.batch for question in questions]
        place = order.index(batch.pk) + 1 if batch.pk in order else 0
        following = _url(order[place]) if place < len(order) else _url()

        if "remove" in request.POST:
            positions = [int(text) for text in request.POST.getlist("remove") if text.isdecimal() and len(text) < 10]
            remove(request, batch, positions)
            return _url(batch.pk) if batch.state == BatchState.PROPOSED else following
        if act == "approve" and is_irreversible(batch):  # one key is too few for what cannot be taken back
            return batch_url(batch, "approve")
        if act == "approve":
            approve(request, batch)
            return following
        if act == "refuse":
            refuse(request, batch)
            return following
        return _url(batch.pk)
    except PlatformError as refusal:
        messages.error(request, str(refusal))
        return _url(request.POST.get("batch"))


def _last(request: HttpRequest) -> dict[str, Any] | None:
    """The last decision, as the page tells it."""
    last = last_decision(request)
    batch = visible_batch(request, last.batch) if last else None
    if last is None or batch is None:
        return None
    button = pgettext("review", "Apply again") if last.what == Decided.UNDONE else gettext("Undo")
    return {"label": LABELS[last.what], "name": batch_name(batch), "url": batch_url(batch), "button": button}


def _url(at: int | str | None = None) -> str:
    address = reverse("review")
    return f"{address}?{urlencode({'at': at})}" if at else address
