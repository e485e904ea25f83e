"""Calls that are taken without the database: into the journal, and a line of the transcript (C11, A4, C1)."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from django.db import transaction

from channels_app import cards
from channels_app.addresses import check_reach
from channels_app.cards import SessionCard
from channels_app.doors.files.answers import FilePlace, place_of
from channels_app.models import Channel
from channels_app.turns import TurnResult
from memories.api.idempotency import KeyTaken
from memories.api.offline import Outage, StreamEmptied
from memories.choices import PathMode
from memories.conf import conf
from memories.consolidation.capture import Turn
from memories.exceptions import PlatformError, SessionNotFound
from memories.files import disk
from memories.files.comments import Stamp, origin_line
from memories.files.layout import scope_folder
from memories.files.markdown import item
from memories.language.confidential import redact
from memories.language.text import smart_truncate
from memories.models.ids import uuid7
from memories.offline import DATABASE, FILES, LeaveToFiles, NotCached, journal
from memories.offline.journal import KeyReused, Record, Stream
from memories.tenancy.access import Caller
from sessions_app.models import EventKind, Session, SessionEvent, is_reset_command, reset_reply

#: The calls there are.
TURN, EVENTS = "turn", "events"


def accept(
    stream: Stream, kind: str, caller: Caller, outage: Outage, request: dict[str, Any], *, now: datetime
) -> bool:
    """Put a call into the journal: it is on the disk when this returns. False: it was there already, under its key.

    `request` is the call as it came. Raises KeyTaken, OSError, and StreamEmptied where the database can take it.
    """
    repeat, transaction = outage.repeat, outage.transaction
    names = ("workspace_id", "language", "actor", "permissions", "scope_patterns", "bot_id", "folder")
    record = Record(
        uid=uuid7(),
        kind=kind,
        accepted_at=now.isoformat(),
        body={
            "caller": {name: getattr(caller, name) for name in names} | {"zone": str(caller.zone)},
            "request": request,
        },
        bot_id=caller.bot_id,
        repeat_key=repeat.key if repeat else "",
        fingerprint=repeat.fingerprint if repeat else "",
        transaction=asdict(transaction) if transaction else None,
    )
    try:
        accepted = journal.append(stream, record, only_if_pending=outage.only_if_pending)
    except KeyReused as error:
        raise KeyTaken from error
    if accepted is None:
        raise StreamEmptied
    return accepted.uid == record.uid


def caller_of(record: Record) -> Caller:
    """Who made the call, with the rights it had."""
    caller = record.body["caller"]
    lists = {name: tuple(caller[name]) for name in ("permissions", "scope_patterns")}
    return Caller(**caller | lists | {"zone": ZoneInfo(caller["zone"])})


log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class TranscriptLine:
    """A message of a transcript."""

    who: str
    content: str
    at: datetime


def write(caller: Caller, scope_key: str | None, session_key: str, lines: Iterable[TranscriptLine]) -> bool:
    """Add messages to the transcript of their day; False where that failed: a transcript keeps no call from its end."""
    if scope_key is None:
        return True
    folder = scope_folder(caller.folder, scope_key)
    texts: dict[date, list[str]] = {}  # of the file of each day, in order
    for line in lines:
        content = f"{line.who}: {smart_truncate(redact(line.content), conf.TRANSCRIPT_CHARS)}"
        at = line.at.astimezone(caller.zone)
        stamp = Stamp(at, session=session_key, scope_key=scope_key)
        texts.setdefault(at.date(), []).append(item(content, stamp))
    try:
        for day, items in texts.items():
            disk.append(folder, folder.transcript(day), "\n".join(items), below=origin_line(session_key, scope_key))
    except (OSError, PlatformError) as problem:
        log.warning("transcript_not_written", problem=str(problem))
        return False
    return True


def turn_lines(user: str, assistant: str, *, speaker: str, at: datetime) -> list[TranscriptLine]:
    """Both sides of a turn, as far as they say something."""
    sides = [TranscriptLine(speaker or "user", user, at), TranscriptLine("assistant", assistant, at)]
    return [side for side in sides if side.content.strip()]


@dataclass(frozen=True)
class KeptTurn:
    """What can be answered of a turn before the database has it."""

    session_key: str
    session_id: str | None  # None: nobody has met this session yet
    reply: str | None = None  # to be given to the user in place of an answer
    degraded: list[str] = field(default_factory=list)


def keep_turn(caller: Caller, turn: Turn, outage: Outage, request: dict[str, Any], *, now: datetime) -> KeptTurn:
    """Accept a turn; `request` is the call as it came.

    Raises InvalidAddress, ScopeNotFound, KeyTaken, NotCached, StreamEmptied, OSError.
    """
    place = place_of(caller, turn.address, has_database=outage.has_database, now=now)
    resolution = place.resolved
    check_reach(caller, resolution)
    is_new = accept(place.stream, TURN, caller, outage, request, now=now)
    if is_new:
        lines = turn_lines(turn.user, turn.assistant, speaker=resolution.address.speaker, at=turn.at)
        write(caller, place.scope_key, resolution.session_key, lines)
    reply = reset_reply(caller.language) if is_reset_command(turn.user) else None
    session = cards.cached_session_id(caller, resolution.session_key, now=now)
    return KeptTurn(resolution.session_key, session, reply, outage.degraded)


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

    Raises SessionNotFound, KeyTaken, NotCached, StreamEmptied, OSError.
    """
    card = cards.cached_session(caller.workspace_id, key, place, now=now)
    if not all(caller.may_reach(scope) for scope in (card.user_scope, card.chat_scope) if scope):
        raise SessionNotFound
    call = {"session": card.uid, "body": request}
    stream = Stream(caller.workspace_id, *card.channel)  # of the channel it was used from last
    if accept(stream, EVENTS, caller, outage, call, now=now):
        dialogue = [message for message in messages if message.kind in (EventKind.USER, EventKind.ASSISTANT)]
        lines = [
            TranscriptLine(
                message.sender_id or (card.peer or "user" if message.kind == EventKind.USER else "assistant"),
                message.content,
                message.at,
            )
            for message in dialogue
            if message.content.strip()
        ]
        scope = card.chat_scope if card.is_group else card.user_scope
        if not card.is_group or card.captures_group:
            write(caller, scope, card.key, lines)
    return card


def check_database_takes(caller: Caller, session: Session, *, now: datetime) -> None:
    """Raises LeaveToFiles where messages of this session are for the files, or wait behind others of its channel."""
    place = (session.platform, session.account)
    if not session.platform:  # shared between platforms: they go with the channel it was used from last
        try:
            place = cards.cached_session(caller.workspace_id, str(session.uid), {}, now=now).channel
        except NotCached:  # not used in the last day: nothing of it waits
            return
    modes = Channel.objects.filter(workspace_id=caller.workspace_id, platform=place[0], account=place[1])
    if PathMode.LEGACY_ONLY in modes.values_list("path_mode", flat=True):
        raise LeaveToFiles(FILES)
    if journal.is_pending(Stream(caller.workspace_id, *place)):
        raise LeaveToFiles(DATABASE)


def after_turn(caller: Caller, turn: Turn, result: TurnResult, *, now: datetime) -> None:
    """Once a turn is stored, keep who talks there; under dual_write, and for transcripts, write it down.

    Nothing of one that was erased with a person.
    """
    if result.is_erased:
        return
    session, resolution = result.session, result.resolved
    cards.keep_channels(caller.workspace_id, now=now)
    keep = partial(cards.keep_session, caller.workspace_id, str(session.uid), resolution, now=now)
    transaction.on_commit(keep)
    if resolution.path_mode == PathMode.DUAL_WRITE or resolution.transcripts:
        lines = turn_lines(turn.user, turn.assistant, speaker=resolution.address.speaker, at=turn.at)
        scope_key = FilePlace(caller, resolution).scope_key
        transaction.on_commit(partial(write, caller, scope_key, resolution.session_key, lines))
