"""Parts of a running platform are killed, its disk fills, its clock moves: what it acknowledged, it keeps whole."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from memplatform import postgres
from memplatform.postgres import postmaster
from tests.house import ROOT, Answer, House, free_port, until
from tests.load import Load, turn

SETTINGS = {
    "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
    "MEMPLATFORM_TEST_CLOCK": "1",
    "MEMORY_CALLS_PER_MINUTE": "1000000",
}
#: Only root may mount a small disk to fill; for everybody else, and for root, a full disk is also played by the
#: database's own error.
MAY_MOUNT = os.geteuid() == 0 and sys.platform == "linux"
DISK = "256m"


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """On a small disk of its own where that is possible."""
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="faults")))
    if mounted := MAY_MOUNT and _mount(top, f"size={DISK}") == 0:
        assert os.path.ismount(top)
    top.chmod(0o755)
    (top / "data").mkdir(mode=0o755)
    yield top / "data"
    postgres.down(top / "data")
    if mounted:
        subprocess.run(["umount", str(top)], check=True)
    shutil.rmtree(top)


def _mount(folder: Path, options: str) -> int:
    return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True).returncode


@pytest.fixture(scope="module")
def house(data: Path) -> Iterator[House]:
    house = House(data, free_port(), **SETTINGS).greets()
    yield house
    house.end(signal.SIGTERM)


@contextmanager
def holding(house: House, table: str) -> Iterator[None]:
    """Nobody can write into this table meanwhile: whoever tries is in the middle of it."""
    with psycopg.connect(postgres.url(house.data)) as connection:
        connection.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(sql.Identifier(table)))
        yield


def waiting_to_write(house: House, table: str) -> int:
    return int(house.ask("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::text::regclass", table)[0])


def assert_kept(load: Load) -> None:
    """What was acknowledged is there once; of everything else all or nothing."""
    stored = load.stored()
    assert load.acknowledged
    assert [sent.said for sent in load.acknowledged if stored[sent.said] != (1, 1)] == []
    assert {stored[sent.said] for sent in load.refused} <= {(0, 0), (1, 1)}


def assert_told_plainly(answers: list[Answer]) -> None:
    assert {answer.status for answer in answers} == {503}
    for answer in answers:
        (error,) = answer.json()["errors"]
        assert (answer.json()["type"], error["code"]) == ("server_error", "database_unavailable")


# the web


def test_a_web_worker_killed_in_a_write_leaves_nothing_of_it_and_it_may_be_sent_again(house: House) -> None:
    load = Load(house, seed=1)
    load.say("before", "an earlier turn that was acknowledged")
    with load.running(writers=1):
        until(lambda: load.acknowledged[1:], 20)
        with holding(house, "memories_staleentry"):  # the last it writes: events and entries are written by then
            until(lambda: waiting_to_write(house, "memories_staleentry"), 20)
            for pid in house.pids("web"):
                os.kill(pid, signal.SIGKILL)
            until(lambda: load.refused, 20)
            load.stopping.set()
    torn = load.refused[0]  # the wire broke
    until(lambda: not house.ask("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"), 20)
    assert load.stored()[torn.said] == (0, 0)
    assert_kept(load)
    until(lambda: load.say("writer0", torn.said).status == 201, 30)  # sent again until somebody listens
    assert load.stored()[torn.said] == (1, 1)


def test_a_web_worker_killed_under_load_loses_nothing_it_acknowledged(house: House) -> None:
    with Load(house, seed=2).running(writers=4) as load:
        until(lambda: len(load.acknowledged) > 20, 30)
        victim = min(house.pids("web"))
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(house.pids("web") - {victim}) >= 2, 30)
        then = len(load.acknowledged)
        until(lambda: len(load.acknowledged) > then + 20, 30)
    assert {sent.answer.status for sent in load.refused} <= {0}  # no answer was wrong
    assert_kept(load)


# the embedder


def test_a_batch_of_a_killed_embedder_is_taken_over_when_its_lease_is_over(house: House) -> None:
    until(lambda: house.ask("SELECT count(*) FROM memories_staleentry") == [0], 30)
    with holding(house, "memories_entryvector"):
        assert house.post("turns", turn("embedded", "words that wait for their vector")).status == 201
        until(lambda: waiting_to_write(house, "memories_entryvector"), 20)
        (victim,) = house.pids("embedder")
        os.kill(victim, signal.SIGKILL)
        until(lambda: not postmaster.is_alive(victim), 10)
    leased = "SELECT retry_at - now() FROM memories_staleentry WHERE retry_at > now()"
    (left,) = house.ask(leased)
    assert timedelta(minutes=1) < left <= timedelta(minutes=2)
    with psycopg.connect(postgres.url(house.data)) as connection:  # those two minutes pass
        connection.execute("UPDATE memories_staleentry SET retry_at = retry_at - interval '2 minutes'")
    vectors = "SELECT count(*) FROM memories_entryvector JOIN memories_entry e ON e.id = entry_id WHERE content LIKE %s"
    until(lambda: house.ask(vectors, "%wait for their vector%") == [1], 30)
    until(lambda: house.ask("SELECT count(*) FROM memories_staleentry") == [0], 10)


# the database


def test_a_database_killed_under_load_keeps_what_was_acknowledged(house: House) -> None:
    with Load(house, seed=3).running(writers=4) as load:
        until(lambda: len(load.acknowledged) > 20, 30)
        killed = house.database_pid()
        assert killed
        os.kill(killed, signal.SIGKILL)
        until(lambda: load.refused, 20)
        until(lambda: house.database_pid() not in (None, killed), 20)
        then = len(load.acknowledged)
        until(lambda: len(load.acknowledged) > then + 20, 60)
    assert_told_plainly([sent.answer for sent in load.refused])
    assert_kept(load)


def test_a_database_without_room_for_a_row_is_told_and_leaves_nothing_half_written(house: House) -> None:
    """What a full disk is to the web: the database's own error, raised at the entry, after the events."""
    load = Load(house, seed=4)
    with psycopg.connect(postgres.url(house.data), autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$"
        )
        connection.execute("CREATE TRIGGER full_disk AFTER INSERT ON memories_entry EXECUTE FUNCTION no_room()")
        refused = load.say("squeezed", "there is no room for this")
        connection.execute("DROP FUNCTION no_room CASCADE")
    assert_told_plainly([refused])
    assert load.stored() == {"there is no room for this": (0, 0)}
    assert load.say("squeezed", "now there is").status == 201


if MAY_MOUNT:

    @contextmanager
    def full(disk: Path) -> Iterator[None]:
        """But for half a megabyte."""
        assert _mount(disk, f"remount,size={shutil.disk_usage(disk).used + 500_000}") == 0
        try:
            yield
        finally:
            assert _mount(disk, f"remount,size={DISK}") == 0

    def test_a_full_disk_stops_writing_and_nothing_else(house: House, data: Path) -> None:
        with Load(house, seed=5).running(writers=4) as load:
            until(lambda: len(load.acknowledged) > 20, 30)
            with full(data.parent):
                until(lambda: len(load.refused) > 5, 60)
            until(lambda: house.status_of("/readyz") == 200, 60)
            then = len(load.acknowledged)
            until(lambda: len(load.acknowledged) > then + 20, 60)
        assert_told_plainly([sent.answer for sent in load.refused])
        assert_kept(load)

    def test_a_web_worker_that_starts_on_a_full_disk_still_answers(house: House, data: Path) -> None:
        workers = house.pids("web")
        with full(data.parent):
            with (data / "ballast").open("wb", buffering=0) as ballast, pytest.raises(OSError, match="No space left"):
                while True:
                    ballast.write(bytes(4_096))
            for pid in workers:
                os.kill(pid, signal.SIGKILL)
            until(lambda: not any(map(postmaster.is_alive, workers)), 10)
            until(lambda: house.status_of("/livez") == 200, 30)
            assert {house.status_of("/livez") for _ in range(20)} == {200}
            (data / "ballast").unlink()
        until(lambda: house.post("turns", turn("writer0", "there is room again")).status == 201, 60)


# the clock


def at(moment: datetime) -> dict[str, str]:
    return {"X-Memplatform-Now": moment.isoformat()}


def served(house: House, moment: datetime) -> list[str]:
    asked = {"scope": "main", "message": "where does the ferry to Lantau leave?", "need": "off"}
    answer = house.post("recall", asked, **at(moment))
    return [memory["content"] for memory in answer.json()["memories"] if "ferry" in memory["content"]]


def test_a_clock_moved_back_and_forth_loses_nothing_and_times_run_by_what_it_says(house: House) -> None:
    now = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
    moments = [now, now - timedelta(hours=1), now + timedelta(hours=1), now]
    told = ["first of all", "an hour before", "an hour after", "and back again"]
    for moment, said in zip(moments, told, strict=True):
        assert house.post("turns", turn("traveller", f"said {said}"), **at(moment)).status == 201
    question = "SELECT content FROM sessions_app_sessionevent WHERE content LIKE 'said %' ORDER BY position"
    assert house.ask(question) == [f"said {said}" for said in told]
    ferry: dict[str, Any] = {"scope": "main", "content": "The ferry to Lantau leaves from pier six"}
    ferry["expires_at"] = (now + timedelta(minutes=30)).isoformat()
    assert house.post("entries", ferry, **at(now)).status == 201
    assert [len(served(house, moment)) for moment in moments] == [1, 1, 0, 1]


# two at once


def test_two_migrations_at_once_both_end_well_and_make_the_tables_once(house: House, data: Path) -> None:
    with psycopg.connect(postgres.url(data), autocommit=True) as connection:
        connection.execute("CREATE DATABASE fresh")
    address = postgres.url(data).replace("/postgres?", "/fresh?")
    both = [
        subprocess.Popen(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": address, "MEMPLATFORM_DATA": str(data)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(2)
    ]
    told = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    with psycopg.connect(address) as connection:
        applied = connection.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1").fetchall()
    assert [(name,) for name in house.ask("SELECT app || '.' || name FROM django_migrations ORDER BY 1")] == applied
