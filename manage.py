#!/usr/bin/env python
"""Every command of the platform. Without DATABASE_URL it holds the embedded PostgreSQL while the command runs."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memplatform import postgres

#: Commands that ask nothing of a database; `up` holds it itself.
WITHOUT_DATABASE = {
    "up",
    "check",
    "compilemessages",
    "diffsettings",
    "help",
    "makemessages",
    "version",
}


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    try:
        with database(arguments):
            announce()
            from django.core.management import execute_from_command_line

            execute_from_command_line(arguments)
    except postgres.PostgresError as problem:
        sys.exit(str(problem))


@contextmanager
def database(arguments: list[str]) -> Iterator[None]:
    if os.environ.get("DATABASE_URL") or not needs_database(arguments):
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))  # so that the lease is given back
    default = Path(__file__).resolve().parent / ".data"
    with postgres.lease(Path(os.environ.get("MEMPLATFORM_DATA") or default).absolute()):
        yield


def needs_database(arguments: list[str]) -> bool:
    words = arguments[1:]
    return bool(words) and words[0] not in WITHOUT_DATABASE and not {"--help", "-h", "--version"} & set(words)


def announce() -> None:
    """A child of the supervisor tells that it lives, and ends when the supervisor does."""
    if name := os.environ.get("MEMPLATFORM_PROCESS"):
        import django

        from memplatform import heartbeat

        django.setup()
        heartbeat.start(name)


if __name__ == "__main__":
    main(sys.argv)
