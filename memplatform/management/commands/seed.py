"""`manage.py seed`: a made-up workspace of any size, for measurements."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.models import Entry, Workspace
from memplatform.setup.seed import seed


class Command(BaseCommand):
    help = _("Fills a new workspace with made-up entries, sessions and batches, for measurements.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--entries", type=int, required=True, metavar="N", help="how many memories")
        parser.add_argument("--workspace", metavar="NAME", help="its name; as it says how many where none is given")
        parser.add_argument("--yes", action="store_true", help="also where something is remembered already")

    def handle(self, *args: Any, **options: Any) -> None:
        entries = options["entries"]
        if entries < 1:
            raise CommandError(_("--entries: at least one."))
        if not options["yes"] and Entry.objects.exists():
            raise CommandError(_("Something is remembered in this database; --yes fills a new workspace all the same."))
        name = options["workspace"] or f"Seed {entries}"
        if Workspace.objects.filter(name=name).exists():
            raise CommandError(
                _("There is a workspace “%(name)s” already; --workspace names another.") % {"name": name}
            )
        workspace = Workspace.objects.create(name=name)
        counts = seed(workspace, entries, now=timezone.now(), report=self._report)
        self.stdout.write(", ".join(f"{kind} {number:,}" for kind, number in counts.items()))

    def _report(self, kind: str, number: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"{kind} {number:,}")
