"""What the bot answered after a recall, and where that stands in its conversation."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from memories.models import RecallTrace
from sessions_app.admin.served_recalls import BEFORE
from sessions_app.admin.take_out import message_url
from sessions_app.choices import EventKind
from sessions_app.history import retention
from sessions_app.models import Session, SessionEvent

#: Messages looked at for the question of a recall.
_LOOKED_AT = 200


@dataclass(frozen=True)
class Reply:
    """An answer of the bot, and how it is known to be the one."""

    event: SessionEvent
    url: str
    is_named: bool  # by the bot, with its turn; else the question has the same words
    is_redacted: bool  # people took out a memory that rests on it (A15)


def reply_of(trace: RecallTrace, session: Session | None) -> Reply | None:
    """The bot's answer, where the turn was stored; three queries at most."""
    if session is None:
        return None
    named = _messages(session).filter(data__recall_id=str(trace.uid), kind=EventKind.ASSISTANT).first()
    event = named or _after_the_same_words(trace, session)
    if event is None:
        return None
    redacted = retention.redacted_events(session, event.conversation)
    return Reply(event.handed_out(), message_url(session, event), named is not None, event.pk in redacted)


def _after_the_same_words(trace: RecallTrace, session: Session) -> SessionEvent | None:
    """The first answer to the question with the words of a recall, asked within ten minutes of it."""
    between = (trace.created_at - BEFORE, trace.created_at + BEFORE)
    spoken = Q(kind__in=(EventKind.USER, EventKind.ASSISTANT))
    near = _messages(session).filter(spoken, at__range=between).order_by("conversation", "position")[:_LOOKED_AT]
    question: SessionEvent | None = None
    for event in near:
        if event.kind == EventKind.USER:
            question = event if event.content.strip() == trace.message.strip() else None
        elif question is not None and event.conversation == question.conversation:
            return None if event.data.get("recall_id") else event  # it names another recall
    return None


def _messages(session: Session) -> QuerySet[SessionEvent]:
    return SessionEvent.objects.filter(workspace_id=session.workspace_id, session=session)
