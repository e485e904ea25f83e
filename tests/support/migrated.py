"""A database with all its tables, made once for each state of the migrations and copied for every run.

Each of the two processes of a run would spend ten seconds on migrations, and so would every run of a single file.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg import sql

from memplatform import postgres
from tests import ROOT

#: What decides on the tables, and on the rows that migrations write.
#: `MEMPLATFORM_TEST_PARTITIONS=4 pytest …` runs tests as they are on tables in partitions (`manage.py partitions`).
PARTITIONS = os.environ.get("MEMPLATFORM_TEST_PARTITIONS", "")
SOURCES = ("requirements.txt", "*/migrations/**/*.py", "*/migrations/**/*.sql", "*/models.py", "*/models/*.py")


def pattern(data: Path) -> str:
    """The name of the database to copy, on the embedded server of this folder."""
    kind = f"partitioned{PARTITIONS}_" if PARTITIONS else "pattern_"
    name = f"{kind}{_state()}"
    with (data / "pattern.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second finds it made
        with psycopg.connect(postgres.url(data), autocommit=True) as connection:
            results = {row[0] for row in connection.execute("SELECT datname FROM pg_database")}
            if name not in results:
                _make(connection, name, [old for old in results if old.startswith(kind)], postgres.url(data))
    return name


def cluster(data: Path) -> Path:
    """A server's folder to copy, with all tables, for platforms that have to start but not to migrate."""
    kept = data / f"clusters{PARTITIONS}" / _state()
    with (data / "clusters.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            shutil.rmtree(kept.parent, ignore_errors=True)
            _make_cluster(kept)
    return kept


def _make_cluster(path: Path) -> None:
    with TemporaryDirectory(prefix="cluster") as top:
        Path(top).chmod(0o755)
        server = Path(top) / "data"
        postgres.up(server, postgres.THROWAWAY)
        try:
            _migrate(postgres.url(server))
        finally:
            postgres.down(server)
        draft = path.with_name("draft")
        draft.parent.mkdir()
        copy(server / "postgres", draft)
        draft.rename(path)


def copy(source: Path, target: Path) -> None:
    """A stopped server's folder, with owners and modes."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def _state() -> str:
    digest = hashlib.sha256()
    for file in sorted(file for sources in SOURCES for file in ROOT.glob(sources)):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _migrate(url: str) -> None:
    commands = [["migrate", "--verbosity", "0"]] + (
        [["partitions", "create", "--of", PARTITIONS]] if PARTITIONS else []
    )
    for command in commands:
        subprocess.run(
            [sys.executable, "manage.py", *command], cwd=ROOT, env={**os.environ, "DATABASE_URL": url}, check=True
        )


def _make(connection: "psycopg.Connection[tuple[str]]", name: str, old: list[str], url: str) -> None:
    draft = "pattern_draft"
    for item in {draft, *old}:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(item)))
    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(draft)))
    _migrate(url.replace("/postgres?", f"/{draft}?"))
    renamed = sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(draft), sql.Identifier(name))
    connection.execute(renamed)
