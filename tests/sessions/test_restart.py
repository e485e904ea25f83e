"""Conversations outlive every process of the platform (B9)."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplatform import postgres
from memplatform.postgres import postmaster
from tests.conftest import TELEGRAM
from tests.house import House, free_port, until

SETTINGS = {"MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic"}
SAID = ["where do I live?", "我养了一只猫，叫麻薯。", "what did I just say?"]


@pytest.fixture
def data() -> Iterator[Path]:
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="lives")))
    top.chmod(0o755)
    (top / "data").mkdir(mode=0o755)
    yield top / "data"
    postgres.down(top / "data")
    shutil.rmtree(top)


def kill_everything(house: House) -> None:
    """At once, and without a word: supervisor, web, worker, embedder and the database."""
    database = house.database_pid()
    pids = [pid for name in ("web", "worker", "embedder") for pid in house.pids(name)]
    house.process.kill()
    for pid in [*pids, database]:
        if pid and postmaster.is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    house.process.wait(timeout=30)
    house.reader.join()
    until(lambda: not any(pid and postmaster.is_alive(pid) for pid in [*pids, database]), 30)


def told(house: House, path: str, body: Any) -> Any:
    answer = house.post(path, body)
    assert answer.status in (200, 201), answer.body
    return answer.json()


def test_a_conversation_goes_on_after_every_process_was_killed(data: Path) -> None:
    house = House(data, free_port(), **SETTINGS).greets()
    turns = [{"address": TELEGRAM, "user": words, "assistant": f"answer to {words}"} for words in SAID]
    for turn in turns[:2]:
        before = told(house, "turns", turn)["session"]
    name = f"sessions/{before['id']}"
    told(house, f"{name}/events", {"events": [{"kind": "ambient", "content": "coffee is out"}]})
    flush = told(house, f"{name}/flush", {"version": 1, "continue": "They speak of cats."})
    kill_everything(house)

    again = House(data, free_port(), **SETTINGS).greets()
    after = told(again, "turns", turns[2])["session"]
    assert (after["id"], after["conversation"]) == (before["id"], 1)
    history = [
        {"role": role, "content": turn[role]} for turn in turns for role in ("user", "assistant")
    ]  # what a client believes is what was said: nothing is new, nothing differs
    appended = told(again, f"{name}/events", {"history": history})
    assert appended["events"] == []
    assert appended["session"]["flushed_to"] == flush["up_to"] and appended["session"]["tokens"] == after["tokens"]
    assert told(again, f"{name}/flush", {"version": 1, "reply": "NO_REPLY"})["id"] == flush["id"]
    assert again.end(signal.SIGTERM) < 30
