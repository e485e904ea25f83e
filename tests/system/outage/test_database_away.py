"""PostgreSQL is killed in the middle of calls, with the web's workers, and comes back: nothing is lost or doubled."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import migrated, postgres_server
from tests.support.house import until
from tests.support.own_database import HouseApart, apart, database_goes_away

SETTINGS = {
    "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
    "MEMORY_CALLS_PER_MINUTE": "1000000",
}
TURN = {"address": {"platform": "cli"}, "user": "我搬到杭州了", "assistant": "Noted."}


@pytest.fixture(scope="module")
def house() -> Iterator[HouseApart]:
    top = Path(tempfile.mkdtemp(prefix="outage"))
    top.chmod(0o755)
    for name in ("data", "database"):
        (top / name).mkdir(mode=0o755)
    migrated.copy(migrated.cluster(postgres_server.DATA), top / "database" / "postgres")
    with apart(top / "data", top / "database", **SETTINGS) as house:
        yield house
    shutil.rmtree(top)


def test_everything_acknowledged_is_there_once_and_in_order(house: HouseApart) -> None:
    _talk, told = database_goes_away(house, clients=4, calls=200, away=3, accepted=10)
    assert (told.lost, told.twice, told.out_of_order) == ([], [], [])
    assert told.acknowledged >= 190 and told.degraded > 10
    assert told.slowest < 6  # no call waits for a connection of the pool (10 s)


def test_a_key_that_was_revoked_stays_out_and_the_files_answer(house: HouseApart) -> None:
    good, revoked = house.new_key("good"), house.new_key("revoked")
    for key in (good, revoked):
        assert house.post_with(key, "turns", TURN).status == 201
    house.ask("UPDATE memories_botkey SET revoked_at = now() WHERE label = 'revoked'")
    assert house.post_with(revoked, "turns", TURN).status == 401
    for _ in range(4):  # both workers know it by now
        assert house.post_with(good, "turns", TURN).status == 201
    house.kill_database()
    until(lambda: house.post_with(good, "turns", {**TURN, "user": "我家的猫叫年糕"}).json()["degraded"], 10)
    for _ in range(6):
        assert house.post_with(revoked, "turns", TURN).status == 503
    asked = {"address": {"platform": "cli"}, "message": "我家的猫叫什么？"}
    found = house.post_with(good, "recall", asked).json()
    assert found["degraded"] == ["database"] and "年糕" in found["memories"][0]["content"]
    assert house.post_with(good, "entries", {"scope": "main", "content": "x"}).status == 503
    assert house.status_of("/livez") == 200 and house.status_of("/readyz") == 503
    house.start_database()
    until(lambda: house.post_with(good, "recall", asked).json()["degraded"] == [], 30)
    until(lambda: house.waiting_calls() == 0, 90)
    assert house.ask("SELECT count(*) FROM sessions_app_sessionevent WHERE content LIKE '%%年糕%%'")[0] >= 1
