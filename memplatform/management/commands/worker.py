"""`manage.py worker`: the task cluster and its watchdog, until they are stopped."""

import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from memplatform.processes.watchdog import Watchdog


class Command(BaseCommand):
    help = _("Runs scheduled and queued work, and starts it anew when it dies or hangs.")
    requires_system_checks: list[str] = []  # the web processes check

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--quiet", type=float, default=30.0, help=_("Seconds without a sign of work before a restart.")
        )
        parser.add_argument("--pulse", type=float, default=8.0, help=_("Seconds between two signs of work."))

    def handle(self, *args: Any, quiet: float, pulse: float, **options: Any) -> None:
        watchdog = Watchdog(quiet=quiet, pulse_every=pulse)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: setattr(watchdog, "stopping", True))
        watchdog.run()
