"""The embedded database of this installation, for commands that back it up and bring it back."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from memplatform import postgres

T = TypeVar("T")


def embedded(work: Callable[[Path], T]) -> T:
    """The result of work on the data folder. Raises CommandError, also where the database is not the embedded one."""
    if os.environ.get("DATABASE_URL"):
        raise CommandError(_("DATABASE_URL names a PostgreSQL of yours: back it up with its own programs."))
    try:
        return work(Path(settings.DATA_DIR))
    except postgres.PostgresError as problem:
        raise CommandError(str(problem)) from problem
