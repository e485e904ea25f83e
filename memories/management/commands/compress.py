"""`manage.py compress`: make facts of days and judge facts by hand, as the jobs of the night and the week do (D6)."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand
from django.utils import timezone
from django.utils.translation import gettext as _

from memories import compression, dry_runs
from memories.management import told
from memories.models import Workspace

DAYS, FACTS = "days", "facts"


class Command(BaseCommand):
    help = _("Makes facts of the days before, and proposes which facts to merge and drop.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", nargs="?", choices=[DAYS, FACTS], help="the nightly or the weekly part alone")
        parser.add_argument("--workspace", metavar="NAME", help="only in this workspace")
        parser.add_argument("--now", type=told.moment, metavar="TIME", help="as if it were that time")
        parser.add_argument("--dry-run", action="store_true", help="only count what the model would be asked about")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        begun, counts = timezone.now(), Counter[str]()
        now = options["now"] or begun
        for workspace in told.workspaces(options["workspace"]):
            for part in (DAYS, FACTS):
                if options["what"] in (None, part):
                    count = _count if options["dry_run"] else _compress
                    counts.update(count(part, workspace, lambda: now + (timezone.now() - begun)))
        self.stdout.write(told.said(dict(counts), as_json=options["json"]))


def _count(part: str, workspace: Workspace, clock: Any) -> dict[str, int]:
    return dry_runs.compress_days(workspace.pk, now=clock()) if part == DAYS else dry_runs.compress(workspace.pk)


def _compress(part: str, workspace: Workspace, clock: Any) -> dict[str, int]:
    run = f"compress-{part}:{workspace.pk}:{str(uuid4())[:18]}"
    work = compression.compress_days if part == DAYS else compression.compress_facts
    return work(workspace.pk, clock=clock, run=run)
