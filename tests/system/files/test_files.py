"""One file, many processes: every line is there once and whole, and a rewrite that is killed leaves old or new."""

import hashlib
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from memories.files import disk
from memories.files.layout import ScopeFolder, scope_folder
from tests import ROOT

EACH = 1_000
NOTE = "memory/2026-11-23.md"


@pytest.fixture
def main(settings: Any, tmp_path: Path) -> ScopeFolder:
    settings.MEMORY_FILES_ROOT = tmp_path / "files"
    return scope_folder("alices", "main")


def worker(folder: ScopeFolder, *args: str) -> subprocess.Popen[str]:
    environment = os.environ | {"MEMORY_FILES_ROOT": str(folder.workspace.parent)}
    command = [sys.executable, "-m", "tests.system.files.file_worker", NOTE, *args]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def wait_for_line(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    while (line := process.stdout.readline()) and not line.startswith(word):
        pass


def test_two_append_a_thousand_lines_each_while_a_third_rewrites(main: ScopeFolder) -> None:
    disk.append(main, NOTE, "- " + "x" * 5_000)
    with worker(main, "rewrite") as third:
        wait_for_line(third, "turned")
        with worker(main, "append", "alice", str(EACH)) as one, worker(main, "append", "bob", str(EACH)) as other:
            assert (one.wait(300), other.wait(300)) == (0, 0)
        third.kill()
    lines = (main.workspace / NOTE).read_text().split("\n")
    assert re.fullmatch("- (x{5000}|y{5000})", lines[0])
    assert lines[-1] == ""
    expected = [f"- {name} line {n} of 端口 {'z' * (n % 50)}." for name in ("alice", "bob") for n in range(EACH)]
    assert sorted(lines[1:-1]) == sorted(expected)
    for name in ("alice", "bob"):
        assert [line for line in lines if f"- {name} " in line] == [line for line in expected if f"- {name} " in line]


def test_a_rewrite_that_is_killed_leaves_the_old_file_or_the_new(main: ScopeFolder) -> None:
    disk.append(main, NOTE, "- " + "x" * 2_000_000 + "\n- 端口 9090")
    place, pick, seen = main.workspace / NOTE, random.Random(7), set()
    for _round in range(12):
        with worker(main, "rewrite") as process:
            wait_for_line(process, "turned")
            time.sleep(pick.uniform(0, 0.05))
            process.kill()
        first, second, rest = place.read_text().split("\n")
        assert first in ("- " + "x" * 2_000_000, "- " + "y" * 2_000_000)
        assert (second, rest) == ("- 端口 9090", "")
        seen.add(first[2])
        assert [file.path for file in main.files()] == [NOTE]
    assert disk.append(main, NOTE, "- after") == 3  # nobody left a lock behind
    disk.rewrite(main, NOTE, str.upper)
    assert [path.name for path in place.parent.iterdir()] == [place.name]
    assert hashlib.sha256(place.read_bytes()).hexdigest() == getattr(disk.read(main, NOTE), "sha256", "")
