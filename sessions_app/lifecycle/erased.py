"""Messages that were erased with a person and come again, from a bot that sends its queue or history again (F7).

The same rule as of a turn: what comes again as it was is passed over, what is answered otherwise is said anew.
"""

from collections.abc import Sequence

from memories.entries import tombstones
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent

_BY_PEOPLE = (EventKind.USER, EventKind.AMBIENT)


def marks(session: Session, message: SessionEvent) -> tuple[str, str]:
    """What a message of a session is known by: its words, and its words at its moment."""
    sender = (message.sender_id or session.peer) if message.kind in _BY_PEOPLE else ""
    place = (session.platform, session.account, session.key, sender)
    return tombstones.of_message(session.workspace_id, place, message.content, message.at)


def come_again(session: Session, messages: Sequence[SessionEvent]) -> list[bool]:
    """Of the messages of one call, in order, which were erased and come again.

    A person's is known by its words and its answer's; without an answer by telling words, or words and moment. An
    answer is known behind what it answers; in a group, where the bot may tell another the same, only there.
    """
    if not messages or not tombstones.is_anybody_erased(session.workspace_id):
        return [False] * len(messages)
    known_by = [marks(session, message) for message in messages]
    known = tombstones.known(session.workspace_id, [mark for pair in known_by for mark in pair])
    again: list[bool] = []
    for n, (message, (words, moment)) in enumerate(zip(messages, known_by, strict=True)):
        is_alone = tombstones.is_telling(message.content)
        if message.kind not in _BY_PEOPLE:
            is_known = again[-1:] == [True] or (is_alone and not session.is_group)
        elif n + 1 < len(messages) and messages[n + 1].kind not in _BY_PEOPLE:
            is_known = known_by[n + 1][0] in known
        else:
            is_known = is_alone
        again.append(moment in known or (is_known and words in known))
    return again
