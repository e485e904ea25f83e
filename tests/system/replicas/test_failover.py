"""A server that follows takes over from the one it followed: those who wait for notices wait at the new one."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from memories.index.search_rows import CHANNEL
from memplatform import postgres
from memplatform.postgres import place
from memplatform.postgres.server import find_postmaster
from tests import ROOT
from tests.support import migrated, postgres_server
from tests.support.house import until
from tests.support.standby import Standby

LISTENING = "SELECT DISTINCT query FROM pg_stat_activity WHERE query LIKE 'LISTEN%' ORDER BY query"


@pytest.fixture
def top() -> Iterator[Path]:
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="failover")))
    top.chmod(0o755)
    for name in ("data", "database", "standby"):
        (top / name).mkdir(mode=0o755)
    migrated.copy(migrated.cluster(postgres_server.DATA), top / "database" / "postgres")
    postgres.up(top / "database", postgres.THROWAWAY)
    yield top
    postgres.down(top / "database")
    shutil.rmtree(top)


def listening(data: Path) -> list[str]:
    """Who waits for notices at the server in this folder."""
    with psycopg.connect(postgres.url(data), autocommit=True) as connection:
        return [row[0] for row in connection.execute(LISTENING).fetchall()]


def test_the_embedder_waits_for_notices_at_the_server_that_took_over(top: Path) -> None:
    primary, standby = top / "database", Standby(top / "database", top / "standby")
    sockets = ",".join(quote(str(place.locate(folder).sockets), safe="") for folder in (primary, standby.folder))
    url = f"postgresql://postgres@/postgres?host={sockets}&port={place.PORT},{place.PORT}&connect_timeout=2"
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DATABASE_DIRECT_URL": url,  # with an address of its own the connection that waits does nothing else
        "MEMPLATFORM_DATA": str(top / "data"),
        "MEMPLATFORM_PROCESS": "embedder",
        "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
    }
    embedder = subprocess.Popen([sys.executable, "manage.py", "embedder"], cwd=ROOT, env=environment)
    try:
        until(lambda: listening(primary) == [f"LISTEN {CHANNEL}"], 120)
        server = find_postmaster(place.locate(primary).cluster)
        assert server
        os.kill(server.pid, signal.SIGKILL)
        assert standby.ask("SELECT pg_promote()") == [True]
        until(lambda: listening(standby.folder) == [f"LISTEN {CHANNEL}"], 120)
        assert embedder.poll() is None
    finally:
        embedder.kill()
        embedder.wait()
        standby.end()
