"""Several hosts on one machine: each with a data folder, a port and a name of its own, and one database."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplatform import postgres
from tests import ROOT
from tests.support.house import Answer, House, free_port
from tests.support.own_database import HouseApart, ask, migrated_database

KEY = "a secret key that every host of this fleet was given by its owner"
SETTINGS = {"MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic", "MEMORY_CALLS_PER_MINUTE": "1000000"}


class OneHost(House):
    """`manage.py up --only …` of a fleet."""

    def __init__(self, fleet: "Fleet", name: str, *parts: str, **more: str) -> None:
        self.fleet, self.name = fleet, name
        self.words = ("up", *(word for part in parts for word in ("--only", part)))
        data = fleet.top / name
        data.mkdir(exist_ok=True)
        super().__init__(data, free_port(), **{**fleet.environment, "MEMPLATFORM_HOST_NAME": name, **more})

    def ask(self, question: str, *values: Any) -> list[Any]:
        """The first column."""
        return self.fleet.ask(question, *values)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        """With the one key of the fleet."""
        key = self.fleet.key()
        return HouseApart.post_with(self, key, path, body, **headers)  # type: ignore[arg-type]

    def ended(self) -> tuple[int, str]:
        """Of one that is to be refused: its exit code and what it wrote."""
        self.process.wait(timeout=60)
        self.reader.join()
        return self.process.returncode, "\n".join(self.output)


class Fleet:
    """The database all share, and the hosts that were started."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.hosts: list[OneHost] = []
        self.environment = {
            "DATABASE_URL": postgres.url(top / "database"),
            "SECRET_KEY": KEY,
            "MEMORY_FILES_ROOT": str(top / "shared"),
            **SETTINGS,
        }

    def start(self, name: str, *parts: str, **more: str) -> OneHost:
        """A host, which may be refused."""
        host = OneHost(self, name, *parts, **more)
        self.hosts.append(host)
        return host

    def key(self) -> str:
        """Made by the first host with a web."""
        (file,) = self.top.glob("*/credentials/bot-key")
        return file.read_text()

    def ask(self, question: str, *values: Any) -> list[Any]:
        """The first column."""
        return ask(self.top / "database", question, *values)

    def manage(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command on a machine of its own."""
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env={**os.environ, **self.environment, "MEMPLATFORM_DATA": str(self.top / "desk")},
            capture_output=True,
            text=True,
            check=False,
        )

    def end(self) -> None:
        """Stop whatever runs."""
        for host in self.hosts:
            if host.process.poll() is None:
                host.end(signal.SIGTERM)


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with migrated_database("fleet", "shared", "desk") as top:
        fleet = Fleet(top)
        yield fleet
        fleet.end()
