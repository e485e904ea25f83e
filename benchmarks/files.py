"""Indexing files of markdown: a thousand of them, when nothing has changed, when one has, and all of them anew."""

import argparse
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from django.conf import settings

from memories.evaluation import throwaway_workspace
from memories.files.layout import root
from memories.models import Entry
from memories.notes.freshness import sync_workspace
from memories.notes.index import drop_index

WORDS = (
    *("port", "kettle", "cello", "harbour", "Tuesday", "moved", "deployed", "password", "Nina", "Oskar", "budget"),
    *("会议", "杭州", "茶", "项目", "端口", "周三", "搬家", "预算", "自行车", "花园", "密码", "部署", "storm", "train"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--bytes", type=int, default=10_000, help="of each file")


def main(options: argparse.Namespace) -> None:
    now = datetime.now(UTC)
    with files_root(), throwaway_workspace() as workspace:
        folder = root() / workspace.folder / "memory"
        folder.mkdir(parents=True)
        size = sum(_write(folder, n, options.bytes) for n in range(options.files))
        print(f"{options.files} files, {size / 1e6:.1f} MB")
        first = _timed("indexed for the first time", lambda: sync_workspace(workspace, now=now).created)
        _timed("nothing has changed", lambda: sync_workspace(workspace, now=now).files)
        with (folder / f"{date(2020, 1, 1)}.md").open("a") as file:
            file.write("- one line more\n")
        _timed("one file has changed", lambda: sync_workspace(workspace, now=now).created)
        _timed("all read again", lambda: sync_workspace(workspace, now=now, force=True).files)
        _timed("dropped and made anew", lambda: (drop_index(workspace), sync_workspace(workspace, now=now))[1].files)
        lines = Entry.objects.filter(workspace=workspace).live().count()
        print(f"{lines} lines; {lines / first:.0f} a second")


@contextmanager
def files_root() -> Iterator[Path]:
    """A folder of files that is thrown away."""
    before = settings.MEMORY_FILES_ROOT
    with TemporaryDirectory() as folder:
        settings.MEMORY_FILES_ROOT = Path(folder)
        try:
            yield Path(folder)
        finally:
            settings.MEMORY_FILES_ROOT = before


def _write(folder: Path, n: int, size: int) -> int:
    chance = random.Random(n)
    lines = [f"# Day {n}\n\n"]
    while sum(len(line.encode()) for line in lines) < size:
        lines.append(f"- {' '.join(chance.choices(WORDS, k=12))}\n")
    text = "".join(lines)
    (folder / f"{date(2020, 1, 1) + timedelta(days=n)}.md").write_text(text)
    return len(text.encode())


def _timed(name: str, call: Callable[[], int]) -> float:
    begun = perf_counter()
    count = call()
    seconds = perf_counter() - begun
    print(f"{name}: {seconds:.2f} s ({count})", flush=True)
    return seconds
