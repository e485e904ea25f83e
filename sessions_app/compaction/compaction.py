"""Older turns give way to a summary in what is handed out (B3). Nothing is deleted, and nothing is lost unflushed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog
from django.db import transaction

from memories.conf import conf
from memories.language import text
from memories.language.sentences import cut_at_sentence
from sessions_app.choices import EventKind
from sessions_app.compaction import flush as flushing
from sessions_app.compaction import summary as summaries
from sessions_app.compaction.model import ConversationModel
from sessions_app.history import redaction
from sessions_app.lifecycle import budget, close, locks
from sessions_app.models import Flush, Session, SessionEvent
from sessions_app.search import rows

log = structlog.get_logger(__name__)
#: A plan that a flush came in between of is made again, at most so often in all; the last one is good enough.
_PLANS = 3
#: Of a small budget a summary takes no more: with the newest turns it stays below the line where a flush is asked for.
SUMMARY_SHARE = 0.2


@dataclass(frozen=True)
class Segment:
    """What a compaction replaces: the messages up to position `cut`, and the summary before them.

    Both without what is redacted (A15); `out` are the positions of that, by id.
    """

    cut: int
    older: Sequence[SessionEvent]
    before: str
    out: dict[int, int]


@dataclass(frozen=True)
class CompactionPlan:
    """Up to where a summary stands in for what was said, that summary, and who made it."""

    cut: int
    summary: str
    by: str
    model: str = ""  # the platform's own, where it was asked
    flush: tuple[int, int] = (0, 0)  # it goes on from: that one, as far as it knew
    left_out: Collection[int] = ()


def compact(
    session_id: int, conversation: int, cycle: int, max_tokens: int, *, now: datetime, is_asked: bool = False
) -> bool:
    """Compact a conversation unless that was done, or it ended, meanwhile; whether it was done.

    1. Flush, unless what is to be replaced has been flushed.
    2. Make the summary, with nothing held: here a model may take its time.
    3. Hold the session, see that it still is where it was and nothing was taken out, and append the summary.
    """
    session = Session.objects.select_related("workspace", "user_scope", "chat_scope").get(pk=session_id)
    model = ConversationModel(session.workspace, now=now)
    for left in reversed(range(_PLANS)):
        if not _is_at(session, conversation, cycle) or close.is_stale(session, now=now):
            return False
        if not is_asked and session.tokens < max_tokens * conf.SESSION_COMPACT_SHARE:
            return False
        segment = segment_of(session, kept=0 if is_asked else int(max_tokens * conf.SESSION_KEEP_SHARE))
        if segment is None:
            return False
        if session.flushed_to < segment.cut:
            flushing.flush_by_platform(session, now=now, model=model)
        plan = replace(plan_of(session, segment, max_tokens, model), left_out=segment.out.keys())
        with transaction.atomic():
            locks.lock_session(session)
            if not _is_at(session, conversation, cycle) or session.flushed_to < plan.cut:
                return False
            if not left or (plan.flush == _known(flushing.flush_of(session)) and _reveals_nothing(session, plan)):
                return _apply(session, plan, now)
    return False


def queue_compaction(session: Session, *, now: datetime) -> bool:
    """Have the worker compact a conversation as far as it can be; whether there is anything to replace."""
    limit = session.max_tokens()
    if segment_of(session, kept=0) is None:
        return False
    budget.ask_for_compaction(session, limit, now=now, is_asked=True)
    return True


def _is_at(session: Session, conversation: int, cycle: int) -> bool:
    return (session.conversation, session.cycle) == (conversation, cycle)


def segment_of(session: Session, *, kept: int) -> Segment | None:
    """What compacting would replace; None when the newest turns, which stay up to `kept` tokens, are all there is."""
    out = redaction.redacted_events(session)
    summary, up_to = redaction.latest_summary(session, out)
    spoken = list(session.spoken().filter(position__gt=up_to))
    cut = _cut(spoken, kept)
    older = redaction.redact((event for event in spoken if event.position <= cut), out)
    return Segment(cut, older, summary.content if summary else "", out) if cut else None


def _reveals_nothing(session: Session, plan: CompactionPlan) -> bool:
    return not redaction.reveals(redaction.redacted_events(session), plan.cut, plan.left_out)


def plan_of(session: Session, segment: Segment, max_tokens: int, model: ConversationModel) -> CompactionPlan:
    """The summary of a segment: what the flush says the session goes on with, and what was said after that.

    In the words of the model, where it gives an answer; else in those of the conversation.
    """
    flush = flushing.flush_of(session)
    goes_on = flush is not None and flushing.has_continuation(flush, segment.out)
    before, known = (flush.goes_on_with, flush.goes_on_to) if flush and goes_on else (segment.before, 0)
    limit = min(conf.HISTORY_SUMMARY_MAX_TOKENS, max(int(max_tokens * SUMMARY_SHARE), 1))
    later = [event for event in segment.older if event.position > known]
    if flush and not later:
        return CompactionPlan(segment.cut, cut_at_sentence(before, limit), flush.actor, flush.model, _known(flush))
    if written := model.summarise(session, later, limit, before=before):
        return CompactionPlan(segment.cut, written.text, close.ACTOR, written.model, _known(flush))
    turns = summaries.turns_of(later)
    summary = summaries.summarise(turns, limit, before=before, names=session.is_group)
    return CompactionPlan(segment.cut, summary, flush.actor if flush and known else close.ACTOR, flush=_known(flush))


def _known(flush: Flush | None) -> tuple[int, int]:
    """Which flush a summary goes on from, and how far that one knew."""
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


def _apply(session: Session, plan: CompactionPlan, now: datetime) -> bool:
    summary = SessionEvent.objects.create(
        workspace_id=session.workspace_id,
        session=session,
        conversation=session.conversation,
        position=session.next_position,
        kind=EventKind.SUMMARY,
        content=plan.summary,
        data={
            **{"covers_to": plan.cut, "cycle": session.cycle, "by": plan.by, "model": plan.model},
            **({"left_out": sorted(plan.left_out)} if plan.left_out else {}),
        },
        tokens=text.count_tokens(plan.summary),
        at=now,
    )
    rows.write([summary])
    raw = sum(session.spoken().filter(position__gt=plan.cut).values_list("tokens", flat=True))
    before = session.tokens
    session.tokens = raw + summary.tokens
    session.compacted_to = plan.cut
    session.next_position += 1
    session.cycle += 1
    session.flush_asked_at = session.compaction_asked_at = None
    session.save(
        update_fields=["tokens", "compacted_to", "next_position", "cycle", "flush_asked_at", "compaction_asked_at"]
    )
    log.info("session_compacted", session=str(session.uid), cycle=session.cycle - 1, was=before, now=session.tokens)
    return True
