"""`manage.py operator reset`: a new password for whoever can no longer log in."""

import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from axes.utils import reset
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.models import AuditEvent, AuditRecord
from memplatform.setup.first_run import OPERATOR, keep


class Command(BaseCommand):
    help = _("Give an operator a new password, and make the account if it is gone.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["reset"])
        parser.add_argument("--name", default=OPERATOR, help=_("whose password; operator"))

    def handle(self, name: str, **options: Any) -> None:
        password = secrets.token_urlsafe(12)
        folder = Path(settings.DATA_DIR) / "credentials"
        file = folder / ("operator-password" if name == OPERATOR else f"{name}-password")
        if file.parent != folder or not file.name.isprintable():
            raise CommandError(_("This name cannot be used: %s") % name)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with transaction.atomic():
            is_new = _reset(name, password)
            AuditRecord.note(AuditEvent.PASSWORD, actor="command:operator", at=timezone.now(), about=name)
            reset(username=name)  # what was locked by wrong passwords is open again
            keep(file, password)  # before the commit: a password nobody knows is never left behind
        done = _("The account %s was made.") if is_new else _("%s has a new password, and is logged out everywhere.")
        self.stdout.write(done % name)
        if self.stdout.isatty():
            self.stdout.write(_("Password: %s") % password)
        self.stdout.write(_("It is kept in %s.") % file)


def _reset(name: str, password: str) -> bool:
    """Whether the account had to be made; an owner who was switched off is let in again."""
    users = get_user_model().objects
    user = users.select_for_update().filter(username=name).first()
    if user is None:
        if name != OPERATOR:
            raise CommandError(_("There is no account %s.") % name)
        users.create_superuser(name, password=password)
        return True
    user.set_password(password)
    user.is_active = user.is_staff = True
    user.is_superuser = user.is_superuser or name == OPERATOR
    user.save(update_fields=["password", "is_active", "is_staff", "is_superuser"])
    return False
