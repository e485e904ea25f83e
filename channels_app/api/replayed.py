"""Calls of the journal, applied as the API would have applied them when they came (C11)."""

from datetime import datetime
from typing import Any

from channels_app.api.turns import NewTurn, read_turn, turn_answer
from channels_app.doors.files.accepted import EVENTS, TURN
from channels_app.doors.files.outcomes import Messages
from channels_app.doors.files.replay import Effect
from channels_app.turns import report_turn
from memories.exceptions import NotServed
from memories.language.text import is_blank
from memories.offline.journal import Record
from memories.tenancy.access import Caller
from sessions_app.api.serializers import NewEvents
from sessions_app.api.sessions import append_events, read_events
from sessions_app.visibility import session_for


def apply_turn(record: Record, caller: Caller, at: datetime) -> dict[str, Any]:
    """Take a turn in. What its answer used is told of a recall that may be gone by now: the turn is not lost for it."""
    told = NewTurn(data=record.body["request"])
    told.is_valid(raise_exception=True)
    turn, used = read_turn(told.validated_data, at)
    try:
        return turn_answer(report_turn(caller, turn, used=used, now=at, is_replay=True))
    except NotServed:  # raised before anything is stored
        return turn_answer(report_turn(caller, turn, used=None, now=at, is_replay=True))


def messages_of_turn(record: Record, at: datetime) -> Messages:
    """Both sides of a turn, as its session keeps them."""
    told = NewTurn(data=record.body["request"])
    if not told.is_valid():
        return []
    turn, _used = read_turn(told.validated_data, at)
    return [(side, turn.at) for side in (turn.user, turn.assistant) if not is_blank(side)]


def apply_events(record: Record, caller: Caller, at: datetime) -> dict[str, Any]:
    """Append messages to their session."""
    told = record.body["request"]
    return append_events(caller, session_for(caller, told["session"], {}), _events(record), now=at)


def messages_of_events(record: Record, at: datetime) -> Messages:
    """The messages of a call, as its session keeps them."""
    return [(event.content, event.at) for event in read_events(_events(record), at)]


def _events(record: Record) -> dict[str, Any]:
    body = NewEvents(data=record.body["request"]["body"])
    body.is_valid(raise_exception=True)
    validated: dict[str, Any] = body.validated_data
    return validated


EFFECTS = {TURN: Effect(apply_turn, messages_of_turn), EVENTS: Effect(apply_events, messages_of_events)}
