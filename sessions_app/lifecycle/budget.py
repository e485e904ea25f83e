"""The budget of a conversation: when the bot is asked to flush it, and the worker to compact it (B3)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django_q.tasks import async_task

from memories.conf import conf
from sessions_app.messages import FLUSH_INSTRUCTION, in_language
from sessions_app.models import Session

#: A compaction that did not come is queued again.
QUEUE_AGAIN_AFTER = timedelta(minutes=10)
TASK = "sessions_app.tasks.compact"


@dataclass(frozen=True)
class BotDirective:
    """What the bot is asked to do next."""

    kind: str
    instruction: str


def directives(session: Session, *, language: str, now: datetime, max_tokens: int | None = None) -> list[BotDirective]:
    """The bot's directives after messages were appended; may queue a compaction. Needs the session's lock."""
    limit = max_tokens or session.max_tokens()
    if session.tokens >= limit * conf.SESSION_COMPACT_SHARE:
        queue_compaction_task(session, limit, now=now)
    if not is_flush_due(session, limit):
        return []
    if session.flush_asked_at is None:
        session.flush_asked_at = now
        session.save(update_fields=["flush_asked_at"])
    return [flush_directive(session, language)]


def is_flush_due(session: Session, max_tokens: int | None = None) -> bool:
    """Whether the share of the budget is reached and there is no flush in this compaction cycle yet."""
    if session.tokens < (max_tokens or session.max_tokens()) * conf.SESSION_FLUSH_SHARE:
        return False
    return not session.flush_of_cycle().exists()


def flush_directive(session: Session, language: str) -> BotDirective:
    """The request to flush a conversation, in the language of its workspace."""
    return BotDirective("flush_required", in_language(FLUSH_INSTRUCTION, language).format(id=session.uid))


def queue_compaction_task(session: Session, max_tokens: int, *, now: datetime, is_asked: bool = False) -> None:
    """Queue a compaction, unless one was queued a moment ago; with `is_asked`, by a bot or an operator, in any case."""
    queued_at = session.compaction_asked_at
    if queued_at is not None and abs(now - queued_at) < QUEUE_AGAIN_AFTER and not is_asked:
        return
    session.compaction_asked_at = now
    session.save(update_fields=["compaction_asked_at"])
    task = partial(async_task, TASK, session.pk, *session.open_cycle, max_tokens, is_asked, group="mem:sessions")
    transaction.on_commit(task)


def queue_next_part(session: Session, max_tokens: int, *, now: datetime, up_to: int = 0) -> None:
    """Queue what is left of a compaction, in the transaction of what was done: a crash loses both or neither."""
    session.compaction_asked_at = now
    session.save(update_fields=["compaction_asked_at"])
    async_task(TASK, session.pk, *session.open_cycle, max_tokens, False, up_to, group="mem:sessions")
