"""POST /recalls/{id}/feedback: what an answer rested on (A14)."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from memories import feedback
from memories.api import answers, fields
from memories.api.authentication import key_of
from memories.api.calls import Call
from memories.api.idempotency import repeatable
from memories.choices import Permission
from memories.models import BotKey, Receipt, Scope

USED_MAX = 50


class Feedback(fields.StrictSerializer):
    """The served entries an answer rested on; none of them: an empty list."""

    used = serializers.ListField(child=serializers.UUIDField(), max_length=USED_MAX)
    note = fields.Text(max_length=2_000, allow_blank=True, default="")


class FeedbackView(Call):
    """A bot tells which of the memories it was given its answer used; the last word counts."""

    required = {"POST": Permission.WRITE}

    @extend_schema(operation_id="recall_feedback", request=Feedback, responses=answers.FeedbackAnswer)
    @repeatable
    def post(self, request: Request, uid: UUID) -> Response:
        asked = Feedback(data=request.data)
        asked.is_valid(raise_exception=True)
        receipt = receipt_for(key_of(request), uid)
        if receipt is None:
            raise NotFound
        used = list(dict.fromkeys(asked.validated_data["used"]))
        feedback.tell_used(receipt, used, asked.validated_data["note"])
        return Response({"recall_id": str(receipt.uid), "used": [str(uid) for uid in used], "note": receipt.note})


def receipt_for(key: BotKey, uid: UUID) -> Receipt | None:
    """The receipt of a recall whose every scope the key reaches; None when there is none, or no more."""
    receipt = Receipt.objects.filter(workspace_id=key.workspace_id, uid=uid).first()
    if receipt is None:
        return None
    scopes = Scope.objects.in_workspace(key.workspace_id).filter(pk__in=receipt.scopes)
    return receipt if all(key.may_reach(name) for name in scopes.values_list("key", flat=True)) else None
