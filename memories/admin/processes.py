"""Who is alive, and what the nightly jobs did."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from memories.admin.wall import LOOK, Colors, WalledAdmin
from memories.choices import JobState
from memories.models import Heartbeat, JobRun

#: A process that has not written for so long is taken for dead.
SILENCE = timedelta(seconds=30)


@admin.register(Heartbeat)
class HeartbeatAdmin(WalledAdmin):
    """The processes of the platform, for superusers: they belong to no workspace."""

    workspace_field = None
    superusers_may = LOOK
    has_history = False
    list_display = ["name", "pid", "colored_state", "beat_at", "started_at"]
    ordering = ["-beat_at"]

    @display(description=_("state"), label=Colors({_("alive"): "success", _("silent"): "danger"}))
    def colored_state(self, heartbeat: Heartbeat) -> Any:
        return _("silent") if timezone.now() - heartbeat.beat_at > SILENCE else _("alive")


@admin.register(JobRun)
class JobRunAdmin(WalledAdmin):
    """What each job did for each workspace and day; runs for the whole platform are for superusers."""

    members_may = LOOK
    has_history = False
    list_display = ["started_at", "job", "workspace", "local_date", "colored_state", "said_counts", "took"]
    list_display_links = ["started_at", "job"]
    list_filter = [("state", ChoicesDropdownFilter)]
    list_select_related = ["workspace"]
    search_fields = ["job"]
    ordering = ["-started_at", "-id"]
    fields = [
        ("job", "colored_state"), ("workspace", "local_date"), ("started_at", "finished_at", "attempts"), "counts",
        "error",
    ]  # fmt: skip
    readonly_fields = ["colored_state"]

    @display(
        description=_("state"),
        label=Colors({JobState.RUNNING.label: "info", JobState.DONE.label: "success", JobState.FAILED.label: "danger"}),
    )
    def colored_state(self, run: JobRun) -> Any:
        return JobState(run.state).label

    @display(description=_("counts"))
    def said_counts(self, run: JobRun) -> str:
        return ", ".join(f"{name} {number}" for name, number in run.counts.items()) or "—"

    @display(description=_("took"))
    def took(self, run: JobRun) -> str:
        return f"{(run.finished_at - run.started_at).total_seconds():.1f} s" if run.finished_at else "—"
