"""`manage.py rotate_secrets`: after a new key was put before the old ones in MEMPLATFORM_SECRETS_KEY."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from memories import secrets


class Command(BaseCommand):
    help = _("Encrypts every secret anew with the first key, so that the old keys can be taken away.")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = secrets.rotate()
        except secrets.SecretUnreadable as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(_("%(count)d secrets are encrypted with the first key now.") % {"count": count})
