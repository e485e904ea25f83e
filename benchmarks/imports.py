"""Importing a folder of markdown: how long, how much memory, and whether a kill loses or doubles anything (D8).

Two thousand daily files (`--files`) and a MEMORY.md of five hundred lines (`--lines`), English and Chinese by turns,
are imported, imported again, and the batch is undone. Then they are imported into another scope by processes that are
killed with -9 at random moments (`--kills`), and what is there in the end is compared with what the files say.
"""

import argparse
import json
import random
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.ground import begun, scope_of, seconds
from memories import batches
from memories.files.markdown import blocks
from memories.imports.folder import parts
from memories.models import Batch, DailyEvent, Entry, Scope

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
FIRST = date(2020, 1, 1)
#: What `manage.py import` does, in a process of its own.
IMPORT = """
import json, resource, time
from datetime import datetime, UTC
from pathlib import Path
from memories.models import Scope
from memories.imports.folder import import_folder
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("begun", flush=True)
began = time.perf_counter()
done = import_folder(
    Scope.objects.get(pk=int(sys.argv[1])), Path(sys.argv[2]), is_dry=sys.argv[3] == "dry",
    now=datetime(2026, 3, 1, 9, 0, tzinfo=UTC), actor="benchmark",
)
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"facts": done.facts, "events": done.events, "merged": done.merged, "already": done.already,
                  "seconds": time.perf_counter() - began, "megabytes": most / 1024, "more": (most - before) / 1024}))
"""
ENGLISH = [
    "port",
    "harbour",
    "cat",
    "museum",
    "violin",
    "budget",
    "release",
    "garden",
    "coffee",
    "train",
    "ticket",
    "lesson",
    "invoice",
    "bridge",
]
CHINESE = [
    "会议",
    "报告",
    "部署",
    "端口",
    "服务器",
    "猫咪",
    "牙医",
    "显示器",
    "下棋",
    "龙井",
    "茶园",
    "预算",
    "合同",
    "火车",
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--lines", type=int, default=500, help="of MEMORY.md")
    parser.add_argument("--kills", type=int, default=10)


def main(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = fill(folder, options.files, options.lines)
        print(f"{options.files:,} daily files, {options.lines:,} lines of MEMORY.md, {size / 1e6:.1f} MB")
        scope = scope_of("imported")
        tell("tried", imported(scope, folder, "dry"))
        tell("imported", imported(scope, folder))
        tell("imported again", imported(scope, folder))
        batch = Batch.objects.get(scope=scope)
        undo = batches.plan_undo(batch, actor="benchmark", now=NOW)
        undone = seconds(lambda: batches.apply_batch(undo, now=NOW))
        print(f"undone: {undone:.1f} s, left {len(stored(scope))}")
        killed(folder, options.kills)


def fill(folder: Path, files: int, lines: int) -> int:
    """Write the folder; its size in bytes."""
    pick = random.Random(7)
    (folder / "memory").mkdir()
    texts = {folder / "MEMORY.md": ["# About", ""] + [line(pick, n) for n in range(lines)]}
    for n in range(files):
        day = FIRST + timedelta(days=n)
        texts[folder / f"memory/{day}.md"] = [f"# {day}", "", *(line(pick, m) for m in range(pick.randint(10, 60)))]
    return sum(path.write_bytes("\n".join([*words, ""]).encode()) for path, words in texts.items())


def line(pick: random.Random, n: int) -> str:
    words = pick.choices(ENGLISH if n % 2 else CHINESE, k=5)
    return f"- {(' ' if n % 2 else '').join(words)} {pick.randint(1, 99_999)}"


def imported(scope: Scope, folder: Path, how: str = "") -> dict[str, Any]:
    process = begun(IMPORT, scope.pk, folder, how)
    out, _errors = process.communicate()
    return dict(json.loads(out.splitlines()[-1]))


def tell(what: str, row: dict[str, Any]) -> None:
    counts = ", ".join(f"{name} {row[name]:,}" for name in ("facts", "events", "merged", "already"))
    print(f"{what}: {row['seconds']:.1f} s, at most {row['megabytes']:.0f} MB ({row['more']:.0f} more): {counts}")


def stored(scope: Scope) -> list[tuple[str, str]]:
    """What is in use of a scope: day, or nothing, and words."""
    events = DailyEvent.objects.in_use().filter(scope=scope).values_list("local_date", "content")
    facts = Entry.objects.in_scope(scope).live().values_list("content", flat=True)
    return sorted([*(("", fact) for fact in facts), *((str(day), content) for day, content in events)])


def expected(folder: Path) -> list[tuple[str, str]]:
    """What the files say."""
    days = [(path.stem, part) for path in (folder / "memory").iterdir() for part in parts(path.read_text(), 8_000)]
    return sorted([*(("", block.text) for block in blocks((folder / "MEMORY.md").read_text())), *days])


def killed(folder: Path, kills: int) -> None:
    """Everything is there once, however often the import was killed."""
    scope, pick, died = scope_of("killed"), random.Random(3), 0
    while True:
        process = begun(IMPORT, scope.pk, folder, "")
        if died == kills:
            process.communicate()
            break
        time.sleep(pick.uniform(0.2, 4))
        if process.poll() is not None:
            break
        process.kill()
        process.wait()
        died += 1
    exact = stored(scope) == expected(folder)
    runs = Batch.objects.filter(scope=scope).count()
    print(f"killed {died} times: {'exactly what the files say' if exact else 'NOT WHAT THE FILES SAY'}, batches {runs}")
