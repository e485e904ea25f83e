"""`manage.py schedules`: what the platform does by itself, and whether its rows are as they should be."""

import json
from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
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
        next_runs = dict(Schedule.objects.filter(name__startswith=PREFIX).values_list("name", "next_run"))
        rows: list[dict[str, Any]] = [
            {
                "job": name,
                "is_on": job.is_on,
                "when": job.cron or f"{job.when} in each workspace",
                "behaviour": job.behaviour,
                "what": job.label,
                "next_run": next_run.isoformat() if (next_run := next_runs.get(PREFIX + name)) else None,
            }
            for name, job in JOBS.items()
        ]
        if options["json"]:
            self.stdout.write(json.dumps(rows))
            return
        for row in rows:
            state = _("on") if row["is_on"] else _("off")
            at = f"  {datetime.fromisoformat(row['next_run']):%Y-%m-%d %H:%M} UTC" if row["next_run"] else ""
            self.stdout.write(f"{row['job']:<14} {state:<4} {row['when']:<28} {row['behaviour']:<4} {row['what']}{at}")
