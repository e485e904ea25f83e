"""The TypeScript client, built by the compiler its lock file names."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

CLIENT = ROOT / "clients" / "typescript"
NO_REGISTRY = re.compile("ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|ENOTCACHED")


def output_of(*command: str, cwd: Path, **environment: str) -> str:
    """What a program prints; a failure with its words."""
    result = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder of the compiler and the generator, as the lock file names them; the client and its tests are built."""
    if not shutil.which("npm"):
        pytest.skip("needs Node")
    with (CLIENT / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes one installs
        installed = CLIENT / "node_modules" / ".package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < os.stat(lock.name).st_mtime:
            npm = ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"]
            install = subprocess.run(npm, cwd=CLIENT, capture_output=True, text=True)
            if install.returncode and NO_REGISTRY.search(install.stderr):
                pytest.skip("npm's packages cannot be reached")
            assert install.returncode == 0, install.stderr
        programs = CLIENT / "node_modules" / ".bin"
        output_of(str(programs / "tsc"), cwd=CLIENT)
        output_of(str(programs / "tsc"), "-p", "tests", cwd=CLIENT)
    return programs
