"""The diff of a client's history and the stored conversation (B2). A history that differs clears nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from memories.exceptions import HistoryDiffers
from sessions_app.choices import SPOKEN, EventKind
from sessions_app.history import redaction
from sessions_app.lifecycle.conversations import NewMessage
from sessions_app.models import Session, SessionEvent


@dataclass(frozen=True)
class ClientMessage:
    """One message as a client remembers it."""

    role: str
    content: str


def missing_messages(
    session: Session, believed: Sequence[ClientMessage], messages: Sequence[NewMessage], *, now: datetime
) -> list[NewMessage]:
    """The messages to append so that the conversation is the client's history and what it says next.

    Sent twice, nothing is missing. Raises HistoryDiffers, naming the first message that is not what was said. Needs the
    session's lock.
    """
    told = [*believed, *(ClientMessage(message.kind, message.content) for message in messages)]
    said = _said(session, believed, told)
    if not said and believed and _has_ended(session, believed[0]):
        raise _differs(0, len(believed))
    both = min(len(said), len(told))
    if (first := _first_difference(said, told)) is not None:
        raise _differs(first, len(believed))
    if len(told) <= len(said):
        return []
    rest = believed[both:]
    for n, message in enumerate(rest):
        if message.role not in SPOKEN:
            raise _differs(both + n, len(believed))
    known = [NewMessage(kind=EventKind(message.role), content=message.content, at=now) for message in rest]
    return known + list(messages[max(both - len(believed), 0) :])


def _has_ended(session: Session, first: ClientMessage) -> bool:
    """Whether it begins as a conversation did that was reset or closed: that one is not gone on with (B4, B6)."""
    ended = SessionEvent.objects.filter(session=session, conversation__lt=session.conversation)
    return ended.filter(kind=first.role, content=first.content).exists()


def _differs(position: int, believed: int) -> HistoryDiffers:
    said = _("The history differs from what was said at message %(position)d, counted from 0.")
    field = f"history.{position}" if position < believed else f"events.{position - believed}"
    return HistoryDiffers(said % {"position": position}, field=field)


def _said(session: Session, believed: Sequence[ClientMessage], told: Sequence[ClientMessage]) -> list[ClientMessage]:
    """The open conversation from its beginning, or from the summary the client begins with.

    As it was said; less what people took out where that is what the client was handed out, and believes (A15).
    """
    spoken, begin = session.spoken(), []
    if believed and believed[0].role == EventKind.SUMMARY:
        summary = (
            session.messages().filter(kind=EventKind.SUMMARY, content=believed[0].content).order_by("-position").first()
        )
        if summary is None:
            return [ClientMessage("", "")]  # nothing the client can have been given
        spoken, begin = spoken.filter(position__gt=summary.data["covers_to"]), [believed[0]]
    said = [*begin, *(ClientMessage(event.kind, event.content) for event in spoken)]
    out = {} if _first_difference(said, told) is None else redaction.redacted_events(session)
    handed_out = [*begin, *(ClientMessage(event.kind, event.content) for event in redaction.redact(spoken, out))]
    return handed_out if out and _first_difference(handed_out, told) is None else said


def _first_difference(said: Sequence[ClientMessage], told: Sequence[ClientMessage]) -> int | None:
    return next((n for n, (one, other) in enumerate(zip(said, told, strict=False)) if one != other), None)
