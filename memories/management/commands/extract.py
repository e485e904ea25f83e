"""`manage.py extract`: work off the extraction buffer by hand, as the job of the minute does."""

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories import buffer, extraction
from memories.choices import BufferState
from memories.management import told
from memories.models import Parcel


class Command(BaseCommand):
    help = _("Extracts what waits in the buffer and is due, until nothing is.")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", metavar="NAME", help="only of this workspace")
        parser.add_argument("--now", action="store_true", help="also what has not been quiet for long enough")
        parser.add_argument("--retry-parked", action="store_true", help="also what was parked")
        parser.add_argument("--dry-run", action="store_true", help="only count what would be extracted")
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = told.workspaces(options["workspace"]) if options["workspace"] else []
        parcels = Parcel.objects.filter(workspace__in=chosen) if chosen else Parcel.objects.all()
        if options["dry_run"]:
            counts = {"parcels": _waiting(parcels, options).count()}
        else:
            counts = self._extract(parcels, chosen[0].pk if chosen else None, options)
        self.stdout.write(told.said(counts, as_json=options["json"]))

    def _extract(self, parcels: QuerySet[Parcel], workspace_id: int | None, options: dict[str, Any]) -> dict[str, int]:
        now, begun = timezone.now(), Counter[str]()
        if options["retry_parked"]:
            begun["retried"] = buffer.retry(parcels, now=now)
        if options["now"]:
            begun["sealed"] = buffer.seal(parcels, now=now)
        return {**begun, **extraction.extract_ready(timezone.now, workspace_id=workspace_id)}


def _waiting(parcels: QuerySet[Parcel], options: dict[str, Any]) -> QuerySet[Parcel]:
    """What a run with these options would take."""
    waiting = parcels if options["retry_parked"] else parcels.exclude(state=BufferState.PARKED)
    return waiting if options["now"] else waiting.filter(due_at__lte=timezone.now())
