"""A database with all its tables, made once for each state of the migrations and copied for every run.

Each of the two processes of a run would spend ten seconds on migrations, and so would every run of a single file.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import psycopg
from psycopg import sql

from memplatform import postgres
from tests import ROOT

#: What decides on the tables, and on the rows that migrations write.
SOURCES = ("requirements.txt", "*/migrations/**/*.py", "*/models.py", "*/models/*.py")


def pattern(data: Path) -> str:
    """The name of the database to copy, on the embedded server of this folder."""
    digest = hashlib.sha256()
    for file in sorted(file for sources in SOURCES for file in ROOT.glob(sources)):
        digest.update(file.read_bytes())
    name = f"pattern_{digest.hexdigest()[:16]}"
    with (data / "pattern.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second finds it made
        with psycopg.connect(postgres.url(data), autocommit=True) as connection:
            known = {row[0] for row in connection.execute("SELECT datname FROM pg_database")}
            if name not in known:
                _make(connection, name, [old for old in known if old.startswith("pattern_")], postgres.url(data))
    return name


def _make(connection: "psycopg.Connection[tuple[str]]", name: str, old: list[str], url: str) -> None:
    draft = "pattern_draft"
    for one in {draft, *old}:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(one)))
    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(draft)))
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url.replace("/postgres?", f"/{draft}?")},
        check=True,
    )
    renamed = sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(draft), sql.Identifier(name))
    connection.execute(renamed)
