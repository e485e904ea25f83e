"""What a call leaves for the time without a database: cards, and transcripts where they are wanted."""

from datetime import datetime
from functools import partial

from django.db import transaction

from channels_app import cards
from channels_app.doors.files import transcripts
from channels_app.doors.files.place import FilePlace
from channels_app.turns import TurnResult
from memories.choices import PathMode
from memories.consolidation.capture import Turn
from memories.tenancy.access import Caller


def after_turn(caller: Caller, turn: Turn, result: TurnResult, *, now: datetime) -> None:
    """Once a turn is stored, keep who talks there; under dual_write, and for transcripts, write it down.

    Nothing of one that was erased with a person.
    """
    if result.is_erased:
        return
    session, resolved = result.session, result.resolved
    cards.keep_channels(caller.workspace_id, now=now)
    keep = partial(cards.keep_session, caller.workspace_id, str(session.uid), resolved, now=now)
    transaction.on_commit(keep)
    if resolved.path_mode == PathMode.DUAL_WRITE or resolved.transcripts:
        lines = transcripts.turn_lines(turn.user, turn.assistant, speaker=resolved.address.speaker, at=turn.at)
        scope_key = FilePlace(caller, resolved).scope_key
        transaction.on_commit(partial(transcripts.write, caller, scope_key, resolved.session_key, lines))
