"""A process ends with whoever started it, also when that one died before it could look."""

import os
import subprocess
import sys

import pytest

from memplatform.parent import STARTED_BY
from tests.house import ROOT

LOOK = "import time; from memplatform.parent import end_with_parent; end_with_parent(); time.sleep(60)"


def started_by(pid: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", LOOK], cwd=ROOT, env={**os.environ, STARTED_BY: str(pid)})


def test_one_whose_parent_is_gone_before_it_looks_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    late = started_by(gone.pid)
    assert late.wait(timeout=15) != 0


def test_one_whose_parent_lives_goes_on() -> None:
    child = started_by(os.getpid())
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=4)
    finally:
        child.kill()
        child.wait()
