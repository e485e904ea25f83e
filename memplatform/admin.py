"""Pages for superusers: people, and the tasks and schedules of the worker."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django_q.models import Failure, Schedule, Success, Task
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from memories.admin.access import RestrictedAdmin
from memories.admin.actions import Action, ActionCall, Question, to_row
from memories.admin.pages import column
from memories.audit.models import AuditEvent
from memories.staff.models import Factor
from memories.staff.rights import VIEW
from memplatform.erasure import admin as erasures
from memplatform.operations.jobs import pages, queue
from memplatform.operations.jobs.registry import JOBS, PREFIX
from memplatform.transfer import person as people

__all__ = ["erasures", "pages", "people"]


def _remove_factor(call: ActionCall) -> str:
    """For whoever lost phone and recovery codes; they log in with the password and set it up anew."""
    with transaction.atomic():
        Factor.objects.filter(user=call.row).delete()
        call.admin.log_as(call.request, AuditEvent.FACTOR_OFF, call.row, gettext("Second factor removed"))
    return gettext("%(name)s logs in with the password alone now.") % {"name": call.row}


REMOVE_FACTOR = Action(
    name="remove_factor", path="remove-factor", label=_("Remove second factor"), icon="lock_reset", right="change",
    question=lambda call: Question(
        title=gettext("Remove the second factor of %(name)s") % {"name": call.row},
        text=gettext(
            "For somebody who lost phone and recovery codes. Until they set up another, the password opens."
        ),
        button=gettext("Remove"),
        rows=(),
        is_grave=True,
    ),
    act=_remove_factor,
    back=to_row,
)  # fmt: skip


@admin.register(get_user_model())
class OperatorAdmin(RestrictedAdmin, UserAdmin):  # type: ignore[misc, type-arg]
    """Who may log in. Nobody is deleted, their name stands in the history; they are made inactive."""

    workspace_field = None
    superusers_may = frozenset({"view", "change", "add"})
    audit_event = AuditEvent.ACCOUNT
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "email", "is_active", "is_staff", "is_superuser", "has_factor", "last_login"]
    list_select_related = ["factor"]
    declared = (REMOVE_FACTOR,)
    list_filter = []
    search_fields = ["username", "email", "first_name", "last_name"]
    filter_horizontal = []
    add_fieldsets = [(None, {"fields": ("username", "password1", "password2", "is_staff")})]
    fieldsets = [
        (None, {"fields": ("username", "password")}),
        (_("Person"), {"fields": (("first_name", "last_name"), "email")}),
        (_("May"), {"fields": ("is_active", "is_staff", "is_superuser")}),
        (_("Since"), {"fields": (("last_login", "date_joined"),)}),
    ]
    readonly_fields = ["last_login", "date_joined"]
    has_factor = column(_("second factor"), lambda user: Factor.of(user) is not None, boolean=True)


class TaskPage(RestrictedAdmin):
    """A finished task, as it was run."""

    workspace_field = None
    superusers_may = VIEW
    has_history = False
    list_display = ["stopped", "name", "func", "group", "attempt_count", "took"]
    list_display_links = ["stopped", "name"]
    search_fields = ["name", "func", "group"]
    ordering = ["-stopped"]
    fields = ["name", "func", "args", "kwargs", ("started", "stopped", "attempt_count"), ("group", "cluster"), "result"]
    took = column(_("took"), lambda task: f"{task.time_taken():.1f} s")


@admin.register(Success)
class SuccessPage(TaskPage):
    """Tasks that went well."""


def _tasks(call: ActionCall) -> list[Failure]:
    return [call.row] if call.ticked is None else list(call.ticked)


def _run_again(call: ActionCall) -> str:
    count = len(call.rows)
    queue.run_again(call.rows)
    return ngettext("%(n)d task is queued again.", "%(n)d tasks are queued again.", count) % {"n": count}


def _dismiss(call: ActionCall) -> str:
    """Off the list without running them; the log of the worker keeps their errors."""
    count = len(call.rows)
    Failure.objects.filter(pk__in=[task.pk for task in call.rows]).delete()
    return ngettext("%(n)d task is dismissed.", "%(n)d tasks are dismissed.", count) % {"n": count}


RUN_AGAIN = Action(
    name="run_one_again", path="run-again", label=_("Run again"), icon="replay", right="view",
    listed=_("Run the chosen tasks again …"), listed_name="run_again", rows=_tasks,
    question=lambda call: Question(
        title=ngettext("Run %(n)d task again", "Run %(n)d tasks again", len(call.rows)) % {"n": len(call.rows)},
        text=gettext("Tasks are made to be run more than once: what was done already is not done again."),
    ),
    act=_run_again,
)  # fmt: skip
DISMISS = Action(
    name="dismiss_one", path="dismiss", label=_("Dismiss"), icon="delete", right="view",
    listed=_("Dismiss the chosen tasks …"), listed_name="dismiss", rows=_tasks,
    question=lambda call: Question(
        title=ngettext("Dismiss %(n)d task", "Dismiss %(n)d tasks", len(call.rows)) % {"n": len(call.rows)},
        text=gettext("They leave this list and are not run again. The worker's log keeps their errors."),
    ),
    act=_dismiss,
)  # fmt: skip


@admin.register(Failure)
class FailurePage(TaskPage):
    """Tasks that failed: read the error, mend its cause, run them again; or dismiss what needs nobody any more."""

    list_display = [*TaskPage.list_display[:3], "error", "attempt_count"]
    declared = (RUN_AGAIN, DISMISS)

    @display(description=_("error"))
    def error(self, task: Failure) -> str:
        lines = str(task.result or "").strip().splitlines()
        return lines[-1][:120] if lines else "—"


def _switch_question(call: ActionCall) -> Question:
    rows, name = [call.admin.purpose(call.row)], {"name": call.row.name}
    if call.row.repeats != 0:
        return Question(
            title=gettext("Switch off %(name)s") % name,
            text=gettext("It does not run any more until somebody switches it on again."),
            button=gettext("Switch off"),
            rows=rows,
            is_grave=True,
        )
    text = gettext("It runs again from its next time on.")
    return Question(title=gettext("Switch on %(name)s") % name, text=text, button=gettext("Switch on"), rows=rows)


def _switch(call: ActionCall) -> str:
    """A schedule repeated no more times is passed over; its row stays, and is not repaired while it is off."""
    was_on = call.row.repeats != 0
    Schedule.objects.filter(pk=call.row.pk).update(repeats=0 if was_on else -1)
    text = gettext("Switched off.") if was_on else gettext("Switched on.")
    call.admin.log_change(call.request, call.row, text)
    return text


SWITCH = Action(
    name="switch", label=_("Switch on or off"), icon="power_settings_new", right="view",
    question=_switch_question, act=_switch,
)  # fmt: skip


@admin.register(Schedule)
class SchedulePage(RestrictedAdmin):
    """What the worker does by itself. The table in the code says what and when; superusers switch it off and on."""

    workspace_field = None
    superusers_may = VIEW
    list_display = ["name", "purpose", "cron", "next_run", "last_went_well", "is_switched_on"]
    search_fields = ["name", "func"]
    ordering = ["name", "id"]
    fields = ["name", "purpose", "func", ("cron", "next_run"), "is_switched_on"]
    readonly_fields = ["purpose", "is_switched_on"]
    declared = (SWITCH,)
    list_after_template = "admin/memplatform/nightly.html"
    is_switched_on = column(_("on"), lambda schedule: bool(schedule.repeats != 0), boolean=True)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        last = Task.objects.filter(id=OuterRef("task")).values("success")
        return super().get_queryset(request).annotate(_last=Subquery(last[:1]))

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """The jobs that have an hour of the day, which are no rows of their own."""
        return {"nightly": [job for job in JOBS.values() if job.at]}

    @display(description=_("what it does"))
    def purpose(self, schedule: Schedule) -> str:
        job = JOBS.get((schedule.name or "").removeprefix(PREFIX))
        return gettext(job.label) if job else schedule.func

    @display(description=_("last went well"), boolean=True)
    def last_went_well(self, schedule: Any) -> bool | None:
        went_well: bool | None = schedule._last
        return went_well
