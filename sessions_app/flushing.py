"""Before a conversation is shortened, what must not be lost is taken out of it (C7, E4).

A flush yields two things: what the session goes on with, and candidates for memory. The candidates are stored in the
scope their session means, by the rules of D5 and A3; the flush itself is recorded, once a compaction cycle.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F

from memories import store
from memories.choices import EntryType, Source
from memories.drafts import Draft
from memories.exceptions import InvalidDraft, PlatformError
from memories.models import Scope
from memories.models.change import acting
from sessions_app import closing, keepsakes, locks
from sessions_app.choices import SPOKEN, EventKind
from sessions_app.models import Flush, Session, SessionEvent

log = structlog.get_logger(__name__)

#: Of the schema in which bots report; fields may be added to it, and never change their meaning (E4).
VERSION = 1
NO_REPLY = "NO_REPLY"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What a bot says is worth remembering, and the positions of the messages it rests on."""

    content: str
    type: str = EntryType.FACT
    category: str = ""
    importance: float | None = None
    project: str = ""
    topic: str = ""
    rests_on: tuple[int, ...] = ()
    slots: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Flushed:
    """What became of a flush: of each candidate, in order; None where it was left out, and why."""

    flush: Flush
    remembered: list[store.Remembered | None]
    reasons: list[str]


def flush_by_bot(
    session: Session,
    candidates: Sequence[Candidate],
    *,
    goes_on_with: str = "",
    no_reply: bool = False,
    may_reach: Callable[[str], bool],
    now: datetime,
    actor: str,
) -> Flushed:
    """Store what a bot took out of the open conversation. Sent twice, it is stored once.

    Raises InvalidDraft, ScopeFrozen, SessionBusy.
    """
    with acting(actor):
        locks.hold(session)
        events = _events_at(session, candidates)
        scopes = [_scope_for(session, candidate, events) for candidate in candidates]
        reasons = [_why_not(scope, may_reach) for scope in scopes]
        drafts = [
            _draft(session, candidate, scope, events, now)
            for candidate, scope, reason in zip(candidates, scopes, reasons, strict=True)
            if scope is not None and not reason
        ]
        stored = iter(store.remember_many(drafts, now=now, actor=actor))
        remembered = [None if reason else next(stored) for reason in reasons]
        counts = Counter([*(str(one.outcome) for one in remembered if one), *(filter(None, reasons))])
        flush = record(session, counts, goes_on_with=goes_on_with, no_reply=no_reply, now=now, actor=actor)
    return Flushed(flush, remembered, reasons)


def flush_by_platform(session: Session, *, now: datetime, actor: str = closing.ACTOR) -> Flush | None:
    """Keep a summary of what was said since the last flush, where no bot says what to keep; None: there was nothing."""
    with acting(actor):
        locks.hold(session)
        events = unflushed(session)
        if not events:
            return None
        try:
            with transaction.atomic():
                kept = keepsakes.keep(session, events, keepsakes.FLUSHED, now=now, actor=actor)
        except PlatformError as error:  # such as a frozen scope, which takes nothing in: that is no reason to stop
            log.warning("session_not_kept", session=str(session.uid), error=str(error))
            kept = []
        return record(session, Counter(str(one.outcome) for one in kept), now=now, actor=actor)


def unflushed(session: Session) -> list[SessionEvent]:
    """What was said in the open conversation since it was last flushed."""
    said = SessionEvent.objects.filter(session=session, conversation=session.conversation, kind__in=SPOKEN)
    return list(said.filter(position__gt=session.flushed_to).order_by("position"))


def record(
    session: Session,
    counts: Mapping[str, int],
    *,
    goes_on_with: str = "",
    no_reply: bool = False,
    now: datetime,
    actor: str,
) -> Flush:
    """Write down that the conversation is flushed up to here. For whoever stands in line."""
    here = session.next_position - 1
    told: dict[str, Any] = {"up_to": here, "actor": actor, "no_reply": no_reply, "at": now}
    if goes_on_with:
        told |= {"goes_on_with": goes_on_with, "goes_on_to": here}
    flush, made = Flush.objects.get_or_create(
        workspace_id=session.workspace_id,
        session=session,
        conversation=session.conversation,
        cycle=session.cycle,
        defaults={**told, "counts": dict(counts)},
    )
    if not made:
        flush.counts = dict(Counter(flush.counts) + Counter(counts))
        for name, value in told.items():
            setattr(flush, name, value)
        flush.save(update_fields=["counts", *told])
    session.flushed_to = flush.up_to
    session.save(update_fields=["flushed_to"])
    log.info("session_flushed", session=str(session.uid), conversation=session.conversation, by=actor, **flush.counts)
    return flush


def _events_at(session: Session, candidates: Sequence[Candidate]) -> dict[int, SessionEvent]:
    """The messages the candidates rest on, by position. Raises InvalidDraft for one that is not there."""
    wanted = {position for candidate in candidates for position in candidate.rests_on}
    said = SessionEvent.objects.filter(session=session, conversation=session.conversation, kind__in=SPOKEN)
    found = {event.position: event for event in said.filter(position__in=wanted)}
    for n, candidate in enumerate(candidates):
        missing = [position for position in candidate.rests_on if position not in found]
        if missing:
            said_of = f"The open conversation has no message at position {missing[0]}."
            raise InvalidDraft(said_of, field=f"candidates.{n}.rests_on")
    return found


def _scope_for(session: Session, candidate: Candidate, events: dict[int, SessionEvent]) -> Scope | None:
    """Whose memory a candidate becomes: the peer's; in a group that of the one speaker it rests on, else the chat's."""
    if not session.is_group:
        return session.user_scope
    said = [events[position] for position in candidate.rests_on]
    speakers = {event.sender_id for event in said if event.kind == EventKind.USER}
    if len(speakers) == 1 and (speaker := speakers.pop()):
        return keepsakes.scope_of_speaker(session, speaker)
    return session.chat_scope if session.channel_rules().capture_group_memory else None


def _why_not(scope: Scope | None, may_reach: Callable[[str], bool]) -> str:
    if scope is None:
        return "no_scope"
    return "" if may_reach(scope.key) else "out_of_reach"


def _draft(
    session: Session, candidate: Candidate, scope: Scope, events: dict[int, SessionEvent], now: datetime
) -> Draft:
    said = [events[position] for position in candidate.rests_on]
    senders = {event.sender_id for event in said if event.sender_id} or {session.peer}
    return Draft(
        scope=scope,
        type=candidate.type,
        tier=2 if candidate.type == EntryType.FACT else None,
        category=candidate.category,
        importance=candidate.importance,
        project=candidate.project,
        topic=candidate.topic,
        content=candidate.content,
        source=Source.EXTRACTION,
        at=max((event.at for event in said), default=now),
        slots={**candidate.slots, **keepsakes.slots_of(session, senders.pop() if len(senders) == 1 else "")},
        chats=keepsakes.chats_of(session, scope),
        origins=tuple(session.origin_of(event) for event in said),
    )


def flush_active(*, now: datetime, seconds: float = 20.0) -> dict[str, int]:
    """Flush every conversation that goes on and has something new, the latest first, as far as there is time (C8)."""
    end = time.monotonic() + seconds
    flushed = left = 0
    waiting = Session.objects.filter(next_position__gt=F("flushed_to") + 1).order_by("-last_at")
    for session in waiting.select_related("user_scope", "chat_scope"):
        if closing.is_stale(session, now=now):  # older ones are as idle: the sweep closes them
            break
        try:
            flushed += time.monotonic() < end and flush_by_platform(session, now=now) is not None
            left += time.monotonic() >= end
        except PlatformError:  # somebody writes to it, who is acknowledged or not; its turns are stored either way
            left += 1
    return {"flushed": flushed, "left": left}
