"""`manage.py restore_backup`: take a backup into the data folder."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from memories.audit.models import AuditEvent
from memplatform import postgres
from memplatform.management.commands.backup import embedded


class Command(BaseCommand):
    help = _("Takes a backup into the data folder, which has no database yet, and compares every table.")
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", type=Path, help="a backup")

    def handle(self, source: Path, **_options: Any) -> None:
        embedded(
            lambda data: postgres.restore(data, source.absolute()), AuditEvent.JOB, f"restore_backup {source.name}"
        )
        self.stdout.write(_("Every table is as it was backed up."))
