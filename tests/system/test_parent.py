"""A process ends with whoever started it, also when that one died before it could look."""

import os
import subprocess
import sys

import pytest

from memplatform.processes.children import STARTED_BY
from tests.support.house import ROOT

LOOK = """
import time
from memplatform.processes import children
children._LOOK_EVERY = 0.1
children.end_with_parent()
print("looks", flush=True)
time.sleep(60)
"""


def started_by(pid: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", LOOK], cwd=ROOT, env={**os.environ, STARTED_BY: str(pid)}, stdout=subprocess.PIPE
    )


def test_one_whose_parent_is_gone_before_it_looks_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    with started_by(gone.pid) as late:
        assert late.wait(timeout=15) != 0


def test_one_whose_parent_lives_goes_on() -> None:
    with started_by(os.getpid()) as child:
        assert child.stdout and child.stdout.readline() == b"looks\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=1)  # ten looks
        child.kill()
