"""One platform for all who hurt it, on a small disk of its own where that is possible."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplatform import postgres
from tests.support.house import House, free_port

SETTINGS = {
    "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
    "MEMPLATFORM_TEST_CLOCK": "1",
    "MEMORY_CALLS_PER_MINUTE": "1000000",
}
#: Only root may mount a small disk to fill; for everybody else, and for root, a full disk is also played by the
#: database's own error.
MAY_MOUNT = os.geteuid() == 0 and sys.platform == "linux"
DISK = "256m"


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """On a small disk of its own where that is possible."""
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="faults")))
    if mounted := MAY_MOUNT and mount(top, f"size={DISK}") == 0:
        assert os.path.ismount(top)
    top.chmod(0o755)
    (top / "data").mkdir(mode=0o755)
    yield top / "data"
    postgres.down(top / "data")
    if mounted:
        subprocess.run(["umount", str(top)], check=True)
    shutil.rmtree(top)


def mount(folder: Path, options: str) -> int:
    return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True).returncode


class Platform:
    """Data that outlive the processes which serve them."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.running: House | None = None

    def house(self) -> House:
        """The running one; where it has ended, another."""
        if self.running is None or self.running.process.poll() is not None:
            self.running = House(self.data, free_port(), **SETTINGS).greets()
        return self.running

    def end(self) -> None:
        if self.running and self.running.process.poll() is None:
            self.running.end(signal.SIGTERM)


@pytest.fixture(scope="module")
def platform(data: Path) -> Iterator[Platform]:
    platform = Platform(data)
    yield platform
    platform.end()


@pytest.fixture
def house(platform: Platform) -> House:
    return platform.house()
