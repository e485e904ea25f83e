"""The page of the review: a question, what is at stake, and the keys that answer it."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext, pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories import batches
from memories.admin.batches.detail import batch_url, is_irreversible
from memories.admin.labels import actor_label, batch_name
from memories.admin.own_pages import own_page
from memories.admin.review import decisions
from memories.admin.review.decisions import LABELS, Decided
from memories.admin.review.due import due_rows
from memories.admin.review.statements import pairs_of
from memories.batches import Question
from memories.batches.approval import MOST
from memories.choices import BatchState, BatchVerb
from memories.exceptions import PlatformError
from memories.models import Batch
from memories.staff.rights import needs, workspaces_of
from memories.staff.roles import Right


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
    batch = decisions.visible_batch(request, questions[index].batch) if questions else None
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
            batch = decisions.undo(request)
            return _url(batch.pk) if batch else _url()
        batch = decisions.visible_batch(request, request.POST.get("batch", ""))
        if batch is None:
            return _url()
        return _decide(request, batch, act, _after(questions, batch))
    except PlatformError as refusal:
        messages.error(request, str(refusal))
        return _url(request.POST.get("batch"))


def _decide(request: HttpRequest, batch: Batch, act: str | None, following: str) -> str:
    if "remove" in request.POST:
        positions = [int(text) for text in request.POST.getlist("remove") if text.isdecimal() and len(text) < 10]
        decisions.remove(request, batch, positions)
        return _url(batch.pk) if batch.state == BatchState.PROPOSED else following
    if act == "approve" and is_irreversible(batch):  # one key is too few for what cannot be taken back
        return batch_url(batch, "approve")
    if act == "approve":
        decisions.approve(request, batch)
        return following
    if act == "refuse":
        decisions.refuse(request, batch)
        return following
    return _url(batch.pk)


def _after(questions: Sequence[Question], batch: Batch) -> str:
    """The question behind this one; behind the last, the first."""
    order = [one.batch for one in questions]
    place = order.index(batch.pk) + 1 if batch.pk in order else 0
    return _url(order[place]) if place < len(order) else _url()


def _last(request: HttpRequest) -> dict[str, Any] | None:
    """The last decision, as the page tells it."""
    last = decisions.last_decision(request)
    batch = decisions.visible_batch(request, last.batch) if last else None
    if last is None or batch is None:
        return None
    button = pgettext("review", "Apply again") if last.what == Decided.UNDONE else gettext("Undo")
    return {"label": LABELS[last.what], "name": batch_name(batch), "url": batch_url(batch), "button": button}


def _url(at: int | str | None = None) -> str:
    address = reverse("review")
    return f"{address}?{urlencode({'at': at})}" if at else address
