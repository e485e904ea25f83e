"""A finished turn without the database: into the journal, and a line of the transcript (C11, A4)."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from channels_app import cards
from channels_app.addresses import check_reach
from channels_app.doors.files import accepted, transcripts
from channels_app.doors.files.place import place_of
from memories.api.offline import Outage
from memories.consolidation.capture import Turn
from memories.tenancy.access import Caller
from sessions_app.choices import is_reset_command, reset_reply


@dataclass(frozen=True)
class KeptTurn:
    """What can be told of a turn before the database has it."""

    session_key: str
    session_id: str | None  # None: nobody has met this session yet
    reply: str | None = None  # to be given to the user in place of an answer
    degraded: list[str] = field(default_factory=list)


def keep_turn(caller: Caller, turn: Turn, outage: Outage, request: dict[str, Any], *, now: datetime) -> KeptTurn:
    """Accept a turn; `request` is the call as it came.

    Raises InvalidAddress, ScopeNotFound, KeyTaken, NotKnown, StreamEmptied, OSError.
    """
    place = place_of(caller, turn.address, has_database=outage.has_database, now=now)
    resolved = place.resolved
    check_reach(caller, resolved)
    is_new = accepted.accept(place.stream, accepted.TURN, caller, outage, request, now=now)
    if is_new:
        lines = transcripts.turn_lines(turn.user, turn.assistant, speaker=resolved.address.speaker, at=turn.at)
        transcripts.write(caller, place.scope_key, resolved.session_key, lines)
    reply = reset_reply(caller.language) if is_reset_command(turn.user) else None
    session = cards.known_session_id(caller, resolved.session_key, now=now)
    return KeptTurn(resolved.session_key, session, reply, outage.degraded)
