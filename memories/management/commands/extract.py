"""`manage.py extract`: work off the extraction buffer by hand, as the job of the minute does."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from memories import buffer, extraction
from memories.models import Parcel


class Command(BaseCommand):
    help = _("Extracts what waits in the buffer and is due, until nothing is.")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--now", action="store_true", help="also what has not been quiet for long enough")
        parser.add_argument("--retry-parked", action="store_true", help="also what was parked")
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        begun = {}
        if options["retry_parked"]:
            begun["retried"] = buffer.retry(Parcel.objects.all(), now=now)
        if options["now"]:
            begun["sealed"] = buffer.seal(Parcel.objects.all(), now=now)
        counts = begun | extraction.extract_ready(timezone.now)
        said = json.dumps(counts) if options["json"] else ", ".join(f"{name} {n}" for name, n in counts.items())
        self.stdout.write(said)
