"""A flush: before a conversation is shortened, what must not be lost is extracted from it (C7, E4).

It yields a continuation, which the session goes on with, and candidates for memory, which are stored in the scope their
session means (D5, A3). The flush itself is recorded, once a compaction cycle.
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
from django.db.models import F, QuerySet
from django_q.tasks import async_task

from memories import entries, llm
from memories.choices import EntryType, Reading, Source
from memories.conf import conf
from memories.consolidation import statements
from memories.consolidation.statements import Refused
from memories.entries.draft import Draft, QuotedWords
from memories.exceptions import ConversationEnded, InvalidDraft, PlatformError
from memories.models import Scope
from memories.models.change import acting
from sessions_app import conversations, summaries
from sessions_app.conversation_model import (
    EMPTY_EXTRACTION,
    CheckedCandidate,
    ConversationModel,
    FlushCandidate,
    FlushExtraction,
    Transcript,
    parts_of,
)
from sessions_app.history import retention
from sessions_app.models import EventKind, Flush, Session, SessionEvent

log = structlog.get_logger(__name__)

#: Of the schema in which bots report; fields may be added to it, and never change their meaning (E4).
VERSION = 1
NO_REPLY = "NO_REPLY"
TASK = "sessions_app.tasks.flush"
_READ_AT_ONCE = 100  # messages
NAME = "flush"
#: Why a candidate was skipped that nothing is wrong with.
_SKIPPED = frozenset({"no_scope", "out_of_reach", "taken_out"})


@dataclass(frozen=True)
class CandidateResults:
    """The result of each candidate, in order; None for a skipped one, with the reason."""

    written: list[entries.WriteResult | None]
    reasons: list[str]
    refused: int = 0

    @property
    def counts(self) -> Counter[str]:
        skips = Counter(reason for reason in self.reasons if reason in _SKIPPED)
        return Counter(str(result.outcome) for result in self.written if result) + skips + Counter(refused=self.refused)


def store_candidates(
    session: Session,
    candidates: Sequence[CheckedCandidate],
    *,
    may_reach: Callable[[str], bool],
    now: datetime,
    actor: str,
    model: str = "",
) -> CandidateResults:
    """Store each candidate in the scope its session means, if it means one. Needs the session's lock.

    Candidates that rest on a redacted message are skipped (A15); the scopes are locked, so that nobody redacts
    meanwhile. What was refused is recorded, as of `model` or else of whoever reported it. Raises InvalidDraft,
    ScopeFrozen.
    """
    events = _events_at(session, [checked.candidate for checked in candidates])
    resting = [[events[position] for position in checked.candidate.rests_on] for checked in candidates]
    scopes = [_scope_for(session, some) for some in resting]
    reasons = ["no_scope" if scope is None else "" if may_reach(scope.key) else "out_of_reach" for scope in scopes]
    with transaction.atomic():
        reached_scopes = [scope for scope, reason in zip(scopes, reasons, strict=True) if scope and not reason]
        locked_scopes = entries.lock_scopes(reached_scopes)
        redacted = retention.redacted_events(session)
        drafts: list[Draft] = []
        refused: list[Refused] = []
        for n, (checked, scope, some) in enumerate(zip(candidates, scopes, resting, strict=True)):
            if scope is None or reasons[n]:
                continue
            if any(event.pk in redacted for event in some):
                reasons[n] = "taken_out"
            elif checked.refusal:
                reasons[n] = str(checked.refusal)
                refused.append(
                    Refused(
                        scope=scope,
                        content=checked.content,
                        quote=" … ".join(checked.candidate.quote or [quote.text for quote in checked.quotes]),
                        reason=checked.refusal,
                        origins=tuple(session.origin_of(event) for event in some),
                    )
                )
            else:
                drafts.append(_draft(session, checked, scope, some, now))
        run = f"{NAME}:{session.uid}:{session.conversation}"
        statements.record_refused(
            refused, workspace_id=session.workspace_id, model=model or actor, purpose=NAME, run=run, now=now
        )
        results = iter(entries.remember_many(drafts, now=now, actor=actor, locked=locked_scopes))
    return CandidateResults([None if reason else next(results) for reason in reasons], reasons, len(refused))


def _events_at(session: Session, candidates: Sequence[FlushCandidate]) -> dict[int, SessionEvent]:
    """The messages the candidates rest on, by position. Raises InvalidDraft for one that is not there."""
    positions = {position for candidate in candidates for position in candidate.rests_on}
    events = {event.position: event for event in session.spoken().filter(position__in=positions)}
    for n, candidate in enumerate(candidates):
        missing = [position for position in candidate.rests_on if position not in events]
        if missing:
            problem = f"The open conversation has no message at position {missing[0]}."
            raise InvalidDraft(problem, field=f"candidates.{n}.rests_on")
    return events


def _scope_for(session: Session, resting: Sequence[SessionEvent]) -> Scope | None:
    """The peer's scope; in a group that of the only speaker of these messages, else the chat's."""
    if not session.is_group:
        return session.user_scope
    speakers = {event.sender_id for event in resting if event.kind == EventKind.USER}
    if len(speakers) == 1 and (speaker := speakers.pop()):
        return summaries.scope_of_speaker(session, speaker)
    return session.chat_scope if session.channel_rules().capture_group_memory else None


def _draft(
    session: Session, checked: CheckedCandidate, scope: Scope, resting: Sequence[SessionEvent], now: datetime
) -> Draft:
    candidate = checked.candidate
    senders = {event.sender_id for event in resting if event.sender_id} or {session.peer}
    is_fact = candidate.type == EntryType.FACT
    events = {str(event.position): event for event in resting}
    words = (
        QuotedWords(
            origin=session.origin_of(events[quote.message.id]),
            start=quote.span.start,
            end=quote.span.end,
            quote=quote.text,
            at=events[quote.message.id].at,
            speaker=quote.message.speaker,
        )
        for quote in checked.quotes
    )
    return Draft(
        scope=scope,
        type=candidate.type,
        tier=2 if is_fact else None,
        category=candidate.category,
        importance=candidate.importance,
        project=candidate.project,
        topic=candidate.topic,
        content=candidate.content,
        source=Source.EXTRACTION,
        at=max((event.at for event in resting), default=now),
        slots={**candidate.slots, **summaries.slots_of(session, senders.pop() if len(senders) == 1 else "")},
        chats=summaries.chats_of(session, scope),
        origins=tuple(session.origin_of(event) for event in resting),
        subject=checked.subject,
        **summaries.trust_of(scope, resting, is_about_self=not checked.subject and len(senders) == 1),
        verification=checked.verification,
        evidence=tuple(words) if is_fact else (),
    )


def flush_by_bot(
    session: Session,
    candidates: Sequence[FlushCandidate],
    *,
    goes_on_with: str = "",
    no_reply: bool = False,
    may_reach: Callable[[str], bool],
    conversation: int | None = None,
    now: datetime,
    actor: str,
) -> tuple[Flush, CandidateResults]:
    """Store a bot's report on the open conversation; one that is sent twice is stored once.

    A report on the conversation before, which says so or comes while nothing is said in this one, is none of it.
    Raises InvalidDraft, ScopeFrozen, SessionBusy, ConversationEnded.
    """
    with acting(actor):
        conversations.lock_session(session)
        spoken = list(session.spoken())
        if conversation not in (None, session.conversation) or not spoken:
            raise ConversationEnded
        # The candidates of a bot, checked against the open conversation as far as it may be used
        events = (
            retention.redact((event.handed_out() for event in spoken), retention.redacted_events(session))
            if candidates
            else []
        )
        transcript = Transcript(session, events, _continuation(session))
        checked = [transcript.check(candidate, must_quote=False) for candidate in candidates]
        for statement in checked:
            if statement.refusal is None:
                statement.judge(Reading.UNSURE)
        results = store_candidates(session, checked, may_reach=may_reach, now=now, actor=actor)
        flush = _record(session, results.counts, goes_on_with=goes_on_with, no_reply=no_reply, now=now, actor=actor)
        read = {session.origin_of(event): event.at for event in spoken}
        entries.mark_read(session.workspace_id, read, now=now)  # the bot's model has
    return flush, results


def flush_by_platform(
    session: Session, *, now: datetime, actor: str = conversations.ACTOR, model: ConversationModel | None = None
) -> Flush | None:
    """Flush the next part of the messages since the last flush; None: there were none.

    A model does it as a bot would, asked outside any transaction, and goes on as far as it answers. Without one, and of
    a part it gives no answer for, a closing summary is stored. Of a long conversation a part is left: call it again.
    """
    cycle, end = session.open_cycle, session.next_position
    flush = _flush_by_model(session, model, end, now, actor) if model else None
    if model and (session.open_cycle != cycle or not unflushed_events(session, before=end).exists()):
        return flush  # all is flushed; or the conversation has ended, or another process has compacted it
    with acting(actor):
        conversations.lock_session(session)
        part = first_part(unflushed_events(session))
        if not part:
            return flush
        counts = _unless_refused(session, lambda: _store_summary(session, part, now, actor))
        up_to = part[-1].position
        is_last = not unflushed_events(session).filter(position__gt=up_to).exists()
        return _record(session, counts, now=now, actor=actor, up_to=None if is_last else up_to)


def flush_or_queue(
    session: Session, *, conversation: int | None = None, now: datetime, actor: str
) -> tuple[Flush | None, bool]:
    """Without a model flush a part at once and queue the rest; with one, queue all of it.

    The flush, if there was one, and whether something is queued. Raises ConversationEnded where another is meant.
    """
    if conversation not in (None, session.conversation):
        raise ConversationEnded
    flush = None if llm.is_available() else flush_by_platform(session, now=now, actor=actor)
    with acting(actor):
        return flush, queue_flush(session, actor=actor)


def queue_flush(session: Session, *, actor: str, by_model: bool = True) -> bool:
    """Queue a flush for when the transaction commits; whether there is anything to flush."""
    if not unflushed_events(session).exists():
        return False
    task = partial(async_task, TASK, session.pk, *session.open_cycle, actor, by_model, group="mem:sessions")
    transaction.on_commit(task)
    return True


def flush_queued(
    session_id: int, conversation: int, cycle: int, actor: str, by_model: bool = True, *, now: datetime
) -> bool:
    """Flush what was queued, unless the conversation ended meanwhile; whether something was flushed.

    By the model as far as it answers. The rest is flushed part by part, each in a task of its own: no task has a
    process to itself for long, and the model that gave no answer is not asked again.
    """
    session = Session.objects.select_related("workspace", "user_scope", "chat_scope").get(pk=session_id)
    if session.open_cycle != (conversation, cycle) or session.is_stale(now=now):
        return False
    model = ConversationModel(session.workspace, now=now) if by_model else None
    flush = flush_by_platform(session, now=now, actor=actor, model=model)
    if session.open_cycle == (conversation, cycle):
        with acting(actor):
            queue_flush(session, actor=actor, by_model=False)
    return flush is not None


def _flush_by_model(session: Session, model: ConversationModel, end: int, now: datetime, actor: str) -> Flush | None:
    """Part by part, each stored before the next is asked for, so that after a crash none is asked for again.

    Stops where there is no answer, and at `end`. The model is shown nothing redacted, and an answer about messages that
    are redacted while it is asked is discarded (A15).
    """
    flush = None
    cycle = session.open_cycle
    while (
        model.may_ask() and session.open_cycle == cycle and (part := first_part(unflushed_events(session, before=end)))
    ):
        flushed_to = session.flushed_to
        events = retention.redact(part, retention.redacted_events(session))
        extraction = model.extract(session, events, before=_continuation(session)) if events else EMPTY_EXTRACTION
        if extraction is None:
            break
        with acting(actor):
            conversations.lock_session(session)
            redacted = retention.redacted_events(session)
            is_current = (session.open_cycle, session.flushed_to) == (cycle, flushed_to)
            if is_current and not any(event.pk in redacted for event in events):
                flush = _store_extraction(session, extraction, part, now=now, actor=actor)
            else:
                log.info("session_flush_discarded", session=str(session.uid), conversation=cycle[0])
    return flush


def _continuation(session: Session) -> str:
    """What the open conversation goes on from: the text of its last flush, else its summary."""
    redacted = retention.redacted_events(session)
    flush = session.flush_of_cycle().first()
    if flush and has_continuation(flush, redacted):
        return flush.goes_on_with
    summary, _up_to = retention.latest_summary(session, redacted)
    return summary.handed_out().content if summary else ""


def has_continuation(flush: Flush, redacted: Mapping[int, int]) -> bool:
    """Whether a flush has a continuation, and it reveals nothing redacted."""
    return bool(flush.goes_on_with) and not retention.reveals(redacted, flush.goes_on_to)


def _store_extraction(
    session: Session, extraction: FlushExtraction, part: Sequence[SessionEvent], *, now: datetime, actor: str
) -> Flush:
    """Store what a model extracted from these messages; where nothing is left of its text, a closing summary as well.

    A continuation that was refused does not stand: the one before it tells of earlier messages only.
    """

    def store() -> Counter[str]:
        return store_candidates(
            session, extraction.candidates, may_reach=lambda _key: True, now=now, actor=actor, model=extraction.model
        ).counts

    counts = _unless_refused(session, store)
    goes_on_with = extraction.goes_on_with
    if extraction.is_refused:
        counts += _unless_refused(session, lambda: _store_summary(session, part, now, actor))
    elif not goes_on_with and (earlier := session.flush_of_cycle().first()):
        goes_on_with = earlier.goes_on_with
    return _record(
        session,
        counts + Counter(extraction.counts),
        goes_on_with=goes_on_with,
        no_reply=extraction.no_reply and not goes_on_with,
        now=now,
        actor=actor,
        up_to=part[-1].position,
        model=extraction.model,
    )


def _store_summary(session: Session, events: Sequence[SessionEvent], now: datetime, actor: str) -> Counter[str]:
    results = summaries.store_summary(session, events, summaries.FLUSHED, now=now, actor=actor)
    return Counter(str(result.outcome) for result in results)


def _unless_refused(session: Session, store: Callable[[], Counter[str]]) -> Counter[str]:
    """The counts of what is stored; none where it is refused, as by a frozen scope, which does not stop a flush."""
    try:
        with transaction.atomic():
            return store()
    except PlatformError as error:
        log.warning("session_not_kept", session=str(session.uid), error=str(error))
        return Counter()


def unflushed_events(session: Session, *, before: int | None = None) -> QuerySet[SessionEvent]:
    """The messages of the open conversation since its last flush, before that position."""
    return session.spoken().filter(position__gt=session.flushed_to, position__lt=before or session.next_position)


def first_part(messages: QuerySet[SessionEvent]) -> Sequence[SessionEvent]:
    """The first part of messages, as long as a model is shown; no more is read of many than that takes."""
    events: list[SessionEvent] = []
    tokens = 0
    for event in messages.iterator(chunk_size=_READ_AT_ONCE):
        events.append(event.handed_out())
        tokens += event.tokens
        if tokens > conf.SESSION_SHOWN_TOKENS:
            break
    return next(parts_of(events), ())


def _record(
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
    """Record that the conversation is flushed, by default up to its end. Needs the session's lock."""
    here = up_to or session.next_position - 1
    columns: dict[str, Any] = {"up_to": here, "actor": actor, "no_reply": no_reply, "at": now}
    if goes_on_with or no_reply:
        columns |= {"model": model}
    if goes_on_with:
        columns |= {"goes_on_with": goes_on_with, "goes_on_to": here}
    flush, is_created = Flush.objects.get_or_create(
        workspace_id=session.workspace_id,
        session=session,
        conversation=session.conversation,
        cycle=session.cycle,
        defaults={**columns, "counts": dict(counts)},
    )
    if not is_created:
        flush.counts = dict(Counter(flush.counts) + Counter(counts))
        for name, value in columns.items():
            setattr(flush, name, value)
        flush.save(update_fields=["counts", *columns])
    session.flushed_to = flush.up_to
    session.save(update_fields=["flushed_to"])
    log.info("session_flushed", session=str(session.uid), conversation=session.conversation, by=actor, **flush.counts)
    return flush


def _unflushed_sessions() -> QuerySet[Session]:
    return Session.objects.filter(next_position__gt=F("flushed_to") + 1)


def count_active(*, now: datetime) -> dict[str, int]:
    """How many conversations go on and have unflushed messages."""
    return {"flushed": sum(not session.is_stale(now=now) for session in _unflushed_sessions().iterator())}


def flush_active(*, now: datetime, seconds: float = 20.0) -> dict[str, int]:
    """Flush every conversation that goes on and has unflushed messages, the latest first, within `seconds` (C8).

    Without the model, which may take longer than a process that stops has.
    """
    end = time.monotonic() + seconds
    flushed_count = left_count = 0
    for session in _unflushed_sessions().order_by("-last_at").select_related("user_scope", "chat_scope"):
        if session.is_stale(now=now):  # older ones are stale too: the sweep closes them
            break
        try:
            has_flushed = False
            while time.monotonic() < end and flush_by_platform(session, now=now):
                has_flushed = True
            is_left = unflushed_events(session).exists()
        except PlatformError:  # in use; its turns are stored in any case
            is_left = True
        flushed_count += has_flushed and not is_left
        left_count += is_left
    return {"flushed": flushed_count, "left": left_count}
