"""The jobs of channels, one object each."""

from django.utils.translation import gettext_noop as _

from channels_app import tasks
from memories.jobs import Job

JOBS = (
    Job("replay-journal", _("applies calls that were accepted without the database"), "C11", cron="* * * * *",
        run=tasks.replay_journal, preview=tasks.count_waiting),
    Job("forget-keys", _("forgets keys that are no longer let in"), "C11", cron="* * * * *",
        run=tasks.forget_keys, preview=tasks.count_keys),
    Job("clean-replays", _("removes old records of replays and comparisons"), "C11", cron="47 * * * *",
        run=tasks.clean_records, preview=tasks.count_outdated),
    Job("unite-people", _("carries over what is still written to memories whose people were linked"), "E1",
        cron="* * * * *", run=tasks.unite_people, preview=tasks.count_people_to_unite),
)  # fmt: skip
