"""Compaction: a summary takes the place of older turns in the history (B3). No message is deleted or left unflushed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog
from django.db import transaction

from memories.conf import conf
from memories.language import text
from memories.language.sentences import cut_at_sentence
from sessions_app.choices import EventKind
from sessions_app.compaction import summary as summaries
from sessions_app.compaction.flush import flush_by_platform, has_continuation
from sessions_app.compaction.model import ConversationModel
from sessions_app.history import redaction
from sessions_app.lifecycle import budget, close, locks
from sessions_app.models import Flush, Session, SessionEvent
from sessions_app.search import rows

log = structlog.get_logger(__name__)
#: Plans made in all when flushes come in between; the last one is good enough.
_PLANS = 3
#: The most a summary takes of a small budget: with the newest turns it stays below the share where a flush is due.
SUMMARY_SHARE = 0.2


@dataclass(frozen=True)
class Segment:
    """What a compaction replaces: the messages up to position `cut`, and the summary before them.

    Both without what is redacted; `redacted` are the positions of that, by id (A15).
    """

    cut: int
    older: Sequence[SessionEvent]
    before: str
    redacted: dict[int, int]


@dataclass(frozen=True)
class CompactionPlan:
    """A summary, the position it covers, and who made it."""

    cut: int
    summary: str
    by: str
    model: str = ""  # the platform's own
    flush: tuple[int, int] = (0, 0)  # that it goes on from: its id, and how far its continuation goes
    redacted: Collection[int] = ()


def compact(
    session_id: int, conversation: int, cycle: int, max_tokens: int, *, now: datetime, is_asked: bool = False
) -> bool:
    """Compact a conversation, unless it was compacted or ended meanwhile; whether it was done.

    1. Flush, unless what is to be replaced has been flushed.
    2. Make the summary without any lock: a model may take its time.
    3. Lock the session, check that it is where it was and nothing was redacted, and append the summary.
    """
    session = Session.objects.select_related("workspace", "user_scope", "chat_scope").get(pk=session_id)
    model = ConversationModel(session.workspace, now=now)
    for left in reversed(range(_PLANS)):
        if session.open_cycle != (conversation, cycle) or close.is_stale(session, now=now):
            return False
        if not is_asked and session.tokens < max_tokens * conf.SESSION_COMPACT_SHARE:
            return False
        segment = _segment(session, kept=0 if is_asked else int(max_tokens * conf.SESSION_KEEP_SHARE))
        if segment is None:
            return False
        while session.flushed_to < segment.cut and flush_by_platform(session, now=now, model=model):
            pass  # part by part
        plan = replace(_plan(session, segment, max_tokens, model), redacted=segment.redacted.keys())
        with transaction.atomic():
            locks.lock_session(session)
            if session.open_cycle != (conversation, cycle) or session.flushed_to < plan.cut:
                return False
            is_current = plan.flush == _version(session.flush_of_cycle().first())
            redacted = redaction.redacted_events(session)
            if not left or (is_current and not redaction.reveals(redacted, plan.cut, plan.redacted)):
                _apply(session, plan, now)
                return True
    return False


def queue_compaction(session: Session, *, now: datetime) -> bool:
    """Queue the compaction of a conversation as far as it can be; whether there is anything to replace."""
    if _segment(session, kept=0) is None:
        return False
    budget.queue_compaction_task(session, session.max_tokens(), now=now, is_asked=True)
    return True


def _segment(session: Session, *, kept: int) -> Segment | None:
    """What compacting would replace; None when the newest turns, which stay up to `kept` tokens, are all there is."""
    redacted = redaction.redacted_events(session)
    summary, up_to = redaction.latest_summary(session, redacted)
    spoken = [event.handed_out() for event in session.spoken().filter(position__gt=up_to)]
    cut = _cut(spoken, kept)
    older = redaction.redact((event for event in spoken if event.position <= cut), redacted)
    return Segment(cut, older, summary.handed_out().content if summary else "", redacted) if cut else None


def _plan(session: Session, segment: Segment, max_tokens: int, model: ConversationModel) -> CompactionPlan:
    """The summary of a segment: the continuation of the flush, and the messages after it.

    By the model, where it gives an answer; else extractive.
    """
    flush = session.flush_of_cycle().first()
    before, covered = segment.before, 0
    if flush and has_continuation(flush, segment.redacted):
        before, covered = flush.goes_on_with, flush.goes_on_to
    limit = min(conf.HISTORY_SUMMARY_MAX_TOKENS, max(int(max_tokens * SUMMARY_SHARE), 1))
    later = [event for event in segment.older if event.position > covered]
    if flush and not later:
        return CompactionPlan(segment.cut, cut_at_sentence(before, limit), flush.actor, flush.model, _version(flush))
    if written := model.summarise(session, later, limit, before=before):
        return CompactionPlan(segment.cut, written.text, close.ACTOR, written.model, _version(flush))
    summary = summaries.summarise(summaries.turns_of(later), limit, before=before, names=session.is_group)
    return CompactionPlan(segment.cut, summary, flush.actor if flush and covered else close.ACTOR, "", _version(flush))


def _version(flush: Flush | None) -> tuple[int, int]:
    """Which flush it is, and how far its continuation goes."""
    return (flush.pk, flush.goes_on_to) if flush else (0, 0)


def _cut(spoken: list[SessionEvent], kept: int) -> int:
    """The position up to which messages are older; the newest turns stay, the last one whatever its length."""
    begins = {turn.events[0].position for turn in summaries.turns_of(spoken)}
    used, stay = 0, len(spoken)
    for n in reversed(range(len(spoken))):
        used += spoken[n].tokens
        if spoken[n].position in begins:
            if stay < len(spoken) and used > kept:
                return spoken[stay - 1].position
            stay = n
    return 0


def _apply(session: Session, plan: CompactionPlan, now: datetime) -> None:
    data = {"covers_to": plan.cut, "cycle": session.cycle, "by": plan.by, "model": plan.model}
    summary = SessionEvent.objects.create(
        workspace_id=session.workspace_id,
        session=session,
        conversation=session.conversation,
        position=session.next_position,
        kind=EventKind.SUMMARY,
        content=plan.summary,
        data=data | ({"left_out": sorted(plan.redacted)} if plan.redacted else {}),
        tokens=text.count_tokens(plan.summary),
        at=now,
    )
    rows.write([summary])
    later = session.spoken().filter(position__gt=plan.cut).values_list("tokens", flat=True)
    before, session.tokens = session.tokens, sum(later) + summary.tokens
    session.compacted_to = plan.cut
    session.next_position += 1
    session.cycle += 1
    session.flush_asked_at = session.compaction_asked_at = None
    session.save(
        update_fields=["tokens", "compacted_to", "next_position", "cycle", "flush_asked_at", "compaction_asked_at"]
    )
    log.info("session_compacted", session=str(session.uid), cycle=session.cycle - 1, was=before, now=session.tokens)
