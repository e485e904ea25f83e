"""`manage.py schedules`: what the platform does by itself, and whether its rows are as they should be."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from django.utils.translation import gettext as _
from django_q.models import Schedule

from memplatform import schedules
from memplatform.schedules import JOBS, PREFIX, is_on


class Command(BaseCommand):
    help = _("Puts the schedule rows right, and lists every job with its cadence and next run.")

    def handle(self, *args: Any, **options: Any) -> None:
        schedules.ensure(now=timezone.now())
        next_runs = dict(Schedule.objects.filter(name__startswith=PREFIX).values_list("name", "next_run"))
        for name, job in JOBS.items():
            when = job.cadence if isinstance(job.cadence, str) else f"{job.when} in each workspace"
            state = _("on") if is_on(name) else _("off")
            next_run = next_runs.get(PREFIX + name)
            at = f"  {next_run:%Y-%m-%d %H:%M} UTC" if next_run else ""
            self.stdout.write(f"{name:<14} {state:<4} {when:<28} {job.behaviour:<4} {job.what}{at}")
