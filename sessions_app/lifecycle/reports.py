"""Messages that a client reports of a conversation, with the history it believes in (B2)."""

from collections.abc import Sequence
from datetime import datetime

from memories.models.change import acting
from memories.tenancy.access import Caller
from sessions_app.history.client_diff import ClientMessage, missing_messages
from sessions_app.lifecycle import budget, close, conversations, locks
from sessions_app.models import Session, SessionEvent
from sessions_app.visibility import check_reach_of_speakers


def append_report(
    caller: Caller,
    session: Session,
    messages: Sequence[SessionEvent],
    *,
    history: Sequence[ClientMessage] | None,
    max_tokens: int | None,
    now: datetime,
) -> tuple[list[SessionEvent], list[budget.BotDirective]]:
    """Append what the conversation lacks of a client's history and its next messages; what the bot is to do then.

    Raises SessionNotFound, SessionBusy, InvalidAddress, HistoryDiffers.
    """
    check_reach_of_speakers(caller, session, messages)
    with acting(caller.actor):
        locks.lock_session(session)
        conversations.check_speakers(session, messages)
        close.close_if_stale(session, now=now)
        if history is not None:
            messages = missing_messages(session, history, messages, now=now)
        events = conversations.append(session, messages, now=now)
        directives = budget.directives(session, language=caller.language, now=now, max_tokens=max_tokens)
    return events, directives
