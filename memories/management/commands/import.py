"""`manage.py import`: bring a folder of markdown another program kept into a scope (D8)."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories.conf import conf
from memories.exceptions import PlatformError
from memories.management import told
from memories.models import Scope
from memories.notes.foreign_folder import open_folder
from memories.notes.import_folder import FILES, ROWS, ImportReport, import_folder

#: Of what was left out, so much is named.
NAMED = 50


class Command(BaseCommand):
    help = _("Imports MEMORY.md and the daily files of a folder into a scope, as one batch that can be undone.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", help="with MEMORY.md and YYYY-MM-DD.md, at its root or in its folder memory")
        parser.add_argument("--into", required=True, metavar="SCOPE", help="the key of the scope, or its id")
        parser.add_argument("--workspace", metavar="NAME", help="of the scope, where several have one of that key")
        parser.add_argument("--actor", metavar="NAME", help="who imports, as history is to name them")
        parser.add_argument("--now", type=told.moment, metavar="TIME", help="as if it were that time")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be written")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        progress = _Progress()
        try:
            report = import_folder(
                _scope(options["into"], options["workspace"]),
                open_folder(options["folder"]),
                now=options["now"] or timezone.now(),
                actor=f"command:{options['actor']}" if options["actor"] else told.actor(),
                is_dry=options["dry_run"],
                report=progress,
            )
        except PlatformError as problem:
            raise CommandError(str(problem)) from problem
        except KeyboardInterrupt as stop:
            raise CommandError(_("Stopped. Start it again, and it goes on from there.")) from stop
        finally:
            progress.end()
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(report), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_sentences(report, is_dry=options["dry_run"])))


def _scope(named: str, workspace: str | None) -> Scope:
    """The scope of this key or id. Raises CommandError."""
    rows = Scope.objects.filter(workspace__in=told.workspaces(workspace)).select_related("workspace").order_by("pk")
    found = list(rows.filter(key=named)) or list(rows.filter(uid__in=_ids(named)))
    if not found:
        message = _("There is no scope “%(scope)s”: nobody has written to it yet, or its key is another.")
        raise CommandError(message % {"scope": named})
    if len(found) > 1:
        names = ", ".join(scope.workspace.name for scope in found)
        message = _("Several workspaces have a scope “%(scope)s”; name one by --workspace: %(names)s.")
        raise CommandError(message % {"scope": named, "names": names})
    return found[0]


def _ids(named: str) -> list[UUID]:
    try:
        return [UUID(named)]
    except ValueError:
        return []


class _Progress:
    """How far it is: files that are read, then rows that are written."""

    def __init__(self) -> None:
        self._bar: told.Bar | None = None
        self._of = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        if what != self._of:
            self.end()
            heads = {FILES: _("Reading files"), ROWS: _("Writing")}
            self._of, self._bar = what, told.Bar(total, what, head=heads[what], has_lines=True)
        if self._bar:
            self._bar({what: done})

    def end(self) -> None:
        if self._bar:
            self._bar.end()
        self._bar, self._of = None, ""


def _sentences(report: ImportReport, *, is_dry: bool) -> Iterator[str]:
    if report.continued:
        count = report.continued
        yield ngettext(
            "An import that had been stopped was finished first: %(count)d row.",
            "An import that had been stopped was finished first: %(count)d rows.",
            count,
        ) % {"count": count}
    counts = {"files": report.files, "facts": report.facts, "events": report.events}
    if is_dry:
        yield _("%(files)d files. Lines of the profile to be written: %(facts)d, daily events: %(events)d.") % counts
    else:
        yield _("%(files)d files. Lines of the profile written: %(facts)d, daily events: %(events)d.") % counts
    if report.merged:
        yield _("Lines that became part of one that says nearly the same: %(count)d.") % {"count": report.merged}
    if report.already:
        yield _("There already: %(count)d.") % {"count": report.already}
    yield from _left_out(report)
    if report.facts and report.profile > conf.PROFILE_MAX:
        message = _("The profile has %(count)d lines now; with a message goes only the %(most)d weightiest.")
        yield message % {"count": report.profile, "most": conf.PROFILE_MAX}
    if report.batch:
        yield _("To take it back: manage.py batch undo %(batch)s") % {"batch": str(report.batch.uid)}


def _left_out(report: ImportReport) -> Iterator[str]:
    if not report.left_out:
        return
    yield _("Left out: %(count)d.") % {"count": len(report.left_out)}
    for one in report.left_out[:NAMED]:
        place = f"{one.path}:{one.line}" if one.line else one.path
        yield "  " + _("%(place)s: %(why)s") % {"place": place or "—", "why": one.reason.label}
    if len(report.left_out) > NAMED:
        yield "  " + _("and %(n)d more") % {"n": len(report.left_out) - NAMED}


def _as_json(report: ImportReport) -> dict[str, Any]:
    counts = ("files", "facts", "events", "merged", "already", "continued", "profile")
    left_out = [{"path": one.path, "line": one.line, "reason": one.reason.value} for one in report.left_out]
    return {name: getattr(report, name) for name in counts} | {
        "left_out": left_out,
        "batch": str(report.batch.uid) if report.batch else None,
    }
