"""Older turns give way to a summary in what is handed out (B3). Nothing is deleted, and nothing is lost unflushed."""

from dataclasses import dataclass
from datetime import datetime

import structlog
from django.db import transaction

from memories import text
from memories.conf import conf
from sessions_app import budget, closing, flushing, locks, summaries
from sessions_app.choices import SPOKEN, EventKind
from sessions_app.models import Flush, Session, SessionEvent

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Plan:
    """Up to where a summary stands in for what was said, and that summary."""

    cut: int
    summary: str
    by: str


def compact(
    session_id: int, conversation: int, cycle: int, max_tokens: int, *, now: datetime, is_asked: bool = False
) -> bool:
    """Compact a conversation unless that was done, or it ended, meanwhile; whether it was done.

    1. Flush, unless what is to be replaced has been flushed.
    2. Make the summary, with nothing held: here a model may take its time.
    3. Hold the session, see that it still is where it was, and append the summary.
    """
    session = Session.objects.select_related("user_scope", "chat_scope").get(pk=session_id)
    if not _is_at(session, conversation, cycle) or closing.is_stale(session, now=now):
        return False
    if not is_asked and session.tokens < max_tokens * conf.SESSION_COMPACT_SHARE:
        return False
    plan = plan_of(session, max_tokens, kept=0 if is_asked else int(max_tokens * conf.SESSION_KEEP_SHARE))
    if plan is None:
        return False
    if session.flushed_to < plan.cut:
        flushing.flush_by_platform(session, now=now)
    with transaction.atomic():
        locks.hold(session)
        is_there = _is_at(session, conversation, cycle) and session.flushed_to >= plan.cut
        return is_there and _apply(session, plan, now)


def ask(session: Session, *, now: datetime) -> bool:
    """Have the worker compact a conversation as far as it can be; whether there is anything to replace."""
    limit = session.max_tokens()
    if plan_of(session, limit, kept=0) is None:
        return False
    budget.ask_for_compaction(session, limit, now=now, is_asked=True)
    return True


def _is_at(session: Session, conversation: int, cycle: int) -> bool:
    return (session.conversation, session.cycle) == (conversation, cycle)


def plan_of(session: Session, max_tokens: int, *, kept: int) -> Plan | None:
    """What compacting would replace; None when the newest turns, which stay up to `kept` tokens, are all there is."""
    said = SessionEvent.objects.filter(session=session, conversation=session.conversation)
    found = list(said.filter(position__gt=session.compacted_to).order_by("position"))
    spoken = [event for event in found if event.kind in SPOKEN]
    before = [event.content for event in found if event.kind == EventKind.SUMMARY][-1:]
    cut = _cut(spoken, kept)
    if not cut:
        return None
    here = {"session": session, "conversation": session.conversation, "cycle": session.cycle}
    flush = Flush.objects.filter(**here).first()
    limit = min(conf.HISTORY_SUMMARY_MAX_TOKENS, max(max_tokens // 2, 1))
    older = [event for event in spoken if event.position <= cut]
    if flush and flush.goes_on_with:
        later = [event for event in older if event.position > flush.goes_on_to]
        return Plan(cut, _joined(flush.goes_on_with, later, limit), flush.actor)
    return Plan(cut, summaries.summarise(summaries.turns_of(older), limit, before="".join(before)), closing.ACTOR)


def _joined(goes_on_with: str, later: list[SessionEvent], limit: int) -> str:
    """What the bot said the session goes on with, and what was said after that."""
    if not later:
        return text.first_tokens(goes_on_with, limit)
    return summaries.summarise(summaries.turns_of(later), limit, before=goes_on_with)


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


def _apply(session: Session, plan: Plan, now: datetime) -> bool:
    summary = SessionEvent.objects.create(
        workspace_id=session.workspace_id,
        session=session,
        conversation=session.conversation,
        position=session.next_position,
        kind=EventKind.SUMMARY,
        content=plan.summary,
        data={"covers_to": plan.cut, "cycle": session.cycle, "by": plan.by},
        tokens=text.count_tokens(plan.summary),
        at=now,
    )
    said = SessionEvent.objects.filter(session=session, conversation=session.conversation, kind__in=SPOKEN)
    raw = sum(said.filter(position__gt=plan.cut).values_list("tokens", flat=True))
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
