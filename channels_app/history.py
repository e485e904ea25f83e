"""The open conversation within a budget of tokens, and which of it goes to the model unabridged (B2, B3)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from memories.language import text
from memories.language.confidential import mask
from memories.language.references import ASSISTANT, MOST_MESSAGES, USER, RecentMessage
from memories.recall.query import ClientHistory
from sessions_app.choices import EventKind
from sessions_app.history.replay import MESSAGE_TOKENS, ReplayedMessage, newest_turns, replay_messages
from sessions_app.models import Session

#: Of what is left for the history, how much a summary of its older turns may take.
SUMMARY_SHARE = 1 / 3


@dataclass(frozen=True)
class HistoryMessage:
    """One message of the history."""

    event: ReplayedMessage
    content: str
    tokens: int

    @property
    def is_summary(self) -> bool:
        return self.event.kind == EventKind.SUMMARY


class Conversation:
    """The open conversation of a context; what of it is handed out for sure is settled before memory is asked.

    `held` are the messages of a client that keeps the conversation itself: nothing is handed out.
    """

    def __init__(
        self,
        session: Session | None,
        token_budget: int,
        max_tokens: int | None,
        sure: int,
        *,
        held: tuple[RecentMessage, ...] | None,
        now: datetime,
    ) -> None:
        self._session, self._max_tokens, self._is_held = session, max_tokens, held is not None
        self._events = replay_messages(session, token_budget) if session else []
        self._sure = self._fitting(sure)
        if held is not None:
            self.client_history: ClientHistory | None = held_by_client(session, self._events, held, now=now)
            self.recent = held[-MOST_MESSAGES:]
            return
        self.client_history = handed_out(session, self._sure) if session else None
        spoken = [message for message in self._sure if message.event.kind in (USER, ASSISTANT)][-MOST_MESSAGES:]
        self.recent = tuple(RecentMessage(message.event.kind, message.content) for message in spoken)

    def _fitting(self, limit: int) -> list[HistoryMessage]:
        if self._session is None or self._is_held:
            return []
        return within_budget(self._events, min(limit, self._max_tokens or self._session.max_tokens()))

    def within(self, limit: int, covered: Collection[str]) -> list[HistoryMessage]:
        """As much of it as there is room for, as far back as it repeats nothing of what is told of covered messages."""
        if self._session is None:
            return []
        return without_repeats(self._session, self._fitting(limit), self._sure, covered)


def within_budget(events: Sequence[ReplayedMessage], limit: int) -> list[HistoryMessage]:
    """A history within so many tokens: its summary, shortened if need be, and the newest whole turns that fit."""
    room = max(int(limit * SUMMARY_SHARE) - MESSAGE_TOKENS - 1, 0)
    summary = [
        HistoryMessage(event, content, text.count_tokens(content) + MESSAGE_TOKENS)
        for event in events
        if event.kind == EventKind.SUMMARY and (content := text.first_tokens(event.content, room))
    ]
    left = limit - sum(message.tokens for message in summary)
    spoken = [event for event in events if event.kind != EventKind.SUMMARY]
    newest = newest_turns(spoken, left, overhead=MESSAGE_TOKENS)
    return summary + [HistoryMessage(event, event.content, event.tokens + MESSAGE_TOKENS) for event in newest]


def handed_out(session: Session, history: Sequence[HistoryMessage]) -> ClientHistory | None:
    """The messages of a history that are handed out unabridged; None when there are none."""
    spoken = [message.event for message in history if not message.is_summary]
    if not spoken:
        return None
    return ClientHistory(
        paths=frozenset(_path(session, event) for event in spoken),
        since=min(event.at for event in spoken),
        user_texts=tuple(event.content for event in spoken if event.kind == EventKind.USER),
    )


def held_by_client(
    session: Session | None, events: Sequence[ReplayedMessage], messages: Sequence[RecentMessage], *, now: datetime
) -> ClientHistory:
    """What a client that keeps the conversation itself has: those of the stored messages it tells word for word."""
    texts = [(message.role, message.content.strip()) for message in messages]
    held = {*texts, *((role, mask(content)) for role, content in texts)}
    known = [event for event in events if session and (event.kind, event.content.strip()) in held]
    return ClientHistory(
        paths=frozenset(_path(session, event) for event in known if session),
        since=min((event.at for event in known), default=now),
        user_texts=tuple(message.content for message in messages if message.role == EventKind.USER),
    )


def _path(session: Session, event: ReplayedMessage) -> str:
    """The path of a message of the open conversation."""
    return session.origin(session.conversation, event.pk)


def without_repeats(
    session: Session, longest: Sequence[HistoryMessage], sure: Sequence[HistoryMessage], covered: Collection[str]
) -> list[HistoryMessage]:
    """The longest history that repeats nothing: beyond the messages that are `sure`, it begins after all covered ones.

    `covered` are the paths of the messages on which the memories and events of the context rest.
    """
    kept = {message.event.pk for message in sure}
    begin = 0
    for n, message in enumerate(longest):
        if not message.is_summary and message.event.pk not in kept and _path(session, message.event) in covered:
            begin = n + 1
    if begin:  # at what a user says, or where it is sure to begin
        starts = (
            n
            for n in range(begin, len(longest))
            if longest[n].event.kind == EventKind.USER or longest[n].event.pk in kept
        )
        begin = next(starts, len(longest))
    return [*(message for message in longest[:begin] if message.is_summary), *longest[begin:]]
