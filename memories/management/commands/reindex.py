"""`manage.py reindex`: index the files of markdown anew; the same lines are remembered as before (E6)."""

from argparse import ArgumentParser
from time import perf_counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.models import Workspace
from memories.notes.condition import passed_over
from memories.notes.freshness import sync_workspace
from memories.notes.index import drop_index


class Command(BaseCommand):
    help = _("Reads the files of markdown again and brings what is remembered of them in step.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", help=_("Only this one, by its name."))
        parser.add_argument(
            "--drop", action="store_true", help=_("Drop what is known of the files and their search rows first.")
        )

    def handle(self, *args: Any, workspace: str | None, drop: bool, **options: Any) -> None:
        workspaces = Workspace.objects.filter(name=workspace) if workspace else Workspace.objects.order_by("name")
        if not workspaces:
            raise CommandError(_("There is no workspace called “%(name)s”.") % {"name": workspace})
        for row in workspaces:
            begun = perf_counter()
            if drop:
                drop_index(row)
            report = sync_workspace(row, now=timezone.now(), force=True)
            message = _(
                "%(name)s: %(files)d files, %(new)d new lines, %(changed)d changed, %(ended)d ended, in %(s).1f s"
            )
            values = {"files": report.files, "new": report.created, "changed": report.changed, "ended": report.ended}
            self.stdout.write(message % {"name": row.name, **values, "s": perf_counter() - begun})
            for path, problem in report.problems.items():
                self.stdout.write(f"  {path}: {problem.label}")
            for skipped_file in passed_over(row):
                if skipped_file.path not in report.problems:
                    self.stdout.write(f"  {skipped_file.path}: {skipped_file.reason.label}")
