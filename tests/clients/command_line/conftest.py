"""The script `memplatform` as an installation makes it, and a person who calls it at the running platform."""

import json
import os
import pty
import select
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memories.models import Workspace
from tests import ROOT
from tests.conftest import make_key

PACKAGE = ROOT / "clients" / "python"


@dataclass(frozen=True)
class Outcome:
    code: int
    output: str
    errors: str

    @property
    def json(self) -> Any:
        return json.loads(self.output)


@dataclass(frozen=True)
class Person:
    """Somebody at a terminal, with a home of their own."""

    script: Path
    environment: dict[str, str]

    def __call__(self, *arguments: str, typed: str = "", **environment: str) -> Outcome:
        command = [str(self.script), *arguments]
        settings = self.environment | environment
        ended = subprocess.run(command, input=typed, env=settings, capture_output=True, text=True, timeout=60)
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def at_a_terminal(self, *arguments: str, typed: str) -> tuple[int, str]:
        """The exit code, and what stood on the screen."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [str(self.script), *arguments],
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        screen, answers, end = b"", typed.encode().splitlines(keepends=True), time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    screen += os.read(ours, 65_536)
                except OSError:  # it has ended
                    break
            elif answers and screen.rstrip().endswith(b":"):
                os.write(ours, answers.pop(0))
                screen += b"\n"
            elif process.poll() is not None:
                break
        os.close(ours)
        return process.wait(timeout=10), screen.decode()


@pytest.fixture(scope="session")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    entry = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["scripts"]["memplatform"]
    module, function = entry.split(":")
    file: Path = tmp_path_factory.mktemp("bin") / "memplatform"
    file.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def stranger_at_home(script: Path, tmp_path: Path) -> Person:
    """A person who has logged in nowhere."""
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "PATH": os.environ["PATH"]}
    return Person(script, {**home, "PYTHONPATH": str(PACKAGE), "LANG": "C.UTF-8", "PYTHONWARNINGS": "error"})


@pytest.fixture
def person(stranger_at_home: Person, live_server: Any, workspace: Workspace) -> Person:
    """A person whose environment names the running platform and a key for it."""
    platform = {"MEMORY_URL": live_server.url, "MEMORY_KEY": make_key(workspace)}
    return Person(stranger_at_home.script, stranger_at_home.environment | platform)


@pytest.fixture
def key_for(workspace: Workspace) -> Callable[..., str]:
    """Makes a key of the platform with these permissions."""
    return lambda *permissions: make_key(workspace, permissions=list(permissions) or None)
