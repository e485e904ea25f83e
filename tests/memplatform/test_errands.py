"""The supervisor hears that an index is to be built, and has one process build at a time."""

from pathlib import Path

import pytest
from django.db import connection

from memories.index.large_scopes import CHANNEL
from memplatform.processes import errands
from memplatform.processes.errands import IndexBuilder
from tests.support.house import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IndexBuilder:
    monkeypatch.setattr(errands, "_COMMAND", ("-c", "import time; print('built', flush=True); time.sleep(60)"))
    made = IndexBuilder(tmp_path / "indexes.log")
    made.look()
    return made


def ask() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def test_nothing_is_started_until_it_is_asked_for(builder: IndexBuilder) -> None:
    builder.look()
    assert builder.process is None
    ask()
    builder.look()
    assert builder.process is not None
    builder.stop()
    assert builder.process.poll() is not None


def test_asked_for_again_while_one_is_at_it_no_other_is_started(builder: IndexBuilder) -> None:
    ask()
    builder.look()
    first = builder.process
    until(lambda: "built" in builder.log.read_text(), 20)
    ask()
    builder.look()
    assert builder.process is first
    builder.stop()
    ask()
    builder.look()
    assert builder.process is not first
    builder.stop()


def test_a_new_connection_is_listened_on_as_well(builder: IndexBuilder) -> None:
    connection.close()
    builder.look()
    ask()
    builder.look()
    assert builder.process is not None
    builder.stop()
