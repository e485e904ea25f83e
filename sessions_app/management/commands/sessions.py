"""`manage.py sessions`: what the worker does for conversations, done by hand."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.management import command_line
from sessions_app import conversations, flush
from sessions_app.history import retention

Work = Callable[..., dict[str, int]]
#: What there is to do, and what counts it first.
WORK: dict[str, tuple[Work, Work]] = {
    "sweep": (conversations.sweep, conversations.count_stale),
    "flush": (flush.flush_active, flush.count_active),
    "clean": (retention.clean_events, retention.count_old),
}


class Command(BaseCommand):
    help = _("Closes idle conversations, flushes those that go on, or removes old session events.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("work", choices=list(WORK))
        parser.add_argument("--now", type=command_line.moment, metavar="TIME", help="as if it were that time")
        parser.add_argument("--dry-run", action="store_true", help="only count what would be done")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        work, count = WORK[options["work"]]
        counts = (count if options["dry_run"] else work)(now=options["now"] or timezone.now())
        self.stdout.write(command_line.counts_line(counts, as_json=options["json"]))
