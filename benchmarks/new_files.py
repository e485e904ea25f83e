"""Many new files at once: how many a second are found by their words, of one line and in one scope, or in several."""

import argparse
from datetime import UTC, datetime
from time import perf_counter, process_time

from benchmarks.files import files_root
from memories.evaluation import throwaway_workspace
from memories.files.layout import root
from memories.models import Entry
from memories.notes.freshness import sync_workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--scopes", type=int, default=1)


def main(options: argparse.Namespace) -> None:
    with files_root(), throwaway_workspace() as workspace:
        for n in range(options.files):
            folder = root() / workspace.folder / "memory" / "scopes" / f"telegram+direct_u{n % options.scopes}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"note{n}.md").write_text(f"- The {n}th order of Nina was {n * 7} crates of tea for Hangzhou.\n")
        begun, cpu = perf_counter(), process_time()
        sync_workspace(workspace, now=datetime.now(UTC))
        seconds, busy = perf_counter() - begun, process_time() - cpu
        entries = Entry.objects.filter(workspace=workspace).live().count()
        print(f"{entries} entries of {options.files} files in {seconds:.1f} s")
        print(f"{options.files / seconds:.0f} files a second, {options.files / busy:.0f} a second of this process")
