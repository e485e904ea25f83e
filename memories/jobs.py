"""The jobs of memories, one object each: what it runs, what its dry run counts, when, and the behaviour it keeps."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, time
from functools import partial

from django.utils.dates import WEEKDAYS
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop as _

from memories import batches, tasks, webhooks
from memories.choices import BufferState
from memories.conf import switch
from memories.consolidation import compression, extraction, summaries
from memories.evaluation import pinned
from memories.index import large_scopes
from memories.lifecycle import access_counting, expiry, maintenance, old_entries
from memories.models import ExtractionBatch, Workspace

#: What a job does, or counts. Of (workspace_id, now, run, report, so_far) it is given what it names; it answers with
#: counts by name (their labels: memories.admin.labels).
Work = Callable[..., dict[str, int]]


@dataclass(frozen=True)
class Job:
    """A task on a schedule: with `cron` for all workspaces at once, with `at` for each in turn."""

    name: str
    label: str  # what it does, in English; translated where it is shown
    behaviour: str  # its line in docs/reference/behaviours.md
    _: KW_ONLY
    run: Work | str  # a dotted path where the work itself needs the table of jobs
    preview: Work | str  # counts what `run` would do, and changes nothing
    cron: str = ""  # in UTC
    at: time | None = None  # the workspace's own hour
    weekday: int | None = None  # of a weekly job; 0 is Monday
    is_on_by_default: bool = True

    @property
    def task(self) -> str:
        """The dotted path by which the queue knows the run."""
        return self.run if isinstance(self.run, str) else f"{self.run.__module__}.{self.run.__qualname__}"

    @property
    def when(self) -> str:
        """`*/15 * * * *`, `03:30`, or `Monday 04:00`, in the language of whoever reads it."""
        if self.at is None:
            return self.cron
        return f"{'' if self.weekday is None else f'{WEEKDAYS[self.weekday]} '}{self.at:%H:%M}"

    @property
    def switch(self) -> str:
        """The setting that turns it off, or on."""
        return f"MEMORY_JOB_{self.name.upper().replace('-', '_')}"

    @property
    def is_on(self) -> bool:
        return switch(self.switch, default=self.is_on_by_default)

    def work(self, *, is_dry: bool) -> Work:
        work = self.preview if is_dry else self.run
        return import_string(work) if isinstance(work, str) else work


def preview_compress_days(workspace_id: int, *, now: datetime) -> dict[str, int]:
    return {"days": compression.days_to_compress(Workspace.objects.get(pk=workspace_id), now).count()}


def preview_archive(workspace_id: int, *, now: datetime) -> dict[str, int]:
    return {"notes": summaries.count_days(workspace_id, now=now)}


def purge(workspace_id: int, *, now: datetime, run: str) -> dict[str, int]:
    """Propose a purge where the job is switched on; nothing where it is off, even when a run is asked for."""
    return expiry.propose_purge(workspace_id, now=now, run=run) if PURGE.is_on else {"scopes": 0, "entries": 0}


def preview_purge(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """Counts, even where it is switched off."""
    entries = expiry.purgeable(workspace_id, now=now).filter(scope__frozen=False)
    return {"scopes": entries.values("scope_id").distinct().count(), "entries": entries.count()}


def preview_extract(*, now: datetime) -> dict[str, int]:
    due = ExtractionBatch.objects.filter(due_at__lte=now)
    return {"extraction_batches": due.exclude(state=BufferState.PARKED).count()}


def preview_extract_day(workspace_id: int) -> dict[str, int]:
    return {"extraction_batches": extraction.waiting_in(workspace_id).exclude(state=BufferState.PARKED).count()}


def preview_resume_batches() -> dict[str, int]:
    return {"batches": batches.unfinished().count()}


PURGE = Job("purge", _("proposes to remove for good what expired long ago"), "A9", at=time(4, 30),
    run=purge, preview=preview_purge, is_on_by_default=False)  # fmt: skip
JOBS = (
    Job("count-terms", _("counts the words of every scope anew"), "E5", at=time(2, 30),
        run=maintenance.count_terms_anew, preview=partial(maintenance.count_terms_anew, is_dry=True)),
    Job("extract", _("extracts conversations that have gone quiet"), "D5", cron="* * * * *",
        run=tasks.extract, preview=preview_extract),
    Job("extract-day", _("extracts whatever the buffer still holds"), "D5", at=time(3, 0),
        run=tasks.extract_day, preview=preview_extract_day),
    Job("compress-days", _("makes facts of the days before"), "D6", at=time(3, 15),
        run=tasks.compress_days, preview=preview_compress_days),
    Job("expire", _("takes out of use what has lived its time"), "A9", at=time(3, 30),
        run=tasks.expire, preview=expiry.count_due),
    Job("capacity", _("archives what has faded and what is too much"), "D1", at=time(3, 45),
        run=expiry.enforce_capacity, preview=expiry.count_surplus),
    Job("compress", _("merges and drops facts, refreshes profiles"), "D6", at=time(4, 0), weekday=0,
        run=tasks.compress, preview=compression.count_facts),
    Job("archive", _("condenses the day before into a note"), "C10", at=time(4, 0),
        run=tasks.archive, preview=preview_archive),
    PURGE,
    Job("pinned-tests", _("asks the questions whose answers are to stay"), "F6", at=time(5, 0),
        run=pinned.check_all, preview=partial(pinned.check_all, is_dry=True)),
    Job("rehearse", _("counts what was recalled"), "D2", cron="* * * * *",
        run=tasks.rehearse, preview=access_counting.count_uncounted),
    Job("deliver-webhooks", _("delivers what webhooks are told of"), "F1", cron="* * * * *",
        run=tasks.deliver_webhooks, preview=webhooks.count_due),
    Job("resume-batches", _("goes on with batches left half applied"), "F3", cron="*/5 * * * *",
        run=tasks.resume_batches, preview=preview_resume_batches),
    Job("repair-index", _("finds entries without search row or vector"), "C12", cron="7 * * * *",
        run=tasks.repair_index, preview=maintenance.count_unindexed),
    Job("index-large-scopes", _("has the vectors of very large scopes indexed"), "C12", cron="27 * * * *",
        run=large_scopes.ask, preview=large_scopes.preview),
    Job("mark-echoes", _("finds old turns that tell nothing new"), "A7", cron="17 * * * *",
        run=tasks.mark_echoes, preview=old_entries.count_undecided),
    Job("find-secrets", _("finds secrets that were stored before they were looked for"), "A16", cron="47 * * * *",
        run=tasks.find_secrets, preview=old_entries.count_waiting),
    Job("clean-up", _("removes records that are no longer needed"), "F5", cron="37 * * * *",
        run=tasks.clean_up, preview=maintenance.count_outdated),
)  # fmt: skip
