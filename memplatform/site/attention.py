"""What needs the person who looks: the first part of the home page, one line a thing.

**To add a line**, write a function that takes a Viewer and yields an Item for each thing that needs somebody, or none:

    def lost_keys(viewer: Viewer) -> Iterator[Item]:
        if count := viewer.rows(LostKey.objects.all())[:MOST].count():
            yield Item("lost-keys", ngettext("%(n)d key is lost", "%(n)d keys are lost", count) % {"n": count})

and name it in LINES. `viewer.rows` keeps to the workspaces this person may see; read a bounded number of rows, in one
query. `key` is the line's name for good: snoozes are kept by it. With `mark`, which says what it is about (the newest
id), it can be dismissed until that changes; with `retry`, done again from here.
"""

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial, reduce
from operator import or_
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet, Window
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_q.models import Failure

from channels_app.api.turns import EFFECTS
from channels_app.doors.files import replay
from channels_app.models import Channel, Connection, ConnectionProblem, ReplayedRecord, ReplayOutcome
from channels_app.people import linking
from memories import embeddings, webhooks
from memories.admin import recall_traces, spend
from memories.admin.access import actor_of, in_workspaces
from memories.admin.auditing import note
from memories.audit.models import AuditEvent, AuditRecord
from memories.choices import BatchState, BufferState, DmScope, HoldReason, JobState
from memories.consolidation import buffer
from memories.evaluation.pinned import failing_pinned_tests
from memories.index import model_change
from memories.lifecycle import expiry
from memories.models import Batch, Entry, ExtractionBatch, IndexQueueItem, JobRun, WebhookDelivery
from memories.staff.rights import holds, workspaces_of
from memories.staff.roles import Right
from memories.tenancy.resolver import LOCAL_PLATFORMS
from memplatform.operations import health
from memplatform.operations.jobs import queue
from memplatform.operations.jobs.registry import JOBS
from memplatform.operations.jobs.runs import enqueue
from memplatform.operations.models import Heartbeat
from memplatform.site import figures
from memplatform.site.figures import Recalls, share


@dataclass(frozen=True)
class Item:
    """Something that needs somebody: grave things first."""

    key: str  # names the line, whatever it says today; snoozes are kept by it
    text: str
    hint: str = ""
    address: str = ""
    is_grave: bool = False
    #: What it is about, such as the newest id: dismissed, the line stays away until this changes. Empty: it cannot be
    #: dismissed, since it stands for as long as it is so.
    mark: str = ""
    #: Does it again, for all that this person may; how many. None: there is nothing to be done again.
    retry: Callable[[], int] | None = None

    @property
    def can_be_retried(self) -> bool:
        """For templates, which call what can be called: a page that named `retry` would do it by being looked at."""
        return self.retry is not None


class Viewer:
    """The person of a request, at one moment: what the lines are about is of the workspaces they may see."""

    def __init__(self, request: HttpRequest, now: datetime) -> None:
        self.request, self.now = request, now
        self.seen = workspaces_of(request)

    @property
    def is_superuser(self) -> bool:
        """Whether they see all workspaces, and the platform itself."""
        return self.seen is None

    def rows(self, rows: Any, right: Right = Right.READ) -> Any:
        """Those of these rows that are in workspaces where they hold a right."""
        return in_workspaces(rows, workspaces_of(self.request, right))

    def may(self, right: Right) -> bool:
        """Whether they hold a right in any workspace."""
        return holds(self.request, right)

    @cached_property
    def measures(self) -> health.Measures:
        """The measures of the platform's work at this moment, read once."""
        return health.measure(self.now)

    @cached_property
    def recalls(self) -> Recalls:
        """The newest recalls of the last day, read once."""
        return figures.recalls(self.seen, self.now)


def ago(seconds: float) -> str:
    """A time span in its largest unit."""
    for size, name in ((86_400, _("%(n)d days")), (3_600, _("%(n)d hours")), (60, _("%(n)d minutes"))):
        if seconds >= 2 * size:
            return name % {"n": seconds // size}
    return _("%(n)d seconds") % {"n": seconds}


#: Failed tasks that are run again at once.
TASKS_RETRIED = 100
_LEAST_ROOM = 50_000_000  # bytes; PostgreSQL writes its log in files of 16 MB
_WEEK, _COUNTED = timedelta(days=7), 100


def silent_processes(viewer: Viewer) -> Iterator[Item]:
    """Processes without which the platform does not do what it promises."""
    names = (*health.NEEDED, *([health.MCP] if settings.MCP else []))
    is_starting = False  # started just now, a process that was not heard yet may still be on its way
    if not viewer.measures.silence.keys() >= set(names):
        started = Heartbeat.objects.aggregate(at=Max("started_at"))["at"]
        is_starting = started is not None and viewer.now - started < health.SILENCE
    for name in names:
        silence = viewer.measures.silence.get(name)
        if silence is None and is_starting:
            yield Item(f"starting:{name}", _("The process «%(name)s» is starting") % {"name": name})
        elif silence is None or silence > health.SILENCE.total_seconds():
            since = (
                _("It was never heard.") if silence is None else _("Last heard %(ago)s ago.") % {"ago": ago(silence)}
            )
            address = reverse("admin:operations_heartbeat_changelist") if viewer.is_superuser else ""
            text = _("The process «%(name)s» is silent") % {"name": name}
            yield Item(f"silent:{name}", text, since, address, is_grave=True)


def failing_model(viewer: Viewer) -> Iterator[Item]:
    """The one model of the platform, and how many conversations this person sees wait for it."""
    measures = viewer.measures
    if not measures.model_failing:
        return
    last = {"ago": ago(measures.model_failed_ago), "error": measures.model_error}
    hint = _("Last tried %(ago)s ago: %(error)s") % last
    count, since = measures.model_waiting, measures.model_waiting_since
    if not viewer.is_superuser:
        held_up = viewer.rows(ExtractionBatch.objects.filter(error__startswith=health.MODEL_FAILED))
        mine = held_up.aggregate(rows=Count("*"), since=Min("began_at"))
        count, since = mine["rows"], (viewer.now - mine["since"]).total_seconds() if mine["since"] else 0.0
    if count:
        waiting = ngettext(
            "%(n)d conversation waits for it since %(ago)s.",
            "%(n)d conversations wait for it, the oldest since %(ago)s.",
            count,
        )
        hint += " " + waiting % {"n": count, "ago": ago(since)}
    address = reverse("admin:memories_extractionbatch_changelist")
    yield Item("model", _("The model gives no answer"), hint, address, is_grave=True)


def full_disks(viewer: Viewer) -> Iterator[Item]:
    """Folders of the platform on a disk that is full, or nearly."""
    folders = (settings.DATA_DIR, Path(settings.MEMORY_FILES_ROOT), Path(settings.MEMORY_OFFLINE_ROOT))
    for folder in dict.fromkeys(folder for folder in folders if folder.is_dir()):
        free_bytes = shutil.disk_usage(folder).free
        if free_bytes < _LEAST_ROOM:
            hint = _(
                "%(folder)s has %(megabytes)d MB left. Nothing is lost; what is to be stored is answered 503 until"
                " there is room."
            )
            values = {"folder": folder, "megabytes": free_bytes // 1_000_000}
            yield Item(f"disk-{folder.name}", _("The disk is full"), hint % values, is_grave=True)


def missing_embedder(viewer: Viewer) -> Iterator[Item]:
    """Embedders that are configured, of which none can be used."""
    if settings.MEMORY_EMBEDDERS and not embeddings.providers():
        hint = _("Recall is by keywords only. The log and `manage.py check` say why.")
        yield Item("embedder", _("No embedder can be used"), hint, is_grave=True)


def held_back_answers(viewer: Viewer) -> Iterator[Item]:
    """Answers of the last week that held a canary: somebody asked and would have been shown what is not theirs."""
    leaks = viewer.rows(AuditRecord.objects.filter(event=AuditEvent.LEAKED, at__gt=viewer.now - _WEEK)).order_by("-at")
    if newest := list(leaks.values_list("pk", flat=True)[:_COUNTED]):
        text = ngettext("%(n)d answer was held back", "%(n)d answers were held back", len(newest)) % {"n": len(newest)}
        hint = _("It held a canary: a call leads past the walls. The audit log says which; tell whoever makes it.")
        address = f"{reverse('admin:memories_auditrecord_changelist')}?event__exact={AuditEvent.LEAKED}"
        yield Item("leaks", text, hint, address, is_grave=True, mark=str(newest[0]))


def failed_tasks(viewer: Viewer) -> Iterator[Item]:
    """Tasks that were tried and given up."""
    if not viewer.is_superuser:
        return
    newest = Failure.objects.order_by("-stopped").values_list("pk", Window(Count("*"))).first()
    if newest is None:
        return
    mark, failed = newest
    text = ngettext("%(n)d task failed", "%(n)d tasks failed", failed) % {"n": failed}
    hint = _("Look at the error, then run it again.")
    address = reverse("admin:django_q_failure_changelist")
    yield Item("failed-tasks", text, hint, address, is_grave=True, mark=mark, retry=_run_tasks_again)


def _run_tasks_again() -> int:
    """The newest that failed; how many."""
    with transaction.atomic():
        tasks = list(Failure.objects.select_for_update(skip_locked=True).order_by("-stopped")[:TASKS_RETRIED])
        queue.run_again(tasks)
    return len(tasks)


def late_queue(viewer: Viewer) -> Iterator[Item]:
    """Tasks and schedules that wait for longer than they should."""
    if not viewer.is_superuser:
        return
    if viewer.measures.queue_age > health.QUEUE_BEHIND.total_seconds():
        waits = _("The oldest task waits since %(ago)s.") % {"ago": ago(viewer.measures.queue_age)}
        yield Item("queue", _("The task queue is behind"), waits)
    if viewer.measures.schedules_late > health.SCHEDULES_BEHIND.total_seconds():
        late = _("The oldest should have run %(ago)s ago.") % {"ago": ago(viewer.measures.schedules_late)}
        yield Item("schedules", _("Schedules are late"), late, reverse("admin:django_q_schedule_changelist"))


def model_changes(viewer: Viewer) -> Iterator[Item]:
    """Workspaces whose memories are being embedded by another model."""
    for change in embeddings.model_changes():
        if viewer.seen is not None and change.workspace.pk not in viewer.seen:
            continue
        progress = model_change.progress_of(change)
        text = _("%(workspace)s changes its embedding model: %(done)d of %(all)d memories") % {
            "workspace": change.workspace.name,
            "done": progress.embedded,
            "all": progress.entries,
        }
        hint = _("From %(old)s, which nobody serves, to %(new)s. Words find the others.")
        if change.goes_on:
            hint = _("From %(old)s to %(new)s. Recall goes on by the old one.")
        yield Item(f"model-change:{change.workspace.pk}", text, hint % {"old": change.old, "new": change.new})


DAY = timedelta(days=1)
#: Rows that are counted.
SAMPLE = 1_000
#: Runs that are queued again at once.
JOBS_RETRIED = 50
#: From this share of degraded answers on, somebody should look.
DEGRADED_SHARE = 0.05


def failed_jobs(viewer: Viewer) -> Iterator[Item]:
    """Runs of jobs that failed for good, and have not been run again since."""
    later = JobRun.objects.filter(job=OuterRef("job"), started_at__gt=OuterRef("started_at")).exclude(
        state=JobState.FAILED
    )
    again = Exists(later.filter(Q(workspace=OuterRef("workspace")) | Q(workspace=None, job=OuterRef("job"))))
    runs = JobRun.objects.filter(~again, state=JobState.FAILED, finished_at__gt=viewer.now - DAY, is_dry=False)
    failed = viewer.rows(runs).aggregate(n=Count("*"), newest=Max("pk"))
    if count := failed["n"]:
        text = ngettext("%(n)d job failed in the last day", "%(n)d jobs failed in the last day", count) % {"n": count}
        address = reverse("admin:memories_jobrun_changelist") + "?state__exact=failed"
        retry = partial(_run_again, viewer, runs) if viewer.may(Right.OPERATE) else None
        yield Item("failed-jobs", text, "", address, is_grave=True, mark=str(failed["newest"]), retry=retry)


def _run_again(viewer: Viewer, failed: QuerySet[JobRun]) -> int:
    """Queue a run of each job that failed where it failed; how many."""
    mine = viewer.rows(failed.select_related("workspace"), Right.OPERATE).order_by("-pk")[:JOBS_RETRIED]
    again = {(run.job, run.workspace_id): run for run in mine if run.job in JOBS}
    for run in again.values():
        new_run = enqueue(run.job, run.workspace, actor=actor_of(viewer.request), now=viewer.now)
        note(viewer.request, AuditEvent.JOB, new_run)
    return len(again)


def failed_deliveries(viewer: Viewer) -> Iterator[Item]:
    """What webhooks were to be told, and were not: it was tried until the last time. What is gone needs nobody."""
    failed = WebhookDelivery.objects.failed().filter(webhook__is_enabled=True)
    newest = list(viewer.rows(failed).order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    if newest:
        text = ngettext("%(n)d delivery to a webhook failed", "%(n)d deliveries to webhooks failed", len(newest))
        hint = _("The receiver did not take it, however often it was tried.")
        address = reverse("admin:memories_webhookdelivery_changelist") + "?state__exact=failed"
        mine = viewer.rows(WebhookDelivery.objects.filter(pk__in=newest), Right.WEBHOOKS)
        retry = partial(webhooks.send_again, mine, now=viewer.now) if viewer.may(Right.WEBHOOKS) else None
        yield Item("deliveries", text % {"n": len(newest)}, hint, address, True, mark=str(newest[0]), retry=retry)


def parked_conversations(viewer: Viewer) -> Iterator[Item]:
    """Extraction batches that failed too often."""
    parked = ExtractionBatch.objects.filter(state=BufferState.PARKED)
    counts = viewer.rows(parked).aggregate(n=Count("*"), newest=Max("pk"))
    if count := counts["n"]:
        text = ngettext(
            "%(n)d conversation could not be extracted", "%(n)d conversations could not be extracted", count
        )
        hint = _("Extraction failed too often; look at the error, then try again.")
        address = reverse("admin:memories_extractionbatch_changelist") + "?state__exact=parked"
        mine = viewer.rows(parked, Right.OPERATE)
        retry = partial(buffer.retry, mine, now=viewer.now) if viewer.may(Right.OPERATE) else None
        yield Item(
            "parked-conversations", text % {"n": count}, hint, address, True, mark=str(counts["newest"]), retry=retry
        )


def waiting_batches(viewer: Viewer) -> Iterator[Item]:
    """Batches that a person decides about."""
    batches = viewer.rows(Batch.objects.filter(state=BatchState.PROPOSED))
    # Those that the safety limit holds; others wait because a person alone can tell
    codes = (HoldReason.SHARE, HoldReason.DRAINED, HoldReason.PINNED, HoldReason.UNREADABLE, HoldReason.PURGE)
    of_the_limit = reduce(or_, (Q(held_because__contains=[{"code": code.value}]) for code in codes))
    waiting = batches.aggregate(n=Count("*"), held=Count("pk", filter=of_the_limit))
    if waiting["n"]:
        text = ngettext("%(n)d batch waits for you", "%(n)d batches wait for you", waiting["n"]) % waiting
        hint = ngettext(
            "The safety limit holds %(held)d of them.", "The safety limit holds %(held)d of them.", waiting["held"]
        )
        address = reverse("admin:memories_batch_changelist") + "?state__exact=proposed"
        if viewer.may(Right.CURATE):
            address = reverse("review")
        yield Item("batches", text, hint % waiting if waiting["held"] else "", address)


def due_reviews(viewer: Viewer) -> Iterator[Item]:
    """Memories whose date of review has come."""
    if due := viewer.rows(Entry.objects.live().filter(review_at__lte=viewer.now))[:SAMPLE].count():
        text = ngettext("%(n)d memory is to be looked at again", "%(n)d memories are to be looked at again", due)
        address = reverse("admin:memories_entry_changelist") + "?due=review"
        if viewer.may(Right.CURATE):
            address = reverse("review_due")
        yield Item("reviews", text % {"n": due}, _("Their date of review has come; they stay in use."), address)


def ended_last_night(viewer: Viewer) -> Iterator[Item]:
    """What the nightly job took out of use in the last day, and nobody has brought back or dismissed."""
    batches = viewer.rows(expiry.expiry_batches(since=viewer.now - expiry.NIGHT))
    count = expiry.expired_by(batches)[:SAMPLE].count()
    if count:
        text = ngettext("%(n)d memory ended last night", "%(n)d memories ended last night", count) % {"n": count}
        hint = _("Their time was over, and nobody is served them. The list brings them back, with a term.")
        address = reverse("admin:memories_entry_changelist") + "?view=last_night"
        yield Item("ended", text, hint, address, mark=str(batches.values_list("pk", flat=True)[0]))


def quarantined(viewer: Viewer) -> Iterator[Item]:
    """Memories in quarantine that nobody has looked through."""
    in_quarantine = Entry.objects.filter(quarantined_at__isnull=False, expired_at__isnull=True)
    if count := viewer.rows(in_quarantine, Right.CURATE)[:SAMPLE].count():
        text = ngettext("%(n)d memory waits in quarantine", "%(n)d memories wait in quarantine", count)
        hint = _("Nobody is served them until somebody lets them back.")
        yield Item("quarantine", text % {"n": count}, hint, reverse("quarantine"))


def late_embeddings(viewer: Viewer) -> Iterator[Item]:
    """Memories in use that wait for their vectors for longer than they should; not those only blended anew."""
    waiting = viewer.rows(IndexQueueItem.objects.without_vector()).aggregate(rows=Count("*"), since=Min("since"))
    if waiting["since"] and viewer.now - waiting["since"] > health.EMBEDDING_BEHIND:
        text = ngettext(
            "%(n)d memory waits for its embedding", "%(n)d memories wait for their embedding", waiting["rows"]
        ) % {"n": waiting["rows"]}
        waits = ago((viewer.now - waiting["since"]).total_seconds())
        yield Item("embedding", text, _("The oldest since %(ago)s; keywords find them already.") % {"ago": waits})


def degraded_answers(viewer: Viewer) -> Iterator[Item]:
    """Recalls that were answered without a part of the platform."""
    recalls = viewer.recalls
    if recalls.count and recalls.degraded / recalls.count > DEGRADED_SHARE:
        degraded = share(recalls.degraded, recalls.count)
        text = _("%(share)s of the last day's answers were degraded") % {"share": degraded}
        address = reverse("admin:memories_recalltrace_changelist") + "?answer=degraded"
        reasons = (
            f"{label}: {recalls.without[name]:,}"
            for name, label in recall_traces.DEGRADED.items()
            if recalls.without[name]
        )
        yield Item("degraded", text, _("They did without a part: %(what)s.") % {"what": " · ".join(reasons)}, address)


def spent_budgets(viewer: Viewer) -> Iterator[Item]:
    """Workspaces whose model was refused because the tokens of the day or the month are spent."""
    if spent_days := [day for day in spend.spent_today(viewer.seen, viewer.now) if day.refused]:
        text = ngettext(
            "The model's budget is spent in %(n)d workspace",
            "The model's budget is spent in %(n)d workspaces",
            len(spent_days),
        ) % {"n": len(spent_days)}
        hint = _(
            "Its work goes on by itself when the next day or month begins there: %(n)d questions were refused. "
            "MEMORY_LLM_DAILY_TOKENS and MEMORY_LLM_MONTHLY_TOKENS set it."
        )
        address = reverse("admin:memories_spend_changelist")
        yield Item("budgets", text, hint % {"n": sum(day.refused for day in spent_days)}, address)


def failing_tests(viewer: Viewer) -> Iterator[Item]:
    """Questions whose answers were to stay as they are, and did not."""
    failing = list(failing_pinned_tests(viewer.seen).values_list("pk", flat=True)[:SAMPLE])
    if failing:
        text = ngettext("%(n)d pinned test does not pass", "%(n)d pinned tests do not pass", len(failing))
        hint = _("A question is answered otherwise than it has to be, or what it names is gone.")
        address = reverse("admin:memories_pinnedtest_changelist")
        if len(failing) == 1:
            address = reverse("admin:memories_pinnedtest_change", args=failing)
        yield Item("pinned-tests", text % {"n": len(failing)}, hint, address)


def fooled_readers(viewer: Viewer) -> Iterator[Item]:
    """A model that reads what another stated, and believes what we invented, is of no use."""
    fooled = viewer.rows(Batch.objects.filter(created_at__gt=viewer.now - DAY, cost__decoys_passed__gt=0))
    newest = list(fooled.order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    if newest:
        text = ngettext(
            "The second reading was not believed in %(n)d run of the last day",
            "The second reading was not believed in %(n)d runs of the last day",
            len(newest),
        )
        hint = _("It took invented statements for true, so the facts are only quoted. Another model may read better.")
        address = reverse("admin:memories_refusedfact_changelist")
        yield Item("readers", text % {"n": len(newest)}, hint, address, mark=str(newest[0]))


def parked_calls(viewer: Viewer) -> Iterator[Item]:
    """Calls that were accepted, and are nowhere but in their record."""
    calls = viewer.rows(ReplayedRecord.objects.filter(outcome=ReplayOutcome.PARKED))
    newest = list(calls.order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    if newest:
        text = ngettext(
            "%(n)d call taken in while the database was away could not be applied",
            "%(n)d calls taken in while the database was away could not be applied",
            len(newest),
        )
        address = reverse("admin:channels_app_replayedrecord_changelist") + "?outcome__exact=parked"
        hint = _("Its body is kept, with the reason.")
        retry = partial(_apply_again, viewer, calls) if viewer.may(Right.OPERATE) else None
        yield Item("parked-calls", text % {"n": len(newest)}, hint, address, True, mark=str(newest[0]), retry=retry)


def _apply_again(viewer: Viewer, calls: QuerySet[ReplayedRecord]) -> int:
    """Apply those again that this person may; how many were applied."""
    outcomes = replay.retry(viewer.rows(calls, Right.OPERATE), EFFECTS, now=viewer.now)
    return outcomes[ReplayOutcome.APPLIED] + outcomes[ReplayOutcome.KNOWN]


def shared_by_strangers(viewer: Viewer) -> Iterator[Item]:
    """One memory for all direct chats is for a bot with one owner; a second person there is a leak (E1)."""
    channels: defaultdict[tuple[int, str], list[Channel]] = defaultdict(list)
    for channel in viewer.rows(Channel.objects.exclude(platform__in=LOCAL_PLATFORMS)):
        if linking.shares_one_memory(channel):
            channels[channel.workspace_id, channel.platform].append(channel)
    every = [channel for alike in channels.values() for channel in alike]
    for (workspace, platform), count in linking.people_sharing(every, now=viewer.now).items():
        if count > 1:
            text = _("%(n)d people share one memory on %(channel)s") % {"n": count, "channel": platform}
            hint = _("Its rule «one memory for all direct chats» is meant for a bot with a single owner.")
            # The page of the channel, or of several the list: a memory names only its platform
            alike = channels[workspace, platform]
            filters = {"platform__exact": platform, "dm_scope__exact": DmScope.MAIN}
            address = f"{reverse('admin:channels_app_channel_changelist')}?{urlencode(filters)}"
            if len(alike) == 1:
                address = reverse("admin:channels_app_channel_change", args=[alike[0].pk])
            yield Item(f"shared:{workspace}:{platform}", text, hint, address, is_grave=True)


def broken_connections(viewer: Viewer) -> Iterator[Item]:
    """Bots on chat platforms that do not work."""
    broken = viewer.rows(Connection.objects.filter(is_enabled=True).exclude(problem="")).select_related("channel")
    for row in broken[:SAMPLE]:
        text = _("%(bot)s does not work on its platform") % {"bot": row}
        since = ago((viewer.now - row.problem_at).total_seconds()) if row.problem_at else "—"
        hint = _("%(problem)s Since %(ago)s; what people write is kept.") % {
            "problem": ConnectionProblem(row.problem).label, "ago": since,
        }  # fmt: skip
        address = reverse("admin:channels_app_connection_change", args=[row.pk])
        yield Item(f"connection:{row.pk}", text, hint, address, is_grave=True, mark=row.problem)


LINES: tuple[Callable[[Viewer], Iterable[Item]], ...] = (
    silent_processes,
    full_disks,
    held_back_answers,
    failing_model,
    broken_connections,
    missing_embedder,
    failed_tasks,
    late_queue,
    model_changes,
    failed_jobs,
    failed_deliveries,
    parked_conversations,
    parked_calls,
    waiting_batches,
    due_reviews,
    ended_last_night,
    quarantined,
    late_embeddings,
    degraded_answers,
    spent_budgets,
    failing_tests,
    fooled_readers,
    shared_by_strangers,
)


def items(viewer: Viewer) -> list[Item]:
    """What needs this person now, grave things first."""
    every = (item for line in LINES for item in line(viewer))
    return sorted(every, key=lambda item: not item.is_grave)
