"""`manage.py hosts`: the hosts that work with this database."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from channels_app import tasks
from memplatform.operations import hosts
from memplatform.operations.models import Host


class Command(BaseCommand):
    help = _("Lists the hosts that work with this database, or forgets one that is gone for good.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--forget", metavar="NAME", help=_("A host that will not come back, with its folder."))
        parser.add_argument(
            "--replay", action="store_true", help=_("Bring in what this host accepted while the database was away.")
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, forget: str | None, replay: bool, **options: Any) -> None:
        if replay:
            self.stdout.write(json.dumps(tasks.replay_journal()))
        elif forget is not None:
            if hosts.running(now=timezone.now()).filter(name=forget).exists():
                raise CommandError(_("The host %s runs; stop it first.") % forget)
            if not hosts.forget(forget):
                raise CommandError(_("There is no host %s.") % forget)
        else:
            now = timezone.now()
            running = set(hosts.running(now=now).values_list("name", flat=True))
            rows: list[dict[str, Any]] = [
                {
                    "host": host.name,
                    "is_running": host.name in running,
                    "parts": host.parts,
                    "version": host.version,
                    "started_at": host.started_at.isoformat(),
                    "seen_at": host.seen_at.isoformat(),
                    "folder": host.folder_path,
                }
                for host in Host.objects.order_by("name")
            ]
            if options["json"]:
                self.stdout.write(json.dumps(rows))
                return
            for row in rows:
                state = _("runs") if row["is_running"] else _("seen %s") % row["seen_at"]
                self.stdout.write(f"{row['host']:<20} {row['version']:<8} {', '.join(row['parts'])}  {state}")
