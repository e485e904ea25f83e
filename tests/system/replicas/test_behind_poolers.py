"""Replicas where PgBouncer in transaction mode stands before the database and before its replica."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memplatform import postgres
from tests.support import migrated, postgres_server
from tests.support.house import free_port, until
from tests.support.own_database import HouseApart
from tests.support.pooler import Pooler
from tests.support.standby import Standby
from tests.system.replicas.test_replicas import SETTINGS, asked_until_fresh, asks, lives, reads_of


@pytest.fixture
def house() -> Iterator[HouseApart]:
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="pooled-replica")))
    top.chmod(0o755)
    with ExitStack() as held:
        held.callback(shutil.rmtree, top)
        for name in ("data", "database", "standby"):
            (top / name).mkdir(mode=0o755)
        migrated.copy(migrated.cluster(postgres_server.DATA), top / "database" / "postgres")
        postgres.up(top / "database", postgres.THROWAWAY)
        held.callback(postgres.down, top / "database")
        standby = Standby(top / "database", top / "standby")
        held.callback(standby.end)
        poolers = [Pooler(top / name, top / f"pooler-of-{name}") for name in ("database", "standby")]
        for pooler in poolers:
            held.callback(pooler.end)
        addresses = {
            "DATABASE_URL": poolers[0].url(),
            "DATABASE_DIRECT_URL": postgres.url(top / "database"),
            "DATABASE_REPLICA_URL": poolers[1].url(),
        }
        house = PooledHouse(top / "data", top / "database", **SETTINGS, **addresses)
        held.callback(house.end, signal.SIGTERM)
        yield house.greets()  # type: ignore[misc]


class PooledHouse(HouseApart):
    """Reaches its database through a pooler."""

    def __init__(self, data: Path, database: Path, /, **more: str) -> None:
        self.database = database
        super(HouseApart, self).__init__(data, free_port(), **more)


def test_what_was_written_is_read_and_an_outage_is_told(house: HouseApart) -> None:
    for number in range(12):
        who, town = f"Qora{number}", f"Bora{number}ville"
        assert house.post("turns", lives("ada", who, town)).status == 201
        for path in ("recall", "context"):
            assert town in house.post(path, asks("ada", who)).body.decode()
    until(lambda: house.post("recall", asks("ada", "Qora7")).status == 200 and reads_of(house, "replica") > 5, 20)
    house.kill_database()
    for _ in range(6):
        answer = house.post("recall", asks("ada", "Qora7"))
        assert answer.json()["stale"] is True and "Bora7ville" in answer.body.decode()
        assert house.post("turns", lives("ada", "Ulrich", "Wuhan")).status == 503
    house.start_database()
    until(lambda: house.post("turns", lives("ada", "Ulrich", "Wuhan")).status == 201, 40)
    assert "Wuhan" in asked_until_fresh(house, asks("ada", "Ulrich")).body.decode()
