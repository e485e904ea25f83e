"""Bringing an export into a workspace, or its one scope into another: a page of records a transaction (F8).

What is here already stays as it is. A run that was killed, or is repeated, goes on with what is missing. Entries and
days come as one batch a scope, which can be undone.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from memories.exceptions import ScopeFrozen
from memories.imports.batch import READ, ROWS, FileRefused, Report
from memories.models import Scope, Workspace
from memories.models.change import acting
from memplatform.transfer import conversations, remembered, tables
from memplatform.transfer.files import ImportedFiles
from memplatform.transfer.ids import Ids
from memplatform.transfer.reading import Line, check, lines, records_of
from memplatform.transfer.records import END, HEAD
from memplatform.transfer.run import Import, TransferReport

PAGE = 1_000
#: What brings in a page of each kind of record.
_BRING = {**tables.BRING, **conversations.BRING, **remembered.BRING}


def import_export(
    workspace: Workspace,
    into: Scope | None,
    place: Path,
    *,
    now: datetime,
    actor: str,
    is_dry: bool = False,
    report: Report | None = None,
) -> TransferReport:
    """Import an export, a folder or its file of records; dry, only say what would be written.

    The whole file is read before anything is written. Raises FileRefused or ScopeFrozen.
    """
    file = records_of(place)
    size = file.stat().st_size
    contents = check(file, lambda done: report(READ, done, size) if report else None)
    if into and len(contents.scopes) != 1:
        message = _("The file holds %(count)d scopes; into one scope only one can be brought.")
        raise FileRefused(message % {"count": len(contents.scopes)})
    folder = ImportedFiles(place if place.is_dir() else None)
    ids = Ids((into or workspace).uid)
    run = Import(workspace, into, now, actor, is_dry, place.name, ids, folder, contents.remembered)
    total, met = contents.counts.total(), 0
    for kind, page in _pages(file):
        try:
            with transaction.atomic(), acting(actor):
                _BRING[kind](run, page)
        except ScopeFrozen as problem:
            frozen = ", ".join(scope.key for scope in run.scopes.values() if scope.frozen)
            message = _("A scope is frozen and takes nothing: %(scopes)s. Thaw it and import again: it goes on.")
            raise ScopeFrozen(message % {"scopes": frozen}) from problem
        except DatabaseError as problem:
            places = {"first": page[0][0], "last": page[-1][0], "why": str(problem).splitlines()[0]}
            raise FileRefused(_("Lines %(first)d to %(last)d: %(why)s") % places) from problem
        met += len(page)
        if report:
            report(ROWS, met, total)
    if not is_dry:
        run.done.files = folder.bring(run.scopes.values())
        written = [scope.pk for scope in run.to_freeze if scope.pk in run.batches or scope.pk in run.begun]
        Scope.objects.filter(pk__in=written).update(frozen=True)
    return run.done


def _pages(file: Path) -> Iterator[tuple[str, list[Line]]]:
    """Runs of lines of one kind."""
    page: list[Line] = []
    kind = ""
    for number, record in lines(file):
        if page and (record["record"] != kind or len(page) == PAGE):
            yield kind, page
            page = []
        kind = record["record"]
        if kind not in (HEAD, END):
            page.append((number, record))
    if page:
        yield kind, page
