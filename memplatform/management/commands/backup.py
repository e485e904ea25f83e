"""`manage.py backup`: the embedded database with its files and credentials, into a new folder."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from memories.audit.models import AuditEvent
from memplatform import postgres
from memplatform.setup.embedded import embedded


class Command(BaseCommand):
    help = _("Writes the embedded database, its files and credentials into a new folder; a running platform goes on.")
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", type=Path, help="a new one")

    def handle(self, target: Path, **_options: Any) -> None:
        embedded(lambda data: postgres.backup(data, target.absolute()), AuditEvent.EXPORTED, f"backup {target.name}")
        self.stdout.write(_("It is whole: %(folder)s. manage.py verify_backup tries it.") % {"folder": target})
