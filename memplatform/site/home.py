"""The home page: first what needs somebody, then how the platform is used. Every number comes from a bounded query."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Count, Min, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_q.models import Failure

from channels_app.models import Channel, ReplayedRecord, ReplayOutcome
from memories import embeddings, reranker
from memories.admin import spend
from memories.admin.access import in_workspaces, workspaces_of
from memories.admin.batches.list import EMPTY
from memories.admin.labels import batch_name
from memories.choices import BatchState, BufferState, DmScope, HoldReason, JobState, Verdict
from memories.index import model_change, models_in_use
from memories.index.models_in_use import ModelChange
from memories.models import Batch, Entry, ExtractionBatch, IndexQueueItem, JobRun
from memories.rights import holds
from memories.tenancy.platforms import LOCAL_PLATFORMS
from memories.tenancy.roles import Right
from memplatform import health
from memplatform.site import figures
from memplatform.site.figures import Recalls, share

DAY = timedelta(days=1)
#: Entries due for a review that are counted.
SAMPLE = 1_000
#: From this share of degraded answers on, somebody should look.
DEGRADED_SHARE = 0.05
LATEST = 6
_OWNERS_WINDOW = timedelta(days=30)


@dataclass(frozen=True)
class Item:
    """Something that needs attention: grave things first."""

    text: str
    hint: str
    address: str = ""
    is_grave: bool = False


def page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the home page, added to unfold's."""
    return {**context, **what_needs_attention(request)}


def what_needs_attention(request: HttpRequest) -> dict[str, Any]:
    """Of this person's workspaces only."""
    now, seen = timezone.now(), workspaces_of(request)
    if seen is not None and not seen:
        return {"is_stranger": True, "items": [], "figures": []}
    asked = figures.recalls(seen, now)
    items = [*_of_the_platform(seen, now), *_of_model_changes(seen), *_of_readers(seen, now)]
    items += _of_workspaces(seen, asked, now, may_review=holds(request, Right.CURATE))
    latest = in_workspaces(Batch.objects.exclude(EMPTY).select_related("scope"), seen)
    return {
        "items": sorted(items, key=lambda item: not item.is_grave),
        "figures": list(figures.figures(seen, asked, now)),
        "batches": [(batch, batch_name(batch)) for batch in latest.order_by("-created_at", "-id")[:LATEST]],
        "unanswered": figures.questions(asked, Verdict.NONE, LATEST),
        "doubtful": figures.questions(asked, Verdict.WEAK, LATEST),
    }


def _of_the_platform(seen: frozenset[int] | None, now: datetime) -> Iterator[Item]:
    """Processes concern everybody; what failed may tell of other workspaces, and is for superusers."""
    measures = health.measure(now)
    for name in (*health.NEEDED, *([health.MCP] if settings.MCP else [])):
        silence = measures.silence.get(name)
        if silence is None or silence > health.SILENCE.total_seconds():
            since = (
                _("It was never heard.") if silence is None else _("Last heard %(ago)s ago.") % {"ago": ago(silence)}
            )
            address = reverse("admin:memories_heartbeat_changelist") if seen is None else ""
            yield Item(_("The process «%(name)s» is silent") % {"name": name}, since, address, is_grave=True)
    if measures.model_failing:
        yield _of_the_model(measures, seen, now)
    if settings.MEMORY_EMBEDDERS and not embeddings.providers():
        hint = _("Recall is by keywords only. The log and `manage.py check` say why.")
        yield Item(_("No embedder can be used"), hint, is_grave=True)
    if seen is not None:
        return
    failed = Failure.objects.count()
    if failed:
        text = ngettext("%(n)d task failed", "%(n)d tasks failed", failed) % {"n": failed}
        yield Item(text, _("Look at the error, then run it again."), reverse("admin:django_q_failure_changelist"), True)
    if measures.queue_age > health.QUEUE_BEHIND.total_seconds():
        yield Item(
            _("The task queue is behind"), _("The oldest task waits since %(ago)s.") % {"ago": ago(measures.queue_age)}
        )
    if measures.schedules_late > health.SCHEDULES_BEHIND.total_seconds():
        late = _("The oldest should have run %(ago)s ago.") % {"ago": ago(measures.schedules_late)}
        yield Item(_("Schedules are late"), late, reverse("admin:django_q_schedule_changelist"))


def _of_the_model(measures: health.Measures, seen: frozenset[int] | None, now: datetime) -> Item:
    """The item of the one model of the platform, and how many conversations this person sees wait for it."""
    last = {"ago": ago(measures.model_failed_ago), "error": measures.model_error}
    hint = _("Last tried %(ago)s ago: %(error)s") % last
    count, since = measures.model_waiting, measures.model_waiting_since
    if seen is not None:
        held_up = in_workspaces(ExtractionBatch.objects.filter(error__startswith=health.MODEL_FAILED), seen)
        mine = held_up.aggregate(rows=Count("*"), since=Min("began_at"))
        count, since = mine["rows"], (now - mine["since"]).total_seconds() if mine["since"] else 0.0
    if count:
        waiting = ngettext(
            "%(n)d conversation waits for it since %(ago)s.",
            "%(n)d conversations wait for it, the oldest since %(ago)s.",
            count,
        )
        hint += " " + waiting % {"n": count, "ago": ago(since)}
    return Item(
        _("The model gives no answer"), hint, reverse("admin:memories_extractionbatch_changelist"), is_grave=True
    )


def _of_model_changes(seen: frozenset[int] | None) -> Iterator[Item]:
    for change in models_in_use.changes():
        if seen is not None and change.workspace.pk not in seen:
            continue
        progress = model_change.progress_of(change)
        text = _("%(workspace)s changes its embedding model: %(done)d of %(all)d memories") % {
            "workspace": change.workspace.name,
            "done": progress.embedded,
            "all": progress.entries,
        }
        if change.goes_on:
            hint = _("From %(old)s to %(new)s. Recall goes on by the old one.") % _models(change)
        else:
            hint = _("From %(old)s, which nobody serves, to %(new)s. Words find the others.") % _models(change)
        yield Item(text, hint)


def _models(change: ModelChange) -> dict[str, str]:
    return {"old": str(change.old), "new": str(change.new)}


def _of_workspaces(seen: frozenset[int] | None, asked: Recalls, now: datetime, *, may_review: bool) -> Iterator[Item]:
    waiting = in_workspaces(IndexQueueItem.objects.all(), seen).aggregate(rows=Count("*"), since=Min("since"))
    if waiting["since"] and now - waiting["since"] > health.EMBEDDING_BEHIND:
        text = ngettext(
            "%(n)d memory waits for its embedding", "%(n)d memories wait for their embedding", waiting["rows"]
        ) % {"n": waiting["rows"]}
        waits = ago((now - waiting["since"]).total_seconds())
        yield Item(text, _("The oldest since %(ago)s; keywords find them already.") % {"ago": waits})
    if asked.count and asked.degraded / asked.count > DEGRADED_SHARE:
        degraded = share(asked.degraded, asked.count)
        text = _("%(share)s of the last day's answers were degraded") % {"share": degraded}
        address = reverse("admin:memories_recalltrace_changelist") + "?answer=degraded"
        hint = _("The embedder did not answer in time; keywords answered alone.")
        if reranker.is_configured():
            hint = _("The embedder or the reranker did not answer in time; the list says which.")
        yield Item(text, hint, address)
    if failed := in_workspaces(JobRun.objects.filter(state=JobState.FAILED, finished_at__gt=now - DAY), seen).count():
        text = ngettext("%(n)d job failed in the last day", "%(n)d jobs failed in the last day", failed) % {"n": failed}
        yield Item(text, "", reverse("admin:memories_jobrun_changelist") + "?state__exact=failed", is_grave=True)
    if parked := in_workspaces(ExtractionBatch.objects.filter(state=BufferState.PARKED), seen).count():
        text = ngettext(
            "%(n)d conversation could not be extracted", "%(n)d conversations could not be extracted", parked
        )
        hint = _("Extraction failed too often; look at the error, then try again.")
        address = reverse("admin:memories_extractionbatch_changelist") + "?state__exact=parked"
        yield Item(text % {"n": parked}, hint, address, is_grave=True)
    batches = in_workspaces(Batch.objects.filter(state=BatchState.PROPOSED), seen)
    waiting = batches.aggregate(n=Count("*"), held=Count("pk", filter=_is_of_the_safety_limit()))
    if waiting["n"]:
        text = ngettext("%(n)d batch waits for you", "%(n)d batches wait for you", waiting["n"]) % waiting
        hint = ngettext(
            "The safety limit holds %(held)d of them.", "The safety limit holds %(held)d of them.", waiting["held"]
        )
        yield Item(text, hint % waiting if waiting["held"] else "", _waiting_batches(may_review))
    if due := in_workspaces(Entry.objects.live().filter(review_at__lte=now), seen)[:SAMPLE].count():
        text = ngettext("%(n)d memory is to be looked at again", "%(n)d memories are to be looked at again", due)
        address = reverse("admin:memories_entry_changelist") + "?due=review"
        yield Item(text % {"n": due}, _("Their date of review has come; they stay in use."), address)
    if spent := [day for day in spend.spent_today(seen, now) if day.refused]:
        text = ngettext(
            "The model's budget of today is spent in %(n)d workspace",
            "The model's budget of today is spent in %(n)d workspaces",
            len(spent),
        ) % {"n": len(spent)}
        hint = _("Its work waits until midnight there: %(n)d questions were refused. MEMORY_LLM_DAILY_TOKENS sets it.")
        address = reverse("admin:memories_spend_changelist")
        yield Item(text, hint % {"n": sum(day.refused for day in spent)}, address)
    yield from _of_the_journal(seen)
    yield from _shared_by_strangers(seen, now)


def _waiting_batches(may_review: bool) -> str:
    return reverse("review") if may_review else reverse("admin:memories_batch_changelist") + "?state__exact=proposed"


def _of_the_journal(seen: frozenset[int] | None) -> Iterator[Item]:
    """Calls that were accepted, and are nowhere but in their record."""
    parked = in_workspaces(ReplayedRecord.objects.filter(outcome=ReplayOutcome.PARKED), seen)
    if count := parked[:SAMPLE].count():
        text = ngettext(
            "%(n)d call taken in while the database was away could not be applied",
            "%(n)d calls taken in while the database was away could not be applied",
            count,
        )
        address = reverse("admin:channels_app_replayedrecord_changelist") + "?outcome__exact=parked"
        yield Item(text % {"n": count}, _("Its body is kept, with the reason."), address, is_grave=True)


def _of_readers(seen: frozenset[int] | None, now: datetime) -> Iterator[Item]:
    """A model that reads what another stated, and believes what we invented, is of no use."""
    fooled = Batch.objects.filter(created_at__gt=now - DAY, cost__decoys_passed__gt=0)
    if count := in_workspaces(fooled, seen)[:SAMPLE].count():
        text = ngettext(
            "The second reading was not believed in %(n)d run of the last day",
            "The second reading was not believed in %(n)d runs of the last day",
            count,
        )
        hint = _("It took invented statements for true, so the facts are only quoted. Another model may read better.")
        yield Item(text % {"n": count}, hint, reverse("admin:memories_refusedfact_changelist"))


def _shared_by_strangers(seen: frozenset[int] | None, now: datetime) -> Iterator[Item]:
    """One memory for all direct chats is for a bot with one owner; a second person there is a leak (E1)."""
    single = in_workspaces(Channel.objects.filter(dm_scope=DmScope.MAIN).exclude(platform__in=LOCAL_PLATFORMS), seen)
    channels: defaultdict[tuple[int, str], list[Channel]] = defaultdict(list)
    for channel in single:
        channels[channel.workspace_id, channel.platform].append(channel)
    if not channels:
        return
    entries = Entry.objects.filter(
        workspace_id__in={workspace for workspace, _platform in channels},
        scope__key="main",
        channel__in={platform for _workspace, platform in channels},
        created_at__gt=now - _OWNERS_WINDOW,
    )
    speakers = entries.order_by().values_list("workspace_id", "channel").annotate(n=Count("sender_id", distinct=True))
    for workspace, platform, count in speakers:
        if count > 1 and (workspace, platform) in channels:
            text = _("%(n)d people share one memory on %(channel)s") % {"n": count, "channel": platform}
            hint = _("Its rule «one memory for all direct chats» is meant for a bot with a single owner.")
            yield Item(text, hint, _where(channels[workspace, platform]), is_grave=True)


def _where(channels: list[Channel]) -> str:
    """The page of the channel, or of several the list: a memory names only its platform."""
    if len(channels) == 1:
        return reverse("admin:channels_app_channel_change", args=[channels[0].pk])
    sought = {"platform__exact": channels[0].platform, "dm_scope__exact": DmScope.MAIN}
    return f"{reverse('admin:channels_app_channel_changelist')}?{urlencode(sought)}"


def _is_of_the_safety_limit() -> Q:
    """Batches that the safety limit holds; others wait because a person alone can tell."""
    codes = (HoldReason.SHARE, HoldReason.DRAINED, HoldReason.PINNED, HoldReason.UNREADABLE, HoldReason.PURGE)
    return reduce(or_, (Q(held_because__contains=[{"code": code.value}]) for code in codes))


def ago(seconds: float) -> str:
    """A time span in its largest unit."""
    for size, name in ((86_400, _("%(n)d days")), (3_600, _("%(n)d hours")), (60, _("%(n)d minutes"))):
        if seconds >= 2 * size:
            return name % {"n": seconds // size}
    return _("%(n)d seconds") % {"n": seconds}
