"""The embedded database with its credentials, as one folder that another machine or a newer version can take in."""

import os
import shutil
from pathlib import Path

from memplatform.postgres import programs
from memplatform.postgres.errors import BackupFailed, RestoreFailed, explain_os_errors
from memplatform.postgres.place import PORT, Place, locate
from memplatform.postgres.server import lease

ROLES = "roles.sql"
DUMP = "database.dump"
CREDENTIALS = "credentials"
_TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"


def backup(data: Path, target: Path) -> None:
    """Write everything in the database, and the credentials beside it, into a new folder; a running platform goes on.

    The folder appears under its name when it is whole. Raises BackupFailed.
    """
    if target.exists():
        raise BackupFailed(f"{target} is there already; name a folder that is not.")
    if not locate(data).cluster.exists():
        raise BackupFailed(f"There is no database in {data}.")
    with explain_os_errors(target.parent), lease(data):
        draft = target.with_name(f"{target.name}.unfinished")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700, parents=True)
        place = locate(data)
        _write(place, draft / ROLES, "pg_dumpall", "--roles-only")
        _write(place, draft / DUMP, "pg_dump", "--format=custom")
        if (data / CREDENTIALS).exists():
            shutil.copytree(data / CREDENTIALS, draft / CREDENTIALS)
        draft.rename(target)


def restore(data: Path, source: Path) -> None:
    """Take a backup into a data folder without a database, whole or not at all. Raises RestoreFailed."""
    if not (source / DUMP).is_file() or not (source / ROLES).is_file():
        raise RestoreFailed(f"{source} is no whole backup: it needs {DUMP} and {ROLES}.")
    with explain_os_errors(data), lease(data):
        place = locate(data)
        if _ask(place, _TABLES) != "0":
            raise RestoreFailed(f"There is a database in {data} already; move the folder away, or name another.")
        # Roles that are there already are complaints, and no failure.
        _read(place, source / ROLES, "psql", "--quiet")
        words = ("--single-transaction", "--exit-on-error")
        if complaint := _read(place, source / DUMP, "pg_restore", *words):
            raise RestoreFailed(f"The backup could not be taken in: {complaint}")
        if (source / CREDENTIALS).exists():
            shutil.copytree(source / CREDENTIALS, data / CREDENTIALS, dirs_exist_ok=True)


def _write(place: Place, file: Path, program: str, *words: str) -> None:
    with open(file, "xb", opener=_private) as sink:
        done = programs.run(place, _command(place, program, *words), sink=sink)
        os.fsync(sink.fileno())
    if done.returncode:
        raise BackupFailed(f"The database could not be backed up: {_last_line(done.stderr)}")


def _read(place: Place, file: Path, program: str, *words: str) -> str | None:
    """The last line of what it complains about; None when it succeeded."""
    with file.open("rb") as source:
        done = programs.run(place, _command(place, program, *words), source=source)
    return _last_line(done.stdout) if done.returncode else None


def _ask(place: Place, statement: str) -> str:
    done = programs.run(place, _command(place, "psql", "--no-psqlrc", "--tuples-only", "--no-align", "-c", statement))
    return str(done.stdout).strip()


def _command(place: Place, program: str, *words: str) -> list[str | Path]:
    address: list[str | Path] = ["-h", place.sockets, "-p", str(PORT), "-U", "postgres"]
    database = [] if program == "pg_dumpall" else ["-d", "postgres"]
    return [programs.folder(place) / program, *words, *address, *database]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason was given"])[-1]
