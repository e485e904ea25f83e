"""The page of a trial: last week's questions side by side, as memory is and as it would be with the plan applied."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext

from memories.admin.batches.detail import batch_url, summary, summary_of
from memories.admin.labels import batch_name
from memories.admin.pages import RETURN_PARAMETER, own_page
from memories.batches import branch as branches
from memories.evaluation import trial
from memories.evaluation.trial import Served
from memories.exceptions import PlatformError
from memories.models import Batch

#: Characters of a memory, and memories of an answer, that the page shows.
WORDS, SHOWN = 160, 6


@dataclass(frozen=True)
class Line:
    """A memory of an answer: its words, and whether it stands only on this side."""

    served: Served
    words: str
    differs: bool


def _lines(answer: Sequence[Served], differing: Sequence[Served]) -> list[Line]:
    """The memories of one side: those the other lacks first, so that none of them is cut off."""
    own = {(memory.entry, memory.content) for memory in differing}
    lines = []
    for memory in answer:
        words = gettext("a credential") if memory.is_secret else memory.content[:WORDS]
        lines.append(Line(memory, words, (memory.entry, memory.content) in own))
    return sorted(lines, key=lambda line: not line.differs)[: max(SHOWN, len(differing))]


def page(model_admin: Any, request: HttpRequest, batch: Batch) -> HttpResponse:
    """Try a plan and show what came of it; what cannot be tried leads back to the plan, with the reason."""
    back = batch_url(batch, request=request)
    others, ticked = trial.others_of(batch), request.GET.getlist("with")
    beside = [other for other in others if str(other.pk) in ticked]
    try:
        tried = trial.try_plan(batch, beside=beside, now=timezone.now(), zone=batch.workspace.zone())
    except PlatformError as refusal:
        messages.warning(request, str(refusal))
        return HttpResponseRedirect(back)
    context = {
        "title": gettext("Tried: %(what)s") % {"what": batch_name(batch)},
        "subtitle": str(batch.scope or ""),
        "batch": batch,
        "is_branch": batch.name == branches.NAME,
        "what": summary_of([batch, *beside]),
        "others": [(other, batch_name(other), summary(other), other in beside) for other in others],
        "is_alone": not beside,
        "handed_on": request.GET.get(RETURN_PARAMETER, ""),
        "trial": tried,
        "rows": [(pair, _lines(pair.before, pair.went), _lines(pair.after, pair.came)) for pair in tried.pairs],
        "back": back,
        "addresses": {what: batch_url(batch, what, request) for what in ("approve", "refuse")},
    }
    return own_page(request, "admin/memories/batch_trial.html", context, model_admin)
