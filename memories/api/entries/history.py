"""GET /entries/{id}/history: who changed what, when, with the words that went and came."""

from typing import Any
from uuid import UUID

from rest_framework.response import Response

from memories.api.answers import ColumnChange, slot_changes
from memories.api.calls import Call, Method
from memories.api.entries.answers import RevisionAnswer, RevisionPage
from memories.api.pagination import LimitQuery, PositionCursor, page_answer
from memories.choices import Operation, Permission
from memories.entries import history
from memories.models import Batch, Entry
from memories.tenancy.access import Caller
from memories.visibility import entry_for, reached_chats

_OPERATIONS = {Operation.INSERT: "created", Operation.UPDATE: "changed"}


class EntryHistoryQuery(LimitQuery):
    """Which page of a history is wanted: the steps before the one with that number, counted from the first."""

    cursor = PositionCursor()


class EntryHistoryView(Call):
    """The life of an entry, the last change first."""

    @Method("entry_history", Permission.READ, RevisionPage, query=EntryHistoryQuery)
    def get(self, uid: UUID) -> Response:
        steps = history.history_of(entry_for(self.caller, uid))
        end = min(self.query.get("cursor", len(steps)), len(steps))
        begin = max(end - self.query["limit"], 0)
        answers = _answers(steps[begin:end][::-1], self.caller)
        return Response(page_answer(self, answers, str(begin) if begin else None))


def _answers(steps: list[history.Revision], caller: Caller) -> list[dict[str, Any]]:
    pks = {step.batch_id for step in steps if step.batch_id}
    batches = dict(Batch.objects.filter(workspace_id=caller.workspace_id, pk__in=pks).values_list("pk", "uid"))
    successors = _successors(steps, caller.workspace_id)
    return [
        RevisionAnswer.of(
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
    pks = {pk for step in steps for pk in step.columns.get("superseded_by", ()) if pk}
    if not pks:
        return {}
    rows = Entry.objects.filter(workspace_id=workspace_id, pk__in=pks).values_list("pk", "uid")
    return {pk: str(uid) for pk, uid in rows}
