"""What was said: finished turns, messages of a session, and calls of the journal applied as when they came (C11)."""

from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from channels_app.api.addresses import AddressField
from channels_app.doors.files import calls
from channels_app.doors.files.calls import EVENTS, TURN, after_turn, keep_turn
from channels_app.doors.files.replay import Effect, Messages, replay_soon
from channels_app.turns import TurnResult, report_turn
from memories.api import fields
from memories.api.answers import Answer
from memories.api.calls import Call, Method
from memories.api.offline import Outage
from memories.api.recall_traces import USED_MAX
from memories.choices import EntryType, Outcome, Permission
from memories.consolidation.capture import Turn
from memories.entries import ERASED, QUARANTINED, TAKEN_OUT
from memories.entries.suppression import IsErased
from memories.exceptions import NotServed
from memories.language.confidential import ToolCall
from memories.language.text import is_blank
from memories.offline.journal import Record
from memories.tenancy.access import Caller
from sessions_app.api import answers
from sessions_app.api.answers import DirectiveAnswer
from sessions_app.api.serializers import TOKENS, NewEvents, SessionPlace
from sessions_app.api.sessions import SessionEventsView, append_events, read_events
from sessions_app.models import EventKind, Session
from sessions_app.visibility import session_for


class NewToolCall(fields.StrictSerializer):
    """A tool the bot used to answer."""

    name = fields.Text(max_length=100)
    arguments = serializers.JSONField(allow_null=True, default=dict)
    result = serializers.JSONField(allow_null=True, default=None)

    def validate_arguments(self, arguments: Any) -> Any:
        """null is as good as none."""
        return {} if arguments is None else arguments


class NewTurn(fields.StrictSerializer):
    """A finished turn."""

    #: What was used is told of a recall.
    together: ClassVar[dict[str, Any]] = {
        "anyOf": [
            {"properties": {"recall_id": {"type": "string", "format": "uuid"}}, "required": ["recall_id"]},
            {"properties": {"used": {"not": {"type": "array", "items": {}}}}},
        ]
    }

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
        attrs["tool_calls"] = tuple(ToolCall(**call) for call in attrs["tool_calls"] or ())
        return attrs | {"outcome": attrs["outcome"] or "", "recall_id": str(attrs["recall_id"] or "")}


class TurnSession(Answer):
    """The session a turn went to."""

    id = serializers.UUIDField(source="uid", allow_null=True, help_text="null: the database has not met it yet.")
    key = serializers.CharField()
    conversation = serializers.IntegerField(allow_null=True, help_text="null: only the database knows.")
    tokens = serializers.IntegerField(
        allow_null=True, help_text="Of the open conversation, as it is handed out; null: only the database knows."
    )


class CapturedEntry(Answer):
    """What became of a turn in one scope."""

    id = serializers.UUIDField(source="entry.uid")
    type = serializers.ChoiceField(
        choices=EntryType.choices,
        source="entry.type",
    )
    scope = serializers.CharField(source="entry.scope.key")
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    kept = serializers.BooleanField(
        source="is_kept_for_good", help_text="The user asked for it to be remembered: it has no end of its own."
    )
    reason = serializers.ChoiceField(
        choices=[TAKEN_OUT, ERASED, QUARANTINED],
        allow_null=True,
        help_text="Of what is suppressed: people took it out; saving it on purpose brings it back.",
    )
    brought_back = serializers.BooleanField(
        help_text="People had taken these words out before, and the user asks anew for them to be remembered."
    )


class TurnAnswer(Answer):
    """A turn taken in."""

    session = TurnSession()
    entries = CapturedEntry(many=True)
    directives = DirectiveAnswer(many=True)
    reply = serializers.CharField(allow_null=True, help_text="To be given to the user: the turn was a command.")
    degraded = serializers.ListField(
        child=serializers.CharField(),
        help_text="`database`: accepted, and in the database once that is back; `files`: the channel's files have it.",
    )


def read_turn(body: dict[str, Any], now: datetime) -> tuple[Turn, list[UUID] | None]:
    """A turn as it was validated, and the memories its answer used. Raises ValidationError."""
    columns = dict(body)
    at, used_ids = columns.pop("at"), columns.pop("used")
    fields.check_past("at", at, now)
    return Turn(**columns, at=at or now), used_ids


def keep_turn_in_files(call: Call, outage: Outage) -> Response:
    """The turn is in the journal when this returns."""
    turn, _used_ids = read_turn(call.body, call.now)
    kept_turn = keep_turn(call.caller, turn, outage, dict(call.request.data), now=call.now)
    session = TurnSession.of(id=kept_turn.session_id, key=kept_turn.session_key, conversation=None, tokens=None)
    answer = TurnAnswer.of(
        session=session, entries=[], directives=[], reply=kept_turn.reply, degraded=kept_turn.degraded
    )
    if outage.only_if_pending:
        replay_soon()
    return Response(answer, status=201)


class TurnsView(Call):
    """A bot reports a finished turn; it is remembered when this returns."""

    @Method("take_turn", Permission.WRITE, {201: TurnAnswer}, body=NewTurn, offline=keep_turn_in_files)
    def post(self) -> Response:
        turn, used_ids = read_turn(self.body, self.now)
        result = report_turn(self.caller, turn, used_ids=used_ids, now=self.now)
        after_turn(self.caller, turn, result, now=self.now)
        return Response(turn_answer(result), status=201)


def turn_answer(result: TurnResult) -> dict[str, Any]:
    """A turn the database has taken in, as clients see it."""
    return TurnAnswer.of(
        result,
        session=TurnSession.of(result.session),
        entries=[CapturedEntry.of(entry) for entry in result.written],
        directives=[DirectiveAnswer.of(directive) for directive in result.directives],
        degraded=[],
    )


def keep_events_in_files(call: Call, outage: Outage, *, key: str) -> Response:
    """The messages are in the journal when this returns."""
    messages = read_events(call.body, call.now)
    place: dict[str, str] = {name: str(call.query[name]) for name in ("platform", "account") if name in call.query}
    calls.keep_events(call.caller, key, place, messages, outage, dict(call.request.data), now=call.now)
    if outage.only_if_pending:
        replay_soon()
    answer = answers.AppendedAnswer.of(session=None, events=[], directives=[], degraded=outage.degraded)
    return Response(answer, status=201)


class EventsView(SessionEventsView):
    """Read the messages of a session, or append to them."""

    @Method(
        "append_session_events",
        Permission.WRITE,
        {201: answers.AppendedAnswer},
        query=SessionPlace,
        body=NewEvents,
        offline=keep_events_in_files,
        description="Append messages to a session.",
    )
    def post(self, key: str) -> Response:
        session = self.session(key)
        calls.check_database_takes(self.caller, session, now=self.now)
        return Response(append_events(self.caller, session, self.body, now=self.now), status=201)


def apply_turn(record: Record, caller: Caller, at: datetime) -> dict[str, Any]:
    """Take a turn in. What its answer used is told of a recall that may be gone by now: the turn is not lost for it."""
    body = NewTurn(data=record.body["request"])
    body.is_valid(raise_exception=True)
    turn, used_ids = read_turn(body.validated_data, at)
    try:
        return turn_answer(report_turn(caller, turn, used_ids=used_ids, now=at, is_replay=True))
    except NotServed:  # raised before anything is stored
        return turn_answer(report_turn(caller, turn, used_ids=None, now=at, is_replay=True))


def messages_of_turn(record: Record, at: datetime) -> Messages:
    """Both sides of a turn, as its session keeps them."""
    body = NewTurn(data=record.body["request"])
    if not body.is_valid():
        return []
    turn, _used_ids = read_turn(body.validated_data, at)
    return [(side, turn.at) for side in (turn.user, turn.assistant) if not is_blank(side)]


def rest_of_turn(record: Record, is_erased: IsErased, _workspace_id: int) -> Record | None:
    """A turn is all of whom it is from."""
    body = NewTurn(data=record.body["request"])
    body.is_valid(raise_exception=True)
    address = body.validated_data["address"]
    return None if is_erased(address.platform, address.speaker) else record


def apply_events(record: Record, caller: Caller, at: datetime) -> dict[str, Any]:
    """Append messages to their session."""
    request_body = record.body["request"]
    return append_events(caller, session_for(caller, request_body["session"], {}), _events(record), now=at)


def messages_of_events(record: Record, at: datetime) -> Messages:
    """The messages of a call, as its session keeps them."""
    return [(event.content, event.at) for event in read_events(_events(record), at)]


def rest_of_events(record: Record, is_erased: IsErased, workspace_id: int) -> Record | None:
    """Of a session that is gone nothing. In a group what others said, and what they were answered; not the history, of
    which nobody knows who said it.
    """
    request = record.body["request"]
    session = Session.objects.filter(workspace_id=workspace_id, uid=request["session"]).first()
    if session is None or not session.is_group:
        return record if session else None
    body, events, is_passed_over = request["body"], [], False
    for event in body.get("events", ()):
        if event["kind"] in (EventKind.USER, EventKind.AMBIENT):
            is_passed_over = is_erased(session.platform, event.get("sender", ""))
        if not is_passed_over:
            events.append(event)
    rest = request | {"body": body | {"events": events, "history": None}}
    return replace(record, body=record.body | {"request": rest}) if events else None


def _events(record: Record) -> dict[str, Any]:
    body = NewEvents(data=record.body["request"]["body"])
    body.is_valid(raise_exception=True)
    data: dict[str, Any] = body.validated_data
    return data


EFFECTS = {
    TURN: Effect(apply_turn, messages_of_turn, rest_of_turn),
    EVENTS: Effect(apply_events, messages_of_events, rest_of_events),
}
