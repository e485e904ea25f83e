"""GET /session_events/…: one message by the path that proves it (C4)."""

from datetime import datetime
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.clock import now_of
from memories.choices import Permission, ScopeKind
from memories.exceptions import SessionNotFound
from memories.models import Policy, Scope
from memories.tenancy.access import Caller
from sessions_app.api.visibility import visible_sessions
from sessions_app.choices import SPOKEN, EventKind
from sessions_app.history import redaction
from sessions_app.history.retention import retention_of
from sessions_app.models import Session, SessionEvent

#: Larger numbers are no id.
ID_MAX = 2**63 - 1


#: Who may have said what is read by its path.
READ_ROLES = [kind.value for kind in EventKind if kind in SPOKEN]


class EventRead(serializers.Serializer[Any]):
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
        found, scope = _session(caller_of(request), session)
        said = _told(found, scope, conversation, event, now=now_of(request))
        return Response(
            {
                "path": found.origin(conversation, event),
                "found": said is not None,
                "scope": scope.key,
                "role": said.kind if said else None,
                "sender": said.sender_id if said else "",
                "content": said.content if said else "",
                "at": said.at if said else None,
            }
        )


def _session(caller: Caller, uid: UUID) -> tuple[Session, Scope]:
    """A session and the scope its messages belong to: of a group the chat's, of a direct chat its user's.

    Raises SessionNotFound for one that is not there, and alike for one the key does not reach.
    """
    session = visible_sessions(caller).filter(uid=uid).first()
    if session is None:
        raise SessionNotFound
    scope = session.chat_scope if session.is_group else session.user_scope
    if scope is None or not caller.may_reach(scope.key):
        raise SessionNotFound
    return session, scope


def _told(session: Session, scope: Scope, conversation: int, event: int, *, now: datetime) -> SessionEvent | None:
    """The message, as far as a recall may tell it: remembered here, not taken out, and within its term."""
    if event > ID_MAX or (session.is_group and not session.channel_rules().capture_group_memory):
        return None
    said = session.spoken(conversation).filter(pk=event).first() if conversation <= session.conversation else None
    if said is None or said.pk in redaction.redacted_events(session, conversation):
        return None
    policies = Policy.objects.of(session.workspace_id)
    retention = retention_of(session.workspace_id, [scope.pk], ScopeKind(scope.kind), policies, now)
    return said if retention.includes(said.pk, said.at) else None
