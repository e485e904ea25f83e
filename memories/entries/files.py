"""Changes of entries written back to the lines of their files, so that indexing these again gives the same (C2).

Called at the end of the transaction of a change, with the scope locked: what cannot be written is not changed. A file
that was written by a transaction that failed after all is read again, and its words hold.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date, datetime
from functools import partial

import structlog
from django.db import transaction

from memories.choices import Source
from memories.conf import conf
from memories.exceptions import InvalidDraft, LineChanged, PlatformError
from memories.files import disk, markdown
from memories.files.layout import ScopeFolder, scope_folder
from memories.models import DailyEvent, Entry, FileProblem, FileState, Scope

log = structlog.get_logger(__name__)


def folder_of(scope: Scope) -> ScopeFolder:
    """The files of a scope."""
    return scope_folder(scope.workspace.folder, scope.key)


def reword_line(scope: Scope, entry: Entry, before: str) -> None:
    """Write the new words of an entry in the place of those it had. Raises LineChanged, FileUnreadable."""
    if not entry.path or not entry.is_live() or entry.content == before:
        return

    def change(text: str) -> str:
        same = [block for block in markdown.blocks(text) if block.text == before]
        if not same:
            stood = entry.line_from or 1
            blocks = [block.text for block in markdown.blocks(text) if block.line_from <= stood <= block.line_to]
            raise LineChanged(text=before, found="\n".join(blocks))
        nearest = min(same, key=lambda block: abs(block.line_from - (entry.line_from or 0)))
        return markdown.replaced(text, nearest, entry.content)

    _rewrite(scope, entry.path, change)


def strike_lines(scope: Scope, entries: Iterable[Entry], *, now: datetime, must: bool = True) -> None:
    """Strike the lines of entries that went out of use; a line that is gone already needs none.

    Where it `must` not, what cannot be written is only noted: the file is out of step. Raises OSError, PlatformError.
    """
    refused: list[InvalidDraft] = []

    def strike(text: str, old_entries: Sequence[Entry]) -> str:
        # the blocks that say what these entries say: of several the nearest to where an entry stood, each for one
        free: defaultdict[str, list[markdown.Block]] = defaultdict(list)
        for block in markdown.blocks(text):
            free[block.text].append(block)
        struck = []
        for entry in old_entries:
            if same := free[entry.content]:
                nearest = min(same, key=lambda block: abs(block.line_from - (entry.line_from or 0)))
                same.remove(nearest)
                struck.append(nearest)
        text, refused[:] = markdown.struck_all(text, struck, now)
        if refused and must:
            raise refused[0]
        return text

    for path, of_file in _by_path(entries).items():
        try:
            _rewrite(scope, path, partial(strike, old_entries=of_file))
        except (OSError, PlatformError) as problem:
            if must:
                raise
            refused = [InvalidDraft(str(problem))]
        if refused:
            note_problem(scope, path, FileProblem.NOT_WRITTEN, str(refused[0]), now)


def restore_lines(scope: Scope, entries: Iterable[Entry]) -> None:
    """Have the lines of entries that are in use again stand in their files, where they stood or at the end."""

    def restore(text: str, back: Sequence[Entry]) -> str:
        there = Counter(block.text for block in markdown.blocks(text))
        missing: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in back:
            if there[entry.content] > 0:
                there[entry.content] -= 1
            else:
                missing[entry.content].append(entry)
        contents = [content for content, same in missing.items() for _entry in same]
        text, new = markdown.unstruck_all(text, contents)
        for content in new:
            entry = missing[content].pop()
            gap = "" if not text or text.endswith("\n") else "\n"
            text += gap + markdown.rendered(entry.content, at=entry.stated_at)
        return text

    for path, of_file in _by_path(entries).items():
        _rewrite(scope, path, partial(restore, back=of_file))


def forget_lines(scope: Scope, entries: Iterable[Entry]) -> None:
    """Remove the struck lines of entries that are removed for good."""
    for path, of_file in _by_path(entries).items():
        _rewrite(scope, path, partial(markdown.without_struck, contents={entry.content for entry in of_file}))


def note_problem(scope: Scope, path: str, problem: FileProblem, detail: str, now: datetime) -> None:
    """Have a file shown as out of step."""
    log.warning("file.out_of_step", scope=scope.key, problem=str(problem))
    blank = {"modified_ns": 0, "size": 0, "digest": "", "indexed_at": now}
    values = {"problem": problem, "detail": detail}
    FileState.objects.update_or_create(
        scope=scope, path=path, workspace_id=scope.workspace_id, defaults=values, create_defaults=blank | values
    )


def _rewrite(scope: Scope, path: str, change: Callable[[str], str]) -> None:
    """Rewrite a file, which is then read again, whatever its time and size."""
    disk.rewrite(folder_of(scope), path, change)
    FileState.objects.filter(workspace_id=scope.workspace_id, scope=scope, path=path).update(modified_ns=0, digest="")


def _by_path(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    by_path: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.path:
            by_path[entry.path].append(entry)
    return by_path


#: The event of a day with this source is its note: nothing else has it.
DAY_NOTE = Source.COMPRESSION
Place = tuple[int, date]  # the scope and the day


def places_of(events: Iterable[DailyEvent]) -> set[Place]:
    """The scopes and days of the notes among some events."""
    return {(event.scope_id, event.local_date) for event in events if event.source == DAY_NOTE}


def follow(places: set[Place]) -> None:
    """Have the files of these days tell what the notes of the days do, once the transaction is committed."""
    if places:
        transaction.on_commit(partial(_follow, sorted(places)))


def follow_messages(scope: Scope, origins: Collection[str]) -> None:
    """The same for the days of a scope whose notes rest on some messages: they are in use no longer, or again."""
    if origins:
        here = DailyEvent.objects.filter(workspace_id=scope.workspace_id, scope=scope, source=DAY_NOTE)
        days = here.filter(origins__overlap=sorted(set(origins))).values_list("local_date", flat=True)
        follow({(scope.pk, day) for day in days})


def _follow(places: list[Place]) -> None:
    for scope in Scope.objects.filter(pk__in={pk for pk, _day in places}).select_related("workspace"):
        for day in (day for pk, day in places if pk == scope.pk):
            write(scope, day)


def write(scope: Scope, day: date) -> bool | None:
    """Have the file of a day tell what its note does: whether it was changed; None when it could not be.

    The note is read with the file locked: of two who write at once the last writes what holds.
    """
    is_changed = False

    def change(text: str) -> str:
        nonlocal is_changed
        notes = DailyEvent.objects.in_use().filter(workspace_id=scope.workspace_id, scope=scope, local_date=day)
        content = notes.filter(source=DAY_NOTE).order_by("-pk").values_list("content", flat=True).first() or ""
        if content and not conf.ARCHIVE_TO_FILES:
            return text
        new_text = markdown.archived(text, day, content)
        is_changed = new_text != text
        return new_text

    try:
        folder = scope_folder(scope.workspace.folder, scope.key)
        disk.rewrite(folder, folder.daily(day), change)
    except (OSError, PlatformError) as problem:
        log.warning("day_note.not_in_file", scope=scope.key, day=day.isoformat(), problem=str(problem))
        return None
    return is_changed
