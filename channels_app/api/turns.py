"""POST /turns: a finished turn, remembered when this returns."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app.api.fields import AddressField
from channels_app.turns import take_turn
from memories.api import fields
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.clock import check_past, now_of
from memories.api.idempotency import repeatable
from memories.api.recall_traces.detail import USED_MAX
from memories.choices import EntryType, Outcome, Permission
from memories.consolidation.capture import Turn
from memories.entries import TAKEN_OUT
from memories.language.redaction import ToolCall
from memories.models import RecallTrace
from memories.recall import feedback
from memories.tenancy.access import Caller
from memories.visibility import trace_for
from sessions_app.api.answers import Directive
from sessions_app.api.serializers import TOKENS


class NewToolCall(fields.StrictSerializer):
    """A tool the bot used to answer."""

    name = fields.Text(max_length=100)
    arguments = serializers.JSONField(default=dict)
    result = serializers.JSONField(allow_null=True, default=None)


class NewTurn(fields.StrictSerializer):
    """A finished turn."""

    address = AddressField()
    user = fields.LongText(allow_blank=True, default="")
    assistant = fields.LongText(allow_blank=True, default="")
    at = fields.Moment(allow_null=True, default=None)
    tool_calls = serializers.ListField(child=NewToolCall(), allow_null=True, default=None)
    outcome = fields.Text(max_length=2_000, allow_null=True, allow_blank=True, default=None)
    recall_id = serializers.UUIDField(allow_null=True, default=None)
    used = serializers.ListField(
        child=serializers.UUIDField(),
        allow_null=True,
        default=None,
        max_length=USED_MAX,
        help_text="Entries of that recall the answer rested on, as in its feedback.",
    )
    sender_name = fields.Text(
        max_length=200, allow_blank=True, allow_null=True, default="", help_text="What people call the peer."
    )
    slots = fields.FreeSlots(default=dict)
    max_tokens = fields.Whole(**TOKENS, allow_null=True, default=None, help_text="Budget of the history.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["used"] is not None and attrs["recall_id"] is None:
            raise serializers.ValidationError({"recall_id": [_("What was used is told of a recall: which one?")]})
        return attrs


class SessionAnswer(serializers.Serializer[Any]):
    """The session a turn went to."""

    id = serializers.UUIDField()
    key = serializers.CharField()
    conversation = serializers.IntegerField()
    tokens = serializers.IntegerField(help_text="Of the open conversation, as it is handed out.")


class CapturedEntry(serializers.Serializer[Any]):
    """What became of a turn in one scope."""

    id = serializers.UUIDField()
    type = serializers.ChoiceField(choices=EntryType.choices)
    scope = serializers.CharField()
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    reason = serializers.ChoiceField(
        choices=[TAKEN_OUT],
        allow_null=True,
        help_text="Of what is suppressed: people took it out; saving it on purpose brings it back.",
    )


class TurnAnswer(serializers.Serializer[Any]):
    """A turn taken in."""

    session = SessionAnswer()
    entries = CapturedEntry(many=True)
    directives = Directive(many=True)
    reply = serializers.CharField(allow_null=True, help_text="To be given to the user: the turn was a command.")
    degraded = serializers.ListField(child=serializers.CharField())


class TurnsView(Call):
    """A bot reports a finished turn; it is remembered when this returns."""

    required = {"POST": Permission.WRITE}

    @extend_schema(operation_id="take_turn", request=NewTurn, responses={201: TurnAnswer})
    @repeatable
    def post(self, request: Request) -> Response:
        asked = NewTurn(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        now = now_of(request)
        check_past("at", data["at"], now)
        trace = _trace(caller_of(request), data)
        turn = Turn(
            address=data["address"],
            user=data["user"],
            assistant=data["assistant"],
            at=data["at"] or now,
            slots=data["slots"],
            sender_name=data["sender_name"],
            tool_calls=tuple(ToolCall(**call) for call in data["tool_calls"] or ()),
            outcome=data["outcome"] or "",
            recall_id=str(data["recall_id"] or ""),
            max_tokens=data["max_tokens"],
        )
        result = take_turn(caller_of(request), turn, now=now)
        if trace is not None:
            _record_feedback(trace, data)
        session = result.session
        return Response(
            {
                "session": {
                    "id": str(session.uid),
                    "key": session.key,
                    "conversation": session.conversation,
                    "tokens": session.tokens,
                },
                "entries": [
                    {
                        "id": str(one.entry.uid),
                        "type": one.entry.type,
                        "scope": one.entry.scope.key,
                        "outcome": one.outcome,
                        "reason": one.reason,
                    }
                    for one in result.written
                ],
                "directives": [vars(directive) for directive in result.directives],
                "reply": result.reply,
                "degraded": [],
            },
            status=201,
        )


def _trace(caller: Caller, data: dict[str, Any]) -> RecallTrace | None:
    """The recall a turn answers, with what it claims to have used checked before anything is stored.

    A trace may be gone by then (after a crash, after its time): that is no reason to lose a turn.
    """
    trace = trace_for(caller, data["recall_id"]) if data["recall_id"] else None
    if trace is not None and data["used"]:
        feedback.served_ids(trace, data["used"])
    return trace


def _record_feedback(trace: RecallTrace, data: dict[str, Any]) -> None:
    if data["used"] is not None:
        feedback.record_feedback(trace, list(dict.fromkeys(data["used"])))
    feedback.record_answer(trace, question=data["user"], answer=data["assistant"])
