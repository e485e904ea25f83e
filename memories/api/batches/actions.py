"""What may be decided about a batch: approve it, refuse it, change its plan row by row, undo it (F3, F4)."""

from typing import Any, ClassVar
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.response import Response

from memories import batches, tasks
from memories.api import fields
from memories.api.batches.answers import BatchChangeAnswer, BatchWithChanges, change_answer
from memories.api.batches.list import with_changes
from memories.api.calls import Call, Method
from memories.choices import BatchVerb, Permission
from memories.visibility import batch_for

POSITIONS_MAX = 10_000
_QUEUED = "Too large to wait for: the worker carries it out."


class UndoRequest(fields.StrictSerializer):
    """What of a batch is to be taken back, and whether also where others have changed it since."""

    positions = serializers.ListField(
        child=fields.Whole(min_value=1, max_value=2**31 - 1),
        min_length=1,
        max_length=POSITIONS_MAX,
        allow_null=True,
        default=None,
        help_text="Of the rows to take back; null: all.",
    )
    force = fields.YesNo(default=False, help_text="Also take back what was changed since.")
    reason = fields.Text(max_length=500, allow_blank=True, default="")


class RowChange(fields.StrictSerializer):
    """Other words for a row of a plan, or its removal from it."""

    together: ClassVar[dict[str, Any]] = {
        "oneOf": [
            {"required": ["content"], "not": {"required": ["removed"]}},
            {
                "properties": {"removed": {"not": {"type": "boolean", "enum": [False]}}},
                "required": ["removed"],
                "not": {"required": ["content"]},
            },
        ]
    }

    content = fields.Text(required=False, max_length=8_000)
    removed = fields.YesNo(required=False)

    def validate_removed(self, value: bool) -> bool:
        if not value:
            raise serializers.ValidationError(_("What was taken out of a plan is not put back into it."))
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError(_("Either other words, or its removal."))
        return attrs


class ApproveView(Call):
    """Let a proposed batch be applied, though the safety limit held it."""

    @Method(
        "approve_batch",
        Permission.ADMIN,
        {200: BatchWithChanges, 202: BatchWithChanges},
        body=fields.StrictSerializer,
        description=f"Apply what a batch plans. 202: {_QUEUED}",
    )
    def post(self, uid: UUID) -> Response:
        batch = batch_for(self.caller, uid)
        if BatchVerb.PURGE in batch.counts:
            raise PermissionDenied(_("What has no undo is approved by a person, in the admin."))
        batches.approve(batch, actor=self.caller.actor, now=self.now)
        return with_changes(self, uid, status=200 if tasks.apply_or_queue(batch, now=self.now) else 202)


class RefuseView(Call):
    """Let a proposed batch never be applied."""

    @Method("refuse_batch", Permission.ADMIN, {200: BatchWithChanges}, body=fields.StrictSerializer)
    def post(self, uid: UUID) -> Response:
        batches.refuse(batch_for(self.caller, uid), actor=self.caller.actor, now=self.now)
        return with_changes(self, uid)


class UndoView(Call):
    """Undo a batch, in whole or in part; the answer is the batch that does so."""

    @Method(
        "undo_batch",
        Permission.ADMIN,
        {201: BatchWithChanges, 202: BatchWithChanges},
        body=UndoRequest,
        description=f"Put back the state before a batch. Itself a batch, which can be undone. 202: {_QUEUED}",
    )
    def post(self, uid: UUID) -> Response:
        undo = batches.plan_undo(batch_for(self.caller, uid), actor=self.caller.actor, now=self.now, **self.body)
        return with_changes(self, undo.uid, status=201 if tasks.apply_or_queue(undo, now=self.now) else 202)


class RowView(Call):
    """One row of a plan nobody has decided on."""

    @Method("change_batch_row", Permission.ADMIN, {200: BatchChangeAnswer}, body=RowChange)
    def patch(self, uid: UUID, position: int) -> Response:
        batch = batch_for(self.caller, uid)
        rows = batch.changes.filter(position=position).select_related("entry", "event")
        if not rows.exists():
            raise NotFound
        if "content" in self.body:
            batches.edit_step(batch, position, self.body["content"])
        else:
            batches.remove_steps(batch, [position])
        (row,) = batches.describe(batch, list(rows))
        return Response(change_answer(row, self.caller))
