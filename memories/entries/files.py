"""Changes of entries written back to the lines of their files, so that indexing these again gives the same (C2).

Called at the end of the transaction of a change, with the scope locked: what cannot be written is not changed. A file
that was written by a transaction that failed after all is read again, and its words hold.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

import structlog

from memories.exceptions import InvalidDraft, LineChanged, PlatformError
from memories.files import disk, many_lines, markdown
from memories.files.layout import ScopeFolder, scope_folder
from memories.models import Entry, FileProblem, FileState, Scope

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
            raise LineChanged(known=before, found=_says_now(text, entry))
        nearest = min(same, key=lambda block: abs(block.line_from - (entry.line_from or 0)))
        return markdown.replaced(text, nearest, entry.content)

    _rewrite(scope, entry.path, change)


def strike_lines(scope: Scope, entries: Iterable[Entry], *, now: datetime, must: bool = True) -> None:
    """Strike the lines of entries that went out of use; a line that is gone already needs none.

    Where it `must` not, what cannot be written is only noted: the file is out of step. Raises OSError, PlatformError.
    """
    refused: list[InvalidDraft] = []

    def strike(text: str, gone: Sequence[Entry]) -> str:
        text, refused[:] = many_lines.struck_all(text, _blocks_of(text, gone), now)
        if refused and must:
            raise refused[0]
        return text

    for path, of_file in _by_path(entries).items():
        try:
            _rewrite(scope, path, partial(strike, gone=of_file))
        except (OSError, PlatformError) as problem:
            if must:
                raise
            refused = [InvalidDraft(str(problem))]
        if refused:
            note_problem(scope, path, FileProblem.NOT_WRITTEN, str(refused[0]), now)


def restore_lines(scope: Scope, entries: Iterable[Entry], *, now: datetime) -> None:
    """Have the lines of entries that are in use again stand in their files, where they stood or at the end."""

    def restore(text: str, back: Sequence[Entry]) -> str:
        there = Counter(block.text for block in markdown.blocks(text))
        missing: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in back:
            if there[entry.content] > 0:
                there[entry.content] -= 1
            else:
                missing[entry.content].append(entry)
        wanted = [content for content, same in missing.items() for _entry in same]
        text, new = many_lines.unstruck_all(text, wanted)
        for content in new:
            text = _with_line(text, missing[content].pop())
        return text

    for path, of_file in _by_path(entries).items():
        _rewrite(scope, path, partial(restore, back=of_file))


def forget_lines(scope: Scope, entries: Iterable[Entry]) -> None:
    """Remove the struck lines of entries that are removed for good."""

    def forget(text: str, purged: Sequence[Entry]) -> str:
        return many_lines.without_struck(text, {entry.content for entry in purged})

    for path, of_file in _by_path(entries).items():
        _rewrite(scope, path, partial(forget, purged=of_file))


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


def _blocks_of(text: str, entries: Sequence[Entry]) -> list[markdown.Block]:
    """The blocks that say what these entries say: of several the nearest to where an entry stood, each for one."""
    free: defaultdict[str, list[markdown.Block]] = defaultdict(list)
    for block in markdown.blocks(text):
        free[block.text].append(block)
    found = []
    for entry in entries:
        if same := free[entry.content]:
            nearest = min(same, key=lambda block: abs(block.line_from - (entry.line_from or 0)))
            same.remove(nearest)
            found.append(nearest)
    return found


def _with_line(text: str, entry: Entry) -> str:
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + markdown.rendered(entry.content, at=entry.stated_at)


def _says_now(text: str, entry: Entry) -> str:
    """What a file says where an entry stood."""
    stood = entry.line_from or 1
    return "\n".join(one.text for one in markdown.blocks(text) if one.line_from <= stood <= one.line_to)
