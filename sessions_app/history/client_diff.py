"""The diff of a client's history and the stored conversation (B2). A history that differs clears nothing."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext as _

from memories.exceptions import HistoryDiffers
from memories.language.confidential import is_masked_form
from sessions_app.choices import SPOKEN, EventKind
from sessions_app.history import retention
from sessions_app.models import Session, SessionEvent


class ClientMessage(NamedTuple):
    """One message as a client remembers it."""

    role: str
    content: str


def missing_messages(
    session: Session, history: Sequence[ClientMessage], messages: Sequence[SessionEvent], *, now: datetime
) -> list[SessionEvent]:
    """The messages to append so that the conversation is the client's history and its new messages.

    Sent twice, nothing is missing. Raises HistoryDiffers, naming the first message that differs. Needs the session's
    lock.
    """
    claimed = [*history, *_client_messages(messages)]
    stored = _stored(session, history, claimed)
    if not stored and history and _has_ended(session, history[0]):
        raise _differs(0, len(history))
    common = min(len(stored), len(claimed))
    if (first := _first_difference(stored, claimed)) is not None:
        raise _differs(first, len(history))
    for n, message in enumerate(history[common:], start=common):
        if message.role not in SPOKEN:
            raise _differs(n, len(history))
    unheard = [SessionEvent(kind=EventKind(one.role), content=one.content, at=now) for one in history[common:]]
    return unheard + list(messages[max(common - len(history), 0) :])


def _client_messages(events: Sequence[SessionEvent]) -> list[ClientMessage]:
    return [ClientMessage(event.kind, event.content) for event in events]


def _has_ended(session: Session, first: ClientMessage) -> bool:
    """Whether an earlier conversation, which is not gone on with, has this message (B4, B6)."""
    ended = SessionEvent.objects.filter(session=session, conversation__lt=session.conversation)
    return ended.filter(kind=first.role, content=first.content).exists()


def _differs(position: int, length: int) -> HistoryDiffers:
    problem = _("The history differs from what was said at message %(position)d, counted from 0.")
    field = f"history.{position}" if position < length else f"events.{position - length}"
    return HistoryDiffers(problem % {"position": position}, field=field)


def _stored(
    session: Session, history: Sequence[ClientMessage], claimed: Sequence[ClientMessage]
) -> list[ClientMessage]:
    """The open conversation from its beginning, or from the summary the client's history begins with.

    Without the redacted messages where that is what the client has (A15).
    """
    spoken, begin = session.spoken(), []
    if history and history[0].role == EventKind.SUMMARY:
        summaries = session.messages().filter(kind=EventKind.SUMMARY, content=history[0].content)
        summary = summaries.order_by("-position").first()
        if summary is None:
            return [ClientMessage("", "")]  # differs from whatever the client has
        spoken, begin = spoken.filter(position__gt=summary.data["covers_to"]), [history[0]]
    events = [event.handed_out() for event in spoken]
    stored = [*begin, *_client_messages(events)]
    if _first_difference(stored, claimed) is None:
        return stored
    redacted = [*begin, *_client_messages(retention.redact(events, retention.redacted_events(session)))]
    return redacted if _first_difference(redacted, claimed) is None else stored


def _first_difference(stored: Sequence[ClientMessage], claimed: Sequence[ClientMessage]) -> int | None:
    pairs = enumerate(zip(stored, claimed, strict=False))
    return next(
        (
            n
            for n, (ours, theirs) in pairs
            if not (ours.role == theirs.role and is_masked_form(ours.content, theirs.content))
        ),
        None,
    )
