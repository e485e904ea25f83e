"""Messages that a client reports of a conversation, with the history it believes in (B2)."""

from collections.abc import Sequence
from datetime import datetime

from memories import entries
from memories.choices import EntryType, Source
from memories.consolidation import conversation_secrets
from memories.entries.draft import Draft
from memories.models.change import acting
from memories.tenancy.access import Caller
from sessions_app.choices import EventKind
from sessions_app.history.client_diff import ClientMessage, missing_messages
from sessions_app.lifecycle import close, conversations
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
) -> tuple[list[SessionEvent], list[conversations.BotDirective]]:
    """Append what the conversation lacks of a client's history and its next messages; what the bot is to do then.

    What was erased with a person and comes again is passed over in both.
    Raises SessionNotFound, SessionBusy, InvalidAddress, HistoryDiffers.
    """
    check_reach_of_speakers(caller, session, messages)
    with acting(caller.actor):
        conversations.lock_session(session)
        conversations.check_speakers(session, messages)
        close.close_if_stale(session, now=now)
        believed = [SessionEvent(kind=one.role, content=one.content, at=now) for one in history or ()]
        again = conversations.come_again(session, [*believed, *messages])
        kept = None if history is None else [one for n, one in enumerate(history) if not again[n]]
        history, messages = kept, [one for n, one in enumerate(messages, start=len(believed)) if not again[n]]
        if history is not None:
            messages = missing_messages(session, history, messages, now=now)
        # Leave messages without the secrets they tell; what is to be kept of these, by the rule of the channel
        by_user = [message.kind != EventKind.ASSISTANT for message in messages]
        masked, secrets = conversation_secrets.without_secrets(
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
    secrets: Sequence[conversation_secrets.SecretStatement],
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
    drafts = conversation_secrets.kept_of_messages(secrets, base, origins, at=[event.at for event in events])
    entries.remember_many(list(drafts), now=now, actor=actor, savepoint=False)
