"""`manage.py export`: a scope or a workspace as JSON Lines and markdown (F8)."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.audit.models import AuditEvent, AuditRecord
from memories.exceptions import PlatformError
from memories.management import command_line
from memplatform.transfer.export import export


class Command(BaseCommand):
    help = _("Exports a scope or a workspace into a folder: JSON Lines, its files, and what is remembered as markdown.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="a new one")
        parser.add_argument("--scope", metavar="SCOPE", help="its key or id; without it, the workspace")
        parser.add_argument("--workspace", metavar="NAME", help="where there are several")
        parser.add_argument("--history", action="store_true", help="with every change of every memory")
        parser.add_argument("--resume", action="store_true", help="go on with one that was interrupted")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        bar: command_line.Bar | None = None

        def report(count: int, total: int) -> None:
            nonlocal bar
            bar = bar or command_line.Bar(total, "records", head=_("Exporting"), has_lines=True)
            bar({"records": count})

        scope = None if options["scope"] is None else command_line.named_scope(options["scope"], options["workspace"])
        workspace = scope.workspace if scope else command_line.only_workspace(options["workspace"])
        try:
            dump = export(
                workspace,
                scope,
                options["folder"],
                now=timezone.now(),
                history=options["history"],
                resume=options["resume"],
                report=report,
            )
        except (PlatformError, OSError) as problem:
            raise CommandError(str(problem)) from problem
        except KeyboardInterrupt as stop:
            raise CommandError(_("Stopped. --resume goes on from there.")) from stop
        finally:
            if bar:
                bar.end()
        AuditRecord.note(
            AuditEvent.EXPORTED,
            actor=command_line.actor(),
            at=timezone.now(),
            workspace_id=workspace.pk,
            about=f"scope {scope.pk}" if scope else str(workspace),  # its name may be a person's
            details={"as": "folder"},
        )
        if options["json"]:
            self.stdout.write(json.dumps(vars(dump)))
            return
        self.stdout.write(", ".join(f"{kind} {count}" for kind, count in dump.counts.items()) + f", files {dump.files}")
        if dump.waiting:
            message = _("Turns that wait to be extracted are not among them: %(count)d. See manage.py extract.")
            self.stdout.write(message % {"count": dump.waiting})
