"""How full a conversation is, and what follows from it: the bot is asked to flush, the worker to compact (B3)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django_q.tasks import async_task

from memories.conf import conf
from sessions_app.messages import FLUSH_INSTRUCTION, in_language
from sessions_app.models import Flush, Session

#: A compaction that was asked for and never came is asked for again.
ASKED_AGAIN_AFTER = timedelta(minutes=10)
TASK = "sessions_app.tasks.compact"


@dataclass(frozen=True)
class BotDirective:
    """What the bot is asked to do next."""

    kind: str
    instruction: str


def directives(session: Session, *, language: str, now: datetime, max_tokens: int | None = None) -> list[BotDirective]:
    """What an answer asks for after messages were added. Needs the session's lock; queues compaction as well."""
    limit = max_tokens or session.max_tokens()
    if session.tokens >= limit * conf.SESSION_COMPACT_SHARE:
        ask_for_compaction(session, limit, now=now)
    if not is_flush_due(session, limit):
        return []
    if session.flush_asked_at is None:
        session.flush_asked_at = now
        session.save(update_fields=["flush_asked_at"])
    return [flush_directive(session, language)]


def is_flush_due(session: Session, max_tokens: int | None = None) -> bool:
    """Whether a flush is due and nobody has done it in this compaction cycle; it is asked for until somebody does."""
    if session.tokens < (max_tokens or session.max_tokens()) * conf.SESSION_FLUSH_SHARE:
        return False
    here = {"session": session, "conversation": session.conversation, "cycle": session.cycle}
    return not Flush.objects.filter(**here).exists()


def flush_directive(session: Session, language: str) -> BotDirective:
    """The request to flush a conversation, in the language of its workspace."""
    return BotDirective("flush_required", in_language(FLUSH_INSTRUCTION, language).format(id=session.uid))


def ask_for_compaction(session: Session, max_tokens: int, *, now: datetime, is_asked: bool = False) -> None:
    """Have the worker compact this conversation, unless it was told to a moment ago; somebody who asks is heard."""
    told = session.compaction_asked_at
    if told is not None and abs(now - told) < ASKED_AGAIN_AFTER and not is_asked:
        return
    session.compaction_asked_at = now
    session.save(update_fields=["compaction_asked_at"])
    what = (session.pk, session.conversation, session.cycle, max_tokens, is_asked)
    transaction.on_commit(partial(async_task, TASK, *what, group="mem:sessions"))
