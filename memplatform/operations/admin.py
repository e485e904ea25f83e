"""Hosts, heartbeats of their processes, and the runs of jobs."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from memories import batches as batch
from memories.admin import labels
from memories.admin.access import Colors, RestrictedAdmin
from memories.admin.pages import column
from memories.audit.models import AuditEvent, AuditRecord
from memories.choices import BatchState, JobState
from memories.models import Batch, JobRun
from memories.staff.rights import VIEW
from memplatform.operations.jobs.runs import run_name
from memplatform.operations.models import Heartbeat, Host

SHOWN = 50  # batches of a run
#: A process that has not written for so long is taken for dead.
SILENCE = timedelta(seconds=30)


def log_link(host: str, process: str = "") -> str:
    """To the log of a process on the host that answers; the files of others are there alone."""
    if host != settings.HOST_NAME:
        return gettext("on that host")
    query = f"?{urlencode({'process': process})}" if process else ""
    return format_html('<a href="{}">{}</a>', reverse("log") + query, gettext("Log"))


@admin.register(Heartbeat)
class HeartbeatAdmin(RestrictedAdmin):
    """The processes of the platform, for superusers: they belong to no workspace."""

    workspace_field = None
    superusers_may = VIEW
    has_history = False
    list_display = ["host", "name", "pid", "colored_state", "beat_at", "started_at", "log"]
    ordering = ["-beat_at"]
    log = column(_("log"), lambda heartbeat: log_link(heartbeat.host, heartbeat.name))
    colored_state = column(
        _("state"),
        lambda heartbeat: _("silent") if timezone.now() - heartbeat.beat_at > SILENCE else _("alive"),
        label=Colors({_("alive"): "success", _("silent"): "danger"}),
    )


@admin.register(Host)
class HostAdmin(RestrictedAdmin):
    """The hosts that work with this database, for superusers: they belong to no workspace."""

    workspace_field = None
    superusers_may = VIEW
    has_history = False
    list_display = ["name", "parts_label", "colored_state", "version", "seen_at", "started_at", "folder_path", "log"]
    ordering = ["name"]
    fields = [
        ("name", "colored_state"), ("parts_label", "version", "pid"), ("started_at", "seen_at", "stopped_at"),
        ("folder_path", "folder"),
    ]  # fmt: skip
    readonly_fields = ["colored_state", "parts_label"]
    log = column(_("log"), lambda host: log_link(host.name))
    parts_label = column(_("parts"), lambda host: ", ".join(host.parts))

    @display(description=_("state"), label=Colors({_("runs"): "success", _("stopped"): None, _("silent"): "danger"}))
    def colored_state(self, host: Host) -> Any:
        if host.stopped_at is not None:
            return _("stopped")
        return _("silent") if timezone.now() - host.seen_at > SILENCE else _("runs")


class JobRunAdmin(RestrictedAdmin):
    """What each job did for each workspace and day; runs for the whole platform are for superusers.

    The platform registers it, with the table of jobs above it.
    """

    members_may = VIEW
    has_history = False
    list_display = [
        "started_at", "job_name", "workspace", "local_date", "colored_state", "counts_label", "took", "begun_by",
    ]  # fmt: skip
    list_display_links = ["started_at", "job_name"]
    list_filter = [("state", ChoicesDropdownFilter)]
    list_select_related = ["workspace"]
    search_fields = ["job"]
    ordering = ["-started_at", "-id"]
    fields = [
        ("job_name", "colored_state"), ("workspace", "local_date"), "begun_by",
        ("started_at", "finished_at", "attempts"), "counts_label", "made", "report", "error",
    ]  # fmt: skip
    readonly_fields = ["job_name", "colored_state", "begun_by", "counts_label", "made", "report"]
    # Its name; the platform, which knows the table of jobs, says what it does.
    job_name = column(_("job"), lambda run: run.job, ordering="job")
    colored_state = column(
        _("state"),
        lambda run: JobState(run.state).label,
        label=Colors(
            {
                JobState.QUEUED.label: None,
                JobState.RUNNING.label: "info",
                JobState.DONE.label: "success",
                JobState.FAILED.label: "danger",
            }
        ),
    )
    counts_label = column(_("counts"), lambda run: labels.counts_label(run.counts))

    @display(description=_("begun by"))
    def begun_by(self, run: JobRun) -> str:
        if not run.asked:
            return gettext("itself")
        who = labels.actor_label(run.actor)
        return gettext("%(actor)s, dry") % {"actor": who} if run.is_dry else who

    @display(description=_("took"))
    def took(self, run: JobRun) -> str:
        """Of a job that runs every minute a row adds up a day, whose length says nothing."""
        is_a_day = run.workspace_id is None and not run.asked
        return (
            f"{(run.finished_at - run.started_at).total_seconds():.1f} s" if run.finished_at and not is_a_day else "—"
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """A drill makes a report and no batches, other jobs the other way round."""
        left_out = "made" if obj and obj.job == "leak-drill" else "report"
        return [field for field in super().get_fields(request, obj) if field != left_out]

    @display(description=_("signed report"))
    def report(self, run: JobRun) -> str:
        """A link to it, once there is one."""
        if drill_report(run) is None:
            return "—"
        address = reverse("admin:memories_jobrun_report", args=[run.pk])
        return format_html('<a class="mp-link" href="{}">{}</a>', address, f"leak-drill-{run.pk}.json")

    @display(description=_("batches"))
    def made(self, run: JobRun) -> str:
        """Links to the batches it planned or applied, one a scope."""
        if run.workspace_id is None:
            return "—"
        name = f"{run.job}:{run.workspace_id}:{run.asked or run.local_date}"
        mine = Batch.objects.filter(workspace=run.workspace)
        batches = mine.filter(batch.of_run(name)).select_related("scope").order_by("pk")
        links = [
            (reverse("admin:memories_batch_change", args=[row.pk]), row.scope, BatchState(row.state).label)
            for row in batches[:SHOWN]
        ]
        return format_html_join(mark_safe("<br>"), '<a class="mp-link" href="{}">{} · {}</a>', links) or "—"


def drill_report(run: JobRun) -> dict[str, Any] | None:
    """The signed report of a run of the leak drill, as the audit log keeps it."""
    drills = AuditRecord.objects.filter(event=AuditEvent.DRILLED, workspace=run.workspace)
    newest = drills.filter(details__run=run_name(run)).order_by("-pk").first()
    return newest.details["report"] if newest else None
