"""Messages of a session without the database: into the journal, and the transcript of its scope (C11)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from channels_app import cards
from channels_app.cards import SessionCard
from channels_app.doors.files import accepted, transcripts
from channels_app.doors.files.transcripts import SaidLine
from channels_app.models import Channel
from memories.api.offline import Outage
from memories.choices import PathMode
from memories.exceptions import SessionNotFound
from memories.offline import journal
from memories.offline.journal import Stream
from memories.offline.modes import DATABASE, FILES, LeaveToFiles, NotKnown
from memories.tenancy.access import Caller
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent


def keep_events(
    caller: Caller,
    key: str,
    place: dict[str, str],
    messages: Sequence[SessionEvent],
    outage: Outage,
    request: dict[str, Any],
    *,
    now: datetime,
) -> SessionCard:
    """Accept messages of a session that was used in the last day; `request` is the call as it came.

    Raises SessionNotFound, KeyTaken, NotKnown, StreamEmptied, OSError.
    """
    card = cards.known_session(caller.workspace_id, key, place, now=now)
    if not all(caller.may_reach(scope) for scope in (card.user_scope, card.chat_scope) if scope):
        raise SessionNotFound
    told = {"session": card.uid, "body": request}
    if accepted.accept(stream_of(caller, card), accepted.EVENTS, caller, outage, told, now=now):
        spoken = [message for message in messages if message.kind in (EventKind.USER, EventKind.ASSISTANT)]
        lines = [
            SaidLine(
                message.sender_id or (card.peer or "user" if message.kind == EventKind.USER else "assistant"),
                message.content,
                message.at,
            )
            for message in spoken
            if message.content.strip()
        ]
        scope = card.chat_scope if card.is_group else card.user_scope
        if not card.is_group or card.captures_group:
            transcripts.write(caller, scope, card.key, lines)
    return card


def stream_of(caller: Caller, card: SessionCard) -> Stream:
    """The stream of the channel a session was used from last."""
    return Stream(caller.workspace_id, *card.channel)


def check_database_takes(caller: Caller, session: Session, *, now: datetime) -> None:
    """Raises LeaveToFiles where messages of this session are for the files, or wait behind others of its channel."""
    place = (session.platform, session.account)
    if not session.platform:  # shared between platforms: they go with the channel it was used from last
        try:
            place = cards.known_session(caller.workspace_id, str(session.uid), {}, now=now).channel
        except NotKnown:  # not used in the last day: nothing of it waits
            return
    modes = Channel.objects.filter(workspace_id=caller.workspace_id, platform=place[0], account=place[1])
    if PathMode.LEGACY_ONLY in modes.values_list("path_mode", flat=True):
        raise LeaveToFiles(FILES)
    if journal.is_pending(Stream(caller.workspace_id, *place)):
        raise LeaveToFiles(DATABASE)
