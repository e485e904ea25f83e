"""How full a conversation is, and what follows from it: the bot is asked to flush, the worker to compact (B3)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django_q.tasks import async_task

from memories.conf import conf
from sessions_app.models import Session
from sessions_app.wording import FLUSH_INSTRUCTION, in_language

#: A compaction that was asked for and never came is asked for again.
ASKED_AGAIN_AFTER = timedelta(minutes=10)
TASK = "sessions_app.tasks.compact"


@dataclass(frozen=True)
class Directive:
    """What the bot is asked to do next."""

    kind: str
    instruction: str


def directives(session: Session, *, language: str, now: datetime, max_tokens: int | None = None) -> list[Directive]:
    """What an answer asks for after messages were added. For whoever stands in line; asks for compaction as well."""
    limit = max_tokens or session.max_tokens()
    if session.tokens >= limit * conf.SESSION_COMPACT_SHARE:
        ask_for_compaction(session, limit, now=now)
    if session.tokens < limit * conf.SESSION_FLUSH_SHARE or not _ask_once(session, now):
        return []
    instruction = in_language(FLUSH_INSTRUCTION, language).format(id=session.uid)
    return [Directive("flush_required", instruction)]


def _ask_once(session: Session, now: datetime) -> bool:
    """Whether this is the first time in this cycle."""
    if session.flush_asked_at is not None:
        return False
    session.flush_asked_at = now
    session.save(update_fields=["flush_asked_at"])
    return True


def ask_for_compaction(session: Session, max_tokens: int, *, now: datetime, is_asked: bool = False) -> None:
    """Have the worker compact this conversation, unless it was told to a moment ago; somebody who asks is heard."""
    told = session.compaction_asked_at
    if told is not None and abs(now - told) < ASKED_AGAIN_AFTER and not is_asked:
        return
    session.compaction_asked_at = now
    session.save(update_fields=["compaction_asked_at"])
    what = (session.pk, session.conversation, session.cycle, max_tokens, is_asked)
    transaction.on_commit(partial(async_task, TASK, *what, group="mem:sessions"))
