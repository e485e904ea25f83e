"""Before a conversation is shortened, what must not be lost is taken out of it (C7, E4).

A flush yields two things: what the session goes on with, and candidates for memory. The candidates are stored in the
scope their session means, by the rules of D5 and A3; the flush itself is recorded, once a compaction cycle.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F
from django_q.tasks import async_task

from memories import entries
from memories.exceptions import PlatformError
from memories.models.change import acting
from sessions_app.compaction import closing_summary
from sessions_app.compaction.candidates import FlushCandidate, store_candidates
from sessions_app.compaction.model import EMPTY_EXTRACTION, ConversationModel, FlushExtraction, parts_of
from sessions_app.compaction.model import is_on as model_is_on
from sessions_app.history import redaction
from sessions_app.lifecycle import close, locks
from sessions_app.models import Flush, Session, SessionEvent

log = structlog.get_logger(__name__)

#: Of the schema in which bots report; fields may be added to it, and never change their meaning (E4).
VERSION = 1
NO_REPLY = "NO_REPLY"
TASK = "sessions_app.tasks.flush"


@dataclass(frozen=True)
class FlushResult:
    """What became of a flush: of each candidate, in order; None where it was left out, and why."""

    flush: Flush
    remembered: list[entries.WriteResult | None]
    reasons: list[str]


def flush_by_bot(
    session: Session,
    candidates: Sequence[FlushCandidate],
    *,
    goes_on_with: str = "",
    no_reply: bool = False,
    may_reach: Callable[[str], bool],
    now: datetime,
    actor: str,
) -> FlushResult:
    """Store what a bot took out of the open conversation. Sent twice, it is stored once.

    Raises InvalidDraft, ScopeFrozen, SessionBusy.
    """
    with acting(actor):
        locks.lock_session(session)
        stored = store_candidates(session, candidates, may_reach=may_reach, now=now, actor=actor)
        flush = record_flush(session, stored.counts, goes_on_with=goes_on_with, no_reply=no_reply, now=now, actor=actor)
    return FlushResult(flush, stored.remembered, stored.reasons)


def flush_by_platform(
    session: Session, *, now: datetime, actor: str = close.ACTOR, model: ConversationModel | None = None
) -> Flush | None:
    """Flush what was said since the last flush, where no bot does it; None: there was nothing.

    A model does it as a bot would, with nothing held while it is asked, so outside any transaction. Without one, and
    of what it gives no answer for, a summary is kept in the conversation's own words.
    """
    life, end = _cycle_of(session), session.next_position
    flush = _flush_by_model(session, model, end, now, actor) if model else None
    if model and (_cycle_of(session) != life or not unflushed_events(session, before=end)):
        return flush  # all of it; or it has ended, or another process has compacted it
    return _flush_by_extraction(session, now, actor) or flush


def flush_or_queue(session: Session, *, now: datetime, actor: str) -> tuple[Flush | None, bool]:
    """Flush at once without a model; with one, queue it: the flush, if there was one, and whether it is queued."""
    if not model_is_on():
        return flush_by_platform(session, now=now, actor=actor), False
    with acting(actor):
        return None, queue_flush(session, actor=actor)


def queue_flush(session: Session, *, actor: str) -> bool:
    """Have the worker flush a conversation with its model, when this is committed; whether there is anything to flush.

    Whoever waits for an answer does not wait for a model.
    """
    if not unflushed_events(session):
        return False
    what = (session.pk, session.conversation, session.cycle, actor)
    transaction.on_commit(partial(async_task, TASK, *what, group="mem:sessions"))
    return True


def flush_queued(session_id: int, conversation: int, cycle: int, actor: str, *, now: datetime) -> bool:
    """Flush with the model what somebody asked to be flushed, unless the conversation ended meanwhile."""
    session = Session.objects.select_related("workspace", "user_scope", "chat_scope").get(pk=session_id)
    if _cycle_of(session) != (conversation, cycle) or close.is_stale(session, now=now):
        return False
    return (
        flush_by_platform(session, now=now, actor=actor, model=ConversationModel(session.workspace, now=now))
        is not None
    )


def _flush_by_model(session: Session, model: ConversationModel, end: int, now: datetime, actor: str) -> Flush | None:
    """Piece by piece, each stored before the next is asked for: whoever goes on after a crash asks for no piece again.

    Stops where there is no answer, and before what was said meanwhile. It is shown nothing that people took out (A15),
    and what it says of something they took out while it was asked is not taken.
    """
    flush = None
    life = _cycle_of(session)
    while model.may_ask() and _cycle_of(session) == life and (events := unflushed_events(session, before=end)):
        part, flushed_to = next(parts_of(events)), session.flushed_to
        shown = redaction.redact(part, redaction.redacted_events(session))
        extraction = model.extract(session, shown, before=_known_before(session)) if shown else EMPTY_EXTRACTION
        if extraction is None:
            break
        with acting(actor):
            locks.lock_session(session)
            if (_cycle_of(session), session.flushed_to) == (life, flushed_to) and _is_unredacted(session, shown):
                flush = _store_extraction(session, extraction, part[-1].position, now=now, actor=actor)
            else:
                log.info("session_flush_discarded", session=str(session.uid), conversation=life[0])
    return flush


def _is_unredacted(session: Session, events: Sequence[SessionEvent]) -> bool:
    out = redaction.redacted_events(session)
    return not any(event.pk in out for event in events)


def _cycle_of(session: Session) -> tuple[int, int]:
    return session.conversation, session.cycle


def flush_of(session: Session) -> Flush | None:
    """Of the present cycle of the open conversation, if there was one."""
    return Flush.objects.filter(session=session, conversation=session.conversation, cycle=session.cycle).first()


def _known_before(session: Session) -> str:
    """What is known of the open conversation besides its unflushed messages: by the last flush, else by the summary."""
    out = redaction.redacted_events(session)
    flush = flush_of(session)
    if flush and has_continuation(flush, out):
        return flush.goes_on_with
    summary, _up_to = redaction.latest_summary(session, out)
    return summary.content if summary else ""


def has_continuation(flush: Flush, out: Mapping[int, int]) -> bool:
    """Whether a flush says what the session goes on with, and tells nothing that people took out."""
    return bool(flush.goes_on_with) and not redaction.reveals(out, flush.goes_on_to)


def _store_extraction(session: Session, extraction: FlushExtraction, up_to: int, *, now: datetime, actor: str) -> Flush:
    """Store what a model took out; a memory that takes nothing in is no reason to stop."""
    candidates = [
        FlushCandidate(**{**one.model_dump(), "rests_on": tuple(one.rests_on)}) for one in extraction.candidates
    ]
    counts = Counter(unfounded=extraction.unfounded) if extraction.unfounded else Counter[str]()
    try:
        with transaction.atomic():
            counts += store_candidates(
                session, candidates, may_reach=lambda _scope_key: True, now=now, actor=actor
            ).counts
    except PlatformError as error:
        log.warning("session_not_kept", session=str(session.uid), error=str(error))
    earlier = flush_of(session)  # of the messages before these
    goes_on_with = extraction.goes_on_with or (earlier.goes_on_with if earlier else "")
    return record_flush(
        session,
        counts,
        goes_on_with=goes_on_with,
        no_reply=extraction.no_reply and not goes_on_with,
        now=now,
        actor=actor,
        up_to=up_to,
        model=extraction.model,
    )


def _flush_by_extraction(session: Session, now: datetime, actor: str) -> Flush | None:
    with acting(actor):
        locks.lock_session(session)
        events = unflushed_events(session)
        if not events:
            return None
        try:
            with transaction.atomic():
                kept = closing_summary.store_summary(session, events, closing_summary.FLUSHED, now=now, actor=actor)
        except PlatformError as error:  # such as a frozen scope, which takes nothing in: that is no reason to stop
            log.warning("session_not_kept", session=str(session.uid), error=str(error))
            kept = []
        return record_flush(session, Counter(str(one.outcome) for one in kept), now=now, actor=actor)


def unflushed_events(session: Session, *, before: int | None = None) -> list[SessionEvent]:
    """The messages of the open conversation since its last flush, before that position."""
    return list(session.spoken().filter(position__gt=session.flushed_to, position__lt=before or session.next_position))


def record_flush(
    session: Session,
    counts: Mapping[str, int],
    *,
    goes_on_with: str = "",
    no_reply: bool = False,
    now: datetime,
    actor: str,
    up_to: int | None = None,
    model: str = "",
) -> Flush:
    """Write down that the conversation is flushed, up to its end unless told otherwise. Needs the session's lock."""
    here = up_to or session.next_position - 1
    columns: dict[str, Any] = {"up_to": here, "actor": actor, "no_reply": no_reply, "at": now}
    if goes_on_with or no_reply:
        columns |= {"model": model}
    if goes_on_with:
        columns |= {"goes_on_with": goes_on_with, "goes_on_to": here}
    flush, made = Flush.objects.get_or_create(
        workspace_id=session.workspace_id,
        session=session,
        conversation=session.conversation,
        cycle=session.cycle,
        defaults={**columns, "counts": dict(counts)},
    )
    if not made:
        flush.counts = dict(Counter(flush.counts) + Counter(counts))
        for name, value in columns.items():
            setattr(flush, name, value)
        flush.save(update_fields=["counts", *columns])
    session.flushed_to = flush.up_to
    session.save(update_fields=["flushed_to"])
    log.info("session_flushed", session=str(session.uid), conversation=session.conversation, by=actor, **flush.counts)
    return flush


def count_active(*, now: datetime) -> dict[str, int]:
    """How many conversations go on and have something that was not flushed."""
    waiting = Session.objects.filter(next_position__gt=F("flushed_to") + 1)
    return {"flushed": sum(not close.is_stale(session, now=now) for session in waiting.iterator())}


def flush_active(*, now: datetime, seconds: float = 20.0) -> dict[str, int]:
    """Flush every conversation that goes on and has something new, the latest first, as far as there is time (C8).

    In its own words: a model may take longer than a process that stops has.
    """
    end = time.monotonic() + seconds
    flushed = left = 0
    waiting = Session.objects.filter(next_position__gt=F("flushed_to") + 1).order_by("-last_at")
    for session in waiting.select_related("user_scope", "chat_scope"):
        if close.is_stale(session, now=now):  # older ones are as idle: the sweep closes them
            break
        try:
            flushed += time.monotonic() < end and flush_by_platform(session, now=now) is not None
            left += time.monotonic() >= end
        except PlatformError:  # somebody writes to it, who is acknowledged or not; its turns are stored either way
            left += 1
    return {"flushed": flushed, "left": left}
