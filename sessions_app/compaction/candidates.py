"""What a flush says is worth remembering, stored in the memory its session means (E4, D5, A3)."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
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
    """What is said to be worth remembering, and the positions of the messages it rests on."""

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
    """What became of each candidate, in order; None where it was left out, and why."""

    remembered: list[entries.WriteResult | None]
    reasons: list[str]

    @property
    def counts(self) -> Counter[str]:
        return Counter([*(str(one.outcome) for one in self.remembered if one), *filter(None, self.reasons)])


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
    scopes = [_scope_for(session, candidate, events) for candidate in candidates]
    reasons = [_scope_reason(scope, may_reach) for scope in scopes]
    with transaction.atomic():
        locked = entries.lock_scopes(
            scope for scope, reason in zip(scopes, reasons, strict=True) if scope and not reason
        )
        out = redaction.redacted_events(session)
        reasons = [
            reason or _redaction_reason(candidate, events, out)
            for candidate, reason in zip(candidates, reasons, strict=True)
        ]
        drafts = [
            _draft(session, candidate, scope, events, now)
            for candidate, scope, reason in zip(candidates, scopes, reasons, strict=True)
            if scope is not None and not reason
        ]
        stored = iter(entries.remember_many(drafts, now=now, actor=actor, locked=locked))
    return CandidateResults([None if reason else next(stored) for reason in reasons], reasons)


def _redaction_reason(candidate: FlushCandidate, events: dict[int, SessionEvent], out: Collection[int]) -> str:
    return "taken_out" if any(events[position].pk in out for position in candidate.rests_on) else ""


def _events_at(session: Session, candidates: Sequence[FlushCandidate]) -> dict[int, SessionEvent]:
    """The messages the candidates rest on, by position. Raises InvalidDraft for one that is not there."""
    wanted = {position for candidate in candidates for position in candidate.rests_on}
    found = {event.position: event for event in session.spoken().filter(position__in=wanted)}
    for n, candidate in enumerate(candidates):
        missing = [position for position in candidate.rests_on if position not in found]
        if missing:
            problem = f"The open conversation has no message at position {missing[0]}."
            raise InvalidDraft(problem, field=f"candidates.{n}.rests_on")
    return found


def _scope_for(session: Session, candidate: FlushCandidate, events: dict[int, SessionEvent]) -> Scope | None:
    """Whose memory a candidate becomes: the peer's; in a group that of the one speaker it rests on, else the chat's."""
    if not session.is_group:
        return session.user_scope
    said = [events[position] for position in candidate.rests_on]
    speakers = {event.sender_id for event in said if event.kind == EventKind.USER}
    if len(speakers) == 1 and (speaker := speakers.pop()):
        return closing_summary.scope_of_speaker(session, speaker)
    return session.chat_scope if session.channel_rules().capture_group_memory else None


def _scope_reason(scope: Scope | None, may_reach: Callable[[str], bool]) -> str:
    if scope is None:
        return "no_scope"
    return "" if may_reach(scope.key) else "out_of_reach"


def _draft(
    session: Session, candidate: FlushCandidate, scope: Scope, events: dict[int, SessionEvent], now: datetime
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
        slots={**candidate.slots, **closing_summary.slots_of(session, senders.pop() if len(senders) == 1 else "")},
        chats=closing_summary.chats_of(session, scope),
        origins=tuple(session.origin_of(event) for event in said),
    )
