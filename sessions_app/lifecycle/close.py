"""The end of a conversation: idle for too long, reset, or moved to another scope (B4, B6).

What is closed stays stored; the next message begins another conversation, with no history and no metadata. Long-term
memory stays.
"""

import re
from datetime import datetime

import structlog
from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from memories.conf import conf
from memories.consolidation import buffer
from memories.exceptions import PlatformError
from memories.models.change import acting
from sessions_app.compaction import closing_summary, summary
from sessions_app.lifecycle import conversations
from sessions_app.messages import RESET_REPLY, in_language
from sessions_app.models import Session

log = structlog.get_logger(__name__)

#: Why conversations are closed.
STALE, RESET, MOVED, CLOSED = "stale", "reset", "moved", "closed"
#: The actor in the history where no one asked for it.
ACTOR = "platform:sessions"
RESET_COMMAND = "/reset"
#: How platforms write that a message is meant for the bot: `@bot`, `<at user_id="…">bot</at>`, `/reset@bot`.
_MENTION = re.compile(r"<at\b[^<>]*+(?:(?<=/)>|>[^<]*+</at>)|[@＠][^\s@＠/]++")
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


def is_stale(session: Session, *, now: datetime) -> bool:
    """Whether its conversation has been idle for so long that the next use begins another."""
    limit = conf.SESSION_STALE_AFTER
    return session.next_position > 1 and bool(limit) and session.last_at < now - limit


def close_if_stale(session: Session, *, now: datetime) -> bool:
    """Close a conversation that was idle for too long, once, and keep its last turns (B4). Needs the session's lock."""
    return is_stale(session, now=now) and close(session, STALE, now=now)


def close(session: Session, why: str, *, now: datetime) -> bool:
    """End the open conversation; False when there is none, or another process was first. Needs the session's lock.

    The session moves on first: the process that moves it is the one that keeps its last turns. If keeping them fails,
    it is closed all the same.
    """
    ended = session.conversation
    with acting(ACTOR) if why == STALE else transaction.atomic():
        claimed = Session.objects.filter(
            pk=session.pk, conversation=ended, last_at=session.last_at, next_position__gt=1
        ).update(conversation=ended + 1, **_BEGINNING)
        if not claimed:
            session.refresh_from_db()
            return False
        kept = _keep_last_turns(session, ended, now) if why != RESET else 0
    session.refresh_from_db()
    log.info("session_closed", session=str(session.uid), conversation=ended, why=why, kept=kept)
    return True


def _keep_last_turns(session: Session, conversation: int, now: datetime) -> int:
    """Store the last turns as memory; the number of entries."""
    try:
        with transaction.atomic():
            newest = list(session.spoken(conversation).order_by("-position")[: closing_summary.TURNS * 20])
            turns = summary.turns_of(newest[::-1])[-closing_summary.TURNS :]
            events = [event for turn in turns for event in turn.events]
            return len(closing_summary.store_summary(session, events, closing_summary.EXPIRED, now=now, actor=ACTOR))
    except (PlatformError, DatabaseError) as error:
        log.warning("session_not_kept", session=str(session.uid), conversation=conversation, error=str(error))
        return 0


def is_reset_command(message: str) -> bool:
    """Whether a message is the command and nothing else: trimmed, the mention of the bot removed."""
    if RESET_COMMAND not in message or not conf.RESET_COMMAND:
        return False
    return _MENTION.sub(" ", message, count=1).strip() == RESET_COMMAND


def reset(session: Session, *, now: datetime) -> bool:
    """Close the open conversation and drop what of it waits to be extracted. Needs the session's lock."""
    ended = session.conversation
    is_closed = close(session, RESET, now=now)
    if is_closed:
        buffer.drop_conversation(session.uid, ended)
    return is_closed


def reset_reply(language: str) -> str:
    return in_language(RESET_REPLY, language)


def sweep(*, now: datetime) -> dict[str, int]:
    """Close every conversation that was idle for too long; counts of the closed ones and of those in use."""
    closed = busy = 0
    for session in list(_stale(now)):
        try:
            with transaction.atomic():
                conversations.lock_session(session)
                closed += close_if_stale(session, now=now)
        except PlatformError:  # in use, so not idle
            busy += 1
    return {"closed": closed, "left": busy}


def count_stale(*, now: datetime) -> dict[str, int]:
    """How many conversations a sweep would close, those in use included."""
    return {"closed": _stale(now).count()}


def _stale(now: datetime) -> QuerySet[Session]:
    if not conf.SESSION_STALE_AFTER:
        return Session.objects.none()
    return Session.objects.filter(last_at__lt=now - conf.SESSION_STALE_AFTER, next_position__gt=1).order_by("last_at")
