"""The embedded database of this installation, for commands that back it up and bring it back."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.core.management.base import CommandError
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
        done = work(Path(settings.DATA_DIR))
        if event:
            with postgres.lease(Path(settings.DATA_DIR)):
                _note(event, about)
        return done
    except postgres.PostgresError as problem:
        raise CommandError(str(problem)) from problem


def _note(event: AuditEvent, about: str) -> None:
    try:
        AuditRecord.note(event, actor=command_line.actor(), at=timezone.now(), about=about)
    except DatabaseError:
        return  # a database of an older version, without this log
