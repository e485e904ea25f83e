"""The open conversation within a budget of tokens, and which of it goes to the model as it was said (B2, B3)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memories.language import text
from memories.recall.client_history import ClientHistory
from sessions_app.choices import EventKind
from sessions_app.history.replay import MESSAGE_TOKENS, ReplayedMessage
from sessions_app.models import Session

#: Of what is left for the history, how much a summary of its older turns may take.
SUMMARY_SHARE = 1 / 3


@dataclass(frozen=True)
class HistoryMessage:
    """One message of the history."""

    event: ReplayedMessage
    content: str
    tokens: int


def within_budget(events: Sequence[ReplayedMessage], limit: int) -> list[HistoryMessage]:
    """A history within so many tokens: its summary, shortened if need be, and the newest whole turns that fit."""
    summary = [_shortened(event, int(limit * SUMMARY_SHARE)) for event in events if event.kind == EventKind.SUMMARY]
    chosen = [said for said in summary if said.content]
    left = limit - sum(said.tokens for said in chosen)
    spoken = [event for event in events if event.kind != EventKind.SUMMARY]
    begin = len(spoken)
    for n in range(len(spoken) - 1, -1, -1):
        left -= spoken[n].tokens + MESSAGE_TOKENS
        if left < 0:
            break
        if spoken[n].kind == EventKind.USER or n == 0:
            begin = n
    return chosen + [HistoryMessage(event, event.content, event.tokens + MESSAGE_TOKENS) for event in spoken[begin:]]


def _shortened(summary: ReplayedMessage, limit: int) -> HistoryMessage:
    content = text.first_tokens(summary.content, max(limit - MESSAGE_TOKENS - 1, 0))
    return HistoryMessage(summary, content, text.count_tokens(content) + MESSAGE_TOKENS)


def handed_out(session: Session, history: Sequence[HistoryMessage]) -> ClientHistory | None:
    """The messages of a history that are handed out as they were said; None when there are none."""
    spoken = [said.event for said in history if said.event.kind != EventKind.SUMMARY]
    if not spoken:
        return None
    return ClientHistory(
        paths=frozenset(path_of(session, event) for event in spoken),
        since=min(event.at for event in spoken),
        user_texts=tuple(event.content for event in spoken if event.kind == EventKind.USER),
    )


def path_of(session: Session, event: ReplayedMessage) -> str:
    """The path of a message of the open conversation."""
    return session.origin(session.conversation, event.pk)


def without_repeats(
    session: Session, longest: Sequence[HistoryMessage], sure: Sequence[HistoryMessage], told: Collection[str]
) -> list[HistoryMessage]:
    """The longest history that repeats nothing: beyond what is `sure` to be in it, it ends before what is told already.

    `told` are the paths of the messages that memories and events tell.
    """
    kept = {said.event.pk for said in sure}
    begin, at = 0, 0
    for at, said in enumerate(longest):
        if said.event.kind == EventKind.SUMMARY or said.event.pk in kept:
            continue
        if path_of(session, said.event) in told:
            begin = at + 1
    while begin and begin < len(longest) and not _begins(longest[begin], kept):
        begin += 1
    summary = [said for said in longest[:begin] if said.event.kind == EventKind.SUMMARY]
    return [*summary, *longest[begin:]]


def _begins(said: HistoryMessage, kept: Collection[int]) -> bool:
    """Whether a history may begin here: with what a user said, or where it is sure to begin."""
    return said.event.kind == EventKind.USER or said.event.pk in kept
