"""The index of the files of markdown: each block of a file is an entry, kept in step with it (C2, C12, E6).

The file is the source. Its entries come from the file alone, times included, so that an index that was kept and one
that is made anew are the same. A file is worked off in transactions of a few hundred lines, each of which compares it
with what is stored: a run that was killed, or two at once, come to the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import islice
from time import monotonic

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memories import entries
from memories.choices import EntryType, Outcome, Source
from memories.conf import conf
from memories.entries.draft import Draft
from memories.entries.files import folder_of
from memories.entries.lines import FileLine, end_lines, lines_of, move_lines, reword_lines
from memories.entries.locks import lock_scopes
from memories.exceptions import FileUnreadable, PathNotAllowed, ScopeFrozen
from memories.files import disk, markdown
from memories.files.disk import FileText
from memories.files.times import time_of
from memories.kinds import UNDATED
from memories.language import text
from memories.models import FileProblem, FileState, Scope
from memories.notes.matching import LineChanges, compare

ACTOR = "file"
CHUNK = 500


@dataclass
class SyncReport:
    """What indexing some files came to."""

    files: int = 0  # read, since they had changed
    created: int = 0
    changed: int = 0
    ended: int = 0
    is_complete: bool = True  # nothing is left for the next run
    problems: dict[str, FileProblem] = field(default_factory=dict)  # by path

    def add(self, other: "SyncReport") -> None:
        """Count the files of another report as well."""
        self.files += other.files
        self.created += other.created
        self.changed += other.changed
        self.ended += other.ended
        self.is_complete &= other.is_complete
        self.problems |= other.problems


def sync_scope(scope: Scope, *, now: datetime, seconds: float | None = None, force: bool = False) -> SyncReport:
    """Index the files of a scope that have changed since they were indexed, and end the lines of those that are gone.

    What was changed last comes first: of many files that is what somebody waits for. After so many seconds it stops
    between two files. With `force` every file is read, whatever its time and size.
    """
    report, end = SyncReport(), None if seconds is None else monotonic() + seconds
    found = {file.path: (file.mtime_ns, file.size) for file in folder_of(scope).files()}
    known = {path: (modified, size) for path, modified, size in _states(scope)}
    changed = [path for path in found if force or known.get(path) != found[path]]
    changed.sort(key=lambda path: found[path], reverse=True)
    for path in [*(known.keys() - found.keys()), *changed]:
        if report.files and end is not None and monotonic() > end:  # one at least: it goes on
            report.is_complete = False
            break
        report.add(sync_file(scope, path, now=now, force=force))
    return report


def _states(scope: Scope) -> Iterator[tuple[str, int, int]]:
    here = FileState.objects.filter(workspace_id=scope.workspace_id, scope=scope)
    return here.values_list("path", "modified_ns", "size").iterator()


def sync_file(scope: Scope, path: str, *, now: datetime, force: bool = False) -> SyncReport:
    """Index one file, unless its bytes are those that were indexed last."""
    run = _FileRun(scope, path, now, force)
    try:
        while run.step():
            pass
    except FileUnreadable as problem:
        run.leave(FileProblem.UNREADABLE, str(problem))
    except ScopeFrozen as problem:
        run.leave(FileProblem.FROZEN, str(problem))
    except PathNotAllowed:  # it has a second name, or became a link
        run.leave(
            FileProblem.UNREADABLE, _("This file is a link to another, or has a second name: links are not read.")
        )
    return run.report


@dataclass
class _FileRun:
    """The indexing of one file, a few hundred lines a transaction."""

    scope: Scope
    path: str
    now: datetime
    force: bool
    report: SyncReport = field(default_factory=lambda: SyncReport(files=1))
    taken_out: list[FileLine] = field(default_factory=list)  # what people took out of use is not written again (A15)
    parsed: tuple[str, list[FileLine]] = ("", [])  # what the step before read: digest and lines

    def step(self) -> bool:
        """Take the next step towards what the file says now; whether there is more to do."""
        with transaction.atomic():
            locked = lock_scopes([self.scope])[self.scope.pk]
            locked.workspace = self.scope.workspace
            file = disk.read(folder_of(locked), self.path)
            if file is None:
                lines = []
            elif self._is_indexed(file):
                return False
            else:
                lines = self._lines_in(file, locked.workspace.zone())
            taken_out = set(self.taken_out)
            wanted = [line for line in lines if line not in taken_out] if taken_out else lines
            changes = compare(lines_of(locked, self.path), wanted)
            self._apply(locked, changes)
            if changes.longest > CHUNK:
                return True
            self._finish(file, len(lines))
        return False

    def _lines_in(self, file: FileText, zone: tzinfo) -> list[FileLine]:
        if self.parsed[0] != file.sha256:
            self.parsed = file.sha256, lines_in(file, self.path, zone)
        return self.parsed[1]

    def _is_indexed(self, file: FileText) -> bool:
        if self.force:
            return False
        state = self._states().filter(digest=file.sha256, problem=FileProblem.NONE)
        return bool(state.update(modified_ns=file.mtime_ns, size=file.size))

    def _apply(self, scope: Scope, changes: LineChanges) -> None:
        """Apply what fits one transaction."""
        move_lines(scope, changes.moved)
        reworded = dict(islice(changes.reworded.items(), CHUNK))
        reword_lines(scope, reworded, now=self.now, actor=ACTOR)
        ended, new = changes.ended[:CHUNK], changes.new[:CHUNK]
        if ended:
            end_lines(scope, ended, now=self.now, actor=ACTOR)
        drafts = [_draft(scope, self.path, line) for line in new]
        written = entries.remember_many(drafts, now=self.now, actor=ACTOR, locked={scope.pk: scope})
        taken_out = [line for line, one in zip(new, written, strict=True) if one.outcome == Outcome.SUPPRESSED]
        self.taken_out += taken_out
        self.report.changed += len(reworded)
        self.report.ended += len(ended)
        self.report.created += len(new) - len(taken_out)

    def _finish(self, file: FileText | None, lines: int) -> None:
        """Note what was indexed, and what of it is left out."""
        if file is None:
            self._states().delete()
            return
        numbers = ", ".join(str(line.line_from) for line in self.taken_out)
        self._note(
            FileProblem.SUPPRESSED if self.taken_out else FileProblem.NONE,
            numbers,
            modified_ns=file.mtime_ns,
            size=file.size,
            digest=file.sha256,
            line_count=len(file.text.splitlines()),
            entry_count=lines - len(self.taken_out),
        )

    def leave(self, problem: FileProblem, detail: str) -> None:
        """Leave a file that cannot be indexed as it is, until it changes, or its scope thaws."""
        found = next((one for one in folder_of(self.scope).files() if one.path == self.path), None)
        if found is None:
            return
        may_change_unseen = problem == FileProblem.FROZEN or found.is_linked
        modified = 0 if may_change_unseen else found.mtime_ns
        self._note(problem, detail, modified_ns=modified, size=found.size, digest="")

    def _note(self, problem: FileProblem, detail: str, **values: object) -> None:
        values |= {"problem": problem, "detail": detail, "indexed_at": self.now}
        FileState.objects.update_or_create(
            workspace_id=self.scope.workspace_id, scope=self.scope, path=self.path, defaults=values
        )
        if problem:
            self.report.problems[self.path] = problem

    def _states(self) -> QuerySet[FileState]:
        return FileState.objects.filter(workspace_id=self.scope.workspace_id, scope=self.scope, path=self.path)


def lines_in(file: FileText, path: str, zone: tzinfo) -> list[FileLine]:
    """The lines of a file, as they are remembered."""
    return [
        FileLine(
            content=block.text,
            heading=block.heading[:300],
            at=time_of(path, block, zone) or UNDATED,
            line_from=block.line_from,
            line_to=block.line_to,
            session=block.session if text.is_storable(block.session) else "",
        )
        for block in markdown.blocks(file.text)
        if block.text.strip() and text.is_storable(block.text)
    ]


def _draft(scope: Scope, path: str, line: FileLine) -> Draft:
    return Draft(
        scope=scope,
        type=EntryType.NOTE,
        source=Source.FILE,
        content=line.content,
        at=line.at,
        path=path,
        heading=line.heading,
        line_from=line.line_from,
        line_to=line.line_to,
        slots={"source_session_id": line.session[: conf.SLOT_VALUE_CHARS]} if line.session else {},
    )
