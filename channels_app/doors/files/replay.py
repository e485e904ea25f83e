"""What the journal holds, applied to the database once it is there, in order and once (C11)."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import structlog
from django.db import DataError, Error, IntegrityError, connection, transaction
from django.db.models import BigIntegerField, QuerySet
from django.db.models.expressions import RawSQL
from django_q.tasks import async_task
from rest_framework.exceptions import ValidationError

from channels_app.doors.files.calls import caller_of
from channels_app.models import Channel, ReplayedRecord, ReplayOutcome
from memories.api.idempotency import Repeat, claim_for, keep_answer
from memories.choices import PathMode
from memories.conf import conf
from memories.entries import suppression
from memories.entries.suppression import IsErased
from memories.exceptions import PlatformError, SessionBusy
from memories.models import IdempotencyKey, Workspace
from memories.offline import journal, replicas
from memories.offline.database import Transaction
from memories.offline.journal import Line, Position, Record, Stream
from memories.tenancy.access import Caller
from sessions_app.models import Session, SessionEvent

#: What a call writes to its session: texts, each with its time.
Messages = Sequence[tuple[str, datetime]]
_NUMBERS = 2**32  # of a row: those of transactions, without their epoch


class StillRunning(Exception):
    """The transaction has not ended yet; its record waits, and those behind it."""


def is_written(record: Record, messages: Messages, workspace_id: int) -> bool:
    """Whether the transaction of a record was committed, and wrote one of its messages. Raises StillRunning.

    Its number alone is no proof: a server that crashed gives a number it had not written down yet to another
    transaction. A call without messages, a reset, is applied again: that changes nothing.
    """
    if record.transaction is None or not messages:
        return False
    call = Transaction(**record.transaction)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_xact_status(%s::text::xid8)", [call.number])
            status = cursor.fetchone()[0]  # None: so long ago that nobody knows
    except DataError:  # a number of the future: the server has forgotten that it gave it
        return False
    if status == "in progress":
        raise StillRunning
    if status != "committed":
        return False
    place = {"platform": call.platform, "account": call.account, "key": call.session_key}
    session = Session.objects.filter(workspace_id=workspace_id, **place).first()
    if session is None:
        return False
    number = RawSQL("sessions_app_sessionevent.xmin::text::bigint", [], output_field=BigIntegerField())
    rows = SessionEvent.objects.filter(session=session, at__in=[at for _text, at in messages]).annotate(by=number)
    written_messages = set(rows.filter(by=int(call.number) % _NUMBERS).values_list("content", "at"))
    return not written_messages.isdisjoint(messages)


log = structlog.get_logger(__name__)

#: Calls that are read at once, and those that are applied while nobody else can add to the stream.
CHUNK, FEW = 200, 20
#: Advisory locks differ in their highest byte (sessions_app.conversations).
REPLAY_LOCK = 9 << 56
Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Effect:
    """How calls of one kind are applied."""

    #: Does it, as its caller did, at the time it was accepted; what a client is answered who sends it again.
    apply: Callable[[Record, Caller, datetime], Any]
    #: What it writes to a session, for asking whether it has.
    messages: Callable[[Record, datetime], Messages]
    #: The call without what people said who are erased; None: nothing is left.
    rest: Callable[[Record, IsErased, int], Record | None]


Effects = Mapping[str, Effect]


def replayable() -> list[Stream]:
    """The streams that hold calls which the database takes: their channels are not answered from their files."""
    waiting = journal.streams()
    if not waiting or not conf.ENABLED:
        return []
    workspaces = {stream.workspace_id for stream in waiting}
    here = set(Workspace.objects.filter(pk__in=workspaces, is_enabled=True).values_list("pk", flat=True))
    by_files = Channel.objects.filter(workspace__in=here, path_mode=PathMode.LEGACY_ONLY)
    elsewhere = set(by_files.values_list("workspace", "platform", "account"))
    return [
        stream
        for stream in waiting
        if stream.workspace_id in here and (stream.workspace_id, stream.platform, stream.account) not in elsewhere
    ]


def replay_all(effects: Effects, clock: Clock, *, until: datetime) -> dict[str, int]:
    """Replay every stream that may be, until a moment; how many calls there were, and how many had to be parked.

    One that cannot be read is named in the log, and keeps no other waiting.
    """
    counts: Counter[str] = Counter()
    for stream in replayable():
        if clock() >= until:
            break
        try:
            counts.update(replay_stream(stream, effects, clock, until=until))
        except (OSError, ValueError, LookupError, TypeError) as problem:
            log.error("replay.failed", place=str(stream.folder), problem=f"{type(problem).__name__}: {problem}")
    return {"calls": counts.total(), "parked": counts[ReplayOutcome.PARKED]}


def replay_stream(stream: Stream, effects: Effects, clock: Clock, *, until: datetime) -> Counter[str]:
    """Replay one stream; nothing where another process is at it."""
    counts: Counter[str] = Counter()
    with journal.locked(stream, journal.REPLAYER, wait=False) as is_mine:
        if not is_mine:
            return counts
        position, end = Position(0, 0), journal.end(stream)
        try:
            while clock() < until:
                with ExitStack() as stack:
                    if is_last_part := position >= end:
                        stack.enter_context(journal.locked(stream))
                    lines = list(islice(journal.read(stream, position), FEW if is_last_part else CHUNK))
                    # Apply lines in order; the end of the last
                    uids = [
                        line.record.uid
                        if line.record  # else it is damaged, and its place gives it an id
                        else uuid5(NAMESPACE_URL, f"{stream.folder.name}/{line.end.segment}/{line.end.offset}")
                        for line in lines
                    ]
                    replayed_uids = set(ReplayedRecord.objects.filter(uid__in=uids).values_list("uid", flat=True))
                    for uid, line in zip(uids, lines, strict=True):
                        if uid not in replayed_uids:
                            counts[apply_line(stream, uid, line, effects, now=clock())] += 1
                    position = (lines[-1].end if lines else None) or max(position, end)
                    if is_last_part and journal.remove_up_to(stream, position):
                        break
        except (StillRunning, SessionBusy) as problem:
            log.info("replay.waits", reason=type(problem).__name__)
        finally:
            with journal.locked(stream):
                journal.remove_up_to(stream, position)
    if counts:
        replicas.note_write_after_commit(stream.workspace_id)
        log.info("journal.replayed", workspace=stream.workspace_id, platform=stream.platform, **counts)
    return counts


def apply_line(stream: Stream, uid: UUID, line: Line, effects: Effects, *, now: datetime) -> str:
    """Apply one line, in one transaction with the proof that it was; its outcome. Raises StillRunning, SessionBusy."""
    record = line.record
    with transaction.atomic():
        lock(stream)
        if ReplayedRecord.objects.filter(uid=uid).exists():
            return ReplayOutcome.KNOWN
        outcome, reason = ReplayOutcome.PARKED, "The line is damaged."
        if record is not None:
            record, outcome, reason = settle(stream, record, effects)
        # A line as people may read it who decide what becomes of it
        ReplayedRecord.objects.create(
            uid=uid,
            workspace_id=stream.workspace_id,
            platform=stream.platform,
            account=stream.account,
            kind=record.kind if record else "",
            outcome=outcome,
            reason=reason,
            body=({**asdict(record), "uid": str(record.uid)} if record else {"line": line.text})
            if outcome == ReplayOutcome.PARKED
            else None,
            accepted_at=datetime.fromisoformat(record.accepted_at) if record else now,
            replayed_at=now,
        )
    if outcome == ReplayOutcome.PARKED:
        log.error("replay.parked", record=str(uid), kind=record.kind if record else "", reason=reason)
    return outcome


def settle(stream: Stream, record: Record, effects: Effects) -> tuple[Record, ReplayOutcome, str]:
    """Apply a record without what people said who were erased since it was accepted; what was left of it, what became
    of that, and why it could not be applied.
    """
    effect = effects.get(record.kind)
    is_erased = suppression.erased_since(stream.workspace_id, datetime.fromisoformat(record.accepted_at))
    if effect and is_erased:
        try:
            rest = effect.rest(record, is_erased, stream.workspace_id)
        except (ValidationError, LookupError, TypeError, ValueError):  # it cannot be applied either
            rest = record
        if rest is None:
            return record, ReplayOutcome.DISCARDED, "It is of somebody who was erased since."
        record = rest
    return record, *outcome_of(stream, record, effects)


def outcome_of(stream: Stream, record: Record, effects: Effects) -> tuple[ReplayOutcome, str]:
    """Apply a record, unless the database has it; what became of it, and why it could not be applied."""
    at, effect = datetime.fromisoformat(record.accepted_at), effects.get(record.kind)
    if effect is None:
        return ReplayOutcome.PARKED, f"Nothing applies a call of the kind “{record.kind}”."
    try:
        with transaction.atomic():
            if is_written(record, effect.messages(record, at), stream.workspace_id):
                return ReplayOutcome.KNOWN, ""
            repeat = Repeat(record.repeat_key, record.fingerprint) if record.repeat_key else None
            if repeat and not claim_for(stream.workspace_id, record.bot_id, repeat, now=at):
                if IdempotencyKey.objects.filter(
                    bot=record.bot_id, key=record.repeat_key, request_hash=record.fingerprint
                ).exists():
                    return ReplayOutcome.KNOWN, ""
                return ReplayOutcome.PARKED, "Its Idempotency-Key was used for another call."
            answer = effect.apply(record, caller_of(record), at)
            if repeat:
                keep_answer(stream.workspace_id, record.bot_id, repeat.key, 201, answer, None)
    except SessionBusy:
        raise
    except (PlatformError, ValidationError, DataError, IntegrityError, LookupError, TypeError, ValueError) as problem:
        return ReplayOutcome.PARKED, f"{type(problem).__name__}: {problem}"
    return ReplayOutcome.APPLIED, ""


def lock(stream: Stream) -> None:
    """One replayer of a workspace in the database, too: one that was killed may still be at its last call."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [REPLAY_LOCK | stream.workspace_id])


#: Calls that are tried again at once.
MOST = 50


def retry(calls: QuerySet[ReplayedRecord], effects: Effects, *, now: datetime) -> Counter[str]:
    """Apply parked calls in the order they came, each in a transaction of its own; how many came to which outcome."""
    parked_calls = calls.filter(outcome=ReplayOutcome.PARKED).order_by("accepted_at", "pk")
    return Counter(_retry_one(pk, effects, now) for pk in list(parked_calls.values_list("pk", flat=True)[:MOST]))


def discard(calls: QuerySet[ReplayedRecord], *, now: datetime) -> int:
    """Give parked calls up: the line stays with its reason, its words are removed. How many."""
    parked_calls = calls.filter(outcome=ReplayOutcome.PARKED)
    return parked_calls.update(outcome=ReplayOutcome.DISCARDED, body=None, replayed_at=now)


def _retry_one(pk: int, effects: Effects, now: datetime) -> str:
    """The outcome of one; one that somebody else has settled meanwhile keeps its own."""
    try:
        with transaction.atomic():
            call = ReplayedRecord.objects.select_for_update().get(pk=pk)
            if call.outcome != ReplayOutcome.PARKED or not call.body or "kind" not in call.body:
                return call.outcome  # settled meanwhile, or a line that was damaged in the journal
            record = Record(**call.body | {"uid": UUID(call.body["uid"])})
            stream = Stream(call.workspace_id, call.platform, call.account)
            lock(stream)
            record, call.outcome, call.reason = settle(stream, record, effects)
            is_parked = call.outcome == ReplayOutcome.PARKED
            call.body = {**asdict(record), "uid": str(record.uid)} if is_parked else None
            call.replayed_at = now
            call.save(update_fields=["outcome", "reason", "body", "replayed_at"])
            return call.outcome
    except (SessionBusy, StillRunning):  # its session is in use; it waits as it did
        return ReplayOutcome.PARKED


TASK = "channels_app.tasks.replay_journal"
#: Seconds between two tasks a process queues.
QUEUED_EVERY = 3.0
_queueing = threading.Lock()
_queued_at: float | None = None


def replay_soon() -> None:
    """Queue a replay, unless this process did a moment ago; one that cannot be queued is made up for every minute."""
    global _queued_at  # noqa: PLW0603 (threads of this process)
    with _queueing:
        if _queued_at is not None and time.monotonic() - _queued_at < QUEUED_EVERY:
            return
        _queued_at = time.monotonic()
    try:
        async_task(TASK, group="mem:replay")
    except Error as problem:
        log.warning("replay.not_queued", problem=type(problem).__name__)


def replay_if_pending() -> None:
    """The same where any stream holds calls, by the thread that has seen that the database is back."""
    if journal.streams():
        replay_soon()
        connection.close()
