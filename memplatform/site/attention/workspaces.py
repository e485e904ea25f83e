"""Lines about workspaces: what was given up, what waits for a person, what is late or spent."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial, reduce
from operator import or_

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories import webhooks
from memories.admin import spend
from memories.admin.access import actor_of
from memories.admin.auditing import note
from memories.admin.recall_traces import labels
from memories.audit.models import AuditEvent
from memories.choices import BatchState, BufferState, HoldReason, JobState
from memories.consolidation import buffer
from memories.evaluation.pinned import failing_pinned_tests
from memories.lifecycle import expiry
from memories.models import Batch, Entry, ExtractionBatch, IndexQueueItem, JobRun, WebhookDelivery
from memories.models.webhook import DeliveryState
from memories.staff.roles import Right
from memplatform.operations import health
from memplatform.operations.jobs.registry import JOBS
from memplatform.operations.jobs.runs import enqueue
from memplatform.site.attention.items import Item, Viewer, ago
from memplatform.site.figures import share

DAY = timedelta(days=1)
#: Rows that are counted.
SAMPLE = 1_000
#: Runs that are queued again at once.
RETRIED = 50
#: From this share of degraded answers on, somebody should look.
DEGRADED_SHARE = 0.05


def failed_jobs(viewer: Viewer) -> Iterator[Item]:
    """Runs of jobs that failed for good, and have not been run again since."""
    later = JobRun.objects.filter(job=OuterRef("job"), started_at__gt=OuterRef("started_at")).exclude(
        state=JobState.FAILED
    )
    again = Exists(later.filter(Q(workspace=OuterRef("workspace")) | Q(workspace=None, job=OuterRef("job"))))
    runs = JobRun.objects.filter(~again, state=JobState.FAILED, finished_at__gt=viewer.now - DAY, is_dry=False)
    found = viewer.rows(runs).aggregate(n=Count("*"), newest=Max("pk"))
    if count := found["n"]:
        text = ngettext("%(n)d job failed in the last day", "%(n)d jobs failed in the last day", count) % {"n": count}
        address = reverse("admin:memories_jobrun_changelist") + "?state__exact=failed"
        retry = partial(_run_again, viewer, runs) if viewer.may(Right.OPERATE) else None
        yield Item("failed-jobs", text, "", address, is_grave=True, mark=str(found["newest"]), retry=retry)


def _run_again(viewer: Viewer, failed: QuerySet[JobRun]) -> int:
    """Queue a run of each job that failed where it failed; how many."""
    mine = viewer.rows(failed.select_related("workspace"), Right.OPERATE).order_by("-pk")[:RETRIED]
    again = {(run.job, run.workspace_id): run for run in mine if run.job in JOBS}
    for run in again.values():
        queued = enqueue(run.job, run.workspace, actor=actor_of(viewer.request), now=viewer.now)
        note(viewer.request, AuditEvent.JOB, queued)
    return len(again)


def failed_deliveries(viewer: Viewer) -> Iterator[Item]:
    """What webhooks were to be told, and were not: it was tried until the last time."""
    failed = WebhookDelivery.objects.filter(state=DeliveryState.FAILED, webhook__is_enabled=True)
    newest = list(viewer.rows(failed).order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    if newest:
        text = ngettext("%(n)d delivery to a webhook failed", "%(n)d deliveries to webhooks failed", len(newest))
        hint = _("The receiver did not take it, however often it was tried.")
        address = reverse("admin:memories_webhookdelivery_changelist") + "?state__exact=failed"
        retry = partial(_send_again, viewer, newest) if viewer.may(Right.WEBHOOKS) else None
        yield Item("deliveries", text % {"n": len(newest)}, hint, address, True, mark=str(newest[0]), retry=retry)


def _send_again(viewer: Viewer, deliveries: list[int]) -> int:
    """Send those again that this person may; how many."""
    mine = viewer.rows(WebhookDelivery.objects.filter(pk__in=deliveries), Right.WEBHOOKS)
    return webhooks.send_again(mine, now=viewer.now)


def parked_conversations(viewer: Viewer) -> Iterator[Item]:
    """Extraction batches that failed too often."""
    parked = ExtractionBatch.objects.filter(state=BufferState.PARKED)
    found = viewer.rows(parked).aggregate(n=Count("*"), newest=Max("pk"))
    if count := found["n"]:
        text = ngettext(
            "%(n)d conversation could not be extracted", "%(n)d conversations could not be extracted", count
        )
        hint = _("Extraction failed too often; look at the error, then try again.")
        address = reverse("admin:memories_extractionbatch_changelist") + "?state__exact=parked"
        mine = viewer.rows(parked, Right.OPERATE)
        retry = partial(buffer.retry, mine, now=viewer.now) if viewer.may(Right.OPERATE) else None
        yield Item(
            "parked-conversations", text % {"n": count}, hint, address, True, mark=str(found["newest"]), retry=retry
        )


def waiting_batches(viewer: Viewer) -> Iterator[Item]:
    """Batches that a person decides about."""
    batches = viewer.rows(Batch.objects.filter(state=BatchState.PROPOSED))
    waiting = batches.aggregate(n=Count("*"), held=Count("pk", filter=_is_of_the_safety_limit()))
    if waiting["n"]:
        text = ngettext("%(n)d batch waits for you", "%(n)d batches wait for you", waiting["n"]) % waiting
        hint = ngettext(
            "The safety limit holds %(held)d of them.", "The safety limit holds %(held)d of them.", waiting["held"]
        )
        address = reverse("admin:memories_batch_changelist") + "?state__exact=proposed"
        if viewer.may(Right.CURATE):
            address = reverse("review")
        yield Item("batches", text, hint % waiting if waiting["held"] else "", address)


def _is_of_the_safety_limit() -> Q:
    """Batches that the safety limit holds; others wait because a person alone can tell."""
    codes = (HoldReason.SHARE, HoldReason.DRAINED, HoldReason.PINNED, HoldReason.UNREADABLE, HoldReason.PURGE)
    return reduce(or_, (Q(held_because__contains=[{"code": code.value}]) for code in codes))


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
    ended = expiry.expired_by(batches)[:SAMPLE].count()
    if ended:
        text = ngettext("%(n)d memory ended last night", "%(n)d memories ended last night", ended) % {"n": ended}
        hint = _("Their time was over, and nobody is served them. The list brings them back, with a term.")
        address = reverse("admin:memories_entry_changelist") + "?view=last_night"
        yield Item("ended", text, hint, address, mark=str(batches.values_list("pk", flat=True)[0]))


def quarantined(viewer: Viewer) -> Iterator[Item]:
    """Memories in quarantine that nobody has looked through."""
    held = Entry.objects.filter(quarantined_at__isnull=False, expired_at__isnull=True)
    if count := viewer.rows(held, Right.CURATE)[:SAMPLE].count():
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
    asked = viewer.recalls
    if asked.count and asked.degraded / asked.count > DEGRADED_SHARE:
        degraded = share(asked.degraded, asked.count)
        text = _("%(share)s of the last day's answers were degraded") % {"share": degraded}
        address = reverse("admin:memories_recalltrace_changelist") + "?answer=degraded"
        reasons = (
            f"{label}: {asked.without[name]:,}" for name, label in labels.DEGRADED.items() if asked.without[name]
        )
        yield Item("degraded", text, _("They did without a part: %(what)s.") % {"what": " · ".join(reasons)}, address)


def spent_budgets(viewer: Viewer) -> Iterator[Item]:
    """Workspaces whose model was refused because the tokens of the day are spent."""
    if spent := [day for day in spend.spent_today(viewer.seen, viewer.now) if day.refused]:
        text = ngettext(
            "The model's budget of today is spent in %(n)d workspace",
            "The model's budget of today is spent in %(n)d workspaces",
            len(spent),
        ) % {"n": len(spent)}
        hint = _("Its work waits until midnight there: %(n)d questions were refused. MEMORY_LLM_DAILY_TOKENS sets it.")
        address = reverse("admin:memories_spend_changelist")
        yield Item("budgets", text, hint % {"n": sum(day.refused for day in spent)}, address)


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
