"""Backups of the embedded database: written, tried and taken back, each table compared by rows and checksum."""

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql

from memplatform.postgres import programs
from memplatform.postgres.place import PORT, Place, PostgresError, explain_os_errors, locate
from memplatform.postgres.server import down, lease

#: By table: rows and checksum.
Fingerprints = dict[str, list[str]]

_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' ORDER BY 1, 2
"""
#: A row as text is the same on every server as long as these are.
_FORMS = "SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'; SET LOCAL extra_float_digits = 1"
_SUM = """
SELECT count(*)::text, coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0)::text FROM {} t
"""


def fingerprints_of(connection: "psycopg.Connection[tuple[str, ...]]") -> Fingerprints:
    """The fingerprints of all tables, as the transaction of this connection sees them."""
    connection.execute(_FORMS)
    fingerprints = {}
    for schema, table in connection.execute(_TABLES).fetchall():
        row = connection.execute(sql.SQL(_SUM).format(sql.Identifier(schema, table))).fetchone()
        fingerprints[f"{schema}.{table}"] = list(row or ())
    return fingerprints


ROLES = "roles.sql"
DUMP = "database.dump"
TABLES = "tables.json"
CREDENTIALS = "credentials"
#: Memory in markdown: lines that are missing there would go out of use in the database too.
FILES = "files"
#: A file for each person who was erased: by them a database of before erases again.
ERASURES = "erasures"
#: In the data folder: what a start writes before it changes the tables, and how many of these it keeps.
BACKUPS = "backups"
KEPT = 3
#: Among them, while an upgrade is not finished: the name of the one it began with.
BEGAN_WITH = "upgrading"
_SPARE = 200_000_000  # bytes that are left for what the change itself writes
_COUNT = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"


def backup(data: Path, target: Path) -> None:
    """Write the database, and beside it the files and credentials, into a new folder; a running platform goes on.

    The folder appears under its name when it is whole. Raises PostgresError.
    """
    if target.exists():
        raise PostgresError(f"{target} is there already; name a folder that is not.")
    if not locate(data).cluster.exists():
        raise PostgresError(f"There is no database in {data}.")
    with explain_os_errors(target.parent), lease(data) as url:
        draft = target.with_name(f"{target.name}.unfinished")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700, parents=True)
        place = locate(data)
        _write(place, draft / ROLES, "pg_dumpall", "--roles-only")
        # Write the database, and what each of its tables holds at the same moment
        with psycopg.connect(url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            snapshot = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
            _write(place, draft / DUMP, "pg_dump", "--format=custom", f"--snapshot={snapshot[0]}")
            (draft / TABLES).touch(mode=0o600, exist_ok=False)
            (draft / TABLES).write_text(json.dumps(fingerprints_of(connection), indent=1))
        if (data / CREDENTIALS).exists():
            shutil.copytree(data / CREDENTIALS, draft / CREDENTIALS)
        if (data / ERASURES).is_dir():
            shutil.copytree(data / ERASURES, draft / ERASURES)
        if (data / FILES).is_dir():  # after the database: what was written since is indexed when it is restored
            shutil.copytree(data / FILES, draft / FILES, symlinks=True, copy_function=_copy)
        draft.rename(target)


def backup_before_upgrade(data: Path, *, now: datetime) -> Path:
    """Back up into the data folder before tables change, and keep the newest of such backups.

    A start that goes on with an upgrade that was killed keeps the one that upgrade began with: nobody needs another of
    tables that changed in part. Raises PostgresError, also where there is too little room; then nothing was written.
    """
    folder = data / BACKUPS
    note = folder / BEGAN_WITH
    if note.is_file() and (earlier_backup := folder / note.read_text()).is_dir() and earlier_backup != folder:
        return earlier_backup
    with explain_os_errors(data), lease(data) as url:
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
        parts = (file for part in (CREDENTIALS, ERASURES, FILES) for file in (data / part).rglob("*"))
        needed = int(row[0]) + sum(file.stat().st_size for file in parts if file.is_file()) + _SPARE
        free = shutil.disk_usage(data).free
        if free < needed:
            raise PostgresError(
                f"The tables are of an older version, and {data} has too little room for a backup before they change:"
                f" {needed // 1_000_000:,} MB are needed, {free // 1_000_000:,} MB are free. Nothing was changed. Make"
                " room, or back up elsewhere and start with MEMPLATFORM_BACKUP_BEFORE_UPGRADE=no."
            )
        folder.mkdir(mode=0o700, exist_ok=True)
        for unfinished in folder.glob("before-*.unfinished"):  # of a start that was killed
            shutil.rmtree(unfinished, ignore_errors=True)
        target = folder / f"before-upgrade-{now.astimezone(UTC):%Y-%m-%dT%H%M%SZ}"
        backup(data, target)
        note.write_text(target.name)
    for old in sorted(folder.glob("before-upgrade-*"))[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def upgrade_is_done(data: Path) -> None:
    """The tables are those of this version: the next change begins with a backup of its own."""
    (data / BACKUPS / BEGAN_WITH).unlink(missing_ok=True)


def restore(data: Path, source: Path) -> None:
    """Take a backup into a data folder without a database, whole or not at all, and compare it table by table.

    Raises PostgresError.
    """
    if not (source / DUMP).is_file() or not (source / ROLES).is_file():
        raise PostgresError(f"{source} is no whole backup: it needs {DUMP} and {ROLES}.")
    with explain_os_errors(data), lease(data) as url:
        place = locate(data)
        tables = _run(place, "psql", "--no-psqlrc", "--tuples-only", "--no-align", "-c", _COUNT).stdout
        if tables.strip() != "0":
            raise PostgresError(f"There is a database in {data} already; move the folder away, or name another.")
        # Roles that are there already are complaints, and no failure.
        _read(place, source / ROLES, "psql", "--quiet")
        words = ("--single-transaction", "--exit-on-error")
        if complaint := _read(place, source / DUMP, "pg_restore", *words):
            raise PostgresError(f"The backup could not be taken in: {complaint}")
        if (source / TABLES).exists():  # an older version wrote nothing down of what its tables held
            expected: Fingerprints = json.loads((source / TABLES).read_text())
            with psycopg.connect(url) as connection:
                current = fingerprints_of(connection)
            if differing := sorted(name for name in expected | current if expected.get(name) != current.get(name)):
                raise PostgresError(
                    f"The backup was taken in, but differs from what was backed up in: {', '.join(differing)}"
                )
        if (source / CREDENTIALS).exists():
            shutil.copytree(source / CREDENTIALS, data / CREDENTIALS, dirs_exist_ok=True)
        if (source / ERASURES).is_dir():
            shutil.copytree(source / ERASURES, data / ERASURES, dirs_exist_ok=True)
        if (source / FILES).is_dir():
            shutil.copytree(source / FILES, data / FILES, symlinks=True, dirs_exist_ok=True)


def verify(source: Path) -> str:
    """Try a backup: restore it into an empty folder beside it, compare every table, and remove that folder.

    Returns what was compared. Raises PostgresError.
    """
    if not (source / TABLES).is_file():
        raise PostgresError(f"{source} says not what its tables held: an older version made it.")
    with explain_os_errors(source.parent):
        trial = Path(tempfile.mkdtemp(prefix=f"{source.name}.trial-", dir=source.parent))
    try:
        restore(trial / "data", source)
    finally:
        down(trial / "data")
        place = locate(trial / "data")
        for folder in (place.home, place.sockets, trial):
            shutil.rmtree(folder, ignore_errors=True)
    rows = [int(count) for count, _sum in json.loads((source / TABLES).read_text()).values()]
    return f"{len(rows)} tables with {sum(rows)} rows are as they were backed up."


def _copy(source: str, target: str) -> None:
    """A file with its times, unless it is gone: files are written and renamed meanwhile."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target, follow_symlinks=False)


def _write(place: Place, file: Path, program: str, *words: str) -> None:
    file.touch(mode=0o600, exist_ok=False)
    with file.open("wb") as sink:
        process = _run(place, program, *words, sink=sink)
        os.fsync(sink.fileno())
    if process.returncode:
        raise PostgresError(f"The database could not be backed up: {_last_line(process.stderr)}")


def _read(place: Place, file: Path, program: str, *words: str) -> str | None:
    """The last line of what it complains about; None when it succeeded."""
    with file.open("rb") as source:
        process = _run(place, program, *words, source=source)
    return _last_line(process.stdout) if process.returncode else None


def _run(place: Place, program: str, *words: str, **streams: IO[bytes]) -> subprocess.CompletedProcess[str]:
    """Run one of PostgreSQL's programs as a client of the server."""
    database = [] if program == "pg_dumpall" else ["-d", "postgres"]
    return programs.run(
        place, program, *words, "-h", place.sockets, "-p", str(PORT), "-U", "postgres", *database, **streams
    )


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason was given"])[-1]
