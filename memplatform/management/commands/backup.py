"""`manage.py backup`: the embedded database with its files and credentials, into a new folder."""

import os
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.audit.models import AuditEvent, AuditRecord
from memories.management import command_line
from memplatform import postgres

T = TypeVar("T")


def embedded(work: Callable[[Path], T], event: AuditEvent | None = None, about: str = "") -> T:
    """The result of work on the data folder, noted in the audit log as an event where one is named.

    Raises CommandError, also where the database is not the embedded one.
    """
    if os.environ.get("DATABASE_URL"):
        raise CommandError(_("DATABASE_URL names a PostgreSQL of yours: back it up with its own programs."))
    try:
        result = work(Path(settings.DATA_DIR))
        if event:
            # A database of an older version has no such log
            with postgres.lease(Path(settings.DATA_DIR)), suppress(DatabaseError):
                AuditRecord.note(event, actor=command_line.actor(), at=timezone.now(), about=about)
        return result
    except postgres.PostgresError as problem:
        raise CommandError(str(problem)) from problem


class Command(BaseCommand):
    help = _("Writes the embedded database, its files and credentials into a new folder; a running platform goes on.")
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", type=Path, help="a new one")

    def handle(self, target: Path, **_options: Any) -> None:
        embedded(lambda data: postgres.backup(data, target.absolute()), AuditEvent.EXPORTED, f"backup {target.name}")
        self.stdout.write(_("It is whole: %(folder)s. manage.py verify_backup tries it.") % {"folder": target})
