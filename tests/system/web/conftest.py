"""Web processes on the database of the tests."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.house import free_port
from tests.support.processes import database_url

KEY = "for the watchman"


@contextmanager
def serving(data: Path) -> Iterator[str]:
    """The address of two web workers."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "memplatform.processes.web", "127.0.0.1", str(port)],
        cwd=ROOT,
        env={
            **os.environ,
            "MEMPLATFORM_DATA": str(data),
            "MEMPLATFORM_PROCESS": "web",
            "DATABASE_URL": database_url(),
            "MEMORY_EMBEDDERS": "",
            "MEMPLATFORM_METRICS_KEY": KEY,
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:  # one that is left writes on into the database of the tests that follow
        process.terminate()
        process.wait(30)


@pytest.fixture
def web(db: None, tmp_path: Path) -> Iterator[str]:
    """With what one left behind that is no more."""
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "counter_1.db").write_bytes(b"of a process that is no more")
    with serving(tmp_path) as address:
        yield address
