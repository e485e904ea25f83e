"""`manage.py import`: bring in an export of this platform, or what another program kept (D8, F8)."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories.conf import conf
from memories.evaluation.import_score import ImportScore, score
from memories.exceptions import PlatformError
from memories.imports.batch import FILES, READ, ROWS, AllLeftOut, ImportReport, Preview
from memories.imports.bundle import Bundle
from memories.imports.folder import import_folder, open_folder
from memories.imports.foreign_file import import_file
from memories.imports.formats import FORMATS, format_of, recognised
from memories.management import command_line
from memories.models import Workspace
from memplatform.transfer.importing import import_export
from memplatform.transfer.records import is_export, name_of_workspace
from memplatform.transfer.run import TransferReport

#: Of what was left out, so much is named.
NAMED = 50
#: What else a source may be than one of FORMATS.
EXPORT, FOLDER = "memplatform", "markdown"


class Command(BaseCommand):
    help = _("Imports an export of this platform, or a folder or file of another program, to be undone as a batch.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", help="an export; a folder with MEMORY.md and YYYY-MM-DD.md; a file of mem0, …")
        parser.add_argument("--into", metavar="SCOPE", help="the key of the scope, or its id; an export may go without")
        parser.add_argument("--workspace", metavar="NAME", help="of the scope, or where the export goes")
        parser.add_argument("--from", dest="kind", choices=[EXPORT, FOLDER, *FORMATS], help="what the source is")
        parser.add_argument("--who", metavar="ID", help="whose memories, of a file that holds those of several")
        parser.add_argument("--actor", metavar="NAME", help="who imports, as history is to name them")
        parser.add_argument("--now", type=command_line.moment, metavar="TIME", help="as if it were that time")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be written")
        parser.add_argument("--yes", action="store_true", help="do not ask on a terminal before writing")
        parser.add_argument("--no-score", action="store_true", help="ask memory no questions before and after")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        progress = _Progress()
        is_dry = options["dry_run"]
        try:
            with command_line.no_line_for_each_memory():
                trial = None if is_dry else self._preview(options)
                with _rolled_back_unless(not is_dry):
                    report = _import(options, progress)
                    after = _score(options, trial) if trial and not is_dry else None
        except (PlatformError, OSError) as problem:
            raise CommandError(str(problem)) from problem
        except KeyboardInterrupt as stop:
            raise CommandError(_("Stopped. Start it again, and it goes on from there.")) from stop
        finally:
            progress.end()
        before = trial.score if trial else None
        if options["json"]:
            answer = _as_json(report)
            if before and after:
                answer["score"] = {
                    name: {"memories": score.memories, "duplicates": score.duplicates, "found": score.found}
                    for name, score in (("before", before), ("after", after))
                } | {"asked": after.asked, "still_served": round(before.still_served(after), 4)}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write("\n".join(_lines_of(report, is_dry)))
        if before and after:
            self.stdout.write("\n".join(_lines_of_scores(before, after)))

    def _preview(self, options: dict[str, Any]) -> "_Tried | None":
        """Try an import out and show what it would bring; on a terminal ask whether it is to be. Raises CommandError.

        An export of this platform is checked as a whole before it is written, and needs none.
        """
        if (options["kind"] or (is_export(Path(options["source"])) and EXPORT)) == EXPORT:
            return None
        with _rolled_back_unless(False):
            report = _import(options | {"dry_run": True}, None)
            if isinstance(report, TransferReport):
                return None
            sample = [] if options["no_score"] else report.preview.sample
            trial = _Tried(sample)
            trial.score = _score(options, trial)
        if not options["json"]:
            # How much it would bring, of it what is there already, what is secret, and in which languages
            preview = report.preview
            counts = {"memories": preview.memories, "days": report.events, "already": report.already}
            head = _("It would bring %(memories)d memories and %(days)d daily events; %(already)d are there already.")
            lines = [head % counts, *_secrets_and_languages(preview)]
            if report.left_out.count:
                left_out = _("It would leave out %(count)d; they are listed at the end.")
                lines.append(left_out % {"count": report.left_out.count})
            self.stdout.write("\n".join(lines))
        is_asked = sys.stdin.isatty() and not options["yes"] and report.preview.memories + report.events > 0
        if is_asked and input(_("Write this? [y/N] ")).strip().lower() not in ("y", "yes", "是"):
            raise CommandError(_("Nothing was written."))
        return trial


@dataclass
class _Tried:
    """An import that was tried out: memories of it, and how memory answers before it."""

    sample: list[str]
    score: ImportScore | None = None


def _score(options: dict[str, Any], trial: _Tried) -> ImportScore | None:
    if not trial.sample:
        return None
    scope = command_line.named_or_begun_scope(options["into"], options["workspace"])
    return score(scope, trial.sample, now=options["now"] or timezone.now())


@contextmanager
def _rolled_back_unless(is_kept: bool) -> Iterator[None]:
    """What is written inside stays; else nothing does, not even a scope that was begun to see what would be."""
    if is_kept:
        yield
        return
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _import(options: dict[str, Any], progress: "_Progress | None") -> ImportReport | TransferReport:
    """Raises CommandError, PlatformError or OSError."""
    place = Path(options["source"])
    actor = f"command:{options['actor']}" if options["actor"] else command_line.actor()
    how: Any = {"now": options["now"] or timezone.now(), "actor": actor, "is_dry": options["dry_run"]}
    scope = command_line.named_or_begun_scope(options["into"], options["workspace"]) if options["into"] else None
    kind = options["kind"] or (EXPORT if is_export(place) else "")
    if not kind and place.is_dir():
        kind = recognised(Bundle(place)) or FOLDER
    elif not kind:
        kind = format_of(place) if place.is_file() else FOLDER
    if kind == EXPORT:
        if scope is None and options["workspace"] is None and not Workspace.objects.exists():
            Workspace.objects.create(name=name_of_workspace(place))
        workspace = scope.workspace if scope else command_line.only_workspace(options["workspace"])
        return import_export(workspace, scope, place, **how, report=progress)
    folder = open_folder(place) if kind == FOLDER else None
    if scope is None:
        raise CommandError(_("Say by --into which scope it goes to."))
    if folder:
        return import_folder(scope, folder, **how, report=progress)
    return import_file(scope, place, kind=kind, who=options["who"], **how, report=progress)


class _Progress:
    """How far it is: files, or bytes of one, that are read, then rows that are written."""

    def __init__(self) -> None:
        self._bar: command_line.Bar | None = None
        self._of = ""

    def __call__(self, what: str, count: int, total: int) -> None:
        if what != self._of:
            self.end()
            heads = {FILES: _("Reading files"), READ: _("Reading"), ROWS: _("Writing")}
            self._of = what
            self._bar = command_line.Bar(total, what, head=heads[what], has_lines=True, is_share=what == READ)
        if self._bar:
            self._bar({what: count})

    def end(self) -> None:
        if self._bar:
            self._bar.end()
        self._bar, self._of = None, ""


def _secrets_and_languages(preview: Preview) -> Iterator[str]:
    languages = ", ".join(f"{name} {count}" for name, count in preview.languages.most_common())
    if languages:
        counts = {"secrets": preview.secrets, "languages": languages}
        yield _("Of these, %(secrets)d hold secrets. Languages: %(languages)s.") % counts


def _lines_of_scores(before: ImportScore, after: ImportScore) -> Iterator[str]:
    names = {"before": before.memories, "after": after.memories, "twice": before.duplicates, "now": after.duplicates}
    yield _("Memories before and after: %(before)d, %(after)d; the same words twice: %(twice)d, %(now)d.") % names
    counts = {"asked": after.asked, "before": before.found, "after": after.found}
    counts["share"] = round(before.still_served(after) * 100)
    yield (
        _(
            "Of %(asked)d questions made from it, %(before)d were answered by it before and %(after)d are now; "
            "%(share)d %% of what was served for them before is served still."
        )
        % counts
    )


def _lines_of(report: ImportReport | TransferReport, is_dry: bool) -> Iterator[str]:
    if isinstance(report, TransferReport):
        batches, already = report.batches, report.already.total()
        counts_line = command_line.counts_line(dict(report.created) | {"files": report.files}, as_json=False)
        head = _("To be written: %(counts)s.") if is_dry else _("Written: %(counts)s.")
        yield head % {"counts": counts_line}
    else:
        batches, already = [report.batch] if report.batch else [], report.already
        if report.continued:
            yield ngettext(
                "An import that had been stopped was finished first: %(count)d row.",
                "An import that had been stopped was finished first: %(count)d rows.",
                report.continued,
            ) % {"count": report.continued}
        counts = {"files": report.files, "facts": report.facts, "events": report.events}
        if is_dry:
            yield _("%(files)d files. Memories to be written: %(facts)d, daily events: %(events)d.") % counts
            yield from _secrets_and_languages(report.preview)
        else:
            yield _("%(files)d files. Memories written: %(facts)d, daily events: %(events)d.") % counts
        if report.merged:
            yield _("Memories that became part of one that says nearly the same: %(count)d.") % {"count": report.merged}
    if already:
        yield _("There already: %(count)d.") % {"count": already}
    yield from _left_out(report.left_out)
    if isinstance(report, ImportReport) and report.facts and report.profile > conf.PROFILE_MAX:
        message = _("The profile has %(count)d lines now; with a message goes only the %(most)d weightiest.")
        yield message % {"count": report.profile, "most": conf.PROFILE_MAX}
    if batches:  # a batch is taken back by its id, several of one run by the run
        which = str(batches[0].uid) if len(batches) == 1 else batches[0].run
        yield _("To take it back: manage.py batch undo %(batch)s") % {"batch": which}


def _left_out(left_out: AllLeftOut) -> Iterator[str]:
    if not left_out.count:
        return
    yield _("Left out: %(count)d.") % {"count": left_out.count}
    for reason, count in left_out.reasons.most_common():
        yield "  " + _("%(count)d: %(why)s") % {"count": count, "why": reason.label}
    examples = left_out.first[:NAMED]
    for item in examples:
        place = f"{item.path}:{item.line}" if item.line else item.path
        why = " ".join(filter(None, [str(item.reason.label), f"({item.detail})" if item.detail else ""]))
        yield "  " + _("%(place)s: %(why)s") % {"place": place or "—", "why": why}
    if left_out.count > len(examples):
        yield "  " + _("and %(n)d more") % {"n": left_out.count - len(examples)}


def _as_json(report: ImportReport | TransferReport) -> dict[str, Any]:
    first = [
        {"path": item.path, "line": item.line, "reason": item.reason.value}
        | ({"why": item.detail} if item.detail else {})
        for item in report.left_out
    ]
    left_out = {"left_out": first, "left_out_count": report.left_out.count}
    if isinstance(report, TransferReport):
        counts = {"created": dict(report.created), "already": dict(report.already), "files": report.files}
        run = report.batches[0].run if report.batches else None
        return counts | left_out | {"run": run, "batches": [str(batch.uid) for batch in report.batches]}
    names = ("files", "read", "facts", "events", "merged", "already", "continued", "profile")
    batch = str(report.batch.uid) if report.batch else None
    preview = report.preview
    counts = {"secrets": preview.secrets, "languages": dict(preview.languages)} if preview.memories else {}
    return {name: getattr(report, name) for name in names} | counts | left_out | {"batch": batch}
