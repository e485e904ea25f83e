"""What calls about conversations take."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from memories.api import fields
from memories.api.entries import NewAttributes
from memories.api.pagination import LimitQuery, PageQuery
from memories.choices import EntryType
from memories.llm.schemas import MAX_QUOTES, NAME_CHARS, SPEAKER
from sessions_app.flush import NO_REPLY, VERSION
from sessions_app.models import REPORTED, SPOKEN, EventKind

EVENTS_MAX = 200
KINDS = [kind.value for kind in REPORTED]
ROLES = [kind.value for kind in (*SPOKEN, EventKind.SUMMARY)]
CANDIDATE_TYPES = [EntryType.FACT.value, EntryType.AUTO_CAPTURE.value]
TOKENS: dict[str, Any] = {"min_value": 100, "max_value": 10_000_000}


class SessionPlace(fields.StrictSerializer):
    """Where a session is, when several have its key."""

    platform = serializers.CharField(required=False, allow_blank=True, max_length=40)
    account = serializers.CharField(required=False, allow_blank=True, max_length=200)


class SessionQuery(PageQuery, SessionPlace):
    """What a list of sessions may be narrowed by."""

    scope = serializers.CharField(required=False, max_length=255)
    open = serializers.BooleanField(required=False)


class SessionEventQuery(LimitQuery, SessionPlace):
    """Which messages are wanted."""

    conversation = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    cursor = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1, help_text="A position.")


class SessionHistoryQuery(SessionPlace):
    """How long a history may be."""

    max_tokens = serializers.IntegerField(required=False, **TOKENS)


class NewEvent(fields.StrictSerializer):
    """A message as a bot reports it."""

    kind = fields.Word(choices=KINDS)
    content = fields.LongText(allow_blank=True)
    sender = fields.Name(max_length=200, allow_blank=True, default="", source="sender_id")
    sender_name = fields.Text(
        max_length=200,
        allow_blank=True,
        allow_null=True,
        default="",
        help_text="What people call the sender; not kept without one.",
    )
    at = fields.Moment(allow_null=True, default=None)
    data = serializers.DictField(  # type: ignore[assignment]
        required=False, default=dict, help_text="What else came along, such as a tool's call."
    )


class BelievedMessage(fields.StrictSerializer):
    """A message as the client remembers it."""

    role = fields.Word(choices=ROLES)
    content = fields.LongText(allow_blank=True)


class NewEvents(fields.StrictSerializer):
    """Messages to append, and the history the client believes to come before them."""

    #: One of both holds something.
    together: ClassVar[dict[str, Any]] = {
        "anyOf": [
            {"properties": {name: {"type": "array", "items": {}, "minItems": 1}}, "required": [name]}
            for name in ("events", "history")
        ]
    }

    events = NewEvent(many=True, default=list, max_length=EVENTS_MAX)  # type: ignore[call-arg]
    history = serializers.ListField(child=BelievedMessage(), allow_null=True, default=None)
    max_tokens = fields.Whole(**TOKENS, allow_null=True, default=None, help_text="Budget of the history.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["events"] and not attrs["history"]:
            raise serializers.ValidationError({"events": [_("There is nothing to append.")]})
        ambient = [event for event in attrs["events"] if event["kind"] == EventKind.AMBIENT]
        if ambient and attrs["history"] is not None:
            raise serializers.ValidationError({"events": [_("Ambient messages are no part of a history.")]})
        return attrs


class NewCandidate(NewAttributes):
    """What is worth remembering, and the positions of the messages it rests on."""

    content = fields.Text(max_length=8_000)
    type = fields.Word(choices=CANDIDATE_TYPES, default=EntryType.FACT)
    rests_on = serializers.ListField(child=fields.Whole(min_value=1, max_value=2**31 - 1), default=list, max_length=100)
    quote = serializers.ListField(
        child=fields.Text(max_length=8_000), default=list, max_length=MAX_QUOTES, help_text="Words of these messages."
    )
    subject = fields.Text(max_length=NAME_CHARS, default=SPEAKER, help_text="Whom or what it is about.")
    slots = fields.FreeSlots(default=dict)


class FlushQuery(SessionPlace):
    """Which conversation of the session a report is about."""

    conversation = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="Absent: the open one."
    )


class NewFlush(fields.StrictSerializer):
    """What a bot took out of a conversation; with neither, the platform does it itself."""

    version = fields.Whole(min_value=VERSION, max_value=VERSION, help_text="Of this schema.")
    reply = fields.Word(choices=[NO_REPLY], allow_null=True, default=None)
    candidates = NewCandidate(many=True, default=list, max_length=100)  # type: ignore[call-arg]

    def get_fields(self) -> dict[str, Any]:
        goes_on_with = fields.Text(
            max_length=8_000, allow_blank=True, allow_null=True, default="", help_text="For the session to go on with."
        )
        return {**super().get_fields(), "continue": goes_on_with}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["reply"] and (attrs["candidates"] or attrs["continue"]):
            raise serializers.ValidationError({"reply": [_("NO_REPLY says that there is nothing; here is something.")]})
        return attrs
