"""`manage.py verify_backup`: try a backup in an empty folder."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from memplatform import postgres
from memplatform.management.commands.backup import embedded


class Command(BaseCommand):
    help = _("Restores a backup into an empty folder beside it, compares every table, and removes that folder.")
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", type=Path, help="a backup")

    def handle(self, source: Path, **_options: Any) -> None:
        self.stdout.write(embedded(lambda _data: postgres.verify(source.absolute())))
