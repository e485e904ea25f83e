"""Export, import, backup and restore: how long, and how much memory (F8).

A hundred thousand memories (`--entries`) of ten scopes, English and Chinese by turns, with slots, links and days, are
written as an export and imported into an empty workspace, exported from there, and imported beside it, where every id
is taken; then the whole database is backed up and restored into an empty folder. Commands run in their own processes.
"""

import argparse
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.ground import process, sql
from benchmarks.imports import line
from memories.models import Entry, Workspace
from memplatform import postgres
from memplatform.transfer.records import END, FORMAT, HEAD, RECORDS

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SCOPES = 10
COMMAND = """
import json, resource, time
from django.core.management import call_command
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
call_command(*sys.argv[1:], stdout=open("/dev/null", "w"))
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": time.perf_counter() - began, "megabytes": most / 1024, "more": (most - before) / 1024}))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=100_000)


def main(options: argparse.Namespace) -> None:
    first, second = (Workspace.objects.create(name=name) for name in ("first", "second"))
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        size = write(folder / "made", options.entries)
        print(f"{options.entries:,} memories of {SCOPES} scopes, {size / 1e6:.0f} MB of records")
        tell("import into an empty workspace", "import", folder / "made", "--workspace", first.name)
        tell("export of it", "export", folder / "out", "--workspace", first.name)
        tell("export of it with history", "export", folder / "past", "--workspace", first.name, "--history")
        tell("import beside it, ids mapped", "import", folder / "out", "--workspace", second.name)
        tell("the same again", "import", folder / "out", "--workspace", second.name)
        counts = [Entry.objects.filter(workspace=item).count() for item in (first, second)]
        assert counts == [options.entries] * 2, counts
    kept(Path(os.environ["MEMPLATFORM_DATA"]))


def tell(what: str, *arguments: object) -> None:
    out, _errors = process(COMMAND, *arguments).communicate()
    row = json.loads(out.splitlines()[-1])
    print(f"{what}: {row['seconds']:.1f} s, at most {row['megabytes']:.0f} MB ({row['more']:.0f} more)", flush=True)


def kept(data: Path) -> None:
    """Backup and restore of the database that is there."""
    (size,) = sql("SELECT pg_database_size(current_database())")[0]
    target, other = data.parent / "backup", data.parent / "other"
    began = time.perf_counter()
    postgres.backup(data, target)
    backed_up = time.perf_counter()
    postgres.restore(other, target)
    restored_at = time.perf_counter()
    dump = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"database of {size / 1e6:.0f} MB: backup {backed_up - began:.1f} s ({dump / 1e6:.0f} MB), ", end="")
    print(f"restore into an empty folder, compared table by table, {restored_at - backed_up:.1f} s")


def write(folder: Path, entries: int) -> int:
    """Write an export of so many memories; its size in bytes."""
    folder.mkdir()
    counts: Counter[str] = Counter()
    with (folder / RECORDS).open("w") as file:
        for record in [{"record": HEAD, "format": FORMAT}, *scopes()]:
            counts[record["record"]] += record["record"] != HEAD
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        for record in chain(memories(entries), links(entries)):
            counts[record["record"]] += 1
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        file.write(json.dumps({"record": END, "counts": {kind: n for kind, n in counts.items() if n}}) + "\n")
    return (folder / RECORDS).stat().st_size


def uid(kind: int, n: int) -> str:
    return str(UUID(int=kind << 96 | 7 << 76 | 2 << 62 | n))


def scopes() -> Iterator[dict[str, Any]]:
    for n in range(SCOPES):
        yield {
            "record": "scope",
            "uid": uid(1, n),
            "key": f"bench:u{n}",
            "kind": "user",
            "label": "",
            "frozen": False,
            "speakers": [],
            "projects": [],
            "nicknames": {},
            "sender_names": {},
            "created_at": BEGAN.isoformat(),
        }


def memories(count: int) -> Iterator[dict[str, Any]]:
    """Every tenth out of use."""
    pick = random.Random(5)
    for n in range(count):
        at = (BEGAN + timedelta(minutes=n)).isoformat()
        empty = dict.fromkeys(
            ["expires_at", "review_at", "archived_at", "suppressed_at", "verified_at", "line_from", "line_to"]
        )
        blank = dict.fromkeys(
            [
                *("subtype", "topic", "verification", "verified_by", "channel", "chat_id", "session_id", "sender_id"),
                *("speaker", "thread_id", "path", "heading", "echo"),
            ],
            "",
        )
        yield {
            "record": "entry",
            "uid": uid(2, n),
            "scope": uid(1, n * SCOPES // count),
            "superseded_by": None,
            "content": line(pick, n).removeprefix("- "),
            "type": "fact",
            "tier": 2,
            "category": "config",
            "source": "manual",
            "project": f"p{n % 7}",
            "importance": 0.5,
            "pinned": False,
            "chats": [],
            "origins": [],
            "created_at": at,
            "stated_at": at,
            "updated_at": at,
            "expired_at": None if n % 10 else at,
            "version": 1 if n % 10 else 2,
            "slots": [{"number": n, "name": "env", "value": "prod", "version": 1}],
            "evidence": [],
            "access": None,
            **empty,
            **blank,
        }


def links(count: int) -> Iterator[dict[str, Any]]:
    """From every hundredth to the one before it."""
    for n in range(1, count, 100):
        yield {
            "record": "link",
            "from_entry": uid(2, n),
            "to_entry": uid(2, n - 1),
            "kind": "alike",
            "created_at": BEGAN.isoformat(),
            "version": 1,
        }
