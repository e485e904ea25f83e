"""Recalls are read from a server that follows the database, and never without what the asker wrote."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memplatform import postgres
from tests import ROOT
from tests.support.house import Answer, until
from tests.support.own_database import HouseApart, hanging, migrated_database
from tests.support.standby import Standby

METRICS_KEY = "of these tests"
SETTINGS = {
    "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
    "MEMORY_CALLS_PER_MINUTE": "1000000",
    "MEMORY_REPLICA_SECONDS": "2",
    "MEMPLATFORM_METRICS_KEY": METRICS_KEY,
}
#: So much later than it is sent to it a change is seen on the replica.
DELAY = 0.4


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    with migrated_database("replica", "data", "standby") as top:
        yield top


@pytest.fixture(scope="module")
def standby(top: Path) -> Iterator[Standby]:
    standby = Standby(top / "database", top / "standby", delay=f"{DELAY}s")
    yield standby
    standby.end()


@pytest.fixture(scope="module")
def house(top: Path, standby: Standby) -> Iterator[HouseApart]:
    house = HouseApart(top / "data", top / "database", DATABASE_REPLICA_URL=standby.url, **SETTINGS)
    house.greets()
    assert house.post("turns", lives("ada", "Quentin", "Hangzhou")).status == 201
    yield house
    house.end(signal.SIGTERM)


#: Prints the keys of a bot in each of these workspaces.
_KEYS = """
import json
from memories.choices import Permission
from memories.models import Bot, BotKey, Workspace
keys = {}
for name in %r:
    bot = Bot.objects.create(workspace=Workspace.objects.create(name=name), name="bot")
    keys[name] = BotKey.issue(bot, permissions=list(Permission.values), label=name)[1]
print(json.dumps(keys))
"""
WORKSPACES = ("w0", "w1", "w2", "w3", "north", "south", "quiet")


@pytest.fixture(scope="module")
def keys(top: Path, house: HouseApart) -> dict[str, str]:
    """Tokens of bots, each in a workspace of its own."""
    environment = {**os.environ, "DATABASE_URL": postgres.url(top / "database"), "MEMPLATFORM_DATA": str(top / "data")}
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", _KEYS % (WORKSPACES,)]
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    tokens: dict[str, str] = json.loads(made.stdout.strip().splitlines()[-1])
    return tokens


def address(peer: str) -> dict[str, str]:
    return {"platform": "telegram", "account": "bot", "peer": peer, "chat": f"chat of {peer}"}


def lives(peer: str, who: str, town: str) -> dict[str, Any]:
    return {"address": address(peer), "user": f"My cousin {who} lives in {town}", "assistant": "Noted."}


def asks(peer: str, who: str) -> dict[str, Any]:
    return {"address": address(peer), "message": f"Where does {who} live?"}


def reads(house: HouseApart) -> dict[str, float]:
    """How many calls were read from what, in all workers of the web."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{house.port}/metrics", headers={"Authorization": f"Bearer {METRICS_KEY}"}
    )
    lines = house.fetch(request).body.decode().splitlines()
    prefix = "memplatform_recalls_read_total{server="
    rows = [line.removeprefix(prefix).split("} ") for line in lines if line.startswith(prefix)]
    return {"primary": 0.0, "replica": 0.0} | {name.strip('"'): float(count) for name, count in rows}


def reads_of(house: HouseApart, server: str) -> float:
    return reads(house)[server]


def asked_until_read_from(house: HouseApart, server: str, question: dict[str, Any], seconds: float = 20) -> None:
    """Ask until a question is read from there; no answer of them all fails."""
    before = reads_of(house, server)

    def is_read() -> bool:
        assert house.post("recall", question).status == 200
        time.sleep(0.1)
        return reads_of(house, server) > before

    until(is_read, seconds)


def asked_until_fresh(house: HouseApart, question: dict[str, Any]) -> Answer:
    """Ask until no web process answers from a replica alone any more: each finds out for itself."""
    answers: list[Answer] = []

    def are_fresh() -> bool:
        answers[:] = [house.post("recall", question) for _ in range(12)]
        return not any("stale" in answer.json() for answer in answers)

    until(are_fresh, 20)
    return answers[-1]


def test_what_nobody_has_just_written_is_read_from_the_replica(house: HouseApart) -> None:
    asked_until_read_from(house, "replica", asks("ada", "Quentin"))
    time.sleep(2 * DELAY)
    answers = [house.post("recall", asks("ada", "Quentin")).json() for _ in range(10)]
    assert all("Hangzhou" in str(answer["memories"]) and answer["recall_id"] for answer in answers)
    assert not any("stale" in answer for answer in answers)


def test_a_bot_always_reads_what_it_wrote(house: HouseApart, keys: dict[str, str]) -> None:
    """Several bots in workspaces of their own write and read in turns, faster and slower than the replica follows."""
    before, missed = reads(house), list[str]()

    def talk(name: str) -> None:
        chance = random.Random(name)
        for number in range(25):
            who, town = f"{name.capitalize()}qo{number}", f"{name.capitalize()}ville{number}"
            assert house.post_with(keys[name], "turns", lives(name, who, town)).status == 201
            for path in ("recall", "context", "tools/memory_search")[: chance.randint(1, 3)]:
                question = asks(name, who)
                if path == "tools/memory_search":
                    question = {"address": question["address"], "query": question["message"]}
                answer = house.post_with(keys[name], path, question)
                assert answer.status == 200, answer.body
                if town not in answer.body.decode():
                    missed.append(f"{path}: {town}")
                time.sleep(chance.choice([0, 0, DELAY / 2, 2 * DELAY]))

    with ThreadPoolExecutor(4) as bots:
        list(bots.map(talk, WORKSPACES[:4]))
    after = reads(house)
    assert missed == []
    assert after["replica"] > before["replica"] + 10 and after["primary"] > before["primary"] + 10, (before, after)


def test_the_wall_between_workspaces_holds_on_the_replica(house: HouseApart, keys: dict[str, str]) -> None:
    other = {"north": "southtown", "south": "northtown"}
    for name in other:
        assert house.post_with(keys[name], "turns", lives("eve", "Quentin", f"{name}town")).status == 201
    time.sleep(2.5 * DELAY)
    before, chance = reads_of(house, "replica"), random.Random(7)

    def ask(name: str) -> tuple[str, str]:
        return name, house.post_with(keys[name], "recall", asks("eve", "Quentin") | {"cache": False}).body.decode()

    with ThreadPoolExecutor(8) as bots:
        answers = list(bots.map(ask, chance.choices(list(other), k=120)))
    assert all(f"{name}town" in body and other[name] not in body for name, body in answers)
    assert reads_of(house, "replica") > before + 50


def test_a_careless_question_to_the_replica_finds_its_own_workspace_alone(
    top: Path, house: HouseApart, standby: Standby
) -> None:
    environment = {
        **{**os.environ, **SETTINGS, "DATABASE_URL": postgres.url(top / "database"), "MEMPLATFORM_PROCESS": "web"},
        **{"MEMPLATFORM_DATA": str(top / "data"), "DATABASE_REPLICA_URL": standby.url},
        "DJANGO_SETTINGS_MODULE": "memplatform.settings",
    }
    command = [sys.executable, "-m", "tests.system.replicas.walled"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    strange, rows = json.loads(done.stdout.strip().splitlines()[-1])
    assert strange == [] and rows > 100


def test_a_replica_that_falls_behind_is_left_out_and_taken_back(
    house: HouseApart, standby: Standby, keys: dict[str, str]
) -> None:
    asked_until_read_from(house, "replica", asks("ada", "Quentin"))
    standby.ask("SELECT pg_wal_replay_pause()")
    try:
        assert house.post("turns", lives("bob", "Rupert", "Xian")).status == 201
        end = time.monotonic() + 3.5
        while time.monotonic() < end:  # it falls behind while others are served
            assert "Xian" in house.post("recall", asks("bob", "Rupert")).body.decode()
            time.sleep(0.1)
        before = reads_of(house, "replica")
        for _ in range(10):
            assert house.post_with(keys["quiet"], "recall", asks("ada", "Quentin")).status == 200
        assert reads_of(house, "replica") == before
    finally:
        standby.ask("SELECT pg_wal_replay_resume()")
    asked_until_read_from(house, "replica", asks("bob", "Rupert"))


def test_while_the_database_is_away_a_replica_answers_and_says_so(house: HouseApart, standby: Standby) -> None:
    house.post("turns", lives("ada", "Tobias", "Chengdu"))
    unseen, revoked = house.new_key("unseen"), house.new_key("revoked")
    house.ask("UPDATE memories_botkey SET revoked_at = now() WHERE label = 'revoked'")
    time.sleep(3 * DELAY)
    house.kill_database()
    try:
        begun, slowest = time.monotonic(), 0.0
        while time.monotonic() < begun + 4:
            asked = time.monotonic()
            answer = house.post("recall", asks("ada", "Tobias"))
            slowest = max(slowest, time.monotonic() - asked)
            body = answer.json()
            assert answer.status == 200 and "Chengdu" in str(body["memories"]), body
            assert body["stale"] is True and body["replayed_at"] and "stale" in body["degraded"]
            assert body["recall_id"] is None  # a trace needs a database that takes it
            time.sleep(0.05)
        assert slowest < 2
        context = house.post("context", asks("ada", "Tobias"))
        assert context.json()["stale"] is True and "Chengdu" in context.body.decode()
        assert refused(house, "turns", lives("ada", "Ulrich", "Wuhan"))
        assert refused(house, "entries", {"scope": "main", "content": "x"})
        assert house.post_with(unseen, "recall", asks("ada", "Tobias")).json()["stale"] is True
        assert house.post_with(revoked, "recall", asks("ada", "Tobias")).status == 401
        assert house.waiting_calls() == 0
    finally:
        house.start_database()
    until(lambda: house.post("turns", lives("ada", "Ulrich", "Wuhan")).status == 201, 20)
    answer = asked_until_fresh(house, asks("ada", "Ulrich")).json()
    assert "Wuhan" in str(answer["memories"]) and answer["degraded"] == []
    asked_until_read_from(house, "replica", asks("ada", "Tobias"))


def test_a_database_that_hangs_keeps_no_recall_waiting(house: HouseApart, top: Path) -> None:
    asked_until_read_from(house, "replica", asks("ada", "Quentin"))
    with hanging(top / "database"), ThreadPoolExecutor(4) as bots:
        begun = time.monotonic()
        answers = list(bots.map(lambda _n: house.post("recall", asks("ada", "Quentin")), range(12)))
        took = time.monotonic() - begun
    assert {answer.status for answer in answers} == {200}
    assert all("Hangzhou" in answer.body.decode() for answer in answers) and took < 6
    asked_until_fresh(house, asks("ada", "Quentin"))


def test_a_database_that_is_slow_keeps_no_recall_waiting_and_takes_what_is_written(
    house: HouseApart, top: Path
) -> None:
    """A server that answers every question after a second is not away."""
    asked_until_read_from(house, "replica", asks("ada", "Quentin"))
    for town in ("Nanjing", "Wuxi", "Ningbo"):
        with ThreadPoolExecutor(1) as bot:
            with hanging(top / "database"):
                writes = bot.submit(house.post, "turns", lives("cyd", town, town))
                time.sleep(0.75)  # until it is seen by a web process that has just asked
                answer, took = timed(house, asks("ada", "Quentin"))
            assert answer.status == 200 and answer.json()["stale"] is True and took < 0.6
            assert "Hangzhou" in answer.body.decode()
            assert writes.result().status == 201
        asked_until_fresh(house, asks("ada", "Quentin"))


def test_a_replica_that_hangs_or_is_gone_keeps_no_recall_waiting(house: HouseApart, standby: Standby) -> None:
    asked_until_read_from(house, "replica", asks("ada", "Quentin"))
    with hanging(standby.folder), ThreadPoolExecutor(4) as bots:
        answers = list(bots.map(lambda _n: timed(house, asks("ada", "Quentin")), range(12)))
    assert all(answer.status == 200 and "Hangzhou" in answer.body.decode() for answer, _took in answers)
    assert max(took for _answer, took in answers) < 4, [took for _answer, took in answers]
    standby.stop()
    try:
        for _ in range(10):
            answer, took = timed(house, asks("ada", "Quentin"))
            assert answer.status == 200 and "stale" not in answer.json() and took < 2
    finally:
        standby.start()
    asked_until_read_from(house, "replica", asks("ada", "Quentin"))


def timed(house: HouseApart, question: dict[str, Any]) -> tuple[Answer, float]:
    begun = time.monotonic()
    answer = house.post("recall", question)
    return answer, time.monotonic() - begun


def refused(house: HouseApart, path: str, body: dict[str, Any]) -> bool:
    """Whether a write is refused for a while, and says for how long."""
    key = (house.data / "credentials" / "bot-key").read_text()
    request = urllib.request.Request(
        f"http://127.0.0.1:{house.port}/api/v1/{path}",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except urllib.error.HTTPError as error:
        with error:
            return error.code == 503 and int(error.headers["Retry-After"]) > 0
    return False
