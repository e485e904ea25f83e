"""PostgreSQL is killed in the middle of calls, with the web's workers, and comes back: nothing is lost or doubled."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from memplatform import postgres
from tests.support import migrated, postgres_server
from tests.support.house import until
from tests.support.own_database import HouseApart, apart, database_goes_away

SETTINGS = {
    "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
    "MEMORY_CALLS_PER_MINUTE": "1000000",
}
ADDRESS = {"platform": "cli"}
TURN = {"address": ADDRESS, "user": "我搬到杭州了", "assistant": "Noted."}
RECALL = {"address": ADDRESS, "message": "which port does the staging database listen on?"}
SEARCH = {"address": ADDRESS, "query": "staging port"}
SAVE = {"address": ADDRESS, "content": "The staging port is 5433", "target": "daily"}


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
    _talk, calls_away = database_goes_away(house, clients=4, calls=200, away=3, accepted=10)
    assert (calls_away.lost, calls_away.twice, calls_away.out_of_order) == ([], [], [])
    assert calls_away.acknowledged >= 190 and calls_away.degraded > 10
    assert calls_away.slowest < 6  # no call waits for a connection of the pool (10 s)


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
    data = {"address": {"platform": "cli"}, "message": "我家的猫叫什么？"}
    answer = house.post_with(good, "recall", data).json()
    assert answer["degraded"] == ["database"] and "年糕" in answer["memories"][0]["content"]
    assert house.post_with(good, "entries", {"scope": "main", "content": "x"}).status == 503
    assert house.status_of("/livez") == 200 and house.status_of("/readyz") == 503
    house.start_database()
    until(lambda: house.post_with(good, "recall", data).json()["degraded"] == [], 30)
    until(lambda: house.waiting_calls() == 0, 90)
    assert house.ask("SELECT count(*) FROM sessions_app_sessionevent WHERE content LIKE '%%年糕%%'")[0] >= 1


def test_a_database_that_hangs_is_away_and_the_files_answer(house: HouseApart) -> None:
    key = house.new_key("hanging")
    data = {"recall": RECALL, "tools/memory_search": SEARCH, "tools/memory_save": SAVE, "turns": TURN}
    for _ in range(4):  # both workers know the key and the channel
        until(lambda: not any(house.post_with(key, path, body).json()["degraded"] for path, body in data.items()), 20)
    with ThreadPoolExecutor(8) as bots, house.hanging_database():
        answers = list(bots.map(lambda path: house.post_with(key, path, data[path]), 6 * list(data)))
    assert {answer.status for answer in answers} == {200, 201}  # each within the time a client waits
    assert [answer.json()["degraded"] for answer in answers] == [["database"]] * 24
    until(lambda: house.post_with(key, "recall", RECALL).json()["degraded"] == [], 10)
    until(lambda: house.waiting_calls() == 0, 15)


def test_a_statement_that_takes_its_time_is_waited_for(house: HouseApart) -> None:
    key = house.new_key("patient")
    assert house.post_with(key, "turns", TURN).status == 201
    with psycopg.connect(postgres.url(house.database)) as other, ThreadPoolExecutor(1) as bots:
        other.execute("LOCK TABLE memories_entry IN ACCESS EXCLUSIVE MODE")
        answer = bots.submit(house.post_with, key, "recall", RECALL)
        time.sleep(4)  # longer than a server may be silent
        assert not answer.done()
        other.rollback()
        assert answer.result().json()["degraded"] == []


def test_what_waits_is_applied_within_seconds_of_the_way_back(house: HouseApart) -> None:
    """The queue takes its time: it is not asked."""
    key, address = house.new_key("back"), {"platform": "telegram", "account": "way", "peer": "u1", "chat": "c1"}
    turn = {**TURN, "address": address}
    assert house.post_with(key, "turns", turn).json()["degraded"] == []
    house.ask("UPDATE channels_app_channel SET path_mode = 'legacy_only' WHERE account = 'way'")
    assert house.post_with(key, "turns", turn).json()["degraded"] == ["files"]
    house.ask("UPDATE channels_app_channel SET path_mode = 'hooks_only' WHERE account = 'way'")
    until(lambda: house.waiting_calls() == 0, 15)
    house.kill_database()
    until(lambda: house.post_with(key, "turns", turn).json()["degraded"], 10)
    time.sleep(12)  # as long as the queue's process takes to give up
    house.start_database()
    until(lambda: house.waiting_calls() == 0, 15)
