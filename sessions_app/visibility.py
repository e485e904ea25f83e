"""Sessions and messages as a caller may see them; whatever it may not see does not exist for it."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from memories.choices import ScopeKind
from memories.exceptions import SessionAmbiguous, SessionNotFound
from memories.language.text import is_storable
from memories.models import Policy, Scope
from memories.tenancy.access import Caller
from memories.visibility import visible_scopes
from sessions_app import summaries
from sessions_app.history.retention import redacted_events, retention_of
from sessions_app.models import SPOKEN, Session, SessionEvent

#: A larger number is no id.
ID_MAX = 2**63 - 1


def visible_sessions(caller: Caller) -> QuerySet[Session]:
    """The sessions whose every scope the caller reaches: a person's, a group's, and both of a member's in a group."""
    sessions = Session.objects.filter(workspace_id=caller.workspace_id).select_related("user_scope", "chat_scope")
    if caller.reaches_everything:
        return sessions
    reached = list(visible_scopes(caller).values_list("pk", flat=True))
    within = [Q(**{f"{name}__isnull": True}) | Q(**{f"{name}__in": reached}) for name in ("user_scope", "chat_scope")]
    return sessions.filter(*within).exclude(user_scope=None, chat_scope=None)


def session_for(caller: Caller, name: str, place: dict[str, str]) -> Session:
    """The session with this key or id; `place` (platform, account) tells apart sessions of one key.

    Raises SessionNotFound, for unknown and out of reach alike, and SessionAmbiguous.
    """
    if not is_storable(name):
        raise SessionNotFound
    try:
        is_id = str(UUID(name)) == name.lower()
    except ValueError:
        is_id = False
    condition = Q(uid=name) if is_id else Q(key=name, **place)
    sessions = list(visible_sessions(caller).filter(condition)[:2])
    if not sessions:
        raise SessionNotFound
    if len(sessions) > 1:
        raise SessionAmbiguous
    return sessions[0]


def check_reach_of_speakers(caller: Caller, session: Session, messages: Sequence[SessionEvent]) -> None:
    """Raises SessionNotFound when a message of a group belongs to somebody whose memory the caller does not reach.

    What a member of a group says goes into their own memory when the conversation ends (B4).
    """
    if caller.reaches_everything or not session.is_group:
        return
    speakers = {message.sender_id for message in messages if message.kind in SPOKEN and message.sender_id}
    own = (summaries.speaker_in(session, speaker).user_scope for speaker in speakers)
    if not all(caller.may_reach(scope) for scope in own if scope):
        raise SessionNotFound


def session_and_scope(caller: Caller, uid: UUID) -> tuple[Session, Scope]:
    """A session and the scope its messages belong to: of a group the chat's, of a direct chat its user's.

    Raises SessionNotFound, for unknown and out of reach alike.
    """
    session = visible_sessions(caller).filter(uid=uid).first()
    if session is None:
        raise SessionNotFound
    scope = session.chat_scope if session.is_group else session.user_scope
    if scope is None or not caller.may_reach(scope.key):
        raise SessionNotFound
    return session, scope


def visible_message(
    session: Session, scope: Scope, conversation: int, event: int, *, now: datetime
) -> SessionEvent | None:
    """The message with this id, if a recall could return it: remembered here, not redacted, and within its term."""
    if event > ID_MAX or (session.is_group and not session.channel_rules().capture_group_memory):
        return None
    message = session.spoken(conversation).filter(pk=event).first() if conversation <= session.conversation else None
    if message is None or message.pk in redacted_events(session, conversation):
        return None
    policies = Policy.objects.of(session.workspace_id)
    retention = retention_of(session.workspace_id, [scope.pk], ScopeKind(scope.kind), policies, now)
    return message if retention.includes(message.pk, message.at) else None
