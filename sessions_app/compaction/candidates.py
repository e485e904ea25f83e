"""The candidates of a flush, stored in the scope their session means (E4, D5, A3)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from memories import entries
from memories.choices import EntryType, Source
from memories.entries.draft import Draft
from memories.exceptions import InvalidDraft
from memories.models import Scope
from sessions_app.choices import EventKind
from sessions_app.compaction import closing_summary
from sessions_app.history import redaction
from sessions_app.models import Session, SessionEvent


@dataclass(frozen=True, kw_only=True)
class FlushCandidate:
    """A proposed memory, and the positions of the messages it rests on."""

    content: str
    type: str = EntryType.FACT
    category: str = ""
    importance: float | None = None
    project: str = ""
    topic: str = ""
    rests_on: tuple[int, ...] = ()
    slots: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CandidateResults:
    """The result of each candidate, in order; None for a skipped one, with the reason."""

    written: list[entries.WriteResult | None]
    reasons: list[str]

    @property
    def counts(self) -> Counter[str]:
        return Counter([*(str(result.outcome) for result in self.written if result), *filter(None, self.reasons)])


def store_candidates(
    session: Session,
    candidates: Sequence[FlushCandidate],
    *,
    may_reach: Callable[[str], bool],
    now: datetime,
    actor: str,
) -> CandidateResults:
    """Store each candidate in the scope its session means, if it means one. Needs the session's lock.

    Candidates that rest on a redacted message are skipped (A15); the scopes are locked, so that nobody redacts
    meanwhile. Raises InvalidDraft, ScopeFrozen.
    """
    events = _events_at(session, candidates)
    scopes = [_scope_for(session, [events[n] for n in candidate.rests_on]) for candidate in candidates]
    reasons = ["no_scope" if scope is None else "" if may_reach(scope.key) else "out_of_reach" for scope in scopes]
    with transaction.atomic():
        reached = [scope for scope, reason in zip(scopes, reasons, strict=True) if scope and not reason]
        locked = entries.lock_scopes(reached)
        redacted = redaction.redacted_events(session)
        drafts = []
        for n, (candidate, scope) in enumerate(zip(candidates, scopes, strict=True)):
            resting = [events[position] for position in candidate.rests_on]
            if not reasons[n] and any(event.pk in redacted for event in resting):
                reasons[n] = "taken_out"
            if scope and not reasons[n]:
                drafts.append(_draft(session, candidate, scope, resting, now))
        written = iter(entries.remember_many(drafts, now=now, actor=actor, locked=locked))
    return CandidateResults([None if reason else next(written) for reason in reasons], reasons)


def _events_at(session: Session, candidates: Sequence[FlushCandidate]) -> dict[int, SessionEvent]:
    """The messages the candidates rest on, by position. Raises InvalidDraft for one that is not there."""
    wanted = {position for candidate in candidates for position in candidate.rests_on}
    events = {event.position: event for event in session.spoken().filter(position__in=wanted)}
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
        return closing_summary.scope_of_speaker(session, speaker)
    return session.chat_scope if session.channel_rules().capture_group_memory else None


def _draft(
    session: Session, candidate: FlushCandidate, scope: Scope, resting: Sequence[SessionEvent], now: datetime
) -> Draft:
    senders = {event.sender_id for event in resting if event.sender_id} or {session.peer}
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
        at=max((event.at for event in resting), default=now),
        slots={**candidate.slots, **closing_summary.slots_of(session, senders.pop() if len(senders) == 1 else "")},
        chats=closing_summary.chats_of(session, scope),
        origins=tuple(session.origin_of(event) for event in resting),
    )
