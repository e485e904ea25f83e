"""Behind PgBouncer in transaction mode: everything works, and nobody sees what was set for another."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memplatform import postgres
from tests import ROOT
from tests.support.house import House, free_port, until
from tests.support.own_database import ask, migrated_database
from tests.support.pooler import Pooler

SETTINGS = {"MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic", "MEMORY_CALLS_PER_MINUTE": "1000000"}


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    with migrated_database("pooled", "data") as top:
        yield top


@pytest.fixture(scope="module")
def pooler(top: Path) -> Iterator[Pooler]:
    pooler = Pooler(top / "database", top / "pooler")
    yield pooler
    pooler.end()


@pytest.fixture(scope="module")
def house(top: Path, pooler: Pooler) -> Iterator[House]:
    environment = {"DATABASE_URL": pooler.url(), "DATABASE_DIRECT_URL": postgres.url(top / "database"), **SETTINGS}
    house = House(top / "data", free_port(), **environment)
    house.ask = partial(ask, top / "database")  # type: ignore[method-assign]
    yield house.greets()
    house.end(signal.SIGTERM)


def turn(peer: str, text: str) -> dict[str, Any]:
    return {"address": address(peer), "user": text, "assistant": "Noted."}


def address(peer: str) -> dict[str, str]:
    return {"platform": "telegram", "account": "bot", "peer": peer, "chat": f"chat of {peer}"}


def test_a_platform_behind_it_becomes_ready_and_remembers(house: House) -> None:
    assert house.status_of("/readyz") == 200, house.output
    assert house.post("turns", turn("ada", "I moved to Hangzhou")).status == 201
    answer = house.post("recall", {"address": address("ada"), "message": "did I move to Hangzhou?"}).json()
    assert "Hangzhou" in str(answer["memories"]) and "database" not in answer["degraded"]
    until(lambda: house.ask("SELECT count(*) FROM memories_indexqueueitem") == [0], 30)  # it was woken past the pooler


def test_its_processes_come_through_it_and_only_what_listens_or_locks_goes_past(top: Path, house: House) -> None:
    until(lambda: house.pids("worker") and house.pids("channels"), 30)
    direct = "SELECT DISTINCT usename FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'"
    assert set(ask(top / "database", direct)) <= {"postgres", "memplatform_embedder", "memplatform_channels"}
    assert ask(top / "database", "SELECT count(*) FROM pg_stat_activity WHERE usename = 'memplatform_web'")[0] <= 2
    assert ask(top / "database", "SELECT count(*) FROM pg_stat_activity WHERE usename = 'memplatform_worker'")[0] <= 2


def test_many_bots_at_a_time_share_its_few_connections(house: House) -> None:
    def talk(number: int) -> list[int]:
        lines = [
            house.post("turns", turn(f"p{number}", f"My lucky number is {number + 100}.{n}")).status for n in range(5)
        ]
        asked = house.post("recall", {"address": address(f"p{number}"), "message": "what is my lucky number?"})
        others = [other for other in range(12) if other != number and f"is {other + 100}." in asked.body.decode()]
        assert not others, (number, asked.body)
        return [*lines, asked.status]

    with ThreadPoolExecutor(12) as threads:
        statuses = [status for many in threads.map(talk, range(12)) for status in many]
    assert set(statuses) == {200, 201}, statuses


def test_what_a_bot_changes_is_recorded_as_its_own(top: Path, house: House) -> None:
    saved = house.post("entries", {"address": address("ada"), "content": "The staging port is 5433", "type": "fact"})
    assert saved.status == 201, saved.body
    actors = "SELECT DISTINCT actor FROM memories_change WHERE table_name = 'memories_entry'"
    assert set(ask(top / "database", actors)) == {"bot:demo"}


@pytest.fixture(scope="module")
def made(top: Path, house: House) -> str:
    return run(["make"], {"DATABASE_URL": postgres.url(top / "database"), "MEMPLATFORM_PROCESS": ""})


def run(words: list[str], environment: dict[str, str]) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "tests.system.pooled.walled", *words],
        cwd=ROOT,
        env={**os.environ, **SETTINGS, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().splitlines()[-1]


def read(top: Path, pooler: Pooler, made: str, seed: int, **more: str) -> list[str]:
    found = run(
        ["read", str(seed)],
        {
            "DATABASE_URL": pooler.url(),
            "MEMPLATFORM_WEB_DATABASE_URL": pooler.url("memplatform_web"),
            "DATABASE_DIRECT_URL": postgres.url(top / "database"),
            "MEMPLATFORM_DATA": str(top / "data"),
            "MEMPLATFORM_PROCESS": "web",
            "MADE": made,
            **more,
        },
    )
    strange: list[str] = json.loads(found)
    return strange


@pytest.fixture
def password(top: Path) -> Iterator[str]:
    """That of-the-web's role, which is asked for it by SCRAM as long as the test lasts."""
    (path,) = ask(top / "database", "SHOW hba_file")
    before = Path(path).read_text()
    Path(path).write_text(f"local all memplatform_web scram-sha-256\n{before}")
    ask(top / "database", "ALTER ROLE memplatform_web PASSWORD 'of-the-web'")
    ask(top / "database", "SELECT pg_reload_conf()")
    yield "of-the-web"
    Path(path).write_text(before)
    ask(top / "database", "SELECT pg_reload_conf()")


def test_interleaved_transactions_of_two_workspaces_see_their_own(top: Path, made: str) -> None:
    pooler = Pooler(top / "database", top / "of-one", size=1)
    try:
        assert read(top, pooler, made, 1) == []
    finally:
        pooler.end()


def test_they_do_where_each_side_asks_for_a_password(top: Path, made: str, password: str) -> None:
    pooler = Pooler(top / "database", top / "of-two", size=2, password=password)
    try:
        with pytest.raises(psycopg.OperationalError, match="SASL authentication failed"):
            psycopg.connect(f"postgresql://memplatform_web:{password[::-1]}@127.0.0.1:{pooler.port}/postgres")
        assert read(top, pooler, made, 2) == []
    finally:
        pooler.end()


def test_what_is_set_for_a_session_there_would_be_seen_by_others(top: Path, pooler: Pooler, made: str) -> None:
    """The test above can fail."""
    assert read(top, pooler, made, 1, CARELESS="yes")
