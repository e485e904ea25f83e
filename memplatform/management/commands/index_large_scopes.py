"""`manage.py index_large_scopes`: gives very large scopes their index, and drops what is no longer needed (C12)."""

import json
import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from memories.index import large_scopes
from memplatform.processes import children


class Command(BaseCommand):
    help = _("Builds the vector indexes of very large scopes, and drops those no longer needed. Run as the owner.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help=_("Tell what is to be done, and do nothing."))

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        if children.STARTED_BY in os.environ:
            children.end_with_parent()
        counts = large_scopes.preview() if dry_run else large_scopes.carry_out()
        self.stdout.write(json.dumps(counts))
