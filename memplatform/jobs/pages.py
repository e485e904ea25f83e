"""Jobs, as people who look after a workspace see them: what each does, when it ran, and a run for the asking."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext
from django_q.models import Schedule, Task

from memories.admin import counted
from memories.admin.confirmations import Question, ask, form_of, is_answer
from memories.admin.processes import JobRunAdmin
from memories.admin.wall import actor_of, workspaces_of
from memories.choices import JobState
from memories.models import JobRun, Workspace
from memplatform.jobs import on_demand, runs
from memplatform.jobs.registry import DRY, JOBS, PREFIX, is_on

LIST = "admin:memories_jobrun_changelist"


@dataclass
class Row:
    """A job in a workspace, or of the whole platform."""

    name: str
    what: str
    behaviour: str
    cadence: str
    is_on: bool
    next_run: datetime | None
    began_at: datetime | None = None
    state: str = ""
    took: float | None = None
    counts: str = ""
    address: str = ""
    can_be_dry: bool = False

    def ran(self, began_at: datetime, ended_at: datetime | None, state: str, counts: Any, address: str = "") -> None:
        """Tell of the newest run only."""
        if self.began_at and self.began_at > began_at:
            return
        self.began_at, self.state, self.address = began_at, str(JobState(state).label), address
        self.took = (ended_at - began_at).total_seconds() if ended_at else None
        self.counts = counted.said(counts if isinstance(counts, dict) else {})


@admin.register(JobRun)
class JobRunPage(JobRunAdmin):
    """With the table of jobs above what they did; members run those of their workspaces, owners all."""

    change_list_template = "admin/memplatform/jobs.html"

    def get_urls(self) -> list[Any]:
        run = self.admin_site.admin_view(self.run)
        return [path("run/<slug:job>/", run, name="memories_jobrun_run"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        mine = self._workspaces(request)
        asked = request.GET.get("of", "")
        chosen = next((row for row in mine if str(row.pk) == asked), mine[0] if mine else None)
        lookups = request.GET.copy()
        lookups.pop("of", None)  # ours, not a lookup of the list
        request.GET = lookups  # type: ignore[assignment]
        now = timezone.now()
        if chosen:  # one clock a page: its hours are those of the workspace
            timezone.activate(chosen.zone())
        more = {
            "workspaces": mine,
            "chosen": chosen,
            "nightly": list(nightly(chosen, now)) if chosen else [],
            "steady": list(steady()) if workspaces_of(request) is None else [],
            **(extra_context or {}),
        }
        answer: HttpResponse = super().changelist_view(request, more)
        return answer

    def _workspaces(self, request: HttpRequest) -> list[Workspace]:
        seen = workspaces_of(request)
        rows = Workspace.objects.order_by("name")
        return list(rows if seen is None else rows.filter(pk__in=seen))

    def run(self, request: HttpRequest, job: str) -> HttpResponse:
        """Asks, and queues a run on a confirmed answer. Somebody else's workspace does not exist."""
        workspace, is_dry = self._place(request, job), "dry" in request.GET
        if is_dry and job not in DRY:
            raise Http404
        back = reverse(LIST) + (f"?of={workspace.pk}" if workspace else "")
        if is_answer(request):
            run = on_demand.ask(job, workspace, actor=actor_of(request), now=timezone.now(), is_dry=is_dry)
            address = reverse("admin:memories_jobrun_change", args=[run.pk])
            messages.success(request, gettext("It is queued. This page tells how far it is; load it again to see."))
            return HttpResponseRedirect(address)
        return ask(self, request, self._question(job, workspace, is_dry, back), form_of(request, forms.Form))

    def _place(self, request: HttpRequest, job: str) -> Workspace | None:
        if job not in JOBS:
            raise Http404
        seen = workspaces_of(request)
        if isinstance(JOBS[job].cadence, str):
            if seen is not None:
                raise PermissionDenied
            return None
        asked = request.GET.get("of", "")
        mine = (row for row in self._workspaces(request) if str(row.pk) == asked)
        if (found := next(mine, None)) is None:
            raise Http404
        return found

    def _question(self, job: str, workspace: Workspace | None, is_dry: bool, back: str) -> Question:
        where = workspace.name if workspace else gettext("the whole platform")
        title = gettext("Dry run of %(job)s: %(where)s") if is_dry else gettext("Run %(job)s now: %(where)s")
        text = (
            gettext("Nothing is changed. It counts what the job would do at this moment.")
            if is_dry
            else gettext("The worker begins at once, beside its usual runs; what is done already is not done again.")
        )
        button = gettext("Dry run") if is_dry else gettext("Run now")
        what = gettext(JOBS[job].what)
        return Question(title=title % {"job": job, "where": where}, text=text, button=button, back=back, rows=[what])


def nightly(workspace: Workspace, now: datetime) -> Iterator[Row]:
    """The jobs with an hour of the day, in a workspace."""
    ran = JobRun.objects.filter(workspace=workspace, is_dry=False).order_by("job", "-started_at", "-pk").distinct("job")
    last = {run.job: run for run in ran}
    for name, job in sorted(JOBS.items(), key=lambda item: str(item[1].cadence)):
        if isinstance(job.cadence, time):
            next_run = runs.next_run(job.cadence, workspace.time_zone, now, job.weekday) if is_on(name) else None
            day = "" if job.weekday is None else f"{WEEKDAYS[job.weekday]} "
            row = _row(name, f"{day}{job.cadence:%H:%M}", next_run)
            _tell_of_run(row, last.get(name))
            yield row


def steady() -> Iterator[Row]:
    """The jobs of the whole platform, with what they did last: by themselves, or because somebody asked."""
    schedules = {schedule.name: schedule for schedule in Schedule.objects.filter(name__startswith=PREFIX)}
    tasks = Task.objects.in_bulk([schedule.task for schedule in schedules.values() if schedule.task])
    ran = JobRun.objects.filter(workspace=None, is_dry=False).order_by("job", "-started_at", "-pk").distinct("job")
    last = {run.job: run for run in ran}
    for name, job in JOBS.items():
        if isinstance(job.cadence, str):
            schedule = schedules.get(PREFIX + name)
            row = _row(name, job.cadence, schedule.next_run if schedule and schedule.repeats else None)
            if task := tasks.get(schedule.task) if schedule else None:
                state = JobState.DONE if task.success else JobState.FAILED
                row.ran(task.started, task.stopped, state, task.result)
            _tell_of_run(row, last.get(name))
            yield row


def _row(name: str, cadence: str, next_run: datetime | None) -> Row:
    job = JOBS[name]
    return Row(name, gettext(job.what), job.behaviour, cadence, is_on(name), next_run, can_be_dry=name in DRY)


def _tell_of_run(row: Row, run: JobRun | None) -> None:
    if run:
        address = reverse("admin:memories_jobrun_change", args=[run.pk])
        row.ran(run.started_at, run.finished_at, run.state, run.counts, address)
