"""`manage.py compress`: make facts of days and judge facts by hand, as the jobs of the night and the week do (D6)."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from memories import jobs
from memories.consolidation import compression
from memories.management import command_line

DAYS, FACTS = "days", "facts"
#: What the work is measured in.
UNITS = {DAYS: "days", FACTS: "scopes"}


class Command(BaseCommand):
    help = _("Makes facts of the days before, and proposes which facts to merge and drop.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", nargs="?", choices=[DAYS, FACTS], help="the nightly or the weekly part alone")
        parser.add_argument("--workspace", metavar="NAME", help="only in this workspace")
        parser.add_argument("--now", type=command_line.moment, metavar="TIME", help="as if it were that time")
        parser.add_argument("--dry-run", action="store_true", help="only count what the model would be asked about")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        clock, counts = command_line.clock(options["now"]), Counter[str]()
        for part in (DAYS, FACTS):
            if options["what"] not in (None, part):
                continue
            workspaces = command_line.workspaces(options["workspace"])
            if part == DAYS:
                waiting = [jobs.preview_compress_days(workspace.pk, now=clock()) for workspace in workspaces]
            else:
                waiting = [compression.count_facts(workspace.pk) for workspace in workspaces]
            if options["dry_run"]:
                for preview in waiting:
                    counts.update(preview)
                continue
            bar = command_line.Bar(sum(preview[UNITS[part]] for preview in waiting), UNITS[part])
            for workspace in workspaces:
                run = f"compress-{part}:{workspace.pk}:{str(uuid4())[:18]}"
                work = compression.compress_days if part == DAYS else compression.compress_facts
                run_counts = work(workspace.pk, clock=clock, run=run, report=bar)
                bar.move_on(run_counts)
                counts.update(run_counts)
            bar.end()
        self.stdout.write(command_line.counts_line(dict(counts), as_json=options["json"]))
