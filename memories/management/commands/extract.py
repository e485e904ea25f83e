"""`manage.py extract`: work off the extraction buffer by hand, as the job of the minute does."""

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from memories.choices import BufferState
from memories.consolidation import buffer, extraction
from memories.management import command_line
from memories.models import ExtractionBatch

#: What may become of an extraction batch.
FATES = ("extraction_batches", "failed", "waiting", "parked", "lost")


class Command(BaseCommand):
    help = _("Extracts what waits in the buffer and is due, until nothing is.")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", metavar="NAME", help="only of this workspace")
        parser.add_argument("--all", action="store_true", help="also what has not been quiet for long enough")
        parser.add_argument("--retry-parked", action="store_true", help="also what was parked")
        parser.add_argument(
            "--now", nargs="?", const=True, type=command_line.moment, metavar="TIME",
            help="as if it were that time; without one it is --all",
        )  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="only count what would be extracted")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        workspaces = command_line.workspaces(options["workspace"]) if options["workspace"] else []
        batches = (
            ExtractionBatch.objects.filter(workspace__in=workspaces) if workspaces else ExtractionBatch.objects.all()
        )
        if options["now"] is True:
            options |= {"now": None, "all": True}
        clock = command_line.clock(options["now"])
        # What a run with these options would take
        unparked = batches.exclude(state=BufferState.PARKED)
        due = unparked if options["all"] else unparked.filter(due_at__lte=clock())
        if options["retry_parked"]:
            due = due | batches.filter(state=BufferState.PARKED)
        waiting = due.count()
        counts = Counter(extraction_batches=waiting)
        if not options["dry_run"]:
            bar = command_line.Bar(waiting, *FATES)
            now = clock()
            counts = Counter()
            if options["retry_parked"]:
                counts["retried"] = buffer.retry(batches, now=now)
            if options["all"]:
                counts["sealed"] = buffer.seal(batches, now=now)
            # Run after run of the job, for as long as one gets somewhere
            is_left = True
            while is_left:
                run_counts = extraction.extract_ready(
                    clock, workspace_id=workspaces[0].pk if workspaces else None, report=bar
                )
                bar.move_on(run_counts)
                counts.update(run_counts)
                is_left = bool(run_counts["extraction_batches"])
            bar.end()
        self.stdout.write(command_line.counts_line(dict(counts), as_json=options["json"]))
