"""Parts of a running platform are killed, or all of it, its disk fills, its clock moves: what it acknowledged stays.

Every test asks for a running platform; where the one before has ended it, the next is started on the same data.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from memories.index.worker import LEASE
from memplatform import postgres
from memplatform.postgres.server import is_alive
from tests.conftest import TELEGRAM
from tests.support.house import ROOT, Answer, House, until
from tests.support.load import Load, turn
from tests.system.faults.conftest import DISK, MAY_MOUNT, Platform, mount

SAID = ["where do I live?", "我养了一只猫，叫麻薯。", "what did I just say?"]


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
    assert [sent.sentence for sent in load.acknowledged if stored[sent.sentence] != (1, 1)] == []
    assert {stored[sent.sentence] for sent in load.refused} <= {(0, 0), (1, 1)}


def told_plainly(answers: list[Answer]) -> set[str]:
    """The codes of refusals, each of which says that and why."""
    assert {(answer.status, answer.json()["type"]) for answer in answers} == {(503, "server_error")}
    return {error["code"] for answer in answers for error in answer.json()["errors"]}


# the web


def test_a_web_worker_killed_in_a_write_leaves_nothing_of_it_and_it_may_be_sent_again(house: House) -> None:
    load = Load(house, seed=1)
    load.say("before", "an earlier turn that was acknowledged")
    with load.running(writers=1):
        until(lambda: load.acknowledged[1:], 20)
        with holding(house, "memories_indexqueueitem"):  # the last it writes: events and entries are written by then
            until(lambda: waiting_to_write(house, "memories_indexqueueitem"), 20)
            for pid in house.pids("web"):
                os.kill(pid, signal.SIGKILL)
            until(lambda: load.refused, 20)
            load.stopping.set()
    torn = load.refused[0]  # the wire broke
    until(lambda: not house.ask("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"), 20)
    assert load.stored()[torn.sentence] == (0, 0)
    assert_kept(load)
    until(lambda: load.say("writer0", torn.sentence).status == 201, 30)  # sent again until somebody listens
    assert load.stored()[torn.sentence] == (1, 1)


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
    until(lambda: house.ask("SELECT count(*) FROM memories_indexqueueitem") == [0], 30)
    with holding(house, "memories_entryvector"):
        assert house.post("turns", turn("embedded", "words that wait for their vector")).status == 201
        until(lambda: waiting_to_write(house, "memories_entryvector"), 60)
        (victim,) = house.pids("embedder")
        os.kill(victim, signal.SIGKILL)
        until(lambda: not is_alive(victim), 10)
    leased = "SELECT retry_at - now() FROM memories_indexqueueitem WHERE retry_at > now()"
    (left,) = house.ask(leased)
    assert timedelta(0) < left <= LEASE
    with psycopg.connect(postgres.url(house.data)) as connection:  # the lease passes
        connection.execute("UPDATE memories_indexqueueitem SET retry_at = retry_at - %s", [LEASE])
    vectors = "SELECT count(*) FROM memories_entryvector JOIN memories_entry e ON e.id = entry_id WHERE content LIKE %s"
    until(lambda: house.ask(vectors, "%wait for their vector%") == [1], 60)
    until(lambda: house.ask("SELECT count(*) FROM memories_indexqueueitem") == [0], 30)


# the database


def test_a_database_killed_under_load_keeps_what_was_acknowledged(house: House) -> None:
    with Load(house, seed=3).running(writers=4) as load:
        until(lambda: len(load.acknowledged) > 20, 30)
        killed = house.database_pid()
        assert killed
        os.kill(killed, signal.SIGKILL)
        until(lambda: any(sent.answer.json()["degraded"] for sent in load.acknowledged), 20)
        until(lambda: house.database_pid() not in (None, killed), 20)
        then = len(load.acknowledged)
        until(lambda: len(load.acknowledged) > then + 20, 60)
    until(lambda: not house.waiting_calls(), 90)
    assert {sent.answer.status for sent in load.refused} <= {503}
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
    assert told_plainly([refused]) == {"disk_full"}
    assert load.stored() == {"there is no room for this": (0, 0)}
    assert load.say("squeezed", "now there is").status == 201


if MAY_MOUNT:

    @contextmanager
    def full(disk: Path) -> Iterator[None]:
        """But for half a megabyte."""
        assert mount(disk, f"remount,size={shutil.disk_usage(disk).used + 500_000}") == 0
        try:
            yield
        finally:
            assert mount(disk, f"remount,size={DISK}") == 0

    def test_a_full_disk_stops_writing_and_nothing_else(house: House, data: Path) -> None:
        with Load(house, seed=5).running(writers=4) as load:
            until(lambda: len(load.acknowledged) > 20, 30)
            with full(data.parent):
                until(lambda: len(load.refused) > 5, 60)
            until(lambda: house.status_of("/readyz") == 200, 60)
            then = len(load.acknowledged)
            until(lambda: len(load.acknowledged) > then + 20, 60)
        codes = told_plainly([sent.answer for sent in load.refused])
        assert "disk_full" in codes and codes <= {"disk_full", "database_unavailable"}  # which may restart on it
        until(lambda: not house.waiting_calls(), 90)
        assert_kept(load)

    def test_a_web_worker_that_starts_on_a_full_disk_still_answers(house: House, data: Path) -> None:
        workers = house.pids("web")
        with full(data.parent):
            with (data / "ballast").open("wb", buffering=0) as ballast, pytest.raises(OSError, match="No space left"):
                while True:
                    ballast.write(bytes(4_096))
            for pid in workers:
                os.kill(pid, signal.SIGKILL)
            until(lambda: not any(map(is_alive, workers)), 10)
            until(lambda: house.status_of("/livez") == 200, 30)
            assert {house.status_of("/livez") for _ in range(20)} == {200}
            (data / "ballast").unlink()
        until(lambda: house.post("turns", turn("writer0", "there is room again")).status == 201, 60)


# the clock


def at(moment: datetime) -> dict[str, str]:
    return {"X-Memplatform-Now": moment.isoformat()}


def served(house: House, moment: datetime) -> list[str]:
    data = {"scope": "main", "message": "where does the ferry to Lantau leave?", "need": "off"}
    answer = house.post("recall", data, **at(moment))
    return [memory["content"] for memory in answer.json()["memories"] if "ferry" in memory["content"]]


def test_a_clock_moved_back_and_forth_loses_nothing_and_times_run_by_what_it_says(house: House) -> None:
    now = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
    moments = [now, now - timedelta(hours=1), now + timedelta(hours=1), now]
    sentences = ["first of all", "an hour before", "an hour after", "and back again"]
    for moment, sentence in zip(moments, sentences, strict=True):
        assert house.post("turns", turn("traveller", f"said {sentence}"), **at(moment)).status == 201
    question = "SELECT content FROM sessions_app_sessionevent WHERE content LIKE 'said %' ORDER BY position"
    assert house.ask(question) == [f"said {sentence}" for sentence in sentences]
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
    outputs = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    with psycopg.connect(address) as connection:
        applied = connection.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1").fetchall()
    assert [(name,) for name in house.ask("SELECT app || '.' || name FROM django_migrations ORDER BY 1")] == applied


# everything


def kill_everything(house: House) -> None:
    """At once, and without a word: supervisor, web, worker, embedder and the database."""
    pids = [house.database_pid(), *(pid for name in ("web", "worker", "embedder") for pid in house.pids(name))]
    house.process.kill()
    for pid in pids:
        if pid and is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    house.process.wait(timeout=30)
    house.reader.join()
    until(lambda: not any(pid and is_alive(pid) for pid in pids), 30)


def posted(house: House, path: str, body: Any) -> Any:
    answer = house.post(path, body)
    assert answer.status in (200, 201), answer.body
    return answer.json()


def test_a_conversation_goes_on_after_every_process_was_killed(house: House, platform: Platform) -> None:
    """B9."""
    turns = [{"address": TELEGRAM, "user": words, "assistant": f"answer to {words}"} for words in SAID]
    for body in turns[:2]:
        before = posted(house, "turns", body)["session"]
    name = f"sessions/{before['id']}"
    posted(house, f"{name}/events", {"events": [{"kind": "ambient", "content": "coffee is out"}]})
    flush = posted(house, f"{name}/flush", {"version": 1, "continue": "They speak of cats."})
    kill_everything(house)

    again = platform.house()
    after = posted(again, "turns", turns[2])["session"]
    assert (after["id"], after["conversation"]) == (before["id"], 1)
    history = [
        {"role": role, "content": turn[role]} for turn in turns for role in ("user", "assistant")
    ]  # what a client believes is what was said: nothing is new, nothing differs
    appended = posted(again, f"{name}/events", {"history": history})
    assert appended["events"] == []
    assert appended["session"]["flushed_to"] == flush["up_to"] and appended["session"]["tokens"] == after["tokens"]
    assert posted(again, f"{name}/flush", {"version": 1, "reply": "NO_REPLY"})["id"] == flush["id"]


def test_asked_to_stop_under_load_it_keeps_what_it_acknowledged_and_flushes_every_conversation(
    house: House, platform: Platform
) -> None:
    """Asked to stop in the middle of work, it ends what it has begun (C8)."""
    load = Load(house, seed=6)
    with load.running(writers=4):
        until(lambda: len(load.acknowledged) > 40, 30)
        house.end(signal.SIGTERM)
    again = platform.house()
    stored = load.stored()
    assert {sent.sentence: stored[sent.sentence] for sent in load.acknowledged if stored[sent.sentence] != (1, 1)} == {}
    began = again.ask("SELECT count(*) FROM sessions_app_session WHERE peer LIKE 'writer%'")
    flushed = again.ask(
        "SELECT count(DISTINCT s.id) FROM sessions_app_session s JOIN sessions_app_flush f ON f.session_id = s.id"
        " WHERE s.peer LIKE 'writer%' AND s.flushed_to = s.next_position - 1"
    )
    assert flushed == began == [4]
