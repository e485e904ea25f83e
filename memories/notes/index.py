"""The index of the files of markdown: each block of a file is an entry, kept in step with it (C2, C12, E6).

The file is the source. Its entries come from the file alone, times included, so that an index that was kept and one
that is made anew are the same. Files are worked off in transactions of a few hundred lines, a long file in several and
many short ones in one; each compares them with what is stored: which lines are as they were, which were reworded, new
or gone. A run that was killed, or two at once, come to the same.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from difflib import SequenceMatcher
from itertools import islice
from operator import attrgetter
from time import monotonic
from typing import TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memories import entries
from memories.choices import UNDATED, EntryType, Outcome, Source
from memories.conf import conf
from memories.entries.changes import FileLine, lines_of, move_files, move_lines, reword_lines
from memories.entries.draft import Draft
from memories.entries.files import folder_of
from memories.exceptions import FileUnreadable, InvalidDraft, PathNotAllowed, ScopeFrozen
from memories.files import disk, markdown
from memories.files.disk import FileText
from memories.files.layout import ScopeFolder, places_of_scope
from memories.files.markdown import time_of
from memories.index import search_rows
from memories.language import text
from memories.models import Entry, EntryIndex, EntryVector, FileProblem, FileState, Scope, Workspace
from memories.models.change import acting
from memories.models.tenancy import lock_scopes

Item = TypeVar("Item", Entry, FileLine)
#: Of two texts in one place, from where on one is the other, reworded (difflib's ratio, 0–1).
REWORDED = 0.5
#: Of long texts so many characters are compared.
_COMPARED = 500
#: A line is looked for among so many entries before and behind its place, and so many pairs of characters are compared
#: in a transaction, half a second's worth: whoever writes to the scope waits as long.
_NEAR, MOST_COMPARED = 20, 10_000_000


@dataclass
class LineChanges:
    """The changes that bring the entries of a file in step with it."""

    new: list[FileLine] = field(default_factory=list)
    reworded: dict[int, FileLine] = field(default_factory=dict)  # by entry; also under other headings, or dated anew
    moved: dict[int, tuple[int, int]] = field(default_factory=dict)  # entry → its first and last line now
    ended: list[int] = field(default_factory=list)

    @property
    def longest(self) -> int:
        """The length of the longest list of changes that are applied a few hundred at a time."""
        return max(len(self.new), len(self.reworded), len(self.ended))


@dataclass
class Comparisons:
    """What is still compared in a transaction; afterwards nothing resembles anything."""

    left: int = field(default_factory=lambda: MOST_COMPARED)  # pairs of characters

    @property
    def are_used_up(self) -> bool:
        return self.left < 0

    def are_alike(self, entry: Entry, line: FileLine) -> bool:
        """Whether a line is an entry reworded."""
        texts = entry.content[:_COMPARED], line.content[:_COMPARED]
        self.left -= len(texts[0]) * len(texts[1])
        if self.are_used_up:
            return False
        matcher = SequenceMatcher(None, *texts, autojunk=False)
        return matcher.quick_ratio() >= REWORDED and matcher.ratio() >= REWORDED


def compare(old_entries: Sequence[Entry], lines: Sequence[FileLine], comparisons: Comparisons) -> LineChanges:
    """What changed between the entries of a file, in its order, and its lines.

    The same words keep their entry wherever they stand. A line that came where another went, and resembles it, is that
    line reworded, as far as that is compared: of a file that was written anew, most lines are new.
    """
    by_words: defaultdict[str, deque[Entry]] = defaultdict(deque)
    for entry in old_entries:
        by_words[entry.content].append(entry)
    same = {n: by_words[line.content].popleft() for n, line in enumerate(lines) if by_words[line.content]}
    changes = LineChanges()
    for n, entry in same.items():
        line = lines[n]
        if (entry.heading, entry.created_at) != (line.heading, line.at):
            changes.reworded[entry.pk] = line
        elif (entry.line_from, entry.line_to) != (line.line_from, line.line_to):
            changes.moved[entry.pk] = (line.line_from, line.line_to)
    unchanged = {entry.pk for entry in same.values()}
    missing_entries = _by_neighbour((entry, entry.pk if entry.pk in unchanged else None) for entry in old_entries)
    came = _by_neighbour((line, same[n].pk if n in same else None) for n, line in enumerate(lines))
    for place, others in came.items():
        _pair(missing_entries.pop(place, []), others, changes, comparisons)
    changes.ended += [entry.pk for others in missing_entries.values() for entry in others]
    return changes


def _by_neighbour(items: Iterable[tuple[Item, int | None]]) -> dict[int, list[Item]]:
    """What has no entry in common, by the last entry before it that has; 0: there is none."""
    places: defaultdict[int, list[Item]] = defaultdict(list)
    before = 0
    for item, entry in items:
        if entry is None:
            places[before].append(item)
        else:
            before = entry
    return dict(places)


def _pair(
    missing_entries: list[Entry], came: Sequence[FileLine], changes: LineChanges, comparisons: Comparisons
) -> None:
    """Pair the lines that are others reworded, in their order; the rest went and came."""
    first = 0  # behind the entry that was paired last
    for n, line in enumerate(came):
        place = n * len(missing_entries) // len(came)
        end = 0 if comparisons.are_used_up else min(len(missing_entries), max(first, place) + _NEAR + 1)
        near = range(max(first, place - _NEAR), end)
        at = next((number for number in near if comparisons.are_alike(missing_entries[number], line)), None)
        if at is None:
            changes.new.append(line)
        else:
            changes.reworded[missing_entries[at].pk] = line
            changes.ended += [entry.pk for entry in missing_entries[first:at]]
            first = at + 1
    changes.ended += [entry.pk for entry in missing_entries[first:]]


ACTOR = "file"
#: Lines, and files, of one transaction: whoever writes to the scope waits as long as it takes.
CHUNK, MOST_FILES = 500, 100


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
    folder = folder_of(scope)
    on_disk = {file.path: (file.changed_ns, file.size) for file in folder.files()}
    indexed = _indexed_files(scope)
    for place in places_of_scope(folder.workspace, scope.key):
        if place.base != folder.base and any(path.startswith(f"{place.base}/") for path in indexed):
            # Its files stand under the name its folder has now, and are read again; their lines stay the memories they
            # are. Those of a frozen scope wait until it thaws.
            states = FileState.objects.filter(workspace_id=scope.workspace_id, scope=scope)
            with suppress(ScopeFrozen), transaction.atomic():
                move_files(scope, place.base, folder.base, actor=ACTOR)
                earlier = states.filter(path__startswith=f"{place.base}/")
                paths = [folder.base + path.removeprefix(place.base) for path in earlier.values_list("path", flat=True)]
                earlier.delete()
                states.filter(path__in=paths).delete()
                unread = {"modified_ns": 0, "size": 0, "digest": "", "indexed_at": now}
                FileState.objects.bulk_create(
                    FileState(workspace_id=scope.workspace_id, scope=scope, path=path, **unread) for path in paths
                )
            indexed = _indexed_files(scope)
    stale_paths = [path for path in on_disk if force or indexed.get(path) != on_disk[path]]
    stale_paths.sort(key=lambda path: on_disk[path], reverse=True)
    return sync_files(scope, [*(indexed.keys() - on_disk.keys()), *stale_paths], now=now, seconds=seconds, force=force)


def _indexed_files(scope: Scope) -> dict[str, tuple[int, int]]:
    """Time and size of its files as they were indexed last."""
    states = FileState.objects.filter(workspace_id=scope.workspace_id, scope=scope)
    rows = states.values_list("path", "modified_ns", "size").iterator()
    return {path: (modified, size) for path, modified, size in rows}


def sync_file(scope: Scope, path: str, *, now: datetime) -> SyncReport:
    """Index one file, unless its bytes are those that were indexed last."""
    return sync_files(scope, [path], now=now)


def sync_files(
    scope: Scope, paths: Iterable[str], *, now: datetime, seconds: float | None = None, force: bool = False
) -> SyncReport:
    """Index files in this order, but for those whose bytes were indexed last; after so many seconds it stops.

    A few are indexed at least, so that it goes on. One with a line that cannot be stored is left.
    """
    run = _FilesRun(scope, deque(map(_FilePart, paths)), now, force)
    end = None if seconds is None else monotonic() + seconds
    while run.left:
        try:
            run.step()
        except ScopeFrozen as problem:
            run.leave(list(run.left), FileProblem.FROZEN, str(problem))
        except InvalidDraft as problem:  # of one of these files: taken one at a time they show of which
            if run.most_files == 1:
                run.leave([run.left[0]], FileProblem.UNREADABLE, str(problem))
            run.most_files = 1 if run.most_files > 1 else MOST_FILES
            continue
        if end is not None and monotonic() > end:
            break
    run.report.is_complete = not run.left
    return run.report


def forget_if_changed(state: FileState) -> bool:
    """Have a file read again whose bytes are not those that were indexed; whether they are others."""
    try:
        file = disk.read(folder_of(state.scope), state.path)
    except (FileUnreadable, PathNotAllowed):
        return False
    if file is None or file.sha256 == state.digest:
        return False
    return bool(FileState.objects.filter(pk=state.pk, digest=state.digest).update(modified_ns=0))


@dataclass
class _FilePart:
    """A file that is indexed, as it was read last."""

    path: str
    file: FileText | None = None
    lines: list[FileLine] = field(default_factory=list)
    taken_out: list[FileLine] = field(default_factory=list)  # what people took out of use is not written again (A15)

    def read(self, folder: ScopeFolder, zone: tzinfo, digest: str) -> bool:
        """Read the file; False: its bytes are those with this digest. Raises FileUnreadable, PathNotAllowed."""
        before, self.file = self.file, disk.read(folder, self.path)
        if self.file is None:
            self.lines = []
        elif self.file.sha256 == digest:
            return False
        elif before is None or before.sha256 != self.file.sha256:
            self.lines = lines_in(self.file, self.path, zone)
        return True

    @property
    def wanted(self) -> list[FileLine]:
        """The lines that are to be remembered."""
        taken_out = set(self.taken_out)
        return [line for line in self.lines if line not in taken_out] if taken_out else self.lines


@dataclass
class _FilesRun:
    """The indexing of some files of a scope."""

    scope: Scope
    left: deque[_FilePart]
    now: datetime
    force: bool
    most_files: int = field(default_factory=lambda: MOST_FILES)  # of a step
    report: SyncReport = field(default_factory=SyncReport)

    def step(self) -> None:
        """Bring the files that come first in step with what they say, or a long one a part of the way."""
        with transaction.atomic():
            locked = lock_scopes([self.scope])[self.scope.pk]
            locked.workspace = self.scope.workspace
            changed_parts, unchanged = self._read(locked)
            entries_by_path = lines_of(locked, [part.path for part in changed_parts])
            # the changes of as many files as fit one transaction; of one at least
            part_changes: list[tuple[_FilePart, LineChanges]] = []
            room, comparisons = CHUNK, Comparisons()
            for part in changed_parts:
                changes = compare(entries_by_path[part.path], part.wanted, comparisons)
                room -= changes.longest
                if part_changes and (room < 0 or comparisons.are_used_up):
                    break
                part_changes.append((part, changes))
            self._apply(locked, part_changes)
            self._finish([part for part, changes in part_changes if changes.longest <= CHUNK], unchanged)

    def _read(self, scope: Scope) -> tuple[list[_FilePart], list[tuple[_FilePart, FileState]]]:
        """The files that come first, about as many as fit one transaction: those that say something else, and others.

        One that cannot be read is left.
        """
        first = list(islice(self.left, self.most_files))
        states = {state.path: state for state in self._states([part.path for part in first])}
        changed_parts: list[_FilePart] = []
        unchanged = []
        for part in first:
            state = states.get(part.path)
            digest = state.digest if state and not state.problem and not self.force else ""
            try:
                if part.read(folder_of(scope), scope.workspace.zone(), digest):
                    changed_parts.append(part)
                elif state:
                    unchanged.append((part, state))
            except FileUnreadable as problem:
                self.leave([part], FileProblem.UNREADABLE, str(problem))
            except PathNotAllowed:  # it has a second name, or became a link
                text = _("This file is a link to another, or has a second name: links are not read.")
                self.leave([part], FileProblem.UNREADABLE, text)
            if sum(len(part.lines) for part in changed_parts) > CHUNK:
                break
        return changed_parts, unchanged

    def _apply(self, scope: Scope, part_changes: Sequence[tuple[_FilePart, LineChanges]]) -> None:
        """Apply what fits one transaction."""
        move_lines(scope, {pk: place for _part, changes in part_changes for pk, place in changes.moved.items()})
        every = [pair for _part, changes in part_changes for pair in changes.reworded.items()]
        reworded = dict(every[:CHUNK])
        reword_lines(scope, reworded, now=self.now, actor=ACTOR)
        ended = [pk for _part, changes in part_changes for pk in changes.ended][:CHUNK]
        if ended:  # written there again, they are remembered again
            with acting(ACTOR):
                entries.expire_many(scope, dict.fromkeys(ended), now=self.now, actor=ACTOR, in_files=False)
        new = [(part, line) for part, changes in part_changes for line in changes.new][:CHUNK]
        drafts = [
            Draft(
                scope=scope,
                type=EntryType.NOTE,
                source=Source.FILE,
                content=line.content,
                at=line.at,
                path=part.path,
                heading=line.heading,
                line_from=line.line_from,
                line_to=line.line_to,
                slots={"source_session_id": line.session[: conf.SLOT_VALUE_CHARS]} if line.session else {},
            )
            for part, line in new
        ]
        results = entries.remember_many(drafts, now=self.now, actor=ACTOR, locked={scope.pk: scope})
        for (part, line), result in zip(new, results, strict=True):
            if result.outcome == Outcome.SUPPRESSED:
                part.taken_out.append(line)
            else:
                self.report.created += 1
        self.report.changed += len(reworded)
        self.report.ended += len(ended)

    def _finish(self, parts: Sequence[_FilePart], unchanged: Sequence[tuple[_FilePart, FileState]]) -> None:
        """Note what was indexed, and what of it is left out."""
        self._states([part.path for part in parts if part.file is None]).delete()
        states = []
        for part, state in unchanged:
            if part.file:
                state.modified_ns, state.size = part.file.changed_ns, part.file.size
            states.append(state)
        for part in parts:
            if part.file:
                state = self._state(
                    part,
                    FileProblem.SUPPRESSED if part.taken_out else FileProblem.NONE,
                    ", ".join(str(line.line_from) for line in part.taken_out),
                )
                state.modified_ns, state.size, state.digest = part.file.changed_ns, part.file.size, part.file.sha256
                state.line_count = len(part.file.text.splitlines())
                state.entry_count = len(part.lines) - len(part.taken_out)
                states.append(state)
        self._note(states)
        self._pass([*parts, *(part for part, _state in unchanged)])

    def leave(self, parts: Sequence[_FilePart], problem: FileProblem, detail: str) -> None:
        """Leave files that cannot be indexed as they are, until they change, or their scope thaws."""
        states = []
        for part in parts:
            if file := folder_of(self.scope).file_at(part.path):
                state = self._state(part, problem, detail)
                may_change_unseen = problem == FileProblem.FROZEN or file.is_linked
                state.modified_ns, state.size = 0 if may_change_unseen else file.changed_ns, file.size
                states.append(state)
        self._note(states)
        self._pass(parts)

    def _state(self, part: _FilePart, problem: FileProblem, detail: str) -> FileState:
        if problem:
            self.report.problems[part.path] = problem
        return FileState(
            workspace_id=self.scope.workspace_id,
            scope=self.scope,
            path=part.path,
            problem=problem,
            detail=detail,
            indexed_at=self.now,
            digest="",
        )

    def _note(self, states: Sequence[FileState]) -> None:
        columns = ["modified_ns", "size", "digest", "line_count", "entry_count", "indexed_at", "problem", "detail"]
        keys = ("workspace_id", "scope_id", "path", *columns)
        rows = [FileState(**{name: getattr(state, name) for name in keys}) for state in states]
        if rows:
            FileState.objects.bulk_create(
                sorted(rows, key=attrgetter("path")),
                update_conflicts=True,
                unique_fields=["scope", "path"],
                update_fields=columns,
            )

    def _pass(self, parts: Sequence[_FilePart]) -> None:
        """Go on without these."""
        paths = {part.path for part in parts}
        self.left = deque(part for part in self.left if part.path not in paths)
        self.report.files += len(paths)

    def _states(self, paths: Sequence[str]) -> QuerySet[FileState]:
        return FileState.objects.filter(workspace_id=self.scope.workspace_id, scope=self.scope, path__in=paths)


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
        if not text.is_blank(block.text) and text.is_storable(block.text)
    ]


def drop_index(workspace: Workspace) -> int:
    """Forget the states of a workspace's files, and the search rows of their lines; how many lines.

    The entries stay: they have a history. Their rows by words are made again at once, vectors by the embedder.
    """
    lines = Entry.objects.filter(workspace=workspace, type=EntryType.NOTE).exclude(path="").live()
    FileState.objects.filter(workspace=workspace).delete()
    ids = list(lines.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        with transaction.atomic():
            EntryIndex.objects.filter(entry__in=some).delete()
            EntryVector.objects.filter(entry__in=some).delete()
            rows = list(Entry.objects.filter(pk__in=some).select_related("scope").order_by("pk"))
            lengths = {entry.scope_id: entry.scope.index_length for entry in rows}
            search_rows.write_keywords(search_rows.keyword_rows(rows), lengths)
            search_rows.enqueue(some)
    return len(ids)
