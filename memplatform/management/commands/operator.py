"""`manage.py operator`: a new password, or no second factor, for whoever can no longer log in."""

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

from memories.audit.models import AuditEvent, AuditRecord
from memories.staff.models import Factor
from memplatform.setup.first_run import OPERATOR, keep


class Command(BaseCommand):
    help = _("Give an operator a new password, and make the account if it is gone; or remove their second factor.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["reset", "remove-factor"])
        parser.add_argument("--name", default=OPERATOR, help=_("whose; operator"))

    def handle(self, action: str, name: str, **options: Any) -> None:
        if action == "reset":
            password = secrets.token_urlsafe(12)
            folder = Path(settings.DATA_DIR) / "credentials"
            file = folder / ("operator-password" if name == OPERATOR else f"{name}-password")
            if file.parent != folder or not file.name.isprintable():
                raise CommandError(_("This name cannot be used: %s") % name)
            file.parent.mkdir(mode=0o700, exist_ok=True)
            with transaction.atomic():
                users = get_user_model().objects
                user = users.select_for_update().filter(username=name).first()
                is_new = user is None
                if user is not None:  # an owner who was switched off is let in again
                    user.set_password(password)
                    user.is_active = user.is_staff = True
                    user.is_superuser = user.is_superuser or name == OPERATOR
                    user.save(update_fields=["password", "is_active", "is_staff", "is_superuser"])
                elif name == OPERATOR:
                    users.create_superuser(name, password=password)
                else:
                    raise CommandError(_("There is no account %s.") % name)
                AuditRecord.note(AuditEvent.PASSWORD, actor="command:operator", at=timezone.now(), about=name)
                reset()  # what was locked by wrong passwords is open again
                keep(file, password)  # before the commit: a password nobody knows is never left behind
            message = (
                _("The account %s was made.") if is_new else _("%s has a new password, and is logged out everywhere.")
            )
            self.stdout.write(message % name)
            if self.stdout.isatty():
                self.stdout.write(_("Password: %s") % password)
            self.stdout.write(_("It is kept in %s.") % file)
        else:
            self._remove_factor(name)

    @transaction.atomic
    def _remove_factor(self, name: str) -> None:
        factor = Factor.objects.filter(user__username=name).select_related("user").first()
        if factor is None:
            raise CommandError(_("%s has no second factor.") % name)
        factor.delete()
        now = timezone.now()
        AuditRecord.note(AuditEvent.FACTOR_OFF, actor="command:operator", at=now, user_id=factor.user.pk, about=name)
        self.stdout.write(_("%s logs in with the password alone now.") % name)
