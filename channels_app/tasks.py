"""What the worker does for turns, and the jobs of channels; the clock is read here.

Of one job the process that embeds does a little as well.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from channels_app import cards
from channels_app.api.turns import EFFECTS
from channels_app.doors.files import replay
from channels_app.models import (
    IncomingMessage,
    MessageState,
    OutgoingMessage,
    PathComparison,
    ReplayedRecord,
    ReplayOutcome,
)
from channels_app.people import linking
from memories.conf import conf
from memories.consolidation import summaries
from memories.consolidation.capture import turn_text
from memories.jobs import Job
from memories.models import Workspace
from memories.offline import journal, store
from sessions_app.models import EventKind, SessionEvent


def shorten_turn(workspace_id: int, events: Sequence[int], entries: Sequence[int]) -> int:
    """Shorten the entries of a long turn; its words are read from the session's messages, and are in no queue."""
    messages = SessionEvent.objects.filter(workspace_id=workspace_id, pk__in=list(events))
    by_kind = dict(messages.values_list("kind", "content"))
    user, assistant = by_kind.get(EventKind.USER, ""), by_kind.get(EventKind.ASSISTANT, "")
    workspace = Workspace.objects.get(pk=workspace_id)
    return summaries.shorten(workspace, entries, user, assistant, turn_text(user, assistant), now=timezone.now())


#: One task replays for so long at most; what is left is for the next.
REPLAY_FOR = timedelta(seconds=240)


def replay_journal(during: timedelta = REPLAY_FOR) -> dict[str, int]:
    """When a web process has seen that the database is back, and every minute."""
    return replay.replay_all(EFFECTS, timezone.now, until=timezone.now() + during)


def count_waiting() -> dict[str, int]:
    """How many calls wait in the journal that the database would take."""
    return {"calls": sum(1 for stream in replay.replayable() for _line in journal.read(stream))}


def forget_keys() -> dict[str, int]:
    """Drop from the cache what the database would not let in, and what nobody has used for a day."""
    now = timezone.now()
    return {"keys": store.drop_unusable(now), "cards": cards.drop_old(now=now)}


def clean_messages() -> dict[str, int]:
    """Remove what came from platforms and was sent there, when it has been kept long enough; what waits stays."""
    return {name: rows.delete()[0] for name, rows in _old_messages().items()}


def count_old_messages() -> dict[str, int]:
    return {name: rows.count() for name, rows in _old_messages().items()}


def _old_messages() -> dict[str, QuerySet[Any]]:
    oldest = timezone.now() - conf.CHANNEL_MESSAGE_TTL
    over = (MessageState.DONE, MessageState.FAILED)
    return {
        "received": IncomingMessage.objects.filter(received_at__lt=oldest, state__in=over),
        "sent": OutgoingMessage.objects.filter(created_at__lt=oldest, state__in=(*over, MessageState.HELD)),
    }


def clean_records() -> dict[str, int]:
    """Remove comparisons and records of replays that are a month old; what could not be applied stays."""
    return {name: rows.delete()[0] for name, rows in _outdated_rows().items()}


def count_outdated() -> dict[str, int]:
    return {name: rows.count() for name, rows in _outdated_rows().items()}


def _outdated_rows() -> dict[str, QuerySet[Any]]:
    """What a trace of the same time would not be kept either."""
    oldest = timezone.now() - conf.TRACE_TTL
    replayed_records = ReplayedRecord.objects.filter(replayed_at__lt=oldest).exclude(outcome=ReplayOutcome.PARKED)
    workspace_ids = [stream.workspace_id for stream in journal.streams()]
    return {
        "comparisons": PathComparison.objects.filter(created_at__lt=oldest),
        "calls": replayed_records.exclude(workspace_id__in=workspace_ids),  # whose lines may still be there
    }


def count_keys() -> dict[str, int]:
    now = timezone.now()
    return {"keys": store.count_unusable(now), "cards": cards.count_old(now=now)}


def unite_people() -> dict[str, int]:
    """Carry over what still stands in memories whose people were linked or unlinked."""
    return linking.unite_waiting(now=timezone.now())


REPLAY = Job(
    "replay-journal",
    _("applies calls that were accepted without the database"),
    "C11",
    cron="* * * * *",
    run=replay_journal,
    preview=count_waiting,
)
JOBS = (
    REPLAY,
    Job("forget-keys", _("forgets keys that are no longer let in"), "C11", cron="* * * * *",
        run=forget_keys, preview=count_keys),
    Job("clean-replays", _("removes old records of replays and comparisons"), "C11", cron="47 * * * *",
        run=clean_records, preview=count_outdated),
    Job("clean-messages", _("removes old messages of chat platforms"), "E1", cron="52 * * * *",
        run=clean_messages, preview=count_old_messages),
    Job("unite-people", _("carries over what is still written to memories whose people were linked"), "E1",
        cron="* * * * *", run=unite_people, preview=linking.count_waiting),
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
        replayed = REPLAY.is_on and replay_journal(self.at_a_time)["calls"]
        return 0.0 if replayed else self.look_every.total_seconds()


replay_soon = JournalReplayer()
