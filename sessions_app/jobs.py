"""The jobs of conversations, one object each."""

from datetime import time

from django.utils.translation import gettext_noop as _

from memories.jobs import Job
from sessions_app import conversations, tasks
from sessions_app.history import retention

JOBS = (
    Job("sweep-sessions", _("closes conversations that were idle for too long"), "B4", cron="*/10 * * * *",
        run=tasks.sweep_sessions, preview=conversations.count_stale),
    Job("clean-events", _("removes old session events"), "C6", cron="5-59/10 * * * *",
        run=tasks.clean_events, preview=retention.count_old),
    Job("find-evidence", _("finds the words that facts of models rest on"), "D5", at=time(2, 45),
        run=tasks.find_evidence, preview=tasks.count_without_evidence),
)  # fmt: skip
