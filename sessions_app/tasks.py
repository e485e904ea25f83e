"""Tasks of conversations, by the paths the queue knows, and its jobs; the clock is read here."""

from datetime import datetime, time

from django.utils import timezone
from django.utils.translation import gettext_noop as _

from memories.consolidation import quoting_facts
from memories.jobs import Job
from sessions_app import compaction, conversations
from sessions_app import flush as flushing
from sessions_app.history import retention

#: Seconds one task takes at most: less than the timeout of the cluster. What is left is for the next night.
LONGEST_SECONDS = 240


def compact(
    session_id: int, conversation: int, cycle: int, max_tokens: int, is_asked: bool = False, up_to: int = 0
) -> bool:
    """When a conversation has grown, when a bot or an operator asks, and for the next part of what that began."""
    here = (session_id, conversation, cycle, max_tokens)
    return compaction.compact(*here, now=timezone.now(), is_asked=is_asked, up_to=up_to)


def flush(session_id: int, conversation: int, cycle: int, actor: str, by_model: bool = True) -> bool:
    """When a bot or an operator has the platform flush, and there is a model to do it with or more than one part."""
    return flushing.flush_queued(session_id, conversation, cycle, actor, by_model, now=timezone.now())


def sweep_sessions() -> dict[str, int]:
    return conversations.sweep(now=timezone.now())


def clean_events() -> dict[str, int]:
    return retention.clean_events(now=timezone.now())


def find_evidence(workspace_id: int, *, now: datetime) -> dict[str, int]:
    return quoting_facts.find_evidence(workspace_id, retention.MESSAGES, now=now, seconds=LONGEST_SECONDS)


def count_without_evidence(workspace_id: int) -> dict[str, int]:
    return quoting_facts.count_without(workspace_id, retention.MESSAGES)


def flush_active() -> dict[str, int]:
    """When the platform stops."""
    return flushing.flush_active(now=timezone.now())


#: One object each.
JOBS = (
    Job("sweep-sessions", _("closes conversations that were idle for too long"), "B4", cron="*/10 * * * *",
        run=sweep_sessions, preview=conversations.count_stale),
    Job("clean-events", _("removes old session events"), "C6", cron="5-59/10 * * * *",
        run=clean_events, preview=retention.count_old),
    Job("find-evidence", _("finds the words that facts of models rest on"), "D5", at=time(2, 45),
        run=find_evidence, preview=count_without_evidence),
)  # fmt: skip
