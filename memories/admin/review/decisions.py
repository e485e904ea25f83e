"""Decisions of the review: each a keystroke, and the last one can be taken back (F4)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories import batches, tasks
from memories.admin.access import actor_of, in_workspaces
from memories.admin.auditing import note
from memories.audit.models import AuditEvent
from memories.choices import BatchState, ChangeState
from memories.models import Batch
from memories.staff.rights import workspaces_of
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
    text = str(number)
    if not (text.isascii() and text.isdecimal() and len(text) < 19):  # what is longer is no id
        return None
    rows: Any = in_workspaces(Batch.objects.select_related("scope", "workspace"), workspaces_of(request, Right.CURATE))
    found: Batch | None = rows.filter(pk=int(text)).first()
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


def undo(request: HttpRequest) -> Batch | None:
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
