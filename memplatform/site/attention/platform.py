"""Lines about the platform itself. Processes concern everybody; what failed may tell of other workspaces."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max, Min, Window
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_q.models import Failure

from memories import embeddings
from memories.audit.models import AuditEvent, AuditRecord
from memories.index import model_change, models_in_use
from memories.index.models_in_use import ModelChange
from memories.models import ExtractionBatch
from memplatform.operations import health
from memplatform.operations.jobs import queue
from memplatform.operations.models import Heartbeat
from memplatform.site.attention.items import Item, Viewer, ago

#: Failed tasks that are run again at once.
RETRIED = 100
_LEAST_ROOM = 50_000_000  # bytes; PostgreSQL writes its log in files of 16 MB
_WEEK, _COUNTED = timedelta(days=7), 100


def silent_processes(viewer: Viewer) -> Iterator[Item]:
    """Processes without which the platform does not do what it promises."""
    names = (*health.NEEDED, *([health.MCP] if settings.MCP else []))
    is_starting = not viewer.measures.silence.keys() >= set(names) and _is_starting(viewer.now)
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


def _is_starting(now: datetime) -> bool:
    """Whether the platform was started just now: a process that was not heard yet may still be on its way."""
    started = Heartbeat.objects.aggregate(at=Max("started_at"))["at"]
    return started is not None and now - started < health.SILENCE


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
        left = shutil.disk_usage(folder).free
        if left < _LEAST_ROOM:
            hint = _(
                "%(folder)s has %(megabytes)d MB left. Nothing is lost; what is to be stored is answered 503 until"
                " there is room."
            )
            values = {"folder": folder, "megabytes": left // 1_000_000}
            yield Item(f"disk-{folder.name}", _("The disk is full"), hint % values, is_grave=True)


def missing_embedder(viewer: Viewer) -> Iterator[Item]:
    """Embedders that are configured, of which none can be used."""
    if settings.MEMORY_EMBEDDERS and not embeddings.providers():
        hint = _("Recall is by keywords only. The log and `manage.py check` say why.")
        yield Item("embedder", _("No embedder can be used"), hint, is_grave=True)


def held_back_answers(viewer: Viewer) -> Iterator[Item]:
    """Answers of the last week that held a canary: somebody asked and would have been shown what is not theirs."""
    leaks = viewer.rows(AuditRecord.objects.filter(event=AuditEvent.LEAKED, at__gt=viewer.now - _WEEK)).order_by("-at")
    if found := list(leaks.values_list("pk", flat=True)[:_COUNTED]):
        text = ngettext("%(n)d answer was held back", "%(n)d answers were held back", len(found)) % {"n": len(found)}
        hint = _("It held a canary: a call leads past the walls. The audit log says which; tell whoever makes it.")
        address = f"{reverse('admin:memories_auditrecord_changelist')}?event__exact={AuditEvent.LEAKED}"
        yield Item("leaks", text, hint, address, is_grave=True, mark=str(found[0]))


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
        tasks = list(Failure.objects.select_for_update(skip_locked=True).order_by("-stopped")[:RETRIED])
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
    for change in models_in_use.changes():
        if viewer.seen is not None and change.workspace.pk not in viewer.seen:
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
        yield Item(f"model-change:{change.workspace.pk}", text, hint)


def _models(change: ModelChange) -> dict[str, str]:
    return {"old": str(change.old), "new": str(change.new)}
