"""The candidates of a flush, stored in the scope their session means (E4, D5, A3)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from memories import entries
from memories.choices import EntryType, Source
from memories.consolidation import statements
from memories.consolidation.statements import Refused
from memories.entries.draft import Draft, QuotedWords
from memories.exceptions import InvalidDraft
from memories.models import Scope
from sessions_app.choices import EventKind
from sessions_app.compaction import closing_summary
from sessions_app.compaction.transcript import CheckedCandidate, FlushCandidate
from sessions_app.history import retention
from sessions_app.models import Session, SessionEvent

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
        skipped = Counter(reason for reason in self.reasons if reason in _SKIPPED)
        return (
            Counter(str(result.outcome) for result in self.written if result) + skipped + Counter(refused=self.refused)
        )


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
    events = _events_at(session, [one.candidate for one in candidates])
    resting = [[events[position] for position in one.candidate.rests_on] for one in candidates]
    scopes = [_scope_for(session, some) for some in resting]
    reasons = ["no_scope" if scope is None else "" if may_reach(scope.key) else "out_of_reach" for scope in scopes]
    with transaction.atomic():
        reached = [scope for scope, reason in zip(scopes, reasons, strict=True) if scope and not reason]
        locked = entries.lock_scopes(reached)
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
                refused.append(_refused(session, checked, scope, some))
            else:
                drafts.append(_draft(session, checked, scope, some, now))
        run = f"{NAME}:{session.uid}:{session.conversation}"
        statements.record_refused(
            refused, workspace_id=session.workspace_id, model=model or actor, purpose=NAME, run=run, now=now
        )
        written = iter(entries.remember_many(drafts, now=now, actor=actor, locked=locked))
    return CandidateResults([None if reason else next(written) for reason in reasons], reasons, len(refused))


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
    session: Session, checked: CheckedCandidate, scope: Scope, resting: Sequence[SessionEvent], now: datetime
) -> Draft:
    candidate = checked.candidate
    senders = {event.sender_id for event in resting if event.sender_id} or {session.peer}
    is_fact = candidate.type == EntryType.FACT
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
        slots={**candidate.slots, **closing_summary.slots_of(session, senders.pop() if len(senders) == 1 else "")},
        chats=closing_summary.chats_of(session, scope),
        origins=tuple(session.origin_of(event) for event in resting),
        verification=checked.verification,
        evidence=_evidence(session, checked, resting) if is_fact else (),
    )


def _evidence(session: Session, checked: CheckedCandidate, resting: Sequence[SessionEvent]) -> tuple[QuotedWords, ...]:
    events = {str(event.position): event for event in resting}
    return tuple(
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


def _refused(session: Session, checked: CheckedCandidate, scope: Scope, resting: Sequence[SessionEvent]) -> Refused:
    if checked.refusal is None:
        raise AssertionError("nothing is wrong with it")
    return Refused(
        scope=scope,
        content=checked.content,
        quote=" … ".join(checked.candidate.quote or [quote.text for quote in checked.quotes]),
        reason=checked.refusal,
        origins=tuple(session.origin_of(event) for event in resting),
    )
