"""Sessions as a caller may see them: those of scopes its key reaches; the others do not exist for it."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from memories.api.scopes import visible_scopes
from memories.exceptions import SessionAmbiguous, SessionNotFound
from memories.language.text import is_storable
from memories.tenancy.access import Caller
from sessions_app.choices import SPOKEN
from sessions_app.compaction import closing_summary
from sessions_app.lifecycle.conversations import NewMessage
from sessions_app.models import Session


def visible_sessions(caller: Caller) -> QuerySet[Session]:
    """All sessions a key may see: a person's by their scope, a group's by the chat's, a member's in a group by both."""
    sessions = Session.objects.filter(workspace_id=caller.workspace_id).select_related("user_scope", "chat_scope")
    if caller.reaches_everything:
        return sessions
    reached = list(visible_scopes(caller).values_list("pk", flat=True))
    within = [Q(**{f"{name}__isnull": True}) | Q(**{f"{name}__in": reached}) for name in ("user_scope", "chat_scope")]
    return sessions.filter(*within).exclude(user_scope=None, chat_scope=None)


def session_for(caller: Caller, name: str, place: dict[str, str]) -> Session:
    """The session with this key or id; `place` tells several with one key apart. Unknown and forbidden are the same.

    Raises SessionNotFound, SessionAmbiguous.
    """
    if not is_storable(name):
        raise SessionNotFound
    named = Q(uid=name) if _is_id(name) else Q(key=name, **place)
    found = list(visible_sessions(caller).filter(named)[:2])
    if not found:
        raise SessionNotFound
    if len(found) > 1:
        raise SessionAmbiguous
    return found[0]


def check_reach_of_speakers(caller: Caller, session: Session, messages: Sequence[NewMessage]) -> None:
    """Raises SessionNotFound when a message of a group would reach the memory of somebody whom the key does not.

    What a member of a group says goes into their own memory when the conversation ends (B4).
    """
    if not (caller.scope_patterns and session.is_group):
        return
    speakers = {message.sender_id for message in messages if message.kind in SPOKEN and message.sender_id}
    own = (closing_summary.speaker_in(session, speaker).user_scope for speaker in speakers)
    if not all(caller.may_reach(scope) for scope in own if scope):
        raise SessionNotFound


def _is_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name.lower()
    except ValueError:
        return False
