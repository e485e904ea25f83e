"""The end of a conversation: idle for too long, reset, or said for another memory; the next message begins another.

What is closed stays as it was said. Only the session moves on: the next conversation begins with no history and no
metadata (B4, B6).
"""

from datetime import datetime

import structlog
from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from memories.conf import conf
from memories.exceptions import PlatformError
from memories.models.change import acting
from sessions_app.compaction import closing_summary, summary
from sessions_app.lifecycle import locks
from sessions_app.models import Session, SessionEvent

log = structlog.get_logger(__name__)

#: Why conversations are closed.
STALE, RESET, MOVED, CLOSED = "stale", "reset", "moved", "closed"
#: Who the history names when nobody asked for it.
ACTOR = "platform:sessions"


def is_stale(session: Session, *, now: datetime) -> bool:
    """Whether its conversation has been idle for so long that the next use begins another."""
    return session.next_position > 1 and bool(conf.SESSION_STALE_AFTER) and session.last_at < _idle_since(now)


def _idle_since(now: datetime) -> datetime:
    return now - conf.SESSION_STALE_AFTER


def close_if_stale(session: Session, *, now: datetime) -> bool:
    """Close a conversation that was idle for too long, once, and keep its last turns (B4). Needs the session's lock."""
    return is_stale(session, now=now) and close(session, STALE, now=now)


def close(session: Session, why: str, *, now: datetime) -> bool:
    """End the open conversation; False when there is none, or another process was first. Needs the session's lock.

    The claim comes first: whoever moves the session on is the one who keeps its last turns. If keeping fails, it is
    closed all the same.
    """
    ended = session.conversation
    with acting(ACTOR) if why == STALE else transaction.atomic():
        claimed = Session.objects.filter(
            pk=session.pk, conversation=ended, last_at=session.last_at, next_position__gt=1
        ).update(conversation=ended + 1, **_BEGINNING)
        if not claimed:
            session.refresh_from_db()
            return False
        kept = _keep(session, ended, now) if why != RESET else 0
    session.refresh_from_db()
    log.info("session_closed", session=str(session.uid), conversation=ended, why=why, kept=kept)
    return True


_BEGINNING = {
    "metadata": {},
    "tokens": 0,
    "next_position": 1,
    "cycle": 1,
    "flushed_to": 0,
    "compacted_to": 0,
    "flush_asked_at": None,
    "compaction_asked_at": None,
}


def _keep(session: Session, conversation: int, now: datetime) -> int:
    """How many entries its last turns became."""
    try:
        with transaction.atomic():
            events = _last_turns(session, conversation)
            return len(closing_summary.store_summary(session, events, closing_summary.EXPIRED, now=now, actor=ACTOR))
    except (PlatformError, DatabaseError) as error:
        log.warning("session_not_kept", session=str(session.uid), conversation=conversation, error=str(error))
        return 0


def _last_turns(session: Session, conversation: int) -> list[SessionEvent]:
    newest = list(session.spoken(conversation).order_by("-position")[: closing_summary.TURNS * 20])[::-1]
    return [event for turn in summary.turns_of(newest)[-closing_summary.TURNS :] for event in turn.events]


def sweep(*, now: datetime) -> dict[str, int]:
    """Close every conversation that was idle for too long; how many."""
    closed = failed = 0
    for pk in list(_stale(now).values_list("pk", flat=True)):
        try:
            closed += _sweep_one(pk, now)
        except PlatformError:  # somebody is using it: then it is not idle
            failed += 1
    return {"closed": closed, "left": failed}


def count_stale(*, now: datetime) -> dict[str, int]:
    """How many conversations a sweep would close; those in use at that moment it leaves."""
    return {"closed": _stale(now).count()}


def _stale(now: datetime) -> QuerySet[Session]:
    if not conf.SESSION_STALE_AFTER:
        return Session.objects.none()
    return Session.objects.filter(last_at__lt=_idle_since(now), next_position__gt=1).order_by("last_at")


def _sweep_one(pk: int, now: datetime) -> bool:
    with transaction.atomic():
        session = Session.objects.get(pk=pk)
        locks.lock_session(session)
        return close_if_stale(session, now=now)
