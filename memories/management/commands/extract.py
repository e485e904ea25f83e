"""`manage.py extract`: work off the extraction buffer by hand, as the job of the minute does."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import QuerySet
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
        chosen = command_line.workspaces(options["workspace"]) if options["workspace"] else []
        batches = ExtractionBatch.objects.filter(workspace__in=chosen) if chosen else ExtractionBatch.objects.all()
        if options["now"] is True:
            options |= {"now": None, "all": True}
        clock = command_line.clock(options["now"])
        waiting = _waiting(batches, clock(), options).count()
        counts = {"extraction_batches": waiting}
        if not options["dry_run"]:
            bar = command_line.Bar(waiting, *FATES)
            now = clock()
            begun = {}
            if options["retry_parked"]:
                begun["retried"] = buffer.retry(batches, now=now)
            if options["all"]:
                begun["sealed"] = buffer.seal(batches, now=now)
            counts = begun | _extract(clock, chosen[0].pk if chosen else None, bar)
            bar.end()
        self.stdout.write(command_line.counts_line(counts, as_json=options["json"]))


def _waiting(batches: QuerySet[ExtractionBatch], now: datetime, options: dict[str, Any]) -> QuerySet[ExtractionBatch]:
    """What a run with these options would take."""
    waiting = batches.exclude(state=BufferState.PARKED)
    due = waiting if options["all"] else waiting.filter(due_at__lte=now)
    return due | batches.filter(state=BufferState.PARKED) if options["retry_parked"] else due


def _extract(clock: Callable[[], datetime], workspace_id: int | None, bar: command_line.Bar) -> dict[str, int]:
    """Run after run of the job, for as long as one gets somewhere."""
    counts: Counter[str] = Counter()
    while True:
        done = extraction.extract_ready(clock, workspace_id=workspace_id, report=bar)
        bar.move_on(done)
        counts.update(done)
        if not done["extraction_batches"]:
            return dict(counts)
