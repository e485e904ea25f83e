"""`manage.py restore`: bring back what the nightly job took out, of some batches or of a time (A9)."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.lifecycle import expiry
from memories.management import command_line
from memories.models import Batch


class Command(BaseCommand):
    help = _("Brings back what the nightly job took out of use, and nothing people took out themselves.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--batch", action="append", type=UUID, metavar="ID", help="of this batch; may be repeated")
        which.add_argument("--since", type=command_line.moment, metavar="TIME", help="what expired from that time on")
        which.add_argument("--last-night", action="store_true", help="what expired in the last 24 hours")
        parser.add_argument("--workspace", metavar="NAME", help="only in this workspace")
        parser.add_argument(
            "--term", type=command_line.span, metavar="30d", help="for so long; else as long as policies say"
        )
        parser.add_argument("--reason", default="", help="kept with the batches")
        parser.add_argument("--now", type=command_line.moment, metavar="TIME", help="as if it were that time")
        parser.add_argument("--dry-run", action="store_true", help="only count what would come back")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        now = options["now"] or timezone.now()
        workspace_ids = [workspace.pk for workspace in command_line.workspaces(options["workspace"])]
        if batch_uids := options["batch"]:
            batches = list(Batch.objects.filter(expiry.JOB_BATCHES, uid__in=batch_uids, workspace_id__in=workspace_ids))
            if missing := set(batch_uids) - {batch.uid for batch in batches}:
                raise CommandError(_("No batch of the job: %(ids)s.") % {"ids": ", ".join(map(str, sorted(missing)))})
        else:
            since = options["since"] or now - expiry.NIGHT
            batches = list(expiry.expiry_batches(since=since).filter(workspace_id__in=workspace_ids))
        expired = expiry.expired_by(batches)
        counts = {"scopes": expired.values("scope_id").distinct().count(), "entries": expired.count()}
        if not options["dry_run"]:
            bar = command_line.Bar(counts["entries"])
            counts = expiry.restore_all(
                batches, term=options["term"], now=now, actor=command_line.actor(), reason=options["reason"], report=bar
            )
            bar.end()
        self.stdout.write(command_line.counts_line(counts, as_json=options["json"]))
