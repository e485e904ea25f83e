"""`manage.py expire`: take out of use what has lived its time, as the nightly job does (A9)."""

from argparse import ArgumentParser
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.lifecycle import expiry
from memories.management import command_line


class Command(BaseCommand):
    help = _("Takes out of use what has lived its time, a batch for each scope.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="NAME", help="only in this workspace")
        parser.add_argument("--now", type=command_line.moment, metavar="TIME", help="as if it were that time")
        parser.add_argument("--dry-run", action="store_true", help="only count what is due")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        now = options["now"] or timezone.now()
        workspaces = command_line.workspaces(options["workspace"])
        due = [expiry.count_due(workspace.pk, now=now) for workspace in workspaces]
        counts = total = {name: sum(row[name] for row in due) for name in ("scopes", "entries")}
        if not options["dry_run"]:
            bar, run, counts = command_line.Bar(total["entries"]), uuid4(), {"scopes": 0, "entries": 0}
            for workspace in workspaces:
                name = f"expire:{workspace.pk}:{run}"
                run_counts = expiry.expire_due(workspace.pk, now=now, run=name, report=bar, actor=command_line.actor())
                bar.move_on(run_counts)
                counts = {name: counts[name] + run_counts[name] for name in counts}
            bar.end()
        self.stdout.write(command_line.counts_line(counts, as_json=options["json"]))
