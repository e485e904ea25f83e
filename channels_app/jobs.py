"""The jobs of channels, one object each; and of one of them a little in the process that embeds."""

from datetime import datetime, timedelta

from django.utils.translation import gettext_noop as _

from channels_app import tasks
from memories.jobs import Job

REPLAY = Job(
    "replay-journal",
    _("applies calls that were accepted without the database"),
    "C11",
    cron="* * * * *",
    run=tasks.replay_journal,
    preview=tasks.count_waiting,
)
JOBS = (
    REPLAY,
    Job("forget-keys", _("forgets keys that are no longer let in"), "C11", cron="* * * * *",
        run=tasks.forget_keys, preview=tasks.count_keys),
    Job("clean-replays", _("removes old records of replays and comparisons"), "C11", cron="47 * * * *",
        run=tasks.clean_records, preview=tasks.count_outdated),
    Job("clean-messages", _("removes old messages of chat platforms"), "E1", cron="52 * * * *",
        run=tasks.clean_messages, preview=tasks.count_old_messages),
    Job("unite-people", _("carries over what is still written to memories whose people were linked"), "E1",
        cron="* * * * *", run=tasks.unite_people, preview=tasks.count_people_to_unite),
)  # fmt: skip


class JournalReplayer:
    """Work of the process that embeds, by its path in MEMORY_EMBEDDER_WORK: it looks every second.

    The queue needs its time to come back after the database was away, and nobody tells it that a channel is answered
    from the database again.
    """

    is_urgent = True
    look_every = timedelta(seconds=1)
    at_a_time = timedelta(seconds=0.5)  # no longer than an entry may wait for its vector

    def __call__(self, *, now: datetime) -> float:
        replayed = REPLAY.is_on and tasks.replay_journal(self.at_a_time)["calls"]
        return 0.0 if replayed else self.look_every.total_seconds()


replay_soon = JournalReplayer()
