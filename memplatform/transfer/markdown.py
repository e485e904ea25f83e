"""The markdown of an export: the files as they lie on the disk, and what is remembered as people read it.

What is remembered is written as `manage.py import` and other programs read it: MEMORY.md and a file a day.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from memories.choices import EntryType
from memories.entries.files import folder_of
from memories.files.layout import folder_name
from memories.models import DailyEvent, Entry, Scope, Workspace
from memories.tenancy import canaries

_FACTS, _SAID = "# Facts", "# What was said"


def write(workspace: Workspace, scope: Scope | None, files: Path, told: Path) -> int:
    """Copy the files of scopes and tell what is remembered there; how many files were copied."""
    copied = 0
    for one in [scope] if scope else Scope.objects.filter(workspace=workspace).order_by("pk").iterator():
        folder = folder_of(one)
        for found in [*folder.files(), *folder.transcripts()]:
            (files / found.path).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # files are written and renamed meanwhile
                shutil.copy2(folder.workspace / found.path, files / found.path, follow_symlinks=False)
                copied += 1
        _tell(one, told / folder_name(one.key))
    return copied


def _tell(scope: Scope, folder: Path) -> None:
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    live = (
        Entry.objects.in_scope(scope).live().exclude(subtype=canaries.SUBTYPE).order_by("type", "tier", "project", "pk")
    )
    with (folder / "MEMORY.md").open("w", encoding="utf-8") as file:
        file.writelines(_lines(live.exclude(type=EntryType.CHAT_TURN).iterator(chunk_size=2_000), _FACTS))
        file.writelines(_lines(live.filter(type=EntryType.CHAT_TURN).iterator(chunk_size=2_000), _SAID))
    events = DailyEvent.objects.in_use().filter(scope=scope, workspace_id=scope.workspace_id)
    rows = events.order_by("local_date", "pk").iterator(chunk_size=2_000)
    for day, of_day in groupby(rows, key=lambda event: event.local_date):
        (folder / "memory" / f"{day.isoformat()}.md").write_text(
            "\n\n".join(event.content for event in of_day) + "\n", encoding="utf-8"
        )


def _lines(entries: Iterable[Entry], heading: str) -> Iterator[str]:
    for n, entry in enumerate(entries):
        if n == 0:
            yield f"{heading}\n\n" if heading == _FACTS else f"\n{heading}\n\n"
        at = f" <!-- at={entry.written_at.isoformat()} -->" if entry.written_at else ""
        yield "- {}{}\n".format("\n  ".join(entry.content.splitlines()), at)
