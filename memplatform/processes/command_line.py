"""Every command; without DATABASE_URL, the embedded PostgreSQL runs as long as the command does.

`manage.py` in a checkout, `memplatform up`, `backup` and `manage` where it is installed, and the processes of both.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memplatform import environment
from memplatform.environment import MANAGE, data_folder

#: Commands that need no database; `up` leases it itself.
WITHOUT_DATABASE = {
    *("up", "check", "compilemessages", "diffsettings", "help", "makemessages", "mcp_stdio", "version"),
    *("backup", "verify_backup", "restore_backup"),  # these start the embedded one where they need it
}


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    if arguments[1:2] == ["up"]:
        gc.disable()  # while everything is imported; the command enables it
    data = data_folder()
    if arguments[1:2] == ["mcp_stdio"]:  # a thin client, started anew for each conversation of a desktop program
        from memplatform.processes import stdio

        stdio.main(arguments[2:], data)
        return
    from memplatform import postgres

    try:
        environment.require()
        postgres.require(data)
        with database(arguments, data):
            announce()
            execute(arguments)
    except (environment.Misconfigured, postgres.PostgresError) as problem:
        sys.exit(str(problem))


def execute(arguments: list[str]) -> None:
    """Run a command of Django; what the database lacks for it is one sentence."""
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, ProgrammingError

    try:
        execute_from_command_line(arguments)
    except (OperationalError, ProgrammingError) as problem:
        from memplatform.database import state

        if (sentence := state.explanation(problem)) is None:
            raise
        sys.exit(sentence)


@contextmanager
def database(arguments: list[str], data: Path) -> Iterator[None]:
    if os.environ.get("DATABASE_URL") or not needs_database(arguments):
        yield
        return
    from memplatform import postgres

    # An exception, so that the lease is given back.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    with postgres.lease(data):
        yield


def needs_database(arguments: list[str]) -> bool:
    words = arguments[1:]
    if not words or {"--help", "-h", "--version"} & set(words):
        return False
    return words[0] not in WITHOUT_DATABASE or (words[0] == "check" and "--database" in words)


def announce() -> None:
    """In a child of the supervisor: beat, and end when the supervisor does.

    The worker beats by itself: its heartbeat says that its cluster works.
    """
    if name := os.environ.get("MEMPLATFORM_PROCESS"):
        import django

        django.setup()
        from memplatform.processes import children, heartbeat

        if name == "worker":
            children.end_with_parent()
        else:
            heartbeat.start(name)


if __name__ == "__main__":
    main([MANAGE, *sys.argv[1:]])
