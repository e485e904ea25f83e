"""`pytest -p tests.support.behind_pooler tests/memories/api` runs tests as they are, through a real PgBouncer.

The database of the run is made and dropped on the server itself; between the two every statement goes through the
pooler, in transaction mode, as those of a process with `DATABASE_DIRECT_URL` do. At the end it is said how many
transactions came through.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.test import override_settings

from tests.support import postgres_server
from tests.support.pooler import Pooler

_THROUGH = {"ENGINE": "memories.offline.postgresql", "HOST": "127.0.0.1", "USER": "postgres", "PASSWORD": "any"}
_passed: list[str] = []


@pytest.fixture(scope="session", autouse=True)
def behind_pooler(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """From the making of the database to its end."""
    folder = Path(tempfile.mkdtemp(prefix="pooler"))
    folder.chmod(0o755)
    pooler = Pooler(postgres_server.DATA, folder / "pooler")
    before = dict(connections.databases["default"])
    wall = {"role": "none", "memplatform.workspaces": "", "memplatform.actor": ""}
    with django_db_blocker.unblock(), override_settings(DATABASE_IS_POOLED=True, DATABASE_TRANSACTION_SETTINGS=wall):
        connections.databases["direct"] = before
        _replace(before | _THROUGH | {"PORT": str(pooler.port), "DISABLE_SERVER_SIDE_CURSORS": True})
        yield
        _passed.append(_count(pooler, settings.DATABASES["default"]["NAME"]))
        pooler.end()
        _replace(before)
        del connections.databases["direct"]
    shutil.rmtree(folder)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Who reads the result sees that it did not go past the pooler."""
    terminalreporter.write_line(f"through PgBouncer: {', '.join(_passed) or 'nothing'}")


def _replace(database: dict[str, Any]) -> None:
    """Threads make their connections from the settings; that of this thread is made anew."""
    connections["default"].close()
    connections.databases["default"] = database
    del connections["default"]


def _count(pooler: Pooler, name: str) -> str:
    console = f"host=127.0.0.1 port={pooler.port} user=postgres password=any dbname=pgbouncer"
    with psycopg.connect(console, autocommit=True, prepare_threshold=None) as raw:
        cursor = psycopg.ClientCursor(raw).execute("SHOW STATS")
        assert cursor.description
        columns = [column.name for column in cursor.description]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    row = next((row for row in rows if row["database"] == name), {})
    return f"{row.get('total_xact_count', 0)} transactions, {row.get('total_query_count', 0)} statements"
