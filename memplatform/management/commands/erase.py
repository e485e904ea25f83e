"""`manage.py erase`: remove a person for good, and verify a certificate of it (F7)."""

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
from memories.models import ErasureState
from memplatform.erasure import certificate, run
from memplatform.erasure.person import Identity

#: Exit of --verify for a certificate that is whole, of an installation whose key nobody has named.
UNKNOWN_SIGNER = 3


class Command(BaseCommand):
    help = _("Erases a person for good, wherever the platform keeps something of them. It cannot be undone.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("person", nargs="*", help="each identity, as telegram:u42")
        parser.add_argument("--workspace", metavar="NAME", help="where there are several")
        parser.add_argument("--reason", default="", help="stands in the certificate; name nobody in it")
        parser.add_argument("--yes", action="store_true", help="erase; without it, only count")
        parser.add_argument("--certificate", type=Path, metavar="FILE", help="write the certificate there")
        parser.add_argument("--verify", type=Path, metavar="FILE", help="say whether a certificate is genuine")
        parser.add_argument(
            "--public-key", metavar="KEY", help="with --verify: of the installation that signed it, where it is another"
        )
        parser.add_argument("--again", action="store_true", help="erase whom a restored backup still knows")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["verify"]:
                self._verify(options["verify"], options["public_key"])
            elif options["again"]:
                now = timezone.now()
                orders = run.order_missing(now=now)
                counts = run.erase_waiting(now=now)
                self.stdout.write(_("Ordered again: %(ordered)d, erased: %(erased)d.") % {"ordered": orders, **counts})
            else:
                self._erase(options)
        except (PlatformError, OSError) as problem:
            raise CommandError(str(problem)) from problem

    def _erase(self, options: dict[str, Any]) -> None:
        workspace = command_line.only_workspace(options["workspace"])
        identities = [Identity.parse(name) for name in options["person"]]
        preview = run.preview(workspace, identities, now=timezone.now())
        for name, count in [*certificate.counted(preview.counts), (certificate.table_name("files"), preview.files)]:
            self.stdout.write(f"{count:>8}  {name}")
        if not options["yes"]:
            self.stdout.write(_("Nothing was changed. With --yes and a --reason it is erased, and cannot be undone."))
            return
        if not options["reason"].strip():
            raise CommandError(_("Say why, with --reason: it stands in the certificate."))
        now = timezone.now()
        erasure = run.order(workspace, identities, reason=options["reason"], actor=command_line.actor(), now=now)
        AuditRecord.note(
            AuditEvent.ERASED, actor=command_line.actor(), at=now, workspace_id=workspace.pk, about=str(erasure.uid)
        )
        run.work_off(erasure.pk, now=now)
        file = options["certificate"]
        erasure.refresh_from_db()
        if erasure.state != ErasureState.DONE or erasure.certificate is None:
            raise CommandError(_("Another process is at it; the admin shows how far it is."))
        text = json.dumps(erasure.certificate, indent=1, ensure_ascii=False)
        if file:
            file.write_text(text, encoding="utf-8")
        self.stdout.write(_("Erased. The certificate is %(uid)s.") % {"uid": erasure.uid} if file else text)

    def _verify(self, file: Path, public_key: str | None) -> None:
        """Say who signed a certificate; the exit is 1 where it is not genuine, 3 where nobody here can tell."""
        try:
            signer = certificate.verify(certificate.read(file), public_key=public_key)
        except ValueError as problem:
            raise CommandError(str(problem)) from problem
        if signer == "":
            raise CommandError(_("The certificate was altered, or is none."))
        if signer == "other" and public_key:
            raise CommandError(_("Unaltered, but not signed with the key you gave."))
        if signer == "other":
            unknown = _("Unaltered, but signed by another installation: give its key, with --public-key.")
            raise CommandError(unknown, returncode=UNKNOWN_SIGNER)
        own = _("Genuine: this installation signed it.")
        self.stdout.write(own if signer == "own" else _("Genuine: signed with the key you gave."))
