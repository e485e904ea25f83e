"""A server that follows takes over from the one it followed: those who wait for notices wait at the new one."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from memories.index.search_rows import CHANNEL
from memplatform import postgres
from memplatform.postgres import place
from memplatform.postgres.server import find_postmaster
from tests.support import migrated, postgres_server
from tests.support.house import House, free_port, until
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


def test_who_waits_for_notices_waits_at_the_server_that_took_over(top: Path) -> None:
    standby = Standby(top / "database", top / "standby")
    sockets = ",".join(quote(str(place.locate(top / name).sockets), safe="") for name in ("database", "standby"))
    url = f"postgresql://postgres@/postgres?host={sockets}&port={place.PORT},{place.PORT}&connect_timeout=2"
    given = {"MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic"}
    # With an address of its own for it a connection that waits does nothing else, so that it is seen
    house = House(top / "data", free_port(), DATABASE_URL=url, DATABASE_DIRECT_URL=url, **given).greets()
    try:
        assert standby.ask(LISTENING) == []
        server = find_postmaster(place.locate(top / "database").cluster)
        assert server
        os.kill(server.pid, signal.SIGKILL)
        assert standby.ask("SELECT pg_promote()") == [True]
        until(lambda: standby.ask(LISTENING) == [f"LISTEN {CHANNEL}"], 120)
        address = {"platform": "telegram", "account": "bot", "peer": "ann", "chat": "chat of ann"}
        turn = {"address": address, "user": "My cousin Ottilie lives in Ghent", "assistant": "Noted."}
        until(lambda: house.post("turns", turn, **{"Idempotency-Key": "the turn after it"}).status == 201, 60)
        assert standby.ask("SELECT count(*) FROM memories_entry WHERE content LIKE '%Ottilie%'") == [1]
    finally:
        house.end(signal.SIGTERM)
        standby.end()
