"""The page of jobs in the admin: what each does, when it ran, and buttons to run it now or dry."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_q.models import Schedule, Task
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from memories.admin import labels
from memories.admin.access import Colors, RestrictedAdmin, visible_workspaces, workspace_choice
from memories.admin.actions import Action, ActionCall, Outcome, Question, run
from memories.admin.lists import saved_file
from memories.admin.pages import column, show_zone_of
from memories.audit.models import AuditEvent, AuditRecord
from memories.batches import of_run
from memories.choices import BatchState, JobState
from memories.jobs import Job
from memories.models import Batch, JobRun, Workspace
from memories.staff.rights import VIEW, needs, workspaces_of
from memories.staff.roles import Right
from memplatform.operations.jobs import runs
from memplatform.operations.jobs.registry import JOBS, PREFIX

LIST = "admin:memories_jobrun_changelist"
SHOWN = 50  # batches of a run


@dataclass
class JobRow:
    """A job in a workspace, or of the whole platform, with its newest run."""

    job: Job
    title: str
    next_run: datetime | None
    began_at: datetime | None = None
    state: str = ""
    took: float | None = None  # seconds
    counts: str = ""
    address: str = ""  # of the run's own page

    def add(self, began_at: datetime, ended_at: datetime | None, state: str, counts: Any, address: str = "") -> None:
        """Show this run, unless a newer one is shown already."""
        if self.began_at and self.began_at > began_at:
            return
        self.began_at, self.state, self.address = began_at, str(JobState(state).label), address
        self.took = (ended_at - began_at).total_seconds() if ended_at else None
        self.counts = labels.counts_label(counts if isinstance(counts, dict) else {})

    def add_run(self, run: JobRun | None) -> None:
        if run:
            address = reverse("admin:memories_jobrun_change", args=[run.pk])
            self.add(run.started_at, run.finished_at, run.state, run.counts, address)


def job_title(name: str) -> str:
    """What a job does, in the reader's language; its name where it is of another version."""
    return capfirst(gettext(JOBS[name].label)) if name in JOBS else name


def _question(title: Any, text: Any) -> Callable[[ActionCall], Question]:
    def asks(call: ActionCall) -> Question:
        job, workspace = call.arguments["job"], call.arguments["workspace"]
        where = workspace.name if workspace else gettext("the whole platform")
        return Question(title=title % {"job": job_title(job), "where": where}, text=text, rows=[job])

    return asks


def _enqueue(call: ActionCall) -> Outcome:
    job, workspace = call.arguments["job"], call.arguments["workspace"]
    job_run = runs.enqueue(job, workspace, actor=call.actor, now=call.now, is_dry=call.action is DRY_RUN)
    text = gettext("It is queued. This page tells how far it is; load it again to see.")
    return Outcome(text=text, about=job_run, address=reverse("admin:memories_jobrun_change", args=[job_run.pk]))


def _to_jobs(call: ActionCall) -> str:
    workspace = call.arguments["workspace"]
    return reverse(LIST) + (f"?of={workspace.pk}" if workspace else "")


_OF_JOBS: dict[str, Any] = {"right": "operate", "act": _enqueue, "back": _to_jobs, "audit": AuditEvent.JOB}
RUN = Action(
    name="run", label=_("Run now"), **_OF_JOBS,
    question=_question(
        _("Run now, %(where)s: %(job)s"),
        _("The worker begins at once, beside its usual runs; what is done already is not done again."),
    ),
)  # fmt: skip
DRY_RUN = Action(
    name="run", label=_("Dry run"), **_OF_JOBS,
    question=_question(
        _("Dry run, %(where)s: %(job)s"), _("Nothing is changed. It counts what the job would do at this moment.")
    ),
)  # fmt: skip


@admin.register(JobRun)
class JobRunPage(RestrictedAdmin):
    """What each job did for each workspace and day, under a table of jobs.

    Members see and run those of their workspaces; those of the whole platform are for superusers.
    """

    change_list_template = "admin/memplatform/jobs.html"
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
    job_name = column(_("job"), lambda run: job_title(run.job), ordering="job")
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
        if _report_of(run) is None:
            return "—"
        address = reverse("admin:memories_jobrun_report", args=[run.pk])
        return format_html('<a class="mp-link" href="{}">{}</a>', address, f"leak-drill-{run.pk}.json")

    @display(description=_("batches"))
    def made(self, run: JobRun) -> str:
        """Links to the batches it planned or applied, one a scope."""
        if run.workspace_id is None:
            return "—"
        mine = Batch.objects.filter(of_run(runs.run_name(run)), workspace=run.workspace)
        batches = mine.select_related("scope").order_by("pk")
        links = [
            (reverse("admin:memories_batch_change", args=[row.pk]), row.scope, BatchState(row.state).label)
            for row in batches[:SHOWN]
        ]
        return format_html_join(mark_safe("<br>"), '<a class="mp-link" href="{}">{} · {}</a>', links) or "—"

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> JobRun | None:
        """A run that goes by what the job does, in the title of its page as well."""
        run: JobRun | None = super().get_object(request, object_id, from_field)
        if run:
            run.title = job_title(run.job)
        return run

    def get_urls(self) -> list[Any]:
        run = self.admin_site.admin_view(self.run)
        report = self.admin_site.admin_view(self.drill_report)
        return [
            path("run/<slug:job>/", run, name="memories_jobrun_run"),
            path("<int:pk>/report/", report, name="memories_jobrun_report"),
            *super().get_urls(),
        ]

    @needs("view")
    def drill_report(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What a leak drill found, signed, as a file to verify."""
        report = _report_of(self.reach(request, str(pk), "view"))
        if report is None:
            raise Http404
        text = json.dumps(report, indent=1, ensure_ascii=False)
        return saved_file(text, f"leak-drill-{pk}.json", "application/json; charset=utf-8")

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        mine, workspace = workspace_choice(request)
        now = timezone.now()
        if workspace:  # one clock a page: its hours are those of the workspace
            show_zone_of(request, workspace)
        return {
            "workspaces": mine,
            "chosen": workspace,
            "nightly": list(nightly(workspace, now)) if workspace else [],
            "steady": list(steady()) if workspaces_of(request) is None else [],
        }

    @needs(Right.OPERATE)
    def run(self, request: HttpRequest, job: str) -> HttpResponse:
        """The page that asks, and queues a run when it is confirmed. 404 where the workspace is another's."""
        if job not in JOBS:
            raise Http404
        workspace: Workspace | None = None
        if not JOBS[job].cron:
            mine = visible_workspaces(request, Right.OPERATE)
            workspace = next((row for row in mine if str(row.pk) == request.GET.get("of", "")), None)
            if workspace is None:
                raise Http404
        elif workspaces_of(request) is not None:
            raise PermissionDenied
        action = DRY_RUN if "dry" in request.GET else RUN
        return run(ActionCall(action, self, request, arguments={"job": job, "workspace": workspace}))


def nightly(workspace: Workspace, now: datetime) -> Iterator[JobRow]:
    """The jobs with an hour of the day, in a workspace, in the order of the night."""
    newest = _newest_runs(workspace)
    for job in sorted(JOBS.values(), key=lambda job: str(job.at)):
        if job.at:
            next_run = runs.next_run(job.at, workspace.time_zone, now, job.weekday) if job.is_on else None
            row = JobRow(job, job_title(job.name), next_run)
            row.add_run(newest.get(job.name))
            yield row


def steady() -> Iterator[JobRow]:
    """The jobs of the whole platform with their last run, by schedule or on demand."""
    schedules = {schedule.name: schedule for schedule in Schedule.objects.filter(name__startswith=PREFIX)}
    tasks = Task.objects.in_bulk([schedule.task for schedule in schedules.values() if schedule.task])
    newest = _newest_runs(None)
    for job in JOBS.values():
        if job.cron:
            schedule = schedules.get(PREFIX + job.name)
            next_run = schedule.next_run if schedule and schedule.repeats else None
            row = JobRow(job, job_title(job.name), next_run)
            if task := tasks.get(schedule.task) if schedule else None:
                state = JobState.DONE if task.success else JobState.FAILED
                row.add(task.started, task.stopped, state, task.result)
            row.add_run(newest.get(job.name))
            yield row


def _newest_runs(workspace: Workspace | None) -> dict[str, JobRun]:
    """The last run of each job that was no dry run."""
    ran = JobRun.objects.filter(workspace=workspace, is_dry=False).order_by("job", "-started_at", "-pk").distinct("job")
    return {run.job: run for run in ran}


def _report_of(run: JobRun) -> dict[str, Any] | None:
    """The signed report of a run of the leak drill, as the audit log keeps it."""
    drills = AuditRecord.objects.filter(event=AuditEvent.DRILLED, workspace=run.workspace)
    newest = drills.filter(details__run=runs.run_name(run)).order_by("-pk").first()
    return newest.details["report"] if newest else None
