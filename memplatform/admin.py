"""Pages for superusers: people, and the tasks and schedules of the worker."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django_q.models import Failure, Schedule, Success, Task
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from memories.admin.access import VIEW, RestrictedAdmin
from memories.admin.confirmation import confirm
from memories.admin.row_actions import row_action
from memories.models import AuditEvent, Factor
from memplatform.erasure import admin as erasures
from memplatform.jobs import pages, queue
from memplatform.jobs.registry import JOBS, PREFIX
from memplatform.people import admin as people

__all__ = ["erasures", "pages", "people"]


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
    actions_detail = ["remove_factor"]
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

    @display(description=_("second factor"), boolean=True)
    def has_factor(self, user: Any) -> bool:
        return Factor.of(user) is not None

    @row_action(_("Remove second factor"), "remove-factor", "lock_reset", "change")
    def remove_factor(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """For whoever lost phone and recovery codes; they log in with the password and set it up anew."""
        user = self.reach(request, object_id, "change")

        def remove() -> str:
            with transaction.atomic():
                Factor.objects.filter(user=user).delete()
                self.log_as(request, AuditEvent.FACTOR_OFF, user, gettext("Second factor removed"))
            return gettext("%(name)s logs in with the password alone now.") % {"name": user}

        title = gettext("Remove the second factor of %(name)s") % {"name": user}
        text = gettext("For somebody who lost phone and recovery codes. Until they set up another, the password opens.")
        back = reverse("admin:auth_user_change", args=[user.pk])
        return confirm(
            self, request, remove, back=back, title=title, text=text, button=gettext("Remove"), is_grave=True
        )


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

    @display(description=_("took"))
    def took(self, task: Task) -> str:
        return f"{task.time_taken():.1f} s"


@admin.register(Success)
class SuccessPage(TaskPage):
    """Tasks that went well."""


@admin.register(Failure)
class FailurePage(TaskPage):
    """Tasks that failed: read the error, mend its cause, run them again; or dismiss what needs nobody any more."""

    list_display = [*TaskPage.list_display[:3], "error", "attempt_count"]
    actions = ["run_again", "dismiss"]
    actions_detail = ["run_one_again", "dismiss_one"]

    @display(description=_("error"))
    def error(self, task: Failure) -> str:
        lines = str(task.result or "").strip().splitlines()
        return lines[-1][:120] if lines else "—"

    @row_action(_("Run again"), "run-again", "replay", "view")
    def run_one_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._run_again(request, [self.reach(request, object_id, "view")])

    @admin.action(description=_("Run the chosen tasks again …"), permissions=["view"])
    def run_again(self, request: HttpRequest, queryset: QuerySet[Failure]) -> HttpResponse:
        return self._run_again(request, list(queryset))

    @row_action(_("Dismiss"), "dismiss", "delete", "view")
    def dismiss_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._dismiss(request, [self.reach(request, object_id, "view")])

    @admin.action(description=_("Dismiss the chosen tasks …"), permissions=["view"])
    def dismiss(self, request: HttpRequest, queryset: QuerySet[Failure]) -> HttpResponse:
        return self._dismiss(request, list(queryset))

    def _dismiss(self, request: HttpRequest, tasks: list[Failure]) -> HttpResponse:
        """Off the list without running them; the log of the worker keeps their errors."""

        def dismiss() -> str:
            Failure.objects.filter(pk__in=[task.pk for task in tasks]).delete()
            return ngettext("%(n)d task is dismissed.", "%(n)d tasks are dismissed.", len(tasks)) % {"n": len(tasks)}

        title = ngettext("Dismiss %(n)d task", "Dismiss %(n)d tasks", len(tasks)) % {"n": len(tasks)}
        text = gettext("They leave this list and are not run again. The worker's log keeps their errors.")
        back = reverse("admin:django_q_failure_changelist")
        return confirm(self, request, dismiss, back=back, title=title, text=text, button=gettext("Dismiss"), rows=tasks)

    def _run_again(self, request: HttpRequest, tasks: list[Failure]) -> HttpResponse:
        def again() -> str:
            queue.run_again(tasks)
            return ngettext("%(n)d task is queued again.", "%(n)d tasks are queued again.", len(tasks)) % {
                "n": len(tasks)
            }

        title = ngettext("Run %(n)d task again", "Run %(n)d tasks again", len(tasks)) % {"n": len(tasks)}
        text = gettext("Tasks are made to be run more than once: what was done already is not done again.")
        back = reverse("admin:django_q_failure_changelist")
        return confirm(self, request, again, back=back, title=title, text=text, button=gettext("Run again"), rows=tasks)


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
    actions_detail = ["switch"]
    list_after_template = "admin/memplatform/nightly.html"

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

    @display(description=_("on"), boolean=True)
    def is_switched_on(self, schedule: Schedule) -> bool:
        return bool(schedule.repeats != 0)

    @row_action(_("Switch on or off"), "switch", "power_settings_new", "view")
    def switch(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A schedule repeated no more times is passed over; its row stays, and is not repaired while it is off."""
        schedule = self.reach(request, object_id, "view")
        was_on = schedule.repeats != 0

        def switch() -> str:
            Schedule.objects.filter(pk=schedule.pk).update(repeats=0 if was_on else -1)
            done = gettext("Switched off.") if was_on else gettext("Switched on.")
            self.log_change(request, schedule, done)
            return done

        title = gettext("Switch off %(name)s") if was_on else gettext("Switch on %(name)s")
        return confirm(
            self,
            request,
            switch,
            back=reverse("admin:django_q_schedule_changelist"),
            title=title % {"name": schedule.name},
            text=gettext("It does not run any more until somebody switches it on again.")
            if was_on
            else gettext("It runs again from its next time on."),
            button=gettext("Switch off") if was_on else gettext("Switch on"),
            rows=[self.purpose(schedule)],
            is_grave=was_on,
        )
