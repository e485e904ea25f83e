"""Messages that a client reports of a conversation, with the history it believes in (B2).

A history that differs from what is stored clears nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext as _

from memories import entries
from memories.choices import EntryType, Source
from memories.consolidation import capture
from memories.entries.draft import Draft
from memories.exceptions import HistoryDiffers
from memories.language.confidential import is_masked_form
from memories.models.change import acting
from memories.tenancy.access import Caller
from sessions_app import conversations
from sessions_app.history import retention
from sessions_app.models import SPOKEN, EventKind, Session, SessionEvent
from sessions_app.visibility import check_reach_of_speakers


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
    stored_messages = _stored_messages(session, history, claimed)
    if not stored_messages and history:
        # An earlier conversation, which is not gone on with, may have its first message (B4, B6)
        ended = SessionEvent.objects.filter(session=session, conversation__lt=session.conversation)
        if ended.filter(kind=history[0].role, content=history[0].content).exists():
            raise _differs(0, len(history))
    common = min(len(stored_messages), len(claimed))
    if (first := _first_difference(stored_messages, claimed)) is not None:
        raise _differs(first, len(history))
    for n, message in enumerate(history[common:], start=common):
        if message.role not in SPOKEN:
            raise _differs(n, len(history))
    unheard = [SessionEvent(kind=EventKind(row.role), content=row.content, at=now) for row in history[common:]]
    return unheard + list(messages[max(common - len(history), 0) :])


def _client_messages(events: Sequence[SessionEvent]) -> list[ClientMessage]:
    return [ClientMessage(event.kind, event.content) for event in events]


def _differs(position: int, length: int) -> HistoryDiffers:
    problem = _("The history differs from what was said at message %(position)d, counted from 0.")
    field = f"history.{position}" if position < length else f"events.{position - length}"
    return HistoryDiffers(problem % {"position": position}, field=field)


def _stored_messages(
    session: Session, history: Sequence[ClientMessage], claimed: Sequence[ClientMessage]
) -> list[ClientMessage]:
    """The open conversation from its beginning, or from the summary the client's history begins with.

    Without the redacted messages where that is what the client has (A15).
    """
    rows, begin = session.spoken(), []
    if history and history[0].role == EventKind.SUMMARY:
        summaries = session.messages().filter(kind=EventKind.SUMMARY, content=history[0].content)
        summary = summaries.order_by("-position").first()
        if summary is None:
            return [ClientMessage("", "")]  # differs from whatever the client has
        rows, begin = rows.filter(position__gt=summary.data["covers_to"]), [history[0]]
    events = [event.handed_out() for event in rows]
    messages = [*begin, *_client_messages(events)]
    if _first_difference(messages, claimed) is None:
        return messages
    redacted = [*begin, *_client_messages(retention.redact(events, retention.redacted_events(session)))]
    return redacted if _first_difference(redacted, claimed) is None else messages


def _first_difference(stored_messages: Sequence[ClientMessage], claimed: Sequence[ClientMessage]) -> int | None:
    pairs = enumerate(zip(stored_messages, claimed, strict=False))
    return next(
        (
            n
            for n, (ours, theirs) in pairs
            if not (ours.role == theirs.role and is_masked_form(ours.content, theirs.content))
        ),
        None,
    )


def append_report(
    caller: Caller,
    session: Session,
    messages: Sequence[SessionEvent],
    *,
    history: Sequence[ClientMessage] | None,
    max_tokens: int | None,
    now: datetime,
) -> tuple[list[SessionEvent], list[conversations.BotDirective]]:
    """Append what the conversation lacks of a client's history and its next messages; what the bot is to do then.

    What was erased with a person and comes again is passed over in both.
    Raises SessionNotFound, SessionBusy, InvalidAddress, HistoryDiffers.
    """
    check_reach_of_speakers(caller, session, messages)
    with acting(caller.actor):
        conversations.lock_session(session)
        conversations.check_speakers(session, messages)
        conversations.close_if_stale(session, now=now)
        believed = [SessionEvent(kind=row.role, content=row.content, at=now) for row in history or ()]
        again = conversations.come_again(session, [*believed, *messages])
        new_history = None if history is None else [row for n, row in enumerate(history) if not again[n]]
        history, messages = new_history, [row for n, row in enumerate(messages, start=len(believed)) if not again[n]]
        if history is not None:
            messages = missing_messages(session, history, messages, now=now)
        # Leave messages without the secrets they tell; what is to be kept of these, by the rule of the channel
        by_user = [message.kind != EventKind.ASSISTANT for message in messages]
        masked, secrets = capture.without_secrets(
            [message.content for message in messages], session.channel_rules().secrets, by_user=by_user
        )
        for message, content in zip(messages, masked, strict=True):
            message.content = content
        events = conversations.append(session, messages, now=now)
        _keep_secrets(session, events, secrets, now=now, actor=caller.actor)
        directives = conversations.directives(session, language=caller.language, now=now, max_tokens=max_tokens)
    return events, directives


def _keep_secrets(
    session: Session,
    events: Sequence[SessionEvent],
    secrets: Sequence[capture.SecretStatement],
    *,
    now: datetime,
    actor: str,
) -> None:
    """Keep secrets for the person of a direct chat; of a group's members none has a memory of this conversation."""
    scope = session.user_scope
    if not secrets or scope is None or session.is_group:
        return
    place = {"channel": session.platform, "chat_id": session.chat_id, "session_id": session.key}
    base = Draft(
        scope=scope,
        type=EntryType.FACT,
        tier=2,
        content=secrets[0].content,
        source=Source.CONVERSATION_CAPTURE,
        at=now,
        slots={name: value for name, value in place.items() if value},
        chats=(scope.key,),
    )
    origins = [session.origin_of(event) for event in events]
    drafts = capture.drafts_of(secrets, base, origins, at=[event.at for event in events])
    entries.remember_many(list(drafts), now=now, actor=actor, savepoint=False)
