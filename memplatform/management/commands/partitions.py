"""`manage.py partitions`: large tables in partitions by workspace."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from memories.models import Workspace
from memplatform.database import partitions
from memplatform.database.partitions import TABLES


class Command(BaseCommand):
    help = _("Puts large tables into partitions by workspace, while everything runs. Run it as the tables' owner.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        words = parser.add_subparsers(dest="word", required=True)
        show = words.add_parser("show", help=_("Partitions, with rows and bytes, and what is unfinished."))
        show.add_argument("--json", action="store_true", help="print JSON")
        create = words.add_parser("create", help=_("Put tables into partitions, or go on with it."))
        create.add_argument("--of", type=int, default=16, help=_("how many partitions; cannot be changed later"))
        for word, text in {
            "move": _("Give a workspace partitions of its own, or go on with it."),
            "detach": _("Take a workspace's own partitions out of the tables."),
            "attach": _("Put back what was taken out."),
        }.items():
            words.add_parser(word, help=text).add_argument("workspace", help=_("name of the workspace"))
        words.add_parser("abandon", help=_("Take back what was begun and not finished."))
        for word, parser_of_word in words.choices.items():
            if word != "show":
                parser_of_word.add_argument("--table", action="append", choices=TABLES, help=_("default: all of them"))
            if word in ("create", "move"):
                parser_of_word.add_argument("--batch", type=int, default=2_000, help=_("rows in one transaction"))

    def handle(self, *args: Any, word: str, **options: Any) -> None:
        tables = options.get("table") or list(TABLES)
        if word == "show":
            parts = {table: partitions.parts_of(table) for table in TABLES}
            unfinished = partitions.unfinished()
            if options["json"]:
                rows_by_table = {table: [asdict(part) for part in table_parts] for table, table_parts in parts.items()}
                self.stdout.write(json.dumps({"tables": rows_by_table, "unfinished": unfinished}))
                return
            for table, table_parts in parts.items():
                shape = _("%d partitions") % len(table_parts) if table_parts else _("in one piece")
                self.stdout.write(f"{table}: {shape}")
                for part in table_parts:
                    self.stdout.write(f"  {part.name:42} {part.rows:>14,} {part.bytes / 2**20:>10,.1f} MB")
            for table, at in unfinished.items():
                words = _("%(table)s: begun and not finished, copied up to %(at)s")
                self.stdout.write(words % {"table": table, "at": at})
            return
        try:
            with partitions.alone():
                for table in tables:
                    partitions.patiently(partial(self._act, word, table, options))
        except partitions.PartitionsError as problem:
            raise CommandError(str(problem)) from problem

    def _act(self, word: str, table: str, options: dict[str, Any]) -> None:
        say: Callable[[str], None] = self.stdout.write
        if word == "create":
            if not 2 <= options["of"] <= 256:
                raise CommandError(_("From 2 to 256 partitions."))
            partitions.create(table, options["of"], say, batch=options["batch"])
        elif word == "abandon":
            if partitions.abandon(table):
                say(table)
        elif workspace := Workspace.objects.filter(name=options["workspace"]).first():
            if word == "move":
                partitions.move(table, workspace.pk, say, batch=options["batch"])
            elif word == "detach":
                say(partitions.detach(table, workspace.pk))
            else:
                partitions.attach(table, workspace.pk, say)
        else:
            raise CommandError(_("There is no workspace %s.") % options["workspace"])
