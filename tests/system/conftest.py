"""Folders for embedded databases that go away again, wherever the database was put."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplatform import postgres
from memplatform.postgres import place


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder whose name needs quoting everywhere; the server's account can enter it."""
    top = Path(tempfile.mkdtemp(prefix="it's a $HOME "))
    top.chmod(0o755)
    data = Path(os.path.realpath(top)) / ".data"
    yield data
    remove(data)
    shutil.rmtree(top)


@pytest.fixture(scope="session")
def pattern() -> Iterator[Path]:
    """A fresh cluster to copy: making one costs more than most tests."""
    top = Path(tempfile.mkdtemp(prefix="pattern"))
    top.chmod(0o755)
    postgres.up(top / "data", postgres.THROWAWAY)
    postgres.down(top / "data")
    yield top / "data" / "postgres"
    shutil.rmtree(top)


@pytest.fixture
def used(data: Path, pattern: Path) -> Path:
    """A data folder whose server ran before."""
    data.mkdir()
    data.chmod(0o755)
    subprocess.run(["cp", "-a", str(pattern), str(data / "postgres")], check=True)  # with owners and modes
    return data


def remove(data: Path) -> None:
    postgres.down(data)
    where = place.locate(data)
    for folder in {where.home, where.sockets} - {data}:
        shutil.rmtree(folder, ignore_errors=True)
