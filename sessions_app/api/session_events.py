"""GET /session_events/…: one message by the path that proves it (C4)."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.answers import Answer
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.clock import now_of
from memories.choices import Permission
from sessions_app.choices import SPOKEN, EventKind
from sessions_app.visibility import session_and_scope, visible_message

#: Who may have said what is read by its path.
READ_ROLES = [kind.value for kind in EventKind if kind in SPOKEN]


class EventRead(Answer):
    """One message, whole; without words when there is none that may be told."""

    path = serializers.CharField()
    found = serializers.BooleanField()
    scope = serializers.CharField()
    role = serializers.ChoiceField(choices=READ_ROLES, allow_null=True, help_text="null: not found.")
    sender = serializers.CharField()
    content = serializers.CharField(help_text="Empty when there is no such message.")
    at = serializers.DateTimeField(allow_null=True)


class EventView(Call):
    """The message behind a path that a recall handed out."""

    required = {"GET": Permission.READ}

    @extend_schema(operation_id="read_session_event", responses=EventRead)
    def get(self, request: Request, session: UUID, conversation: int, event: int) -> Response:
        of, scope = session_and_scope(caller_of(request), session)
        message = visible_message(of, scope, conversation, event, now=now_of(request))
        return Response(
            EventRead.of(
                path=of.origin(conversation, event),
                found=message is not None,
                scope=scope.key,
                role=message.kind if message else None,
                sender=message.sender_id if message else "",
                content=message.content if message else "",
                at=message.at if message else None,
            )
        )
