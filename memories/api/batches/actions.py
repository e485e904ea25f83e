"""What may be decided about a batch: approve it, refuse it, change its plan row by row, take it back (F3, F4)."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from memories import batches, tasks
from memories.api import fields
from memories.api.authentication import caller_of
from memories.api.batches import answers
from memories.api.batches.answers import change_answer
from memories.api.batches.list import shown
from memories.api.calls import Call
from memories.api.clock import now_of
from memories.api.idempotency import repeatable
from memories.choices import BatchVerb, Permission
from memories.visibility import batch_for

POSITIONS_MAX = 10_000
_HANDED_OVER = "Too large to wait for: the worker carries it out."


class Undoing(fields.StrictSerializer):
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

    required = {"POST": Permission.ADMIN}

    @extend_schema(
        operation_id="approve_batch",
        request=None,
        responses={200: answers.BatchWithChanges, 202: answers.BatchWithChanges},
        description=f"Apply what a batch plans. 202: {_HANDED_OVER}",
    )
    @repeatable
    def post(self, request: Request, uid: UUID) -> Response:
        fields.StrictSerializer(data=request.data).is_valid(raise_exception=True)
        found, now = batch_for(caller_of(request), uid), now_of(request)
        if BatchVerb.PURGE in found.counts:
            raise PermissionDenied(_("What has no undo is approved by a person, in the admin."))
        batches.approve(found, actor=caller_of(request).actor, now=now)
        return shown(request, uid, status=200 if tasks.apply_or_queue(found, now=now) else 202)


class RefuseView(Call):
    """Let a proposed batch never be applied."""

    required = {"POST": Permission.ADMIN}

    @extend_schema(operation_id="refuse_batch", request=None, responses={200: answers.BatchWithChanges})
    @repeatable
    def post(self, request: Request, uid: UUID) -> Response:
        fields.StrictSerializer(data=request.data).is_valid(raise_exception=True)
        batches.refuse(batch_for(caller_of(request), uid), actor=caller_of(request).actor, now=now_of(request))
        return shown(request, uid)


class UndoView(Call):
    """Take a batch back, in whole or in part; the answer is the batch that does so."""

    required = {"POST": Permission.ADMIN}

    @extend_schema(
        operation_id="undo_batch",
        request=Undoing,
        responses={201: answers.BatchWithChanges, 202: answers.BatchWithChanges},
        description=f"Put back the state before a batch. Itself a batch, which can be undone. 202: {_HANDED_OVER}",
    )
    @repeatable
    def post(self, request: Request, uid: UUID) -> Response:
        asked = Undoing(data=request.data)
        asked.is_valid(raise_exception=True)
        found, now = batch_for(caller_of(request), uid), now_of(request)
        undo = batches.plan_undo(found, actor=caller_of(request).actor, now=now, **asked.validated_data)
        return shown(request, undo.uid, status=201 if tasks.apply_or_queue(undo, now=now) else 202)


class RowView(Call):
    """One row of a plan nobody has decided on."""

    required = {"PATCH": Permission.ADMIN}

    @extend_schema(operation_id="change_batch_row", request=RowChange, responses={200: answers.BatchChangeAnswer})
    @repeatable
    def patch(self, request: Request, uid: UUID, position: int) -> Response:
        asked = RowChange(data=request.data)
        asked.is_valid(raise_exception=True)
        found = batch_for(caller_of(request), uid)
        rows = found.changes.filter(position=position).select_related("entry", "event")
        if not rows.exists():
            raise NotFound
        if "content" in asked.validated_data:
            batches.edit_step(found, position, asked.validated_data["content"])
        else:
            batches.remove_steps(found, [position])
        (row,) = batches.describe(found, list(rows))
        return Response(change_answer(row, caller_of(request)))
