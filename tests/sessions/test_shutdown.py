"""Asked to stop in the middle of work, the platform ends what it has begun and keeps what it said it had (C8)."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memplatform import postgres
from tests.house import House, free_port
from tests.load import Load

SETTINGS = {
    "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
    "MEMORY_CALLS_PER_MINUTE": "1000000",
}


@pytest.fixture
def data() -> Iterator[Path]:
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="stops")))
    top.chmod(0o755)
    (top / "data").mkdir(mode=0o755)
    yield top / "data"
    postgres.down(top / "data")
    shutil.rmtree(top)


def test_nothing_it_acknowledged_is_missing_and_every_conversation_was_flushed(data: Path) -> None:
    house = House(data, free_port(), **SETTINGS).greets()
    load = Load(house)
    with load.running(writers=4):
        time.sleep(4)
        assert house.end(signal.SIGTERM) < 30
    assert len(load.acknowledged) > 20
    again = House(data, free_port(), **SETTINGS).greets()
    try:
        stored = load.stored()
        assert {sent.said: stored[sent.said] for sent in load.acknowledged if stored[sent.said] != (1, 1)} == {}
        began = again.ask("SELECT count(*) FROM sessions_app_session WHERE account = 'load'")
        flushed = again.ask(
            "SELECT count(DISTINCT s.id) FROM sessions_app_session s JOIN sessions_app_flush f ON f.session_id = s.id"
            " WHERE s.account = 'load' AND s.flushed_to = s.next_position - 1"
        )
        assert flushed == began == [4]
    finally:
        again.end(signal.SIGTERM)
