"""`manage.py schedules`: what the platform does by itself, and whether its rows are as they should be."""

import json
from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django_q.models import Schedule

from memplatform.operations.jobs import registry
from memplatform.operations.jobs.registry import JOBS, PREFIX


class Command(BaseCommand):
    help = _("Puts the schedule rows right, and lists every job with its cadence and next run.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        registry.sync_schedules(now=timezone.now())
        if options["json"]:
            with translation.override("en"):  # a program reads the same in every language
                self.stdout.write(json.dumps(_rows()))
            return
        for row in _rows():
            state = _("on") if row["is_on"] else _("off")
            at = f"  {datetime.fromisoformat(row['next_run']):%Y-%m-%d %H:%M} UTC" if row["next_run"] else ""
            self.stdout.write(f"{row['job']:<14} {state:<4} {row['when']:<28} {row['behaviour']:<4} {row['what']}{at}")


def _rows() -> list[dict[str, Any]]:
    """Every job, in the language of whoever reads."""
    next_runs = dict(Schedule.objects.filter(name__startswith=PREFIX).values_list("name", "next_run"))
    return [
        {
            "job": name,
            "is_on": job.is_on,
            "when": job.cron or _("%(when)s in each workspace") % {"when": job.when},
            "behaviour": job.behaviour,
            "what": _(job.label),
            "next_run": next_run.isoformat() if (next_run := next_runs.get(PREFIX + name)) else None,
        }
        for name, job in JOBS.items()
    ]
