"""`manage.py archive`: old history and recall traces in object storage.

What went wrong in one workspace ends it: those before are done, and the next call goes on.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.management import command_line
from memories.models import Workspace
from memplatform import archive
from memplatform.archive import HISTORY, TRACES, ArchiveError

_TABLES = {"traces": TRACES, "history": HISTORY}


class Command(BaseCommand):
    help = _("Moves old history and recall traces to object storage, checks them, prints them, and brings them back.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        words = ["move", "verify", "read", "restore"]
        parser.add_argument("word", nargs="?", choices=words, default="move")
        parser.add_argument("--before", type=command_line.moment, metavar="TIME", help="of move: not by the settings")
        parser.add_argument("--dry-run", action="store_true", help="of move: only count")
        parser.add_argument("--workspace", metavar="NAME", help="only this one")
        parser.add_argument("--only", choices=_TABLES, help="traces or history alone; default: both")

    def handle(self, *args: Any, word: str, only: str | None, **options: Any) -> None:
        tables = {name: table for name, table in _TABLES.items() if only in (None, name)}
        try:
            for workspace in command_line.workspaces(options["workspace"]):
                if word == "read":
                    for line in (line for table in tables.values() for line in archive.read(workspace, table)):
                        self.stdout.write(line)
                    continue
                counts, wrong = self._counts(word, workspace, tables, options)
                rows = {name: counts[table] for name, table in tables.items()}
                self.stdout.write(f"{workspace.name}: {command_line.counts_line(rows, as_json=False)}")
                if wrong:
                    raise CommandError("\n".join(wrong))
        except ArchiveError as problem:
            raise CommandError(str(problem)) from problem

    def _counts(
        self, word: str, workspace: Workspace, tables: dict[str, str], options: dict[str, Any]
    ) -> tuple[dict[str, int], list[str]]:
        now = timezone.now()
        if word == "verify":
            return archive.verify(workspace)
        if word == "restore":
            return {table: archive.restore(workspace, table, now=now) for table in tables.values()}, []
        due = archive.due(now=now)
        before = {table: options["before"] or due[table] for table in tables.values()}
        if options["dry_run"]:
            return archive.count(workspace, before), []
        return archive.move(workspace, before, now=now), []
