"""`manage.py mcp_stdio`, where Django is loaded already; `manage.py` itself goes to memplatform.processes.stdio."""

from argparse import Namespace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memplatform.processes import stdio


class Command(BaseCommand):
    help = stdio.SUMMARY
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        stdio.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            stdio.serve(Namespace(**options), settings.DATA_DIR)
        except stdio.KeyUnreadable as problem:
            raise CommandError(str(problem)) from problem
