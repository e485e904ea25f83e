"""GET /entries/{id}/history: who changed what, when, with the words that went and came."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api import fields, pagination
from memories.api.answers import ColumnChange, slot_changes
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.entries import answers
from memories.choices import Operation, Permission
from memories.entries import history
from memories.models import Batch, Entry
from memories.tenancy.access import Caller
from memories.visibility import entry_for, reached_chats

_OPERATIONS = {Operation.INSERT: "created", Operation.UPDATE: "changed"}


class HistoryQuery(fields.StrictSerializer):
    """Which page of a history is wanted: the steps before the one with that number, counted from the first."""

    cursor = serializers.IntegerField(
        required=False, min_value=0, max_value=2**31 - 1, error_messages={"invalid": pagination.NO_CURSOR}
    )
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=pagination.PAGE_SIZE_MAX, default=pagination.PAGE_SIZE
    )


class HistoryView(Call):
    """The life of an entry, the last change first."""

    required = {"GET": Permission.READ}
    queried = {"GET": HistoryQuery}

    @extend_schema(operation_id="entry_history", parameters=[HistoryQuery], responses=answers.HistoryPage)
    def get(self, request: Request, uid: UUID) -> Response:
        steps = history.history_of(entry_for(caller_of(request), uid))
        end = min(self.asked.get("cursor", len(steps)), len(steps))
        begin = max(end - self.asked["limit"], 0)
        page = steps[begin:end][::-1]
        return pagination.page_answer(request, _shown(page, caller_of(request)), str(begin) if begin else None)


def _shown(steps: list[history.Revision], caller: Caller) -> list[dict[str, Any]]:
    workspace_id = caller.workspace_id
    batches = dict(
        Batch.objects.filter(
            workspace_id=workspace_id, pk__in={step.batch_id for step in steps if step.batch_id}
        ).values_list("pk", "uid")
    )
    successors = _successors(steps, workspace_id)
    return [
        answers.StepAnswer.of(
            step,
            operation=_OPERATIONS[step.operation],
            batch=batches.get(step.batch_id) if step.batch_id else None,
            changes=[_column(name, old, new, step, successors, caller) for name, (old, new) in step.columns.items()],
            slots=slot_changes(step.slots),
        )
        for step in steps
    ]


def _column(
    name: str, old: Any, new: Any, step: history.Revision, successors: dict[int, str], caller: Caller
) -> dict[str, Any]:
    if name == "superseded_by":
        old, new = (value and successors.get(value) for value in (old, new))
    elif name == "chats":
        old, new = (value and reached_chats(caller, value) for value in (old, new))
    words = {"diff": step.wording} if name == "content" and step.wording else {}
    return ColumnChange.of(column=name, old=old, new=new, **words)


def _successors(steps: list[history.Revision], workspace_id: int) -> dict[int, str]:
    """The ids clients know of the entries that took the place of this one."""
    named = {pk for step in steps for pk in step.columns.get("superseded_by", ()) if pk}
    if not named:
        return {}
    known = Entry.objects.filter(workspace_id=workspace_id, pk__in=named).values_list("pk", "uid")
    return {pk: str(uid) for pk, uid in known}
