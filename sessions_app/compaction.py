"""Compaction: a summary takes the place of older turns in the history (B3). No message is deleted or left unflushed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import Sum

from memories.conf import conf
from memories.language import text
from memories.language.text import cut_at_sentence
from sessions_app import conversations, summaries
from sessions_app.conversation_model import ConversationModel
from sessions_app.flush import first_part, flush_by_platform, has_continuation
from sessions_app.history import retention
from sessions_app.models import LEFT_OUT, EventKind, Flush, Session, SessionEvent
from sessions_app.search import rows

log = structlog.get_logger(__name__)
#: Plans made in all when flushes come in between; the last one is good enough.
_PLANS = 3
_READ_AT_ONCE = 100  # messages
#: The most a summary takes of a small budget: with the newest turns it stays below the share where a flush is due.
SUMMARY_SHARE = 0.2


@dataclass(frozen=True)
class Segment:
    """What one step of a compaction replaces: the messages up to position `cut`, and what they go on from.

    All without what is redacted; `redacted` are the positions of that, by id (A15).
    """

    cut: int
    later: Sequence[SessionEvent]  # what the summary does not tell yet
    before: str
    flush: Flush | None
    covered: int  # how far the continuation of the flush goes, if it has one
    redacted: dict[int, int]


@dataclass(frozen=True)
class CompactionPlan:
    """A summary, the position it covers, and who made it."""

    cut: int
    summary: str
    by: str
    model: str  # the platform's own
    flush: tuple[int, int]  # that it goes on from: its id, and how far its continuation goes
    redacted: Collection[int]


def compact(
    session_id: int,
    conversation: int,
    cycle: int,
    max_tokens: int,
    *,
    now: datetime,
    is_asked: bool = False,
    up_to: int = 0,
) -> bool:
    """Compact a conversation, unless it was compacted or ended meanwhile; whether something was done.

    1. Flush, unless what is to be replaced has been flushed.
    2. Make the summary without any lock: a model may take its time.
    3. Lock the session, check that it is where it was and nothing was redacted, and append the summary.

    Of a long conversation one part, as long as a model is shown; `up_to` is where the whole ends, once that is clear.
    The next part is queued with the summary of this one, in one transaction. What was asked for, and what is left of a
    whole, goes on from wherever another compaction has come to.
    """
    session = Session.objects.select_related("workspace", "user_scope", "chat_scope").get(pk=session_id)
    model = ConversationModel(session.workspace, now=now)
    for attempts_left in reversed(range(_PLANS)):
        if is_asked or up_to > session.compacted_to:
            cycle = session.cycle
        is_over = session.open_cycle != (conversation, cycle) or session.is_stale(now=now)
        end = 0 if is_over else up_to
        if not (is_over or up_to) and (is_asked or _is_full(session, max_tokens)):
            end = _end(session, recent_tokens=0 if is_asked else int(max_tokens * conf.SESSION_KEEP_SHARE))
        if not end:
            return False
        segment = _flushed_segment(session, end, model, now)
        plan = _plan(session, segment, max_tokens, model)
        with transaction.atomic():
            conversations.lock_session(session)
            if session.open_cycle != (conversation, cycle):
                continue
            if session.flushed_to < plan.cut:
                return False
            is_current = plan.flush == _version(session.flush_of_cycle().first())
            redacted = retention.redacted_events(session)
            if not attempts_left or (is_current and not retention.reveals(redacted, plan.cut, plan.redacted)):
                _apply(session, plan, now)
                if plan.cut < end or (up_to and _is_full(session, max_tokens)):  # else it has not grown meanwhile
                    conversations.queue_next_part(session, max_tokens, now=now, up_to=end if plan.cut < end else 0)
                return True
    return False


def queue_compaction(session: Session, *, now: datetime) -> bool:
    """Queue the compaction of a conversation as far as it can be; whether there is anything to replace."""
    if not _end(session, recent_tokens=0):
        return False
    conversations.queue_compaction_task(session, session.max_tokens(), now=now, is_asked=True)
    return True


def _flushed_segment(session: Session, end: int, model: ConversationModel, now: datetime) -> Segment:
    """The first part of what compacting up to a position would replace, once flushed.

    No more is read than that takes. It may go on from that flush, or from the bot's meanwhile.
    """
    is_going_on = True
    while True:
        redacted = retention.redacted_events(session)
        summary, up_to = retention.latest_summary(session, redacted)
        before, covered_to = summary.handed_out().content if summary else "", 0
        flush = session.flush_of_cycle().first()
        if flush and has_continuation(flush, redacted):
            before, covered_to = flush.goes_on_with, flush.goes_on_to
        part = first_part(session.spoken().filter(position__gt=max(up_to, covered_to), position__lte=end))
        cut = part[-1].position if part else end
        if not is_going_on or session.flushed_to >= cut:
            return Segment(cut, retention.redact(part, redacted), before, flush, covered_to, redacted)
        is_going_on = flush_by_platform(session, now=now, model=model) is not None


def _plan(session: Session, segment: Segment, max_tokens: int, model: ConversationModel) -> CompactionPlan:
    """The summary of a segment: the continuation of the flush, and the messages after it.

    By the model, where it gives an answer; else extractive.
    """
    flush, before, later = segment.flush, segment.before, segment.later
    limit = min(conf.HISTORY_SUMMARY_MAX_TOKENS, max(int(max_tokens * SUMMARY_SHARE), 1))
    by, model_name = conversations.ACTOR, ""
    if flush and not later:
        summary, by, model_name = cut_at_sentence(before, limit), flush.actor, flush.model
    elif new_summary := model.summarise(session, later, limit, before=before):
        summary, model_name = new_summary.text, new_summary.model
    else:
        summary = summaries.summarise(summaries.turns_of(later), limit, before=before, names=session.is_group)
        by = flush.actor if flush and segment.covered else by
    return CompactionPlan(segment.cut, summary, by, model_name, _version(flush), segment.redacted.keys())


def _version(flush: Flush | None) -> tuple[int, int]:
    """Which flush it is, and how far its continuation goes."""
    return (flush.pk, flush.goes_on_to) if flush else (0, 0)


def _is_full(session: Session, max_tokens: int) -> bool:
    return session.tokens >= max_tokens * conf.SESSION_COMPACT_SHARE


def _end(session: Session, *, recent_tokens: int) -> int:
    """The position up to which messages are older; the newest turns stay, the last one whatever its length.

    Read from the newest on, without their words, until it is found; 0: those are all there is.
    """
    _summary, up_to = retention.latest_summary(session, retention.redacted_events(session))
    newest_first = session.spoken().filter(position__gt=up_to).order_by("-position")
    tokens = end = 0
    stays, later, later_tokens = False, None, 0  # the message heard after this one, and the tokens from there on
    before_later = 0  # the position just before it
    for event in newest_first.only("position", "kind", "sender_id", "tokens").iterator(chunk_size=_READ_AT_ONCE):
        before_later = before_later or event.position
        if event.kind in summaries.HEARD:
            if later and summaries.begins(event, later):
                if stays and later_tokens > recent_tokens:
                    return end
                stays, end = True, before_later
            later, later_tokens, before_later = event, tokens + event.tokens, 0
        tokens += event.tokens
    return end if stays and later_tokens > recent_tokens else 0


def _apply(session: Session, plan: CompactionPlan, now: datetime) -> None:
    data = {"covers_to": plan.cut, "cycle": session.cycle, "by": plan.by, "model": plan.model}
    summary = SessionEvent.objects.create(
        workspace_id=session.workspace_id,
        session=session,
        conversation=session.conversation,
        position=session.next_position,
        kind=EventKind.SUMMARY,
        content=plan.summary,
        data=data | ({LEFT_OUT: sorted(plan.redacted)} if plan.redacted else {}),
        tokens=text.count_tokens(plan.summary),
        at=now,
    )
    rows.write([(summary.pk, summary.kind, summary.content)])
    later = session.spoken().filter(position__gt=plan.cut).aggregate(tokens=Sum("tokens", default=0))["tokens"]
    before, session.tokens = session.tokens, later + summary.tokens
    session.compacted_to = plan.cut
    session.next_position += 1
    session.cycle += 1
    session.flush_asked_at = session.compaction_asked_at = None
    session.save(
        update_fields=["tokens", "compacted_to", "next_position", "cycle", "flush_asked_at", "compaction_asked_at"]
    )
    log.info("session_compacted", session=str(session.uid), cycle=session.cycle - 1, was=before, now=session.tokens)
