"""`manage.py sessions`: what the worker does for conversations, done by hand."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from sessions_app import cleaning, closing, flushing

WORK: dict[str, Callable[..., dict[str, int]]] = {
    "sweep": closing.sweep,
    "flush": flushing.flush_active,
    "clean": cleaning.clean_events,
}


class Command(BaseCommand):
    help = _("Closes idle conversations, flushes those that go on, or removes old session events.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("work", choices=list(WORK))
        parser.add_argument("--now", type=_moment, default=None, help=_("As if it were this time (ISO 8601)."))
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        done = WORK[options["work"]](now=options["now"] or timezone.now())
        said = json.dumps(done) if options["json"] else ", ".join(f"{name} {count}" for name, count in done.items())
        self.stdout.write(said)


def _moment(text: str) -> datetime:
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(_("“%(text)s” is not a time.") % {"text": text}) from error
    return read if read.tzinfo else timezone.make_aware(read)
